"""The interval of a number, found by its leading bits, against a search of all edges."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microtome.schema import Column, Kind, NumberCells, initial_cells
from microtome.schema.domain import scale_cells
from microtome.schema.edge_guide import EdgeGuide

FLOATS = st.floats(min_value=-1e300, max_value=1e300)
SMALLEST = math.ulp(0.0)
SPECIAL = [0.0, -0.0, SMALLEST, -SMALLEST, 1e-310, math.inf, -math.inf, 1.7976931348623157e308, -1e308, 0.1, 1.0]


def searched(edges: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """The slow, obvious way."""
    return np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 1)


def around(edges: np.ndarray) -> np.ndarray:
    """Edges, their neighbours, and numbers on which ways of finding them might part."""
    found = [edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf), -edges, edges / 3.0, np.array(SPECIAL)]
    return np.concatenate(found)


@settings(max_examples=200)
@given(drawn=st.lists(FLOATS, min_size=2, max_size=40, unique=True), others=st.lists(FLOATS, max_size=20))
def test_every_number_is_in_its_own_interval(drawn: list[float], others: list[float]) -> None:
    edges = np.unique(np.array(drawn))
    numbers = np.concatenate([around(edges), np.array(others)])
    assert np.array_equal(EdgeGuide(edges)(numbers), searched(edges, numbers))


@pytest.mark.parametrize(
    "column",
    [
        Column(name="x", kind=Kind.FLOAT, bounds=(0.0, 1.0)),
        Column(name="x", kind=Kind.FLOAT, bounds=(-2.0, 3.0)),
        Column(name="x", kind=Kind.FLOAT, bounds=(1e-300, 1e300)),
        Column(name="x", kind=Kind.INTEGER, bounds=(-(2**52), 2**52)),
        Column(name="x", kind=Kind.INTEGER, bounds=(18, 99)),
        Column(name="x", kind=Kind.DATE, bounds=("1900-01-01", "2100-12-31")),
        Column(name="x", kind=Kind.DATETIME, bounds=("1900-01-01", "2100-12-31")),
    ],
    ids=lambda column: f"{column.kind} {column.bounds}",
)
def test_cells_of_columns_are_found(column: Column) -> None:
    cells = initial_cells(column)
    assert isinstance(cells, NumberCells)
    numbers = around(cells.edges)
    places = np.minimum(searched(cells.edges, numbers), cells.num_values - 1)
    assert np.array_equal(cells.locate(numbers), places)
    assert all(cells.locate(numbers[place : place + 1])[0] == places[place] for place in range(len(numbers)))
    assert len(pickle.dumps(cells)) < 8 * len(cells.edges) + 1000, "lists that follow from the edges are not sent"


def test_many_edges_in_one_slot_are_searched() -> None:
    edges = 1.0 + np.arange(600) * 2.0**-50
    assert np.array_equal(EdgeGuide(edges)(around(edges)), searched(edges, around(edges)))
    scale = scale_cells(Column(name="x", kind=Kind.FLOAT)).edges
    assert np.array_equal(EdgeGuide(scale)(around(scale)), searched(scale, around(scale)))


@pytest.mark.parametrize("bounds", [(-5, 60), (0, 9000), (-(2**40), 2**40)])
def test_whole_numbers_are_listed_where_they_are_few(bounds: tuple[int, int]) -> None:
    cells = initial_cells(Column(name="x", kind=Kind.INTEGER, bounds=bounds))
    assert isinstance(cells, NumberCells)
    listed = cells.of_whole_numbers
    if bounds[1] > 2**16:
        assert listed is None
        return
    assert listed is not None
    assert listed[0] == bounds[0]
    assert np.array_equal(listed[1], cells.locate(np.arange(bounds[0], bounds[1] + 1.0)))
