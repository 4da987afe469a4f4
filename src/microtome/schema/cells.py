"""The finest public partition of a column's values, on which the profile counts.

A *cell* is a category, or an interval of numbers (dates count as days, times as microseconds since 1970). A
column that may have missing values has one more cell for these, the last. Cells are public: they come from
what is declared, or from a fixed grid (``microtome.schema.grid``), never from the data.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microtome.errors import SchemaError
from microtome.schema.column import Column, Value
from microtome.schema.edge_guide import EdgeGuide

OTHER = "(other)"
"""What a pooled category without a name of its own is called in a text column."""
_LISTED = 1 << 16
"""A range of at most this many whole numbers has a list of their cells."""


@dataclass(frozen=True, kw_only=True, eq=False)
class NumberCells:
    """Intervals ``[edges[j], edges[j+1])``, the last one closed; then cells of codes, perhaps one of missing values."""

    edges: NDArray[np.float64]
    integral: bool
    missing: bool
    num_codes: int = 0

    @classmethod
    def of(cls, column: Column, edges: NDArray[np.float64]) -> NumberCells:
        """Cells of a column's numbers with these edges, and those of its codes and missing values."""
        return cls(edges=edges, integral=column.kind.is_integral, missing=column.missing, num_codes=len(column.codes))

    @property
    def num_values(self) -> int:
        """Cells of numbers."""
        return len(self.edges) - 1

    def __len__(self) -> int:
        return self.num_values + self.num_codes + self.missing

    def locate(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """The cell of each number; numbers beyond the ends fall into the end cells."""
        return np.minimum(self._guide(values), self.num_values - 1)

    @cached_property
    def of_whole_numbers(self) -> tuple[int, NDArray[np.int64]] | None:
        """The first whole number, and the cell of each from there on; ``None`` where they are many, or others occur."""
        first, last = float(self.edges[0]), float(self.edges[-1])
        if not self.integral or last - first > _LISTED:
            return None
        return int(first), self.locate(np.arange(first, last))

    @cached_property
    def _guide(self) -> EdgeGuide:
        return EdgeGuide(self.edges)

    def __getstate__(self) -> dict[str, Any]:
        """What was declared or found: lists that follow from it are made anew by whoever gets it."""
        return {one.name: self.__dict__[one.name] for one in fields(self)}

    def singletons(self) -> NDArray[np.bool_]:
        """Which cells hold one value only."""
        low, high = self.edges[:-1], self.edges[1:]
        single: NDArray[np.bool_] = high <= (low + 1.0 if self.integral else np.nextafter(low, np.inf))
        return single

    def middles(self) -> NDArray[np.float64]:
        """The mean of the values in each cell, if they are spread evenly."""
        low, high = self.edges[:-1], self.edges[1:]
        if self.integral:
            low, high = np.ceil(low), np.maximum(np.ceil(high) - 1.0, np.ceil(low))
        middles: NDArray[np.float64] = low + (high - low) / 2.0
        return middles

    def draw(self, cells: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
        """A value in each of the given cells, uniform in the cell."""
        low, high = self.edges[cells], self.edges[cells + 1]
        if self.integral:
            first: NDArray[np.float64] = np.ceil(low)
            choices = np.maximum(np.ceil(high) - first, 1.0)
            first += np.minimum(np.floor(rng.random(len(cells)) * choices), choices - 1.0)
            return first
        drawn: NDArray[np.float64] = low + rng.random(len(cells)) * (high - low)
        return np.where(drawn >= high, low, drawn)


@dataclass(frozen=True, kw_only=True, eq=False)
class CategoryCells:
    """One cell a category, perhaps one for all other categories, perhaps one for missing values."""

    categories: tuple[Value, ...]
    other: bool
    missing: bool

    @property
    def num_values(self) -> int:
        """Cells without the one for missing values."""
        return len(self.categories) + self.other

    def __len__(self) -> int:
        return self.num_values + self.missing


Cells = NumberCells | CategoryCells


def numbers_to_arrow(column: Column, numbers: NDArray[np.float64], missing: NDArray[np.bool_] | None) -> pa.Array:
    """Numbers back to the column's storage type, missing values as nulls."""
    counted = column.kind.facts.counted_as
    if counted is None:
        raise SchemaError(f"column {column.name!r}: a {column.kind} column has no numbers")
    return pa.array(numbers.astype(counted.to_pandas_dtype()), mask=missing).cast(column.arrow_type)
