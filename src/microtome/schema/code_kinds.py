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
from microtome.schema.column_code import ColumnCode
from microtome.schema.margins import COARSE, Fineness
from microtome.schema.number_code import NumberCode


def code_from_counts(
    column: Column,
    cells: Cells,
    counts: NDArray[np.float64],
    *,
    noise_scale: float,
    total: float,
    fineness: Fineness = COARSE,
    rounding: tuple[NDArray[np.float64], float] | None = None,
    likely: tuple[float, float] | None = None,
    search_noise: tuple[float, ...] = (),
) -> ColumnCode:
    """Settle the code of a column from its noisy counts; arguments are those of ``NumberCode.from_counts``."""
    match cells:
        case NumberCells():
            return NumberCode.from_counts(
                column,
                cells,
                counts,
                noise_scale=noise_scale,
                total=total,
                fineness=fineness,
                rounding=rounding,
                likely=likely,
                search_noise=search_noise,
            )
        case CategoryCells():
            if rounding is not None or likely is not None:
                raise SchemaError(f"column {column.name!r}: categories are not rounded, and have no such counts")
            return CategoryCode.from_counts(
                column,
                cells,
                counts,
                noise_scale=noise_scale,
                total=total,
                fineness=fineness,
                search_noise=search_noise,
            )
        case never:
            assert_never(never)


def code_from_parts(
    column: Column, entry: Mapping[str, Any], prefix: str, arrays: Mapping[str, NDArray[Any]]
) -> ColumnCode:
    """The inverse of ``ColumnCode.to_parts``; the names of its arrays begin with ``prefix``."""
    code = CategoryCode if column.kind.is_categorical else NumberCode
    return code.from_parts(column, entry, prefix, arrays)
