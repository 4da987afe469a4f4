"""The reverse: private labelled images by their release, to a target that is public, or private as well."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from digits import DELTA, EPSILON, QUICK, domains

import microtome as mt
from microtome.accounting import Ledger
from microtome.adaptation import DomainAdapter, Side
from microtome.adaptation.network import build_network
from microtome.adaptation.objective import AdaptationObjective, Source
from microtome.adaptation.synthetic_source import synthetic_source
from microtome.adaptation.target_moments import TargetMoments
from microtome.adaptation.transform import ImageTransform
from microtome.adaptation.unit_images import unit_images
from microtome.errors import ModelError, ParameterError, TableError
from microtome.images import ImageSchema, ImageSet
from microtome.progress import silent
from microtome.published import ImageRelease
from microtome.training import Loop
from support import repeatable_noise

SCHEMA = ImageSchema(height=8, width=8, low=0.0, high=1.0)
LOOK = {"log height": -0.3, "right": 0.2, "slant": 0.3}
"""How the target differs from the source: flatter, further right, slanted."""
SETTINGS = replace(QUICK, epochs=4, align_from=4, images_per_epoch=5120)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> ImageRelease:
    """The private source, with its labels."""
    images, labels, _, _ = domains()
    with repeatable_noise():
        return mt.release(
            ImageSet.from_arrays(images[..., None], labels),
            replace(SCHEMA, classes=tuple(range(10))),
            epsilon=20.0,
            delta=1e-4,
            output=tmp_path_factory.mktemp("private") / "source.release",
        )


def target() -> tuple[np.ndarray, np.ndarray]:
    """Other digits than the source's, in another look."""
    _, _, dimmed, labels = domains()
    look = ImageTransform()
    names = list(look.settings())
    with torch.no_grad():
        for name, value in LOOK.items():
            look.parameters_[names.index(name)] = value
        drawn = look(torch.from_numpy(unit_images(dimmed / 0.7, origin="target", value_range=(-1e-6, 1 + 1e-6))))
    return drawn.numpy()[:, 0], labels


@pytest.fixture(scope="module")
def adapter(released: ImageRelease) -> DomainAdapter:
    return DomainAdapter(settings=SETTINGS, random_state=0).fit(released, None, target()[0], public_target=True)


def test_a_private_source_is_learnt_in_the_look_of_a_public_target(
    adapter: DomainAdapter, released: ImageRelease
) -> None:
    """Better than the same network on the same synthetic images as they are."""
    shown, truth = target()
    drawn = synthetic_source(released, 0, silent)
    assert drawn.labels is not None
    plain = Source(images=torch.from_numpy(unit_images(drawn, origin="drawn")), labels=torch.from_numpy(drawn.labels))
    floor = AdaptationObjective(build_network((1, 8, 8), 10, SETTINGS.radius, 0), plain, SETTINGS, seed=0)
    Loop(floor, run={"seed": 0}).run()
    with torch.no_grad():
        found = floor.network.classify(floor.network.rows(torch.from_numpy(shown[:, None]))).argmax(dim=1).numpy()
    reached = adapter.score(shown, truth)
    assert reached > 0.7
    assert reached > (found == truth).mean() + 0.1


def test_the_promise_says_that_the_source_is_private(adapter: DomainAdapter, tmp_path: Path) -> None:
    promise = adapter.promise_
    assert (promise.side, promise.epsilon, promise.touches, promise.beside) == (Side.SOURCE, 20.0, 1, None)
    words = str(promise)
    assert "Private: the 900 source images and their labels." in words
    assert "the target images, all settings" in words
    assert "(20, 0.0001)-differentially private" in words
    adapter.save(tmp_path / "model")
    assert DomainAdapter.load(tmp_path / "model").promise_ == promise


def test_both_sides_private_have_a_promise_each(released: ImageRelease, tmp_path: Path) -> None:
    """By two releases, and by a release and private steps."""
    private = target()[0]
    other = mt.release(ImageSet.from_arrays(private[..., None]), SCHEMA, epsilon=5.0, delta=1e-5)
    short = replace(SETTINGS, epochs=1, align_from=1, images_per_epoch=256)
    by_release = DomainAdapter(settings=short, random_state=0).fit(str(released.path), None, other)
    ledger = Ledger(tmp_path / "book.json")
    by_step = DomainAdapter(epsilon=EPSILON, delta=DELTA, settings=short, random_state=0)
    by_step.fit(released, None, private, ledger=ledger)
    for adapter, epsilon, touches in ((by_release, 5.0, 1), (by_step, EPSILON, 4)):
        promise = adapter.promise_
        assert (promise.side, promise.epsilon, promise.touches) == (Side.TARGET, epsilon, touches)
        assert promise.beside is not None
        assert (promise.beside.side, promise.beside.epsilon) == (Side.SOURCE, 20.0)
        words = str(promise)
        assert "source images and their labels" in words.split("Public:")[0]
        assert "the target images, all settings" not in words
        assert "the sum of their ε" in words
        adapter.save(tmp_path / "model", force=True)
        assert DomainAdapter.load(tmp_path / "model").promise_ == promise
    assert len(ledger.entries("target")) == 1


def test_moments_of_public_images_are_their_own() -> None:
    images = target()[0]
    moments = TargetMoments.of_images(images[:, None])
    rows = moments.encode(torch.from_numpy(images[:, None]))
    assert float(torch.linalg.vector_norm(rows, dim=1).max()) == pytest.approx(1.0, abs=1e-4)
    torch.testing.assert_close(rows.mean(dim=0), moments.mean, atol=1e-5, rtol=0)
    same, other = (
        float(moments.discrepancy(torch.from_numpy(part[:, None]))) for part in (images, images[:, ::-1].copy())
    )
    assert same < 1e-3
    assert other > 100


def test_what_is_refused(released: ImageRelease, tmp_path: Path) -> None:
    images, labels, private, _ = domains()
    unlabelled = mt.release(ImageSet.from_arrays(images[..., None]), SCHEMA, epsilon=5.0, delta=1e-4)
    with pytest.raises(ModelError, match="has no classes"):
        DomainAdapter(settings=SETTINGS).fit(unlabelled, None, private, public_target=True)
    with pytest.raises(ParameterError, match="public_target=True if they are public"):
        DomainAdapter(settings=SETTINGS).fit(released, None, private)
    with pytest.raises(ParameterError, match="leave epsilon"):
        DomainAdapter(epsilon=1, delta=1e-4).fit(released, None, private, public_target=True)
    with pytest.raises(ParameterError, match="no ledger"):
        DomainAdapter().fit(released, None, private, public_target=True, ledger=tmp_path / "book.json")
    with pytest.raises(ParameterError, match="both public"):
        DomainAdapter().fit(images, labels, private, public_target=True)
    with pytest.raises(ParameterError, match="leave public_target out"):
        DomainAdapter().fit(images, labels, unlabelled, public_target=True)
    with pytest.raises(ParameterError, match="leave both out"):
        DomainAdapter().fit(released, labels, private, public_target=True)
    with pytest.raises(TableError, match="bring both to one size"):
        DomainAdapter().fit(released, None, np.zeros((50, 12, 12)), public_target=True)
    assert not (tmp_path / "book.json").exists()
