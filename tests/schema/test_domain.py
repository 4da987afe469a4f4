"""Where undeclared numbers lie: evidence that noise does not make, and cells that follow the records."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import norm

from microtome.schema import Column, Kind, NumberCells
from microtome.schema.domain import (
    MOST_CELLS,
    MOST_VALUES,
    are_few,
    covering_range,
    evidence,
    is_crowded,
    narrowed,
    nothing_learnt,
    on_step,
    scale_cells,
    sound_evidence,
)

INTEGER_DTYPES = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
Floats = NDArray[np.float64]


def counts_of(cells: NumberCells, values: Floats) -> Floats:
    return np.bincount(cells.locate(values), minlength=len(cells)).astype(float)


@pytest.mark.parametrize("dtype", INTEGER_DTYPES)
def test_no_cell_of_the_search_reaches_beyond_the_storage_type(dtype: str) -> None:
    limits = np.iinfo(dtype)
    cells = scale_cells(Column(name="x", kind=Kind.INTEGER, dtype=dtype))
    assert cells.edges[0] >= limits.min
    assert cells.edges[-1] - 1 <= limits.max
    if np.dtype(dtype).itemsize <= 4:
        assert (cells.edges[0], cells.edges[-1]) == (limits.min, float(limits.max) + 1)


@pytest.mark.parametrize("kind", [Kind.FLOAT, Kind.INTEGER, Kind.DATE, Kind.DATETIME])
def test_first_cells_cover_everything_and_are_few(kind: Kind) -> None:
    cells = scale_cells(Column(name="x", kind=kind))
    assert (np.diff(cells.edges) > 0).all()
    assert len(cells) < 150
    if kind in (Kind.FLOAT, Kind.INTEGER):
        assert cells.singletons()[int(cells.locate(np.zeros(1))[0])]
        assert cells.edges[-1] >= 1e15
        assert cells.edges[0] <= -1e15 + 1


def slow_evidence(counts: Floats, wanted: float) -> tuple[int, int] | None:
    """All runs, one after the other; those that contain a shorter one left out, the others cut to their clearest."""
    runs: list[tuple[int, int]] = []
    length = 1
    while length <= len(counts):
        new = [
            (start, start + length)
            for start in range(len(counts) - length + 1)
            if counts[start : start + length].sum() > wanted * math.sqrt(length)
        ]
        runs += [run for run in new if not any(run[0] <= a and b <= run[1] for a, b in runs)]
        length *= 2

    def clearest(run: tuple[int, int]) -> tuple[int, int]:
        parts = [(a, b) for a in range(*run) for b in range(a + 1, run[1] + 1)]
        return max(
            parts, key=lambda part: (round(counts[slice(*part)].sum() / math.sqrt(part[1] - part[0]), 9), -part[0])
        )

    cut = [clearest(run) for run in runs]
    return (min(a for a, _ in cut), max(b for _, b in cut)) if cut else None


@given(st.lists(st.floats(-5, 30), min_size=1, max_size=40))
def test_evidence_agrees_with_brute_force(numbers: list[float]) -> None:
    counts = np.array(numbers, dtype=float)
    lengths = [length for length in (1, 2, 4, 8, 16, 32) if length <= len(counts)]
    runs = sum(len(counts) - length + 1 for length in lengths)
    assert evidence(counts, 2.0, 1e-3) == slow_evidence(counts, 2.0 * norm.isf(1e-3 / runs))


@pytest.mark.parametrize(("scale", "expected"), [(1.0, True), (1.5, False)])
def test_noise_alone_makes_no_evidence(scale: float, expected: bool) -> None:
    """Three in a hundred are allowed; noise of one and a half times the stated size makes many more."""
    rng = np.random.default_rng(0)
    found = sum(evidence(rng.normal(0.0, scale, 140), 1.0, 0.03) is not None for _ in range(1000))
    assert (found <= 50) == expected


def test_cells_of_which_none_stands_out_stand_out_together() -> None:
    rng = np.random.default_rng(1)
    counts = rng.normal(0.0, 10.0, 128)
    counts[40:72] += 20.0
    found = evidence(counts, 10.0)
    assert found is not None
    assert 32 <= found[0] <= 48
    assert 64 <= found[1] <= 80
    assert (counts[40:72] < 10.0 * 3.5).sum() >= 25


def test_bounds_go_on_where_records_miss_and_end_where_none_does() -> None:
    counts = np.concatenate([np.zeros(10), np.full(5, 100.0), np.full(10, 12.0), np.zeros(10)])
    first, last = covering_range(np.arange(36.0), counts, 10.0, total=620.0, likely=(8, 28))
    assert first == 10
    assert 20 <= last <= 25
    assert covering_range(np.arange(7.0), np.zeros(6), 10.0, total=50.0, likely=(2, 4)) == (2, 4)


def test_wide_cells_at_the_ends_are_no_evidence_unless_records_are_surely_there() -> None:
    """Ages in a profile as one was drawn: the cells beyond 64 are as wide as all others together."""
    edges = np.array([17.0, *range(20, 65, 4), 128.0, 192.0, 256.0])
    counts = np.array([60.0] * 12 + [60.0, 45.0, 19.0])
    assert evidence(counts, 20.0) == (0, 13)
    assert sound_evidence(edges, counts, 20.0, 720.0) == (0, 12)
    assert sound_evidence(edges, counts, 20.0, None) == (0, 13)
    counts[-1] = 150.0
    assert sound_evidence(edges, counts, 20.0, 870.0) == (0, 15)


def test_an_octave_far_away_that_noise_has_filled_is_left_out() -> None:
    column = Column(name="x", kind=Kind.INTEGER, missing=False)
    cells = scale_cells(column)
    counts = np.zeros(len(cells))
    held = np.searchsorted(cells.edges, [1.0, 2.0, 4.0])
    counts[held], counts[4] = [500.0, 200.0, 100.0], 80.0
    found = narrowed(cells, counts, 16.0, step=1.0, total=800.0)
    assert found is not None
    assert -8.0 <= found[1][0] < found[1][1] <= 8.0
    assert found[0].edges[0] >= -64.0


@pytest.mark.parametrize("scale", [1.0, 20.0])
def test_bounds_are_not_stretched_over_empty_cells(scale: float) -> None:
    """Degrees of latitude: an octave of which the lower third holds all records, under new noise a thousand times."""
    rng, edges = np.random.default_rng(2), np.arange(32.0, 66.0, 2.0)
    records = np.array([250.0, 330.0, 40.0, 150.0, 30.0] + [0.0] * 11)
    ranges = [
        covering_range(edges, records + rng.normal(0.0, scale, 16), scale, records.sum(), (0, 16)) for _ in range(1000)
    ]
    assert sum(edges[last] - edges[first] > 20.0 for first, last in ranges) <= 3


def test_a_tail_that_thins_out_belongs_to_the_range() -> None:
    """Sums of money: every octave has fewer records than the last, and the bounds once ended in the middle of them."""
    rng, noise = np.random.default_rng(3), 20.0
    edges = np.concatenate([np.linspace(0.0, 384.0, 101), [448.0, 512.0, 1024.0, 2048.0, 4096.0]])
    records = np.concatenate([np.full(100, 150.0), [70.0, 60.0, 90.0, 0.0, 0.0]])
    ends = [
        covering_range(edges, records + rng.normal(0.0, noise, 105), noise, records.sum(), (0, 100)) for _ in range(200)
    ]
    assert np.mean([last >= 102 for _, last in ends]) > 0.85
    assert np.mean([last > 103 for _, last in ends]) < 0.06


def test_few_numbers_of_all_sizes_beside_many_zeros_are_looked_for_where_they_are() -> None:
    """Costs of a treatment that few people had: all of them once came out as a few millionths."""
    rng, noise = np.random.default_rng(5), 45.0
    column = Column(name="cost", kind=Kind.FLOAT, missing=False)
    costs = np.concatenate([np.zeros(15_600), np.exp2(rng.uniform(2.0, 10.0, 545))])
    cells, reached = scale_cells(column), []
    for _ in range(50):
        counts = counts_of(cells, costs) + rng.normal(0.0, noise, len(cells))
        found = narrowed(cells, counts, noise, total=float(len(costs)))
        assert found is not None
        finer = found[0]
        again = counts_of(finer, costs) + rng.normal(0.0, noise / 2.0, len(finer))
        likely = tuple(int(place) for place in np.searchsorted(finer.edges, found[1]))
        _, last = covering_range(finer.edges, again, noise / 2.0, float(len(costs)), (likely[0], likely[1]))
        reached.append(finer.edges[last])
    assert np.mean(np.array(reached) >= 128.0) > 0.7
    assert np.mean(np.array(reached) > 4096.0) < 0.1


@given(
    centre=st.floats(-1e6, 1e6),
    spread=st.floats(1e-2, 1e4),
    whole=st.booleans(),
    step=st.sampled_from([0.0, 0.01, 1.0]),
)
def test_every_step_narrows_to_where_the_records_are(centre: float, spread: float, whole: bool, step: float) -> None:
    """Of any origin and scale: after some steps without noise the cells are as fine as the records ask for."""
    column = Column(name="x", kind=Kind.INTEGER if whole else Kind.FLOAT, missing=False)
    values = np.random.default_rng(0).normal(centre, spread, 4000)
    values = np.rint(values) if whole else on_step(values, step)
    cells = scale_cells(column)
    for _ in range(4):
        found = narrowed(cells, counts_of(cells, values), 5.0, step=step)
        assert found is not None
        cells, (low, high) = found
        assert len(cells) <= MOST_CELLS - 3 * MOST_VALUES
        assert (np.diff(cells.edges) > 0).all()
        assert ((values >= low) & (values <= high)).mean() > 0.9
    width = values.max() - values.min()
    assert high - low <= 2.0 * width + 2.0 * max(step, float(whole), 1e-6 * abs(centre))
    if whole:
        assert (cells.edges == np.rint(cells.edges)).all()


def test_common_values_have_cells_of_their_own_and_zero_too() -> None:
    column = Column(name="x", kind=Kind.FLOAT, missing=False)
    cells, values = scale_cells(column), np.random.default_rng(0).uniform(-1, 7, 5000)
    found = narrowed(cells, counts_of(cells, values), 5.0, values=(3.14159, 99.5))
    assert found is not None
    single = found[0].edges[:-1][found[0].singletons()]
    assert set(single) == {0.0, 3.14159, 99.5}
    drawn = found[0].draw(np.flatnonzero(found[0].singletons()), np.random.default_rng(1))
    assert set(drawn) == {0.0, 3.14159, 99.5}


def test_few_numbers_of_a_step_have_a_cell_each() -> None:
    column = Column(name="x", kind=Kind.FLOAT, missing=False)
    cells, values = scale_cells(column), np.random.default_rng(0).choice([1.0, 2.0, 3.0, 9.0], 5000)
    counts = counts_of(cells, values)
    assert are_few(cells, counts, 5.0, step=1.0)
    assert not are_few(cells, counts, 5.0, step=0.0)
    found = narrowed(cells, counts, 5.0, step=1.0)
    assert found is not None
    assert set(range(1, 10)) <= set(found[0].edges.tolist())


def test_a_crowded_cell_is_looked_into() -> None:
    cells = NumberCells(edges=np.array([0.0, 64.0, 128.0, 256.0]), integral=True, missing=False)
    assert is_crowded(cells, np.array([0.0, 900.0, 50.0]), 5.0)
    assert not is_crowded(cells, np.array([500.0, 500.0, 0.0]), 5.0)
    assert not is_crowded(cells, np.array([0.0, 900.0, 50.0]), 5.0, step=16.0)


@pytest.mark.parametrize("kind", [Kind.FLOAT, Kind.INTEGER, Kind.DATE, Kind.DATETIME])
def test_where_nothing_stands_out_there_is_one_cell_of_one_value(kind: Kind) -> None:
    column = Column(name="x", kind=kind, missing=False)
    cells = scale_cells(column)
    assert narrowed(cells, np.zeros(len(cells)), 5.0) is None
    left = nothing_learnt(column)
    assert len(left) == 1
    assert left.singletons().all()
    assert left.draw(np.zeros(5, np.int64), np.random.default_rng(0)).tolist() == [0.0] * 5


@pytest.mark.parametrize("step", [1e9, 5e11])
@pytest.mark.parametrize("kind", [Kind.INTEGER, Kind.FLOAT])
def test_a_step_that_noise_has_made_does_not_stretch_the_bounds(kind: Kind, step: float) -> None:
    """Small codes, most of them 0 and 1: their step was once learnt as 10⁹, and so were their bounds."""
    cells = scale_cells(Column(name="x", kind=kind))
    counts = np.zeros(len(cells))
    counts[cells.locate(np.array([0.0, 1.0, 4.0]))] = [350.0, 250.0, 200.0]
    for number in (step, 0.0):
        found = narrowed(cells, counts, 40.0, step=number, total=800.0)
        assert found is not None
        assert np.abs(found[0].edges).max() <= 64
        assert not is_crowded(cells, counts, 40.0, step=number)
    assert are_few(cells, counts, 40.0, step=step) == are_few(cells, counts, 40.0, step=0.0)
