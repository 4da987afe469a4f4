"""Drawn images have about as much grain as components that are not released have in real ones."""

from pathlib import Path

import numpy as np
import pytest
import torch

from microtome.errors import ParameterError
from microtome.generators.image import ImageGenerator, ImageNetworkSettings
from microtome.images import ImageCode, ImageSchema, ImageSet
from microtome.images.image_code import cosines
from microtome.published import ImageRelease, ReleaseKind
from microtome.training import ImageFitSettings, Trainer
from microtome.training.image_grain import grain_of
from microtome.training.image_moments import class_moments
from support import publish_images

SIDE = 20
SCHEMA = ImageSchema(height=SIDE, width=SIDE, low=0.0, high=1.0, mean=(0.5,), components=60)


def clouds(number: int, falling: float, seed: int = 0) -> ImageSet:
    """Images whose spectrum falls with this power of the frequency."""
    rng, basis = np.random.default_rng(seed), cosines(SIDE)
    frequency = np.hypot(np.arange(SIDE)[:, None], np.arange(SIDE))
    spectrum = rng.standard_normal((number, SIDE, SIDE)) * (1.0 + frequency) ** (-falling / 2.0)
    return ImageSet.from_arrays(np.clip(0.5 + 0.4 * np.einsum("uy,nuv,vx->nyx", basis, spectrum, basis), 0.0, 1.0))


def released(folder: Path, images: ImageSet) -> ImageRelease:
    return publish_images(images, SCHEMA, folder, epsilon=100.0, kind=ReleaseKind.AGGREGATES)


@pytest.mark.parametrize("falling", [3.0, 4.0])
def test_grain_is_about_what_components_leave_out(falling: float, tmp_path: Path) -> None:
    images = clouds(3000, falling)
    release = released(tmp_path / "r", images)
    code = ImageCode(SCHEMA)
    missing = images.pixels - code.decode(code.encode(images.pixels))
    assert grain_of(release, class_moments(release)) == pytest.approx(float(missing.std()), rel=0.5)


def test_images_have_grain_unless_the_settings_say_no(tmp_path: Path) -> None:
    release = released(tmp_path / "r", clouds(2000, 3.0))
    spreads = []
    for grain in (1.0, 0.0):
        network = ImageNetworkSettings(movement=0.0, grain=grain)
        generator = Trainer(release, ImageFitSettings(network=network, steps=1), seed=0).fit().generator
        assert isinstance(generator, ImageGenerator)
        latent = torch.randn(200, generator.latent_dim, generator=torch.Generator().manual_seed(0))
        latent[:, : generator.code_dim] = 0.0
        with torch.no_grad():
            spreads.append(float(generator(latent, torch.zeros(200, dtype=torch.int64)).std(dim=0).mean()))
    strengths = np.sqrt(4.0 / 3.0)  # root of the mean square of a uniform number between 0 and 2
    assert spreads[0] == pytest.approx(strengths * grain_of(release, class_moments(release)), rel=0.1)
    assert spreads[1] < 1e-6


@pytest.mark.parametrize("name", ["movement", "grain"])
@pytest.mark.parametrize("value", [-1.0, float("nan")])
def test_bad_settings_are_refused(name: str, value: float) -> None:
    with pytest.raises(ParameterError, match=name):
        ImageNetworkSettings(**{name: value})
