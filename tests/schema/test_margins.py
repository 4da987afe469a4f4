"""What the profile is worth after the noise: projection, tails, quantile bins, pools."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize

from microtome.schema import COARSE, FINE, WIDE, Fineness, NumberCells, for_width
from microtome.schema.margins import (
    _bins,
    category_levels,
    falling_tails,
    filled_up,
    most_number_levels,
    number_levels,
    project_to_simplex,
    rare_share,
)

counts = st.lists(st.floats(-100.0, 1000.0), min_size=1, max_size=20).map(np.array)
shares = st.lists(st.integers(0, 50), min_size=1, max_size=60).filter(any).map(lambda w: np.array(w) / sum(w))


@given(counts=counts, total=st.floats(1.0, 500.0))
def test_projection_is_the_nearest_point_of_the_simplex(counts: NDArray[np.float64], total: float) -> None:
    shares = counts / total
    found = project_to_simplex(counts, total)
    assert (found >= 0.0).all()
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    # First-order conditions: the residual is the same multiplier wherever a share is positive, and no smaller
    # where it is cut at zero. They are sufficient, the problem being convex.
    residual = found - shares
    multiplier = residual[found > 0].mean()
    scale = 1.0 + np.abs(shares).max()
    assert np.allclose(residual[found > 0], multiplier, atol=1e-9 * scale)
    assert (residual[found == 0] >= multiplier - 1e-9 * scale).all()


def test_projection_agrees_with_a_numerical_optimiser() -> None:
    rng = np.random.default_rng(3)
    for _ in range(5):
        counts = rng.normal(20, 40, 6)
        shares = counts / 100.0
        best = minimize(
            lambda p, shares=shares: ((p - shares) ** 2).sum(),
            np.full(6, 1 / 6),
            bounds=[(0, None)] * 6,
            constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
            tol=1e-12,
        )
        assert np.allclose(project_to_simplex(counts, 100.0), best.x, atol=1e-4)


def test_shares_that_are_right_are_left_alone() -> None:
    assert np.allclose(project_to_simplex(np.array([10.0, 30.0, 60.0]), 100.0), [0.1, 0.3, 0.6])


def test_tails_fall_and_hold_hardly_any_noise() -> None:
    rng = np.random.default_rng(0)
    counts = rng.normal(0.0, 1.0, 300)
    counts[100:200] += 50.0
    smooth = falling_tails(counts, 1.0, np.arange(301.0))
    assert (smooth[100:200] == counts[100:200]).all()
    assert (np.diff(smooth[:100]) >= 0).all()
    assert (np.diff(smooth[200:]) <= 0).all()
    noisy = [rng.normal(0.0, 1.0, 100) for _ in range(50)]
    kept = [falling_tails(np.append(tail, 50.0), 1.0, np.arange(102.0))[:100].sum() for tail in noisy]
    assert np.mean(kept) < 0.25 * np.mean([np.maximum(tail, 0.0).sum() for tail in noisy])
    assert smooth.min() >= 0.0
    loud = np.full(10, 50.0)
    assert (falling_tails(loud, 1.0, np.arange(11.0)) == loud).all()


def test_a_tail_ends_where_less_than_its_noise_is_left() -> None:
    rng = np.random.default_rng(2)
    tails = [np.append(50.0, rng.normal(0.0, 1.0, 200)) for _ in range(200)]
    ends = [np.flatnonzero(falling_tails(tail, 1.0, np.arange(202.0)))[-1] for tail in tails]
    assert np.mean(np.array(ends) == 200) < 0.25, "two in three would reach the end if any positive sum did"


def test_missing_mass_goes_where_records_are() -> None:
    """Cells where nobody is would each get as much of it as full ones, if the nearest shares were taken."""
    counts = np.concatenate([np.full(10, 90.0), np.zeros(90)])
    assert filled_up(counts, 1000.0)[10:].sum() == 0.0
    assert project_to_simplex(counts, 1000.0)[10:].sum() == pytest.approx(0.09)


@given(counts=counts, total=st.floats(1.0, 500.0))
def test_shares_that_are_filled_up_are_the_nearest_where_nothing_is_missing(
    counts: NDArray[np.float64], total: float
) -> None:
    found = filled_up(counts, total)
    assert (found >= 0.0).all()
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    if np.maximum(counts, 0.0).sum() > total:
        assert np.allclose(found, project_to_simplex(counts, total))


def test_a_thin_tail_keeps_its_mass() -> None:
    """Two records a cell under noise of three: no cell stands out, together they do."""
    rng = np.random.default_rng(1)
    kept = []
    for _ in range(50):
        counts = np.concatenate([np.full(20, 100.0), np.full(200, 2.0)]) + rng.normal(0.0, 3.0, 220)
        kept.append(falling_tails(counts, 3.0, np.arange(221.0))[20:].sum())
    assert np.mean(kept) == pytest.approx(400.0, rel=0.1)


def test_false_records_of_a_tail_are_near_and_do_not_stretch_a_column() -> None:
    """Of the thousands that an even tail may be wide noise makes a standard deviation of its own."""
    rng, edges = np.random.default_rng(4), np.concatenate([np.arange(0.0, 20.0), np.linspace(20.0, 400.0, 100)])
    middles, records = (edges[:-1] + edges[1:]) / 2.0, 2000.0 * np.exp(-edges[:-1] / 4.0)
    wide = []
    for _ in range(200):
        found = falling_tails(records + rng.normal(0.0, 12.0, len(records)), 12.0, edges)
        found = np.maximum(found, 0.0) / np.maximum(found, 0.0).sum()
        wide.append(np.sqrt(found @ middles**2 - (found @ middles) ** 2))
    shares = records / records.sum()
    real = np.sqrt(shares @ middles**2 - (shares @ middles) ** 2)
    assert np.mean(wide) < 2.0 * real
    assert np.median(wide) == pytest.approx(real, rel=0.15)


@given(margins=shares, pool=st.sampled_from([0.0, 0.01, 0.1]), rare=st.floats(0.0, 0.3), missing=st.booleans())
def test_category_levels_pool_the_rare(margins: NDArray[np.float64], pool: float, rare: float, missing: bool) -> None:
    num_categories = len(margins) - missing
    if num_categories < 1:
        return
    levels = category_levels(margins, pool, rare, missing=missing)
    mass, least = np.bincount(levels, weights=margins), max(pool, rare)
    assert sorted(set(levels.tolist())) == list(range(len(mass)))
    assert (mass > 0).all()
    common = np.flatnonzero((margins[:num_categories] >= least) & (margins[:num_categories] > 0))
    for cell in common:
        others = np.setdiff1d(np.flatnonzero(levels[:num_categories] == levels[cell]), [cell])
        assert (margins[others] == 0.0).all()
    shared = set(levels[:num_categories].tolist()) - set(levels[common].tolist())
    assert sum(margins[:num_categories][levels[:num_categories] == level].sum() < least for level in shared) <= 1
    if missing and margins[-1] >= max(rare, 1e-300):
        assert (levels == levels[-1]).sum() == 1 or (margins[:-1][levels[:-1] == levels[-1]] == 0.0).all()


def test_pooled_categories_share_one_level() -> None:
    margins = np.array([0.5, 0.01, 0.44, 0.02, 0.03])
    assert category_levels(margins, 0.0, rare_share(2.5, 100.0), missing=False).tolist() == [0, 1, 2, 1, 1]
    assert category_levels(margins, 0.02, 0.0, missing=False).tolist() == [0, 1, 2, 3, 4]
    assert category_levels(margins, 0.025, 0.0, missing=False).tolist() == [0, 1, 2, 1, 3]
    assert category_levels(margins, 0.0, 0.0, missing=False).tolist() == [0, 1, 2, 3, 4]


def test_a_rare_category_is_not_pooled_with_a_common_one_because_missing_values_are_rare() -> None:
    levels = category_levels(np.array([0.9, 0.006, 0.09, 0.004]), 0.01, 0.0, missing=True)
    assert len(set(levels[:3].tolist())) == 3


@given(
    margins=shares,
    bins=st.integers(2, 12),
    rare=st.floats(0.0, 0.1),
    missing=st.booleans(),
    integral=st.booleans(),
    fineness=st.sampled_from([COARSE, FINE]),
)
def test_number_levels_are_bins_of_neighbours(
    margins: NDArray[np.float64], bins: int, rare: float, missing: bool, integral: bool, fineness: Fineness
) -> None:
    num_values = len(margins) - missing
    if num_values < 1:
        return
    cells = NumberCells(edges=np.arange(num_values + 1.0), integral=integral, missing=missing)
    levels = number_levels(cells, margins, bins, rare, fineness)
    values, masses = margins[:num_values], np.bincount(levels, weights=margins)
    assert sorted(set(levels.tolist())) == list(range(len(masses)))
    assert (masses > 0).all()
    points = np.flatnonzero(cells.singletons() & (values >= max(1.0 / bins, rare)))
    assert len(masses) <= bins + len(points) + missing
    for point in points:
        inside = np.flatnonzero(levels[:num_values] == levels[point])
        assert values[np.setdiff1d(inside, [point])].sum() < 2.0 * max(0.25 / bins, rare)
    occupied = levels[:num_values][values > 0]
    assert (np.diff(occupied) >= 0).all()


def test_point_mass_keeps_its_own_level_and_its_neighbours_theirs() -> None:
    tiny = np.nextafter(0.0, 1.0)
    cells = NumberCells(edges=np.array([-10.0, -1.0, 0.0, tiny, 1.0, 10.0, 100.0]), integral=False, missing=True)
    margins = np.array([0.1, 0.1, 0.4, 0.0, 0.1, 0.2, 0.1])
    levels = number_levels(cells, margins, 4, 0.01)
    assert levels[2] not in (levels[1], levels[4])
    assert levels[1] < levels[2] < levels[4]
    assert levels[-1] == levels.max()
    assert (levels == levels[-1]).sum() == 1


def test_bins_share_what_common_values_leave() -> None:
    """Nine of ten records are zero; the others are bins of their own, as many as stand out from the noise."""
    cells = NumberCells(edges=np.arange(102.0), integral=True, missing=False)
    margins = np.concatenate([[0.9], np.full(100, 0.001)])
    assert len(set(number_levels(cells, margins, 16, 0.0, FINE).tolist())) == 16
    levels = number_levels(cells, margins, 16, 0.002, FINE)
    masses = np.bincount(levels, weights=margins)
    assert masses[0] == pytest.approx(0.9)
    assert masses[1:] == pytest.approx([0.02] * 5)
    assert len(set(number_levels(cells, margins, 16, 0.04, FINE).tolist())) == 2
    assert len(set(number_levels(cells, margins, 16, 0.0, COARSE).tolist())) == 3


def test_a_column_of_few_values_has_each_by_itself() -> None:
    cells = NumberCells(edges=np.arange(17.0), integral=True, missing=False)
    margins = 0.7 ** np.arange(1.0, 17.0)
    margins /= margins.sum()
    assert margins.min() < FINE.pool
    assert number_levels(cells, margins, 16, 0.0, FINE).tolist() == [*range(15), 14]
    assert number_levels(cells, margins, 16, 0.03, FINE).max() < 12


def test_a_rare_one_is_told_from_a_common_zero_as_a_rare_category_is() -> None:
    cells = NumberCells(edges=np.arange(3.0), integral=True, missing=False)
    margins = np.array([0.985, 0.015])
    assert number_levels(cells, margins, None, 0.0067, FINE).tolist() == [0, 1]
    assert number_levels(cells, margins, None, 0.02, FINE).tolist() == [0, 0]


@given(
    small=st.floats(0.05, 1.2),
    runs=st.lists(st.integers(0, 4), min_size=1, max_size=60),
    bins=st.integers(2, 30) | st.none(),
    rare=st.floats(0.0, 0.02),
    missing=st.booleans(),
    fineness=st.sampled_from([COARSE, FINE]),
)
@example(small=0.26, runs=[1] * 26, bins=30, rare=0.0, missing=True, fineness=COARSE)
@example(small=0.26, runs=[1] * 60, bins=None, rare=0.001, missing=True, fineness=FINE)
def test_there_are_no_more_levels_than_are_allowed_for(
    small: float, runs: list[int], bins: int | None, rare: float, missing: bool, fineness: Fineness
) -> None:
    """The worst are common values with slivers between them that are just too large to be joined."""
    least = _bins(bins, rare, fineness)[1]
    shares = [share for run in runs for share in ([small * least] * run + [1.001 * least])] + [small * least]
    shares += [max(rare, 1e-9)] * missing
    margins = np.array(shares) / max(sum(shares), 1.0)
    margins[0] += 1.0 - margins.sum()
    cells = NumberCells(edges=np.arange(len(margins) - missing + 1.0), integral=True, missing=missing)
    single = margins[: cells.num_values] > small * least * 1.0005
    most = most_number_levels(len(cells), bins, rare, fineness)
    assert number_levels(cells, margins, bins, rare, fineness, single=single).max() < most


def test_weaker_noise_makes_more_bins() -> None:
    cells = NumberCells(edges=np.linspace(0.0, 1.0, 321), integral=False, missing=False)
    margins = np.full(320, 1 / 320)
    counts = [len(set(number_levels(cells, margins, None, rare, FINE).tolist())) for rare in (0.0, 0.001, 0.01)]
    assert counts == [32, 20, 16]
    assert len(set(number_levels(cells, margins, None, 0.0, COARSE).tolist())) == 16
    assert len(set(number_levels(cells, margins, 8, 0.0, FINE).tolist())) == 8


def test_wide_tables_have_fewer_levels_and_narrow_ones_all_of_theirs() -> None:
    cells = NumberCells(edges=np.arange(101.0), integral=False, missing=False)
    margins = np.full(100, 0.01)
    assert all(for_width(FINE, columns) is FINE for columns in (1, WIDE))
    for columns, most in ((WIDE + 1, 32), (100, 16), (400, 4), (5000, 2)):
        fineness = for_width(FINE, columns)
        assert len(set(number_levels(cells, margins, None, 0.0, fineness).tolist())) <= most
        assert len(set(category_levels(margins, fineness.pool, 0.0, missing=False).tolist())) <= 2 * most
    assert len(set(number_levels(cells, margins, 9, 0.0, for_width(FINE, 400)).tolist())) >= 9
