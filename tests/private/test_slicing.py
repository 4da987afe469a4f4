"""The mechanism: clipping, directions, noise, and the privacy loss that comes of them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from scipy import stats

from microtome.accounting import DirectionKind, Directions, SliceEvent, calibrate_noise, delta
from microtome.errors import MicrotomeError
from microtome.private.randomness import GRID
from microtome.private.slicing import SlicingMechanism, clip_rows, draw_directions
from support import FixedRandomness

LEVEL = 1e-6
matrices = arrays.arrays(
    np.float64,
    st.tuples(st.integers(0, 6), st.integers(1, 8)),
    elements=st.floats(-1e150, 1e150) | st.floats(-1.0, 1.0) | st.sampled_from([0.0, 1e-320, 1.0, -1.0]),
)


def law(kind: str, dim: int, count: int) -> Directions:
    return Directions(kind=DirectionKind(kind), dim=dim, num_slices=count, slice_dim=1)


@given(rows=matrices, nonnegative=st.booleans())
def test_clipped_rows_have_norm_at_most_one(rows: NDArray[np.float64], nonnegative: bool) -> None:
    clipped = clip_rows(rows, nonnegative=nonnegative)
    assert clipped.shape == rows.shape
    assert all(math.hypot(*row) <= 1.0 for row in clipped)
    if nonnegative:
        assert (clipped >= 0).all()
    else:
        norms = np.linalg.norm(rows, axis=1)
        short = norms < 0.999
        assert (clipped[short] == rows[short]).all()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e200])
@pytest.mark.parametrize("nonnegative", [False, True])
def test_rows_without_a_norm_are_refused(bad: float, nonnegative: bool) -> None:
    if bad == -math.inf and nonnegative:
        return  # cut to zero, which is a row like any other
    with np.errstate(over="ignore"), pytest.raises(MicrotomeError, match="not finite"):
        clip_rows(np.array([[0.0, 0.0], [0.1, bad]]), nonnegative=nonnegative)


def test_clipping_leaves_the_caller_s_rows_alone() -> None:
    rows = np.array([[3.0, 4.0]])
    assert np.allclose(clip_rows(rows, nonnegative=False), [[0.6, 0.8]])
    assert rows.tolist() == [[3.0, 4.0]]


@given(first=matrices, seed=st.integers(0, 99))
def test_two_nonnegative_rows_are_at_most_root_two_apart(first: NDArray[np.float64], seed: int) -> None:
    second = np.random.default_rng(seed).normal(0, 2, first.shape)
    apart = clip_rows(first, nonnegative=True) - clip_rows(second, nonnegative=True)
    assert (np.linalg.norm(apart, axis=1) <= math.sqrt(2)).all()


def test_orthogonal_directions_are_blocks_of_which_the_last_is_cut() -> None:
    drawn = draw_directions(law("orthogonal", 4, 10), FixedRandomness())
    assert drawn.shape == (4, 10)
    assert drawn.flags.c_contiguous
    for start in (0, 4):
        block = drawn[:, start : start + 4]
        assert np.abs(block.T @ block - np.eye(4)).max() < 1e-12
    cut = drawn[:, 8:]
    assert np.abs(cut.T @ cut - np.eye(2)).max() < 1e-12
    assert np.abs(drawn[:, :4] - drawn[:, 4:8]).max() > 0.1


@pytest.mark.parametrize("count", [3, 8, 11])
def test_energy_of_orthogonal_directions_is_what_the_accountant_says(count: int) -> None:
    directions = law("orthogonal", 4, count)
    point = np.array([1.0, 0.0, 0.0, 0.0])
    energies = [float(((point @ draw_directions(directions, FixedRandomness(seed))) ** 2).sum()) for seed in range(400)]
    if directions.constant_energy is not None:
        assert np.allclose(energies, directions.constant_energy)
        return
    cut = directions.cut_columns
    beta = stats.beta(cut / 2, (4 - cut) / 2, loc=directions.full_blocks)
    assert stats.kstest(energies, beta.cdf).pvalue > LEVEL


def test_gaussian_directions_have_their_scale() -> None:
    drawn = draw_directions(law("gaussian", 50, 400), FixedRandomness()) * math.sqrt(50)
    low, high = stats.chi2.ppf([LEVEL / 2, 1 - LEVEL / 2], drawn.size)
    assert low < (drawn**2).sum() < high
    assert not low < (0.7 * drawn**2).sum() < high
    assert stats.kstest(drawn.ravel(), "norm").pvalue > LEVEL


def test_directions_are_never_taken_from_a_caller() -> None:
    with pytest.raises(MicrotomeError, match="takes none"):
        draw_directions(law("fixed", 4, 4), FixedRandomness())


def mechanism(sigma: float, *, dim: int = 4, kind: str = "orthogonal", count: int | None = None, seed: int = 0):
    randomness = FixedRandomness(seed)
    directions = draw_directions(law(kind, dim, count or dim), randomness)
    return SlicingMechanism(directions=directions, noise_scale=sigma, nonnegative=False, randomness=randomness)


@pytest.mark.parametrize("wrong", [0.7, 1.0, 1.4])
def test_released_noise_has_the_planned_scale(wrong: float) -> None:
    sigma = 0.8
    rows = np.random.default_rng(0).normal(0, 0.2, (5000, 4))
    slicer = mechanism(sigma)
    noise = slicer(rows, 0) * (sigma / GRID) - clip_rows(rows, nonnegative=False) @ slicer.directions
    statistic = float((noise**2).sum()) / (wrong * sigma) ** 2
    low, high = stats.chi2.ppf([LEVEL / 2, 1 - LEVEL / 2], noise.size)
    assert (low < statistic < high) == (wrong == 1.0)


def test_a_block_done_again_has_the_same_noise_and_another_block_another() -> None:
    slicer, rows = mechanism(1.0), np.zeros((10, 4))
    assert (slicer(rows, 3) == slicer(rows, 3)).all()
    assert (slicer(rows, 3) != slicer(rows, 4)).any()


def test_numbers_saturate_instead_of_wrapping_around() -> None:
    slicer = mechanism(1e-4, dim=1)
    found = slicer(np.array([[1.0], [-1.0]]), 0)
    assert found.dtype == np.int16
    assert sorted(found[:, 0].tolist()) == [-32767, 32767]


@pytest.mark.parametrize("neighbour", ["null", "other"])
def test_one_record_changes_one_row_by_at_most_its_distance(neighbour: str) -> None:
    rng = np.random.default_rng(2)
    rows = rng.normal(0, 1, (50, 6))
    other = rows.copy()
    other[17] = 0.0 if neighbour == "null" else -rows[17]
    sigma = 0.5
    slicer = mechanism(sigma, dim=6)
    apart = (slicer(rows, 0).astype(float) - slicer(other, 0)) * (sigma / GRID)
    changed = np.flatnonzero(np.abs(apart).max(axis=1))
    assert changed.tolist() == [17]
    rounding = math.sqrt(6) * sigma / GRID
    assert np.linalg.norm(apart[17]) <= (1.0 if neighbour == "null" else 2.0) + rounding
    assert np.linalg.norm(apart[17]) >= (1.0 if neighbour == "null" else 2.0) - rounding


NUM_ROWS = 200_000
EPSILON, DELTA = 1.0, 0.02


def measured_delta(event: SliceEvent, sigma: float) -> tuple[float, float]:
    """δ at EPSILON of the mechanism run with noise ``sigma``, and its standard error, by Monte Carlo.

    The worst pair is a row of norm 1 and the null row. The output's law given U is Gaussian, so the loss of a
    released row y is ln N(y; xU, σ²)/N(y; 0, σ²), and δ(ε) = E[(1 − e^(ε − loss))₊] over releases of x.
    """
    directions = event.directions
    tables = 1 if directions.constant_energy is not None else 400
    rows = np.zeros((NUM_ROWS // tables, directions.dim))
    rows[:, 0] = 1.0
    terms = []
    for seed in range(tables):
        randomness = FixedRandomness(seed)
        drawn = draw_directions(directions, randomness)
        slicer = SlicingMechanism(directions=drawn, noise_scale=sigma, nonnegative=False, randomness=randomness)
        released = slicer(rows, 0) * (sigma / GRID)
        projected = rows[0] @ drawn
        loss = (released @ projected - 0.5 * projected @ projected) / sigma**2
        terms.append(np.maximum(-np.expm1(EPSILON - loss), 0.0))
    means = np.array([table.mean() for table in terms])
    if tables > 1:
        return float(means.mean()), float(means.std() / math.sqrt(tables))
    return float(means[0]), float(terms[0].std() / math.sqrt(NUM_ROWS))


@pytest.mark.parametrize(("kind", "count"), [("orthogonal", 5), ("orthogonal", 10), ("orthogonal", 7), ("gaussian", 8)])
def test_privacy_loss_of_the_mechanism_is_what_the_accountant_says(kind: str, count: int) -> None:
    directions = law(kind, 5, count)

    def event(sigma: float) -> SliceEvent:
        return SliceEvent(directions=directions, row_distance=1.0, noise_scale=sigma)

    sigma = calibrate_noise(lambda scale: [event(scale)], epsilon=EPSILON, delta=DELTA)
    assert delta([event(sigma)], EPSILON) <= DELTA
    right, error = measured_delta(event(sigma), sigma)
    assert abs(right - DELTA) < 5 * error
    too_little, error = measured_delta(event(sigma), 0.7 * sigma)
    assert too_little > DELTA + 5 * error
    too_much, error = measured_delta(event(sigma), 1.4 * sigma)
    assert too_much < DELTA - 5 * error
