"""The code of a column of categories."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microtome.errors import SchemaError
from microtome.schema.cells import OTHER, CategoryCells
from microtome.schema.column import Column
from microtome.schema.column_code import LIKELY, UNKNOWN, CellCounts, ColumnCode, shared_parts, shares_of_kept
from microtome.schema.kind import DTYPES
from microtome.schema.margins import category_levels, project_to_simplex


@dataclass(frozen=True, kw_only=True, eq=False)
class CategoryCode(ColumnCode):
    """What the profile knows of a column of categories, and how its values are coded."""

    cells: CategoryCells

    @classmethod
    def from_counts(cls, cells: CategoryCells, given: CellCounts) -> CategoryCode:
        """Settle margins and levels of a column from its noisy counts."""
        column = given.column
        margins = _margins(cells, given.counts, given.noise_scale, given.total, learns=not column.is_declared)
        pool = given.fineness.pool if column.pool is None else column.pool
        return cls(
            column=column,
            cells=cells,
            counts=given.counts,
            noise_scale=given.noise_scale,
            margins=margins,
            levels=category_levels(margins, pool, given.rare, missing=cells.missing),
            search_noise=given.search_noise,
        )

    @classmethod
    def from_parts(
        cls, column: Column, entry: Mapping[str, Any], prefix: str, arrays: Mapping[str, NDArray[Any]]
    ) -> CategoryCode:
        """The inverse of ``to_parts``; refuses cells that no column can have."""
        values = pa.array(entry["categories"], type=_json_type(column.arrow_type)).cast(column.arrow_type)
        cells = CategoryCells(categories=tuple(values.to_pylist()), other=entry["other"], missing=column.missing)
        _check_cells(column, cells)
        return cls(column=column, cells=cells, **shared_parts(column, cells, entry, prefix, arrays))

    def cells_to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The cells as plain values and arrays, for a file."""
        values = pa.array(list(self.cells.categories), type=self.column.arrow_type)
        return {"categories": values.cast(_json_type(values.type)).to_pylist(), "other": self.cells.other}, {}

    def summary(self) -> dict[str, Any]:
        """The number of categories."""
        return {"categories": len(self.cells.categories)}

    @property
    def is_learnt(self) -> bool:
        """Whether categories are declared, or most records have one that stood out from the noise."""
        return self.column.is_declared or bool(self.margins[len(self.cells.categories)] < UNKNOWN)

    def level_scores(self) -> None:
        """Categories are no numbers."""
        return

    def level_places(self) -> None:
        """Categories have no order that is known."""
        return

    def draw_values(self, cells: NDArray[np.int64], rng: np.random.Generator) -> pa.Array:
        """Values of the user's own type for the given cells."""
        return self._values().take(pa.array(self._without_other(cells, rng)))

    def _without_other(self, cells: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Where "(other)" has no name in the column's type, a named category in its stead, if there is one."""
        named = len(self.cells.categories)
        if not self.cells.other or self.column.dtype == "string" or named == 0:
            return cells
        shares = self.margins[:named] if self.margins[:named].sum() > 0 else np.ones(named)
        replacement = rng.choice(named, size=len(cells), p=shares / shares.sum())
        return np.where(cells == named, replacement, cells)

    def _values(self) -> pa.Array:
        values: list[Any] = list(self.cells.categories)
        if self.cells.other:
            values.append(OTHER if self.column.dtype == "string" else None)
        return pa.array([*values, None] if self.cells.missing else values, type=self.column.arrow_type)


def _margins(
    cells: CategoryCells, counts: NDArray[np.float64], noise_scale: float, total: float, *, learns: bool
) -> NDArray[np.float64]:
    """Shares of cells. Other values that noise may have made are none."""
    kept = np.ones(len(cells), dtype=bool)
    if learns and cells.categories:
        place = len(cells.categories)
        kept[place] = counts[place] > LIKELY * noise_scale * math.sqrt(len(cells) - 1)
    return shares_of_kept(cells, counts, kept, noise_scale, total, project_to_simplex)


def _check_cells(column: Column, cells: CategoryCells) -> None:
    """Refuse cells that no column can have: a file may have been made by a broken program."""
    if not isinstance(cells.other, bool) or None in cells.categories or not cells.num_values:
        raise SchemaError(f"column {column.name!r}: its coded categories are no list of values")
    if len(set(cells.categories)) < len(cells.categories):
        raise SchemaError(f"column {column.name!r}: a category is coded twice")
    if column.categories is not None and cells.categories != column.categories:
        raise SchemaError(f"column {column.name!r}: its coded categories are not the declared ones")


def _json_type(arrow_type: pa.DataType) -> pa.DataType:
    """Dates and times travel in JSON as text."""
    return DTYPES["string"] if pa.types.is_temporal(arrow_type) else arrow_type
