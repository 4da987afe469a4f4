"""The public cells: they cover what is declared, exactly, and every value has one."""

import datetime as dt
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microtome.errors import SchemaError
from microtome.schema import CategoryCells, Column, Kind, NumberCells, Outside, initial_cells
from microtome.schema.grid import CELLS_PER_OCTAVE, WHOLE_NUMBERS
from microtome.schema.grid import number_cells as measured_cells

INTEGER_DTYPES = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]


def number_cells(column: Column) -> NumberCells:
    cells = initial_cells(column)
    assert isinstance(cells, NumberCells)
    return cells


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind.is_categorical])
def test_categories_have_no_grid_of_numbers(kind: Kind) -> None:
    categories = ("a", "b") if kind is Kind.ORDERED else None
    with pytest.raises(SchemaError, match="column has no grid of numbers"):
        measured_cells(Column(name="x", kind=kind, categories=categories))


def brute_force_cell(cells: NumberCells, value: float) -> int:
    for index in range(cells.num_values):
        if cells.edges[index] <= value < cells.edges[index + 1]:
            return index
    return 0 if value < cells.edges[0] else cells.num_values - 1


integers = st.integers(-(2**53) + 1, 2**53 - 1)
finite = st.floats(-1e300, 1e300, allow_nan=False)


@given(ends=st.tuples(integers, integers).filter(lambda ends: ends[0] != ends[1]).map(sorted), data=st.data())
def test_every_declared_integer_lies_in_exactly_one_cell(ends: list[int], data: st.DataObject) -> None:
    low, high = ends
    cells = number_cells(Column(name="x", kind=Kind.INTEGER, bounds=(low, high)))
    assert (cells.edges[0], cells.edges[-1]) == (low, high + 1)
    assert (np.diff(cells.edges) > 0).all()
    assert (cells.edges == np.round(cells.edges)).all()
    value = data.draw(st.integers(low, high))
    assert ((cells.edges[:-1] <= value) & (value < cells.edges[1:])).sum() == 1


@given(low=st.integers(-1000, 1000), width=st.integers(1, WHOLE_NUMBERS - 1))
def test_few_whole_numbers_have_a_cell_each(low: int, width: int) -> None:
    cells = number_cells(Column(name="x", kind=Kind.INTEGER, bounds=(low, low + width)))
    assert cells.num_values == width + 1
    assert cells.singletons().all()
    assert cells.locate(np.arange(low, low + width + 1.0)).tolist() == list(range(width + 1))


@given(ends=st.tuples(finite, finite).filter(lambda ends: ends[0] != ends[1]).map(sorted))
def test_float_cells_cover_the_declared_bounds_exactly(ends: list[float]) -> None:
    cells = number_cells(Column(name="x", kind=Kind.FLOAT, bounds=(ends[0], ends[1])))
    assert [cells.edges[0], cells.edges[-1]] == ends
    assert (np.diff(cells.edges) > 0).all()
    if ends[0] <= 0.0 < ends[1]:
        zero = int(cells.locate(np.array([0.0]))[0])
        assert cells.singletons()[zero]
        assert cells.locate(np.array([math.nextafter(0.0, 1.0)]))[0] != zero or ends[1] == math.nextafter(0.0, 1.0)


@given(
    column=st.sampled_from(
        [
            Column(name="x", kind=Kind.FLOAT),
            Column(name="x", kind=Kind.FLOAT, bounds=(-3.5, 1e4)),
            Column(name="x", kind=Kind.INTEGER),
            Column(name="x", kind=Kind.INTEGER, bounds=(-4000, 7)),
            Column(name="x", kind=Kind.DATE),
            Column(name="x", kind=Kind.DATETIME, bounds=(dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1))),
        ]
    ),
    values=st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-5000, 5000).map(float), min_size=1),
)
def test_locate_agrees_with_brute_force(column: Column, values: list[float]) -> None:
    cells = number_cells(column)
    edges = [float(edge) for edge in cells.edges[:: max(1, len(cells.edges) // 9)]]
    numbers = [*values, *edges, float(cells.edges[-1])]
    assert cells.locate(np.array(numbers)).tolist() == [brute_force_cell(cells, value) for value in numbers]


@given(
    column=st.sampled_from(
        [
            Column(name="x", kind=Kind.FLOAT),
            Column(name="x", kind=Kind.FLOAT, bounds=(-1e-9, 1e6)),
            Column(name="x", kind=Kind.INTEGER),
            Column(name="x", kind=Kind.INTEGER, bounds=(-4000, 7)),
            Column(name="x", kind=Kind.DATE),
            Column(name="x", kind=Kind.DATETIME),
        ]
    ),
    seed=st.integers(0, 1000),
)
def test_a_drawn_value_lies_in_its_cell(column: Column, seed: int) -> None:
    cells = number_cells(column)
    rng = np.random.default_rng(seed)
    wanted = np.arange(cells.num_values)
    drawn = cells.draw(wanted, rng)
    assert (cells.locate(drawn) == wanted).all()
    if column.kind.is_integral:
        assert (drawn == np.round(drawn)).all()


def test_whole_numbers_of_a_cell_are_drawn_alike() -> None:
    cells = NumberCells(edges=np.array([0.0, 5.0]), integral=True, missing=False)
    drawn = cells.draw(np.zeros(5000, np.int64), np.random.default_rng(0))
    counts = np.bincount(drawn.astype(int))
    assert len(counts) == 5
    assert np.abs(counts - 1000).max() < 5 * math.sqrt(1000)


@pytest.mark.parametrize("dtype", INTEGER_DTYPES)
def test_no_learning_cell_reaches_beyond_the_storage_type(dtype: str) -> None:
    limits = np.iinfo(dtype)
    cells = number_cells(Column(name="x", kind=Kind.INTEGER, dtype=dtype))
    assert cells.edges[0] >= limits.min
    assert cells.edges[-1] - 1 <= limits.max
    if np.dtype(dtype).itemsize <= 4:
        assert (cells.edges[0], cells.edges[-1]) == (limits.min, float(limits.max) + 1)


def test_learning_grid_is_fine_everywhere_and_zero_is_alone() -> None:
    cells = number_cells(Column(name="x", kind=Kind.FLOAT))
    positive = cells.edges[cells.edges >= 2.0**-20]
    assert (positive[1:] / positive[:-1] <= 1 + 1 / CELLS_PER_OCTAVE).all()
    assert np.allclose(np.sort(-cells.edges[cells.edges < 0]), positive)
    assert cells.singletons().sum() == 1
    whole = number_cells(Column(name="x", kind=Kind.INTEGER))
    small = whole.locate(np.arange(-CELLS_PER_OCTAVE, CELLS_PER_OCTAVE + 1.0))
    assert len(set(small.tolist())) == 2 * CELLS_PER_OCTAVE + 1
    assert (np.sort(1.0 - whole.edges) == whole.edges).all()  # −k is cut like k


def test_category_cells() -> None:
    assert initial_cells(Column(name="x", kind=Kind.CATEGORICAL)) is None
    refusing = initial_cells(Column(name="x", kind=Kind.CATEGORICAL, categories=("a", "b")))
    assert isinstance(refusing, CategoryCells)
    assert (refusing.num_values, len(refusing)) == (2, 3)
    clamping = Column(name="x", kind=Kind.CATEGORICAL, categories=("a",), outside=Outside.CLAMP, missing=False)
    cells = initial_cells(clamping)
    assert cells is not None
    assert (cells.num_values, len(cells)) == (2, 2)
