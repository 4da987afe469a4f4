"""The code of a column by what its values are: measured, or named."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from microtome.errors import SchemaError
from microtome.schema.category_code import CategoryCode
from microtome.schema.cells import CategoryCells, Cells, NumberCells
from microtome.schema.column import Column
from microtome.schema.column_code import CellCounts, ColumnCode
from microtome.schema.number_code import NumberCode


def code_from_counts(
    cells: Cells,
    given: CellCounts,
    *,
    rounding: tuple[NDArray[np.float64], float] | None = None,
    likely: tuple[float, float] | None = None,
) -> ColumnCode:
    """Settle the code of a column; ``rounding`` and ``likely`` are for numbers, see ``NumberCode.from_counts``."""
    match cells:
        case NumberCells():
            return NumberCode.from_counts(cells, given, rounding=rounding, likely=likely)
        case CategoryCells():
            if rounding is not None or likely is not None:
                raise SchemaError(f"column {given.column.name!r}: categories are not rounded, and have no such counts")
            return CategoryCode.from_counts(cells, given)
        case never:
            assert_never(never)


def code_from_parts(
    column: Column, entry: Mapping[str, Any], prefix: str, arrays: Mapping[str, NDArray[Any]]
) -> ColumnCode:
    """The inverse of ``ColumnCode.to_parts``; the names of its arrays begin with ``prefix``."""
    code = CategoryCode if column.kind.is_categorical else NumberCode
    return code.from_parts(column, entry, prefix, arrays)
