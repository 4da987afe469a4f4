"""Counts under noise: averaged where it hides them, left alone where it does not."""

from __future__ import annotations

import numpy as np
import pytest

from microtome.schema.smoothing import smoothed

NOISE = 10.0
PLACES = np.arange(130)
EDGES = np.arange(131.0)
SMOOTH = np.exp(-0.5 * ((PLACES - 60.0) / 20.0) ** 2)


def errors(exact: np.ndarray, seed: int = 0) -> tuple[float, float]:
    """Squared error of the averages and of the counts as they are, mean of some draws."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(30):
        counts = exact + rng.normal(0.0, NOISE, len(exact))
        found.append([((smoothed(counts, EDGES, NOISE)[0] - exact) ** 2).sum(), ((counts - exact) ** 2).sum()])
    return tuple(np.mean(found, axis=0))  # type: ignore[return-value]


def test_what_the_noise_hides_is_averaged() -> None:
    averaged, plain = errors(13.0 * SMOOTH)
    assert averaged < 0.2 * plain


def test_common_values_that_stand_out_are_left_alone() -> None:
    averaged, plain = errors(np.where(PLACES % 10 == 0, 300.0, 0.0))
    assert averaged == plain


def test_counts_without_noise_are_left_alone() -> None:
    exact = 1_000.0 * SMOOTH
    assert (smoothed(exact, EDGES, 1e-6)[0] == exact).all()


def test_one_common_value_stays_among_averages() -> None:
    rng = np.random.default_rng(2)
    exact = 5.0 * SMOOTH + np.where(PLACES == 40, 70.0, 0.0)
    found = smoothed(exact + rng.normal(0.0, NOISE, len(exact)), EDGES, NOISE)[0]
    assert found[40] > 40.0
    assert np.abs(np.delete(found - exact, 40)).max() < NOISE


def test_narrow_cells_have_their_part_of_the_density() -> None:
    edges = np.concatenate([np.arange(0.0, 10.0, 0.5), np.arange(10.0, 101.0)])
    exact = 10.0 * np.diff(edges)
    found = smoothed(exact + np.random.default_rng(5).normal(0.0, NOISE, len(exact)), edges, NOISE)[0]
    assert np.abs(found - exact).max() < 0.5 * NOISE
    assert found[19] / found[20] == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_few_cells_are_no_trouble(size: int) -> None:
    assert len(smoothed(np.full(size, 3.0), np.arange(size + 1.0), NOISE)[0]) == size
