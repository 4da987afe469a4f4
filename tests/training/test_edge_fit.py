"""Images with edges fitted: draws that keep to the drawn codes, light as it was released, models on disk."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import microtome as mt
from microtome.adaptation.target_moments import TargetMoments
from microtome.errors import ModelError, ParameterError
from microtome.generators.image import ImageGenerator, ImageNetworkSettings
from microtome.images import ImageCode, ImageSchema, ImageSet
from microtome.images.edges import EDGE_DIM
from microtome.published import ImageRelease, ReleaseKind
from microtome.synthesis import Synthesizer
from microtome.training import ImageFitSettings, Trainer
from microtome.training.image_moments import alike, class_moments
from microtome.training.image_objective import build_image_generator
from microtome.training.image_tone import light_of
from support import publish_images

SIDE = 16
SCHEMA = ImageSchema(height=SIDE, width=SIDE, classes=("upright", "lying"), components=40, edges=True)
SETTINGS = ImageFitSettings(
    network=ImageNetworkSettings(spread=1.0, movement=0.0), steps=80, batch_size=64, check_every=40
)


def bars(number: int, seed: int = 0) -> ImageSet:
    """Bright bars in random places on black, upright and lying in turn."""
    rng, pixels = np.random.default_rng(seed), np.zeros((number, SIDE, SIDE), np.uint8)
    for place, image in enumerate(pixels):
        first = rng.integers(3, SIDE - 5)
        (image.T if place % 2 else image)[3:-3, first : first + 2] = rng.integers(180, 256)
    return ImageSet.from_arrays(pixels, np.array(SCHEMA.classes)[np.arange(number) % 2])


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> ImageRelease:
    path = tmp_path_factory.mktemp("bars") / "bars.release"
    return publish_images(bars(1500), SCHEMA, path, epsilon=30.0, kind=ReleaseKind.AGGREGATES)


@pytest.fixture(scope="module")
def fitted(release: ImageRelease) -> ImageGenerator:
    generator = Trainer(release, SETTINGS, seed=0).fit().generator
    assert isinstance(generator, ImageGenerator)
    return generator


def apart(generator: ImageGenerator) -> float:
    """How far images are from the codes that they were drawn by."""
    latent = torch.randn(300, generator.latent_dim, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        wanted = generator.drawn_code(latent, torch.arange(300) % 2)
        raw = generator.sketched(wanted, torch.arange(300) % 2)
        return float((generator.code_of(raw.clamp(0.0, 1.0)) - wanted).square().sum() / 300)


def test_training_brings_images_nearer_to_what_was_drawn(release: ImageRelease, fitted: ImageGenerator) -> None:
    start = build_image_generator(release, SETTINGS, class_moments(release), seed=0)
    assert apart(fitted) < 0.7 * apart(start)
    assert torch.equal(fitted.means, start.means), "the codes that are drawn are those released, and not what is easy"
    assert torch.equal(fitted.factors, start.factors)


def test_drawn_images_have_the_light_of_the_real_ones(release: ImageRelease, fitted: ImageGenerator) -> None:
    latent = torch.randn(1000, fitted.latent_dim, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        drawn = fitted(latent, torch.arange(1000) % 2)
    real = bars(1500).pixels[..., 0] / 255
    mean, square, edges = light_of(release, class_moments(release))
    assert mean == pytest.approx(real.mean(), rel=0.05)
    rows = release.code.encode(bars(1500).pixels)
    assert square == pytest.approx(np.square(rows[:, :-EDGE_DIM]).sum(axis=1).mean(), rel=0.2)
    assert edges == pytest.approx(np.square(rows[:, -EDGE_DIM:]).sum(axis=1).mean(), rel=0.2)
    assert float(drawn.mean()) == pytest.approx(mean, rel=0.2)
    assert float(fitted.components(drawn).square().sum(dim=1).mean()) == pytest.approx(square, rel=0.2)
    assert not torch.equal(fitted.tone, torch.tensor([1.0, 0.0]))


def test_edges_of_drawn_images_tell_classes_apart(fitted: ImageGenerator) -> None:
    latent = torch.randn(200, fitted.latent_dim, generator=torch.Generator().manual_seed(3))
    with torch.no_grad():
        drawn = fitted(latent, torch.arange(200) % 2)[:, 0].double().numpy()
    edges = ImageCode(SCHEMA).edges.of(drawn).reshape(200, -1, 8).sum(axis=1)
    upright = edges[:, [0, 4]].sum(axis=1) > edges[:, [2, 6]].sum(axis=1)
    assert (upright == (np.arange(200) % 2 == 0)).mean() > 0.9


def test_spread_and_movement_change_what_is_drawn(fitted: ImageGenerator) -> None:
    latent = torch.randn(400, fitted.latent_dim, generator=torch.Generator().manual_seed(4))
    kept = fitted.settings
    shares = []
    try:
        for changes in ({}, {"spread": 3.0}, {"spread": 0.0}, {"spread": 0.0, "movement": 2.0}):
            fitted.settings = replace(kept, **changes)
            with torch.no_grad():
                shares.append(float(fitted(latent, torch.zeros(400, dtype=torch.int64)).var(dim=0).sum()))
    finally:
        fitted.settings = kept
    assert shares[1] > 1.2 * shares[0]
    assert shares[2] < 1e-6
    assert shares[3] > 1e-3


@pytest.mark.parametrize("name", ["spread", "movement"])
def test_bad_settings_are_refused(name: str) -> None:
    with pytest.raises(ParameterError, match=name):
        ImageNetworkSettings(**{name: -1.0})


def test_a_model_on_disk_draws_the_same(release: ImageRelease, tmp_path: Path) -> None:
    model = Synthesizer(replace(SETTINGS, steps=5), random_state=0).fit(release)
    model.save(tmp_path / "bars.model")
    again = Synthesizer.load(tmp_path / "bars.model")
    one, other = (each.sample(40, random_state=7).pixels for each in (model, again))
    np.testing.assert_array_equal(one, other)


def test_an_interrupted_fit_goes_on_as_if_it_had_not_been(release: ImageRelease, tmp_path: Path) -> None:
    settings = replace(SETTINGS, steps=6, check_every=3)
    whole = Trainer(release, settings, seed=0).fit().generator.state_dict()
    path = tmp_path / "fit.checkpoint"
    trainer = Trainer(release, settings, seed=0, checkpoint=path, progress=_stop_at(4))
    assert not trainer.fit().finished
    resumed = Trainer(release, settings, seed=0, checkpoint=path).fit(resume=True).generator.state_dict()
    for name, values in whole.items():
        torch.testing.assert_close(resumed[name], values, msg=name)


def test_rows_of_records_have_no_edges() -> None:
    with pytest.raises(ParameterError, match="rows of records hold no edges"):
        mt.release(bars(60), SCHEMA, epsilon=5.0, delta=1e-5, kind="records")


def test_adaptation_refuses_edges(tmp_path: Path) -> None:
    schema = replace(SCHEMA, classes=None)
    images = ImageSet.from_arrays(bars(60).pixels)
    release = publish_images(images, schema, tmp_path / "plain", kind=ReleaseKind.AGGREGATES)
    with pytest.raises(ModelError, match="edges: false"):
        TargetMoments.of_release(release)


def test_differences_of_classes_are_kept_as_far_as_they_stand_out() -> None:
    rng, dim, classes = np.random.default_rng(0), 20, 4
    base = np.diag(np.linspace(2.0, 0.2, dim))
    truth = np.stack(
        [base * (1.0 + 0.5 * np.sin(np.arange(dim) + number))[:, None] ** 0.5 for number in range(classes)]
    )
    truth = np.stack([(one + one.T) / 2 for one in truth])
    traces, weights = np.trace(truth, axis1=1, axis2=2), np.full(classes, 0.25)
    gaps = []
    for noise in (1e-4, 1.0):
        raw = np.triu(rng.normal(size=(classes, dim, dim)), 1) / np.sqrt(2)
        on = np.einsum("ci,ij->cij", rng.normal(size=(classes, dim)), np.eye(dim))
        noisy = truth + noise * (raw + raw.transpose(0, 2, 1) + on)
        found = alike(noisy, np.full(classes, noise), traces, weights)
        assert np.linalg.eigvalsh(found).min() > 0
        np.testing.assert_allclose(np.trace(found, axis1=1, axis2=2), traces)
        gaps.append(np.linalg.norm(found - truth) / np.linalg.norm(noisy - truth))
    assert gaps[1] < 0.5
    exact = alike(truth, np.full(classes, 1e-9), traces, weights)
    np.testing.assert_allclose(exact, truth, atol=1e-3)


def _stop_at(step: int):  # type: ignore[no-untyped-def]
    def progress(stage: str, done: int, of: int, says: str = "") -> None:
        if stage == "fit" and done == step:
            raise KeyboardInterrupt

    return progress
