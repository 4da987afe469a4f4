"""Counts of all sets of a few columns against counting each set by itself, whatever the widths and the blocks."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from microtome.private import joint_counts
from microtome.private.joint_counts import JointCounts

Ints = NDArray[np.int64]


def counted_alone(levels: Ints, parts: Ints, columns: tuple[int, ...], widths: list[int], num_parts: int) -> Ints:
    """The slow, obvious way."""
    table = np.zeros([num_parts, *(widths[column] for column in columns)], np.int64)
    np.add.at(table, (parts, *levels[list(columns)]), 1)
    return table


@settings(max_examples=40)
@given(
    widths=st.lists(st.integers(1, 9), min_size=1, max_size=7),
    order=st.integers(1, 3),
    num_parts=st.integers(1, 3),
    num_rows=st.integers(0, 400),
    seed=st.integers(0, 99),
)
def test_every_set_has_its_own_counts(widths: list[int], order: int, num_parts: int, num_rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    levels = np.stack([rng.integers(0, width, num_rows) for width in widths])
    parts = rng.integers(0, num_parts, num_rows)
    one, other = (JointCounts(widths, order, num_parts) for _ in range(2))
    cut = num_rows // 3
    one.add(levels[:, :cut], parts[:cut])
    other.add(levels[:, cut:], parts[cut:], weight=2)
    one.merge(other)
    for size in range(1, min(order, len(widths)) + 1):
        sets = [*combinations(range(len(widths)), size)]
        for columns, table in zip(sets, one.tables(sets), strict=True):
            first = counted_alone(levels[:, :cut], parts[:cut], columns, widths, num_parts)
            rest = counted_alone(levels[:, cut:], parts[cut:], columns, widths, num_parts)
            assert np.array_equal(table, first + 2 * rest)


def test_columns_come_in_the_order_that_is_asked_for() -> None:
    levels = np.array([[0, 1, 1], [2, 2, 0], [3, 1, 1]])
    counted = JointCounts([2, 3, 4], 3)
    counted.add(levels)
    asked = [(2, 0), (0, 2), (1, 2, 0)]
    for columns, table in zip(asked, counted.tables(asked), strict=True):
        expected = counted_alone(levels, np.zeros(3, np.int64), columns, [2, 3, 4], 1)
        assert np.array_equal(table, expected)


@pytest.mark.parametrize(("order", "num_parts"), [*product((2, 3), (1, 5))])
def test_tables_of_wide_columns_take_no_more_room_than_there_is(order: int, num_parts: int) -> None:
    counted = JointCounts([2] * 60, order, num_parts)
    assert sum(table.size for table in counted._tables.values()) <= joint_counts._MOST_IN_ALL
