"""Values of a column as places on a line, on which rules compare them.

Numbers, dates and times are their own places. Ordered categories have their position in the list, other categories a
place by their name that is the same in all columns, so that columns can be compared; what has no name here is
infinitely far away and equals nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microtome.schema.cells import OTHER, CategoryCells, Cells, NumberCells, numbers_to_arrow
from microtome.schema.coded_notation import CodedNotation
from microtome.schema.column import Column, Value
from microtome.schema.formula import Bools, Extent, Floats
from microtome.schema.notation import NumberNotation

Ints = NDArray[np.int64]
NOWHERE = math.inf


@dataclass(frozen=True, kw_only=True, eq=False)
class Scale:
    """The places of a column's values.

    Attributes:
        column: The column.
        names: The place of every value that has one; ``None`` where values are numbers.
    """

    column: Column
    names: Mapping[Value, float] | None

    @classmethod
    def of(cls, column: Column, shared: Mapping[Value, float]) -> Scale:
        """The scale of a column; ``shared`` has the places of names in all columns."""
        if has_numbers(column):
            return cls(column=column, names=None)
        own = {value: float(place) for place, value in enumerate(column.categories or ())}
        return cls(column=column, names=own if column.kind.facts.is_ordered else shared)

    @property
    def is_ordered(self) -> bool:
        """Whether its values can be smaller and larger."""
        return self.names is None or self.column.kind.facts.is_ordered

    @property
    def step(self) -> float | None:
        """The distance of neighbouring numbers; ``None`` where they lie as close as floats do."""
        if self.names is not None or self.column.kind.is_integral or "int" in self.column.dtype:
            return 1.0
        return None

    @property
    def rounding(self) -> float:
        """Half of the last digit that its format keeps; 0 where it keeps all."""
        match self.column.notation:
            case NumberNotation(places=int() as places) | CodedNotation(inner=NumberNotation(places=int() as places)):
                return 0.5 * 10.0**-places
            case _:
                return 0.0

    def place(self, value: Value) -> float:
        """The place of a value."""
        if self.names is not None:
            return self.names.get(value, NOWHERE)
        return float(value) if self.column.kind.is_categorical else self.column.to_number(value)  # type: ignore[arg-type]

    def bounds(self) -> tuple[float, float]:
        """The ends of the line; infinite where they are to be learnt."""
        if self.column.kind.is_categorical:
            places = [self.place(value) for value in self.column.categories or ()]
            return (min(places), max(places)) if places else (-math.inf, math.inf)
        return self.column.number_bounds() or (-math.inf, math.inf)

    def extent(self, values: pa.Array) -> Extent:
        """Where the values of an array are, which may be of another type that casts to the column's own."""
        missing = np.asarray(values.is_null(nan_is_null=True))
        if self.column.kind.is_categorical:
            return self._of_categories(values, missing)
        coded = self._codes(values) >= 0
        plain = pc.if_else(pa.array(coded | missing), pa.scalar(None, values.type), values)
        numbers = _numbers(plain.cast(self.column.arrow_type, safe=False))
        return Extent.of_values(numbers, absent=coded | missing, missing=missing)

    def _of_categories(self, values: pa.Array, missing: Bools) -> Extent:
        known = values.cast(self.column.arrow_type).dictionary_encode()
        places = np.array([self.place(value) for value in known.dictionary.to_pylist() if value is not None] or [0.0])
        found = places[np.asarray(pc.fill_null(known.indices, 0)).astype(np.int64)]
        return Extent.of_values(found, absent=missing | self._unordered(found), missing=missing)

    def _unordered(self, places: Floats) -> Bools:
        """Values outside an ordered list compare with none in it."""
        return np.isinf(places) & self.is_ordered

    def _codes(self, values: pa.Array) -> Ints:
        """Which code each value is; −1 for none."""
        if not self.column.codes:
            return np.full(len(values), -1)
        if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
            index = pc.index_in(pc.utf8_trim_whitespace(values), value_set=pa.array(self.column.code_texts))
        else:
            own = pa.array(
                [None if isinstance(code, str) else code for code in self.column.codes], self.column.arrow_type
            )
            index = pc.index_in(values.cast(self.column.arrow_type, safe=False), value_set=own, skip_nulls=True)
        return np.asarray(pc.fill_null(index, -1)).astype(np.int64)

    def locate(self, values: pa.Array, cells: Cells) -> Ints:
        """The cells of values that were drawn from them."""
        match cells:
            case NumberCells():
                extent, codes = self.extent(values), self._codes(values)
                found = np.where(codes >= 0, cells.num_values + codes, cells.locate(extent.low))
            case CategoryCells(categories=categories):
                named = pa.array(list(categories), type=self.column.arrow_type)
                index = pc.fill_null(pc.index_in(values, value_set=named), len(categories))
                found = np.asarray(index).astype(np.int64)
        last = len(cells) - 1
        return np.where(np.asarray(values.is_null()) & cells.missing, last, np.minimum(found, last))

    def values(self, places: Floats, missing: Bools) -> pa.Array:
        """Places back as values of the column, as a table stores them."""
        if not self.column.kind.is_categorical:
            numbers = np.where(missing, 0.0, places)
            return numbers_to_arrow(self.column, numbers, missing).cast(self.column.storage_type)
        named, categories = self._by_place
        found = np.minimum(np.searchsorted(named, places), len(named) - 1)
        return categories.take(pa.array(found, mask=missing | (named[found] != places)))

    @cached_property
    def _by_place(self) -> tuple[Floats, pa.Array]:
        """Places in order, and the category at each; learnt ones are those that rules name."""
        values = self.column.categories or tuple(self.names or ())
        ordered = sorted((self.place(value), value) for value in values)
        return np.array([place for place, _ in ordered]), pa.array(
            [value for _, value in ordered], self.column.arrow_type
        )

    def cells(self, cells: Cells) -> Extent:
        """The extents of a partition of its values."""
        match cells:
            case NumberCells():
                return self._number_cells(cells)
            case CategoryCells(categories=categories, other=other, missing=missing):
                named = [self.place(value) for value in categories] + [self._other] * other
                places = np.array(named + [0.0] * missing)
                gone = np.arange(len(places)) >= cells.num_values
                return Extent.of_values(places, absent=gone | self._unordered(places), missing=gone)

    @property
    def _other(self) -> float:
        return NOWHERE if self.names is None else self.names.get(OTHER, NOWHERE)

    def _number_cells(self, cells: NumberCells) -> Extent:
        low, high = cells.edges[:-1], cells.edges[1:]
        if cells.integral:
            low, high = np.ceil(low), np.maximum(np.ceil(high) - 1.0, np.ceil(low))
        first, last = self.bounds()
        rest = np.zeros(len(cells) - cells.num_values)
        place = np.arange(len(cells))
        missing = place >= cells.num_values + cells.num_codes
        return Extent(
            low=np.concatenate([np.clip(low, first, last), rest]),
            high=np.concatenate([np.clip(high, first, last), rest]),
            absent=place >= cells.num_values,
            missing=missing,
            present=~missing,
        )


def has_numbers(column: Column) -> bool:
    """Whether the values are numbers, dates or times, and so places by themselves."""
    if not column.kind.is_categorical:
        return True
    return not column.kind.facts.is_ordered and ("int" in column.dtype or "float" in column.dtype)


def _numbers(values: pa.Array) -> NDArray[np.float64]:
    """Numbers, days or microseconds; 0 where there is none."""
    if pa.types.is_date(values.type):
        values = values.cast(pa.int32())
    elif pa.types.is_temporal(values.type):
        values = values.cast(pa.int64())
    return np.asarray(pc.fill_null(values.cast(pa.float64()), 0.0))
