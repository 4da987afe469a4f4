"""The tools by which ways to better images are tried."""

import numpy as np
import pytest

from image_routes_page import GONE, MEANINGS
from noisy_gaussians import noisy_gaussians


def classes(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of three classes that differ in mean and spread."""
    rng, labels = np.random.default_rng(1), np.arange(number) % 3
    return rng.standard_normal((number, 6)) * (1.0 + labels[:, None]) + 4.0 * np.eye(3, 6)[labels], labels


def test_gaussians_are_those_of_the_rows_where_there_is_no_noise() -> None:
    rows, labels = classes(30_000)
    found = noisy_gaussians(rows, labels, 1000.0, 1e-5, np.random.default_rng(2))
    whole = [float(np.linalg.norm(rows[labels == number].mean(axis=0) - found.means[number])) for number in range(3)]
    assert max(whole) < 1.0
    assert np.trace(found.covariances, axis1=1, axis2=2).argsort().tolist() == [0, 1, 2]
    drawn, drawn_labels = found.draw(500, np.random.default_rng(3))
    assert (found.judge(drawn) == drawn_labels).mean() > 0.7


@pytest.mark.parametrize(("epsilon", "least", "most"), [(1.0, 0.0, 1.0), (0.01, 1.0, 1000.0)])
def test_noise_goes_with_epsilon(epsilon: float, least: float, most: float) -> None:
    rows, labels = classes(3000)
    noisy, exact = (noisy_gaussians(rows, labels, given, 1e-5, np.random.default_rng(4)) for given in (epsilon, 1000.0))
    assert least < np.abs(noisy.means - exact.means).max() < most


def test_every_route_is_explained() -> None:
    from image_routes import ROUTES

    assert set(ROUTES) == set(MEANINGS)
    assert not set(ROUTES) & set(GONE)
