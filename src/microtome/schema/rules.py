"""Rules that hold in every row: public knowledge, declared in the schema and never learnt from records.

A *check* is a formula that must not fail. A *computed* column follows from others: by a sum, or by a table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from microtome.schema.column import Value
from microtome.schema.formula import Bools, Extent, Extents, Floats, Formula, columns_of
from microtome.schema.scale import Scale

_DIGITS = 12
"""Significant digits that a sum of decimals is rounded to, so that 0.1 + 0.2 is 0.3."""
_SLACK, _SINGLE_SLACK = 1e-9, 1e-6
"""By how much a stored sum may differ from its parts, in units of the largest, of 64 and of 32 bits; besides, it is
rounded to the digits that its format keeps."""


@dataclass(frozen=True, kw_only=True)
class TableRule:
    """A column that follows from another by a table, as the schema's document has it.

    Attributes:
        column: The column that follows.
        source: The one that it follows from.
        table: Values of the one and of the other; ``None`` stands for a missing one.
    """

    column: str
    source: str
    table: tuple[tuple[Value | None, Value | None], ...]


RuleSource = str | TableRule
"""A rule as its holder wrote it."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """A formula that holds in every row.

    Attributes:
        text: The rule as it was written.
        formula: What it says.
        premise: Of "if": when it says anything.
    """

    text: str
    formula: Formula
    premise: Formula | None = None

    @property
    def columns(self) -> list[str]:
        """The columns that it is about."""
        return columns_of(self.formula)

    def fails(self, extents: Extents) -> Bools:
        """Where it cannot hold."""
        return self.formula.fails(extents)


@dataclass(frozen=True, kw_only=True, eq=False)
class Sum:
    """A column that is a sum of others.

    Attributes:
        text: The rule as it was written.
        target: Where the sum is.
        terms: Sign and column of what is added.
        constant: What is added besides.
    """

    text: str
    target: Scale
    terms: tuple[tuple[int, str], ...]
    constant: float

    @property
    def column(self) -> str:
        """The column that is computed."""
        return self.target.column.name

    @property
    def sources(self) -> list[str]:
        """The columns that it follows from."""
        return list(dict.fromkeys(name for _, name in self.terms))

    @property
    def columns(self) -> list[str]:
        """All columns that it is about."""
        return [self.column, *self.sources]

    def computed(self, extents: Extents) -> tuple[Floats, Bools, Bools]:
        """The sums, which of them are missing since a part is, and which are no value of the column."""
        parts = [sign * extents[name].low for sign, name in self.terms]
        missing = np.logical_or.reduce([extents[name].absent for name in self.sources])
        sums = np.where(missing, 0.0, np.sum(parts, axis=0) + self.constant)
        if self.target.step is None:
            largest = np.maximum(np.max(np.abs(parts), axis=0), abs(self.constant))
            sums = _rounded(sums, largest)
        low, high = _storable(self.target)
        return sums, missing, ~missing & ((sums < low) | (sums > high))

    def fails(self, extents: Extents) -> Bools:
        """Where it cannot hold: whatever the parts are, the sum is another."""
        own = extents[self.column]
        low = high = np.full((), self.constant)
        largest = np.abs(low)
        absent = own.absent
        for sign, name in self.terms:
            part = extents[name]
            low = low + (part.low if sign > 0 else -part.high)
            high = high + (part.high if sign > 0 else -part.low)
            largest = np.maximum(largest, np.maximum(np.abs(part.low), np.abs(part.high)))
            absent = absent | part.absent
        single = self.target.column.dtype == "float32"
        slack = np.zeros(())
        if self.target.step is None:
            slack = (_SINGLE_SLACK if single else _SLACK) * (largest + self.target.rounding) + self.target.rounding
        return ~absent & ((own.low > high + slack) | (own.high < low - slack))


@dataclass(frozen=True, kw_only=True, eq=False)
class Lookup:
    """A column that follows from another by a table.

    Attributes:
        text: The rule in words.
        target: The column that follows.
        source: The column it follows from.
        places: The place of the one for that of the other, ``None`` for missing.
        of_missing: The place where the source is missing; ``None`` for missing too.
    """

    text: str
    target: Scale
    source: str
    places: Mapping[float, float | None]
    of_missing: float | None

    @property
    def column(self) -> str:
        """The column that is computed."""
        return self.target.column.name

    @property
    def sources(self) -> list[str]:
        """The columns that it follows from."""
        return [self.source]

    @property
    def columns(self) -> list[str]:
        """All columns that it is about."""
        return [self.column, self.source]

    @cached_property
    def _keys(self) -> Floats:
        return np.array(sorted(self.places))

    @cached_property
    def _found(self) -> Floats:
        """What each key leads to; NaN for missing."""
        return np.array([np.nan if (place := self.places[key]) is None else place for key in self._keys.tolist()])

    def _look_up(self, extents: Extents) -> tuple[Floats, Bools, Bools]:
        """What sources that are known lead to (NaN for missing), which are unknown, and which lead nowhere."""
        own = extents[self.source]
        first = np.searchsorted(self._keys, own.low, side="left")
        last = np.searchsorted(self._keys, own.high, side="right")
        found = self._found[np.minimum(first, len(self._keys) - 1)]
        found = np.where(own.missing, np.nan if self.of_missing is None else self.of_missing, found)
        nowhere = ~own.absent & (first == last)
        unknown = ~own.missing & (own.absent | (own.low != own.high))
        return found, unknown, nowhere

    def computed(self, extents: Extents) -> tuple[Floats, Bools, Bools]:
        """The places, which of them are missing, and which sources the table does not have."""
        found, unknown, nowhere = self._look_up(extents)
        missing = np.isnan(found)
        return np.where(missing, 0.0, found), missing, nowhere | unknown

    def fails(self, extents: Extents) -> Bools:
        """Where it cannot hold: the table leads elsewhere."""
        own = extents[self.column]
        found, unknown, nowhere = self._look_up(extents)
        gone = np.isnan(found)
        elsewhere = np.where(gone, own.present, own.missing | (~own.absent & ((found < own.low) | (found > own.high))))
        return nowhere | (~unknown & elsewhere)


Computed = Sum | Lookup
Rule = Check | Computed


@dataclass(frozen=True, kw_only=True, eq=False)
class Rules:
    """The rules of a table.

    Attributes:
        scales: The places of values of the columns that rules are about.
        checks: What holds.
        computed: Columns that follow from others, each after those that it follows from.
    """

    scales: Mapping[str, Scale]
    checks: tuple[Check, ...] = ()
    computed: tuple[Computed, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.checks or self.computed)

    @property
    def all(self) -> tuple[Rule, ...]:
        """Rules of either kind."""
        return (*self.checks, *self.computed)

    @property
    def columns(self) -> list[str]:
        """The columns that any rule is about."""
        return list(dict.fromkeys(name for rule in self.all for name in rule.columns))

    def extents(self, table: pa.Table, names: Sequence[str] | None = None) -> dict[str, Extent]:
        """Where the values of a table are."""
        wanted = self.columns if names is None else names
        return {name: self.scales[name].extent(_whole(table.column(name))) for name in wanted}

    def broken(self, extents: Extents) -> Bools:
        """Which rows break any of them."""
        return np.asarray(np.logical_or.reduce([rule.fails(extents) for rule in self.all]))

    def broken_rows(self, table: pa.Table) -> dict[str, int]:
        """How many rows of a table break each of them."""
        extents = self.extents(table)
        return {rule.text: int(rule.fails(extents).sum()) for rule in self.all}


def _whole(values: pa.ChunkedArray) -> pa.Array:
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    combined = values.combine_chunks()
    return combined if isinstance(combined, pa.Array) else pa.concat_arrays(combined.chunks)


def _storable(scale: Scale) -> tuple[float, float]:
    """The least and the largest number that a measured column can hold."""
    low, high = scale.bounds()
    if "int" not in scale.column.dtype:
        return low, high
    limits = np.iinfo(scale.column.dtype)
    return max(low, float(limits.min)), min(high, float(limits.max))


def _rounded(numbers: Floats, largest: Floats) -> Floats:
    """Numbers to as many digits as the largest of their parts has."""
    with np.errstate(divide="ignore"):
        power = np.where(largest > 0, np.floor(np.log10(np.where(largest > 0, largest, 1.0))), 0.0)
    digits = np.clip(_DIGITS - 1 - power, -200, 200)
    unit = 10.0 ** np.abs(digits)
    return np.asarray(np.where(digits >= 0, np.rint(numbers * unit) / unit, np.rint(numbers / unit) * unit))
