"""Adaptation to a release: the look is found again, both kinds work, nothing private is needed, and it helps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from digits import QUICK, domains

import microtome as mt
from microtome.adaptation import AdaptationSettings, DomainAdapter
from microtome.adaptation.objective import AdaptationObjective, Source
from microtome.adaptation.redrawing import learn_transform, redrawn
from microtome.adaptation.target_moments import TargetMoments
from microtome.adaptation.transform import ImageTransform
from microtome.adaptation.unit_images import unit_images
from microtome.errors import ModelError, ParameterError, ReleaseError
from microtome.images import ImageSchema, ImageSet
from microtome.progress import silent
from microtome.published import ImageRelease
from microtome.training import Checkpoint, Loop
from support import repeatable_noise

SIZE = (16, 16)
SCHEMA = ImageSchema(height=16, width=16, low=0.0, high=1.0, components=40)
LOOK = {"log height": -0.3, "right": 0.15, "slant": 0.25}
"""How the target differs from the source: flatter, further right, slanted."""
SETTINGS = replace(QUICK, epochs=6, align_from=6, images_per_epoch=None)
FAR = 12.0
"""Standard deviations that no number is off by, whatever the noise."""
Published = Callable[..., ImageRelease]


def source() -> Source:
    images, labels, _, _ = domains()
    return Source(
        images=torch.from_numpy(unit_images(images, origin="source", image_size=SIZE)), labels=torch.from_numpy(labels)
    )


def true_look() -> ImageTransform:
    look = ImageTransform()
    names = list(look.settings())
    with torch.no_grad():
        for name, value in LOOK.items():
            look.parameters_[names.index(name)] = value
    return look


def target() -> tuple[np.ndarray, np.ndarray]:
    """Other digits than the source's, in another look, three times over to make them many."""
    _, _, _, labels = domains()
    from sklearn.datasets import load_digits

    plain = (load_digits(return_X_y=True)[0][900:] / 16.0).astype(np.float32).reshape(-1, 8, 8)
    images = torch.from_numpy(unit_images(plain, origin="target", image_size=SIZE))
    with torch.no_grad():
        drawn = true_look()(images).numpy().transpose(0, 2, 3, 1)
    return np.concatenate([drawn] * 3), np.concatenate([labels] * 3)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Published:
    made: dict[tuple[str, float], ImageRelease] = {}

    def of(kind: str, epsilon: float = 20.0) -> ImageRelease:
        if (kind, epsilon) not in made:
            with repeatable_noise():
                made[kind, epsilon] = mt.release(
                    ImageSet.from_arrays(target()[0]),
                    SCHEMA,
                    epsilon=epsilon,
                    delta=1e-5,
                    kind=kind,
                    output=tmp_path_factory.mktemp("releases") / f"{kind}.release",
                )
        return made[kind, epsilon]

    return of


@pytest.mark.parametrize(("kind", "tolerance"), [("aggregates", 0.06), ("records", 0.12)])
def test_the_look_is_found_again(published: Published, kind: str, tolerance: float) -> None:
    look, _ = learn_transform(TargetMoments.of_release(published(kind)), source(), 0, silent)
    found = look.settings()
    for name, value in LOOK.items():
        assert found[name] == pytest.approx(value, abs=tolerance), found
    assert found["rotation"] == pytest.approx(0.0, abs=2 * tolerance)


@pytest.mark.parametrize(("kind", "subsample"), [("aggregates", None), ("records", None), ("records", 0.5)])
def test_moments_of_a_release_are_those_of_its_images(kind: str, subsample: float | None) -> None:
    """Up to what is said of their error: padding, sampling and the noise's own part of products are accounted for."""
    images = target()[0]
    release = mt.release(ImageSet.from_arrays(images), SCHEMA, epsilon=20.0, delta=1e-5, kind=kind, subsample=subsample)
    moments = TargetMoments.of_release(release)
    rows = release.code.encode(images) / release.radius
    clipped = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
    residuals = (rows - moments.centre.numpy()) / moments.residual_radius
    residuals /= np.maximum(np.linalg.norm(residuals, axis=1, keepdims=True), 1.0)
    of_mean = (moments.mean.numpy() - clipped.mean(axis=0)) / moments.mean_variance**0.5
    of_second = (moments.second.numpy() - residuals.T @ residuals / len(rows)) / moments.second_variance**0.5
    assert np.abs(of_mean).max() < FAR
    assert np.abs(of_second).max() < FAR


def test_more_ones_are_not_taken_for_thinner_digits() -> None:
    """A target of the source's own look with more of one class: that is found, and the look stays as it was."""
    plain = source()
    ones = plain.labels == 1
    kept = torch.cat([plain.images, *[plain.images[ones]] * 4])
    look, shares = learn_transform(TargetMoments.of_images(kept.numpy()), plain, 0, silent)
    found = look.settings()
    assert 0.2 < float(shares[1]) < 0.4, (
        "it is 0.36 in the target and 0.1 in the source, and the prior is of the source's"
    )
    assert float(shares[[0, 2, 3, 4, 5, 6, 7, 8, 9]].max()) < 0.12
    for name in ("log height", "log width", "right", "down", "slant"):
        assert found[name] == pytest.approx(0.0, abs=0.04), found


@pytest.mark.parametrize("kind", ["aggregates", "records"])
def test_the_discrepancy_is_least_for_the_true_look(published: Published, kind: str) -> None:
    moments, plain = TargetMoments.of_release(published(kind)), source()
    with torch.no_grad():
        right, wrong = (float(moments.discrepancy(look(plain.images))) for look in (true_look(), ImageTransform()))
    assert right < 0.7 * wrong


