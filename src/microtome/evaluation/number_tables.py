"""Numbers that stand in no table, such as counts and gaps, made comparable as columns are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from microtome.evaluation.comparable_table import ComparableTable
from microtome.evaluation.distributions import ColumnFigures, compare_column
from microtome.schema import Column, Kind

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def compare_numbers(name: str, values: list[Ints] | list[Floats], *, whole: bool) -> ColumnFigures:
    """Numbers that stand in no table, compared as a column's are."""
    first, second = (_number_table(name, side, whole=whole) for side in values)
    return compare_column(first.columns[0], first, second)


def _number_table(name: str, values: Ints | Floats, *, whole: bool) -> ComparableTable:
    column = _number_column(name, whole=whole)
    numbers = np.asarray(values, dtype=np.float64)
    return ComparableTable(origin=name, columns=(column,), labels={}, values={name: numbers}, num_rows=len(numbers))


def extended(table: ComparableTable, added: dict[str, Ints] | dict[str, Floats], *, whole: bool) -> ComparableTable:
    """A table with some more columns of numbers."""
    columns = (*table.columns, *(_number_column(name, whole=whole) for name in added))
    values = table.values | {name: np.asarray(numbers, dtype=np.float64) for name, numbers in added.items()}
    return ComparableTable(
        origin=table.origin, columns=columns, labels=table.labels, values=values, num_rows=table.num_rows
    )


def _number_column(name: str, *, whole: bool) -> Column:
    return Column(name=name, kind=Kind.INTEGER if whole else Kind.FLOAT)
