"""Counts under noise: averaged where it hides them, left alone where it does not."""

from __future__ import annotations

import numpy as np
import pytest

from microtome.schema.smoothing import _averaged, smoothed

NOISE = 10.0
PLACES = np.arange(130)
SMOOTH = np.exp(-0.5 * ((PLACES - 60.0) / 20.0) ** 2)


def errors(exact: np.ndarray, seed: int = 0) -> tuple[float, float]:
    """Squared error of the averages and of the counts as they are, mean of some draws."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(30):
        counts = exact + rng.normal(0.0, NOISE, len(exact))
        found.append([((smoothed(counts, NOISE) - exact) ** 2).sum(), ((counts - exact) ** 2).sum()])
    return tuple(np.mean(found, axis=0))  # type: ignore[return-value]


def test_what_the_noise_hides_is_averaged() -> None:
    averaged, plain = errors(13.0 * SMOOTH)
    assert averaged < 0.2 * plain


def test_common_values_that_stand_out_are_left_alone() -> None:
    averaged, plain = errors(np.where(PLACES % 10 == 0, 300.0, 0.0))
    assert averaged == plain


def test_counts_without_noise_are_left_alone() -> None:
    exact = 1_000.0 * SMOOTH
    assert (smoothed(exact, 1e-6) == exact).all()


def test_averages_are_those_of_a_matrix() -> None:
    counts = np.random.default_rng(1).normal(20.0, 5.0, 40)
    weights = np.exp(-0.5 * ((np.arange(40)[:, None] - np.arange(40)) / 3.0) ** 2)
    weights /= weights.sum(axis=1, keepdims=True)
    averages, trace = _averaged(counts, 3.0)
    assert np.allclose(averages, weights @ counts, atol=0.05)
    assert trace == pytest.approx(float(np.trace(weights)), rel=1e-3)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_few_cells_are_no_trouble(size: int) -> None:
    assert len(smoothed(np.full(size, 3.0), NOISE)) == size
