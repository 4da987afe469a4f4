"""The tools by which ways to better images are tried."""

import numpy as np
import pytest

from edge_code import DIRECTIONS, PLACES, edge_rows, images_of
from image_routes_page import MEANINGS
from microtome.images import ImageCode, ImageSchema
from noisy_gaussians import noisy_gaussians

SIDE = 16


def strokes(number: int) -> np.ndarray:
    """Bright bars in random places, upright and lying in turn."""
    rng, images = np.random.default_rng(0), np.zeros((number, SIDE, SIDE), np.float32)
    for place, image in enumerate(images):
        first = rng.integers(3, SIDE - 5)
        (image if place % 2 else image.T)[3:-3, first : first + 2] = 1.0
    return images


def classes(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of three classes that differ in mean and spread."""
    rng, labels = np.random.default_rng(1), np.arange(number) % 3
    return rng.standard_normal((number, 6)) * (1.0 + labels[:, None]) + 4.0 * np.eye(3, 6)[labels], labels


def test_edges_tell_directions_apart() -> None:
    rows = edge_rows(strokes(40)).reshape(40, PLACES, PLACES, DIRECTIONS).sum(axis=(1, 2))
    upright, lying = rows[1::2].mean(axis=0), rows[::2].mean(axis=0)
    assert upright[[0, 4]].min() > 3 * upright[[2, 6]].max()
    assert np.allclose(upright[[0, 4]], lying[[2, 6]], rtol=0.2)


def test_images_are_found_from_components_and_edges() -> None:
    code = ImageCode(ImageSchema(height=SIDE, width=SIDE, low=0.0, high=1.0, components=40))
    images = strokes(20)
    components, wanted = code.encode(images[..., None]), edge_rows(images)
    found = images_of(components, wanted, code.plane, 10.0, SIDE)
    cut = np.clip(code.decode(components)[..., 0], 0.0, 1.0).astype(np.float32)
    assert np.square(edge_rows(found) - wanted).sum() < 0.5 * np.square(edge_rows(cut) - wanted).sum()
    assert np.square(found - images).sum() < np.square(cut - images).sum()


def test_gaussians_are_those_of_the_rows_where_there_is_no_noise() -> None:
    rows, labels = classes(30_000)
    found = noisy_gaussians(rows, labels, 1000.0, 1e-5, np.random.default_rng(2))
    whole = [float(np.linalg.norm(rows[labels == number].mean(axis=0) - found.means[number])) for number in range(3)]
    assert max(whole) < 1.0
    assert np.trace(found.covariances, axis1=1, axis2=2).argsort().tolist() == [0, 1, 2]
    drawn, drawn_labels = found.draw(500, np.random.default_rng(3))
    assert (found.judge(drawn) == drawn_labels).mean() > 0.7
    assert found.part(slice(0, 2)).means.shape == (3, 2)


@pytest.mark.parametrize(("epsilon", "least", "most"), [(1.0, 0.0, 1.0), (0.01, 1.0, 1000.0)])
def test_noise_goes_with_epsilon(epsilon: float, least: float, most: float) -> None:
    rows, labels = classes(3000)
    noisy, exact = (noisy_gaussians(rows, labels, given, 1e-5, np.random.default_rng(4)) for given in (epsilon, 1000.0))
    assert least < np.abs(noisy.means - exact.means).max() < most


def test_every_route_is_explained() -> None:
    from image_routes import ROUTES

    assert set(ROUTES) == set(MEANINGS)