def test_encoder_is_the_releases_own(published: Published) -> None:
    release, images = published("aggregates"), target()[0][:20]
    ours = TargetMoments.of_release(release).encode(torch.from_numpy(images.transpose(0, 3, 1, 2)))
    np.testing.assert_allclose(ours.numpy(), release.code.encode(images) / release.radius, atol=1e-5)


@pytest.mark.parametrize("noise", [0.01, 0.3])
@pytest.mark.parametrize("differs", [True, False])
def test_a_look_that_noise_explains_is_not_taken(differs: bool, noise: float) -> None:
    """As records have it: noise on every number of the moments, of known size; 0.3 drowns the look, 0.01 does not."""
    images = torch.from_numpy(target()[0][:897].transpose(0, 3, 1, 2)) if differs else source().images
    moments, random = TargetMoments.of_images(images.numpy()), torch.Generator().manual_seed(1)
    disturbed = torch.randn(moments.second.shape, generator=random) * noise
    noisy = replace(
        moments,
        mean=moments.mean + noise * torch.randn(moments.mean.shape, generator=random),
        second=moments.second + (disturbed + disturbed.T) / 2**0.5,
        mean_variance=noise**2,
        second_variance=noise**2,
    )
    look, _ = learn_transform(noisy, source(), 0, silent)
    changed = look.settings() != ImageTransform().settings()
    assert changed == (differs and noise < 0.1)


def test_an_image_in_no_new_look_is_nearly_itself() -> None:
    images = source().images[:50]
    with torch.no_grad():
        assert float((ImageTransform()(images) - images).abs().mean()) < 0.01


def test_adapted_to_a_release_it_classifies_the_target_better(published: Published) -> None:
    """The whole way, with the promise of the release; the floor is the same network on the source as it is."""
    images, labels, _, _ = domains()
    shown, truth = target()
    settings = replace(SETTINGS, epochs=30, align_from=30)
    adapter = DomainAdapter(settings=settings, random_state=0).fit(images, labels, published("aggregates"))
    floor = _source_alone(settings)
    reached = adapter.score(shown[:897], truth[:897])
    assert reached > 0.8
    assert reached > floor + 0.1
    assert adapter.promise_.epsilon == 20.0
    assert "looked at once" in str(adapter.promise_)
    assert adapter.model_.look is not None


def _source_alone(settings: AdaptationSettings) -> float:
    from microtome.adaptation.network import build_network

    trained = AdaptationObjective(build_network((1, *SIZE), 10, 0.5, 0), source(), settings, seed=0)
    Loop(trained, run={"seed": 0}).run()
    shown, truth = target()
    with torch.no_grad():
        logits = trained.network.classify(trained.network.rows(torch.from_numpy(shown[:897].transpose(0, 3, 1, 2))))
    return float((logits.argmax(dim=1).numpy() == truth[:897]).mean())


def test_training_on_a_release_repeats_itself_and_resumes(published: Published, tmp_path: Path) -> None:
    images, labels, _, _ = domains()
    release = published("aggregates")
    settings = replace(SETTINGS, epochs=2, align_from=2)

    class Stop:
        def __call__(self, stage: str, done: int, total: int | None, note: str = "") -> None:
            if stage == "adapt" and done == 10:
                raise KeyboardInterrupt

    whole = DomainAdapter(settings=settings, random_state=3).fit(images, labels, release)
    path = tmp_path / "run"
    stopped = DomainAdapter(settings=settings, random_state=3)
    stopped.fit(images, labels, release, checkpoint=path, progress=Stop())
    assert not stopped.finished_
    assert Checkpoint.load(path).step == 10
    resumed = DomainAdapter(settings=settings, random_state=3)
    resumed.fit(images, labels, str(release.path), checkpoint=path, resume=True)
    assert resumed.model_.fingerprint() == whole.model_.fingerprint()
    whole.save(tmp_path / "model")
    assert DomainAdapter.load(tmp_path / "model").model_.look == whole.model_.look


def test_redrawing_keeps_labels_and_range() -> None:
    plain = source()
    drawn = redrawn(plain, true_look())
    assert torch.equal(drawn.labels, plain.labels)
    assert drawn.images.shape == plain.images.shape
    assert 0.0 <= float(drawn.images.min()) <= float(drawn.images.max()) <= 1.0


def test_what_is_refused(published: Published, tmp_path: Path) -> None:
    images, labels, private, _ = domains()
    release = published("aggregates")
    with pytest.raises(ParameterError, match="its own promise"):
        DomainAdapter(epsilon=1, delta=1e-5).fit(images, labels, release)
    with pytest.raises(ParameterError, match="paid for"):
        DomainAdapter().fit(images, labels, release, ledger=tmp_path / "ledger.json")
    with pytest.raises(ParameterError, match="give epsilon and delta"):
        DomainAdapter().fit(images, labels, private)
    with pytest.raises(ParameterError, match="give both"):
        DomainAdapter(epsilon=1)
    with pytest.raises(ParameterError, match="leave size"):
        DomainAdapter(image_size=(8, 8)).fit(images, labels, release)
    with pytest.raises(ReleaseError):
        DomainAdapter().fit(images, labels, tmp_path / "nothing.release")
    shown, truth = target()
    labelled = mt.release(
        ImageSet.from_arrays(shown, truth),
        replace(SCHEMA, classes=tuple(range(10))),
        epsilon=20.0,
        delta=1e-5,
    )
    with pytest.raises(ModelError, match="targets without labels"):
        DomainAdapter(settings=SETTINGS).fit(images, labels, labelled)
