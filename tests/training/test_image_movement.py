"""Drawn images are moved as far as the release says that real ones move."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from microtome.generators.image import ImageGenerator, ImageNetworkSettings
from microtome.generators.movement import MOVES, moved, uniform
from microtome.images import ImageSchema, ImageSet
from microtome.published import ImageRelease, ReleaseKind
from microtome.training import ImageFitSettings, Trainer
from microtome.training.image_moments import ClassMoments, class_moments
from microtome.training.image_movement import reach_of
from support import publish_images

SIDE = 16
SCHEMA = ImageSchema(height=SIDE, width=SIDE, classes=("still", "sideways"))
TURN, SLANT, WIDE, HIGH, RIGHT, DOWN = range(MOVES)


def blobs(number: int, sideways: float, seed: int = 0) -> ImageSet:
    """Oblong blobs; those of the second class stand up to ``sideways`` half sides to the left or right."""
    rng = np.random.default_rng(seed)
    line = np.linspace(-1.0, 1.0, SIDE)
    places = np.where(np.arange(number) % 2, rng.uniform(-sideways, sideways, number), 0.0)
    light = np.exp(-(((line - places[:, None]) / 0.2) ** 2))[:, None, :] * np.exp(-((line / 0.5) ** 2))[:, None]
    pixels = np.clip(200.0 * light + rng.normal(0.0, 2.0, light.shape), 0, 255).astype(np.uint8)
    return ImageSet.from_arrays(pixels, np.array(SCHEMA.classes)[np.arange(number) % 2])


def released(folder: Path, sideways: float, schema: ImageSchema = SCHEMA) -> ImageRelease:
    return publish_images(blobs(2000, sideways), schema, folder, epsilon=50.0, kind=ReleaseKind.AGGREGATES)


@pytest.mark.parametrize("sideways", [0.03, 0.06])
def test_the_reach_is_how_far_real_images_move(sideways: float, tmp_path: Path) -> None:
    release = released(tmp_path / "r", sideways)
    reach = reach_of(release, class_moments(release))
    assert reach[1, RIGHT] == pytest.approx(sideways / 0.1, rel=0.35)
    assert reach[0, RIGHT] < 0.5 * reach[1, RIGHT]
    assert reach[1, TURN] < 0.5
    assert reach.min() >= 0.0


def test_no_movement_is_larger_than_one(tmp_path: Path) -> None:
    release = released(tmp_path / "r", 0.4)
    assert reach_of(release, class_moments(release))[1, RIGHT] == 1.0


def test_a_blank_mean_image_is_no_reason_to_move(tmp_path: Path) -> None:
    release = released(tmp_path / "r", 0.05)
    dim = release.schema.dim
    blank = ClassMoments(
        shares=np.full(2, 0.5), means=np.zeros((2, dim)), covariances=np.stack([np.eye(dim)] * 2), ranks=(dim, dim)
    )
    assert not reach_of(release, blank).any()


def test_aligned_images_have_poses_instead(tmp_path: Path) -> None:
    release = released(tmp_path / "r", 0.05, replace(SCHEMA, aligned=True))
    assert not reach_of(release, class_moments(release)).any()


def test_a_movement_is_what_it_says() -> None:
    image = torch.zeros(1, 1, 20, 20)
    image[..., 9:11, 9:11] = 1.0
    across = torch.arange(20.0)
    for amount in (-1.0, 0.5):
        amounts = torch.zeros(1, MOVES)
        amounts[0, RIGHT] = amount
        light = moved(image, amounts)[0, 0].sum(dim=0)
        assert float(light @ across / light.sum()) == pytest.approx(9.5 - amount, abs=1e-4)
    torch.testing.assert_close(moved(image, torch.zeros(1, MOVES)), image, atol=1e-5, rtol=0.0)
    drawn = uniform(torch.randn(20_000, MOVES, generator=torch.Generator().manual_seed(0)))
    assert float(drawn.abs().max()) <= 1.0
    assert float(drawn.var()) == pytest.approx(1 / 3, rel=0.03)


def test_images_are_moved_unless_the_settings_say_no(tmp_path: Path) -> None:
    release = released(tmp_path / "r", 0.08)
    pictures = []
    for movement in (1.0, 0.0):
        network = ImageNetworkSettings(movement=movement, grain=0.0)
        settings = ImageFitSettings(network=network, steps=2, batch_size=16)
        generator = Trainer(release, settings, seed=0).fit().generator
        assert isinstance(generator, ImageGenerator)
        latent = torch.zeros(400, generator.latent_dim)
        moves = slice(generator.code_dim, generator.code_dim + MOVES)
        latent[:, moves] = torch.randn(400, MOVES, generator=torch.Generator().manual_seed(1))
        with torch.no_grad():
            pictures.append(generator(latent, torch.ones(400, dtype=torch.int64)))
            encoded = generator.encoded(latent, torch.ones(400, dtype=torch.int64))
        assert float(encoded.var(dim=0).max()) < 1e-6, "what is compared with the release has not been moved"
    assert float(pictures[0].var(dim=0).max()) > 1e-4
    assert float(pictures[1].var(dim=0).max()) < 1e-6
