"""What a pass counts, as expressions of SQL: the cell, level, class or bucket of a value, as our own tally has it.

Every expression gives a whole number for every row. Negative ones are values that the table is refused for.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from microtome.errors import TableError, together
from microtome.private.engines.sql_dialect import SqlDialect
from microtome.schema import CategoryCells, Cells, Column, NumberCells, RoundingClasses, Schema

MISSING, ENDLESS, OUTSIDE, TOO_LARGE = -1, -2, -3, -4
_PROBLEMS = {
    MISSING: "a missing value (null or NaN) though the schema says 'missing: never'; declare 'missing: allowed'",
    ENDLESS: "a value that is not finite; replace or drop it",
    OUTSIDE: "a value outside what is declared; add it or widen the bounds, or say 'outside: clamp'",
    TOO_LARGE: "a value too large for its dtype; choose a larger one",
}
_FAMILIES = {
    "string": {"text"},
    "bool": {"boolean"},
    "float64": {"double"},
    "date": {"date"},
    "datetime": {"timestamp", "timestamptz"},
    "time": {"time"},
    **{name: {"whole"} for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")},
}
"""Families of database types that a dtype is counted from."""
_TIMES = ("timestamp", "timestamptz", "time")
_LARGEST_EXACT = 2.0**53


def problem_of(column: Column, code: int) -> TableError:
    """What a negative number says."""
    return TableError(f"column {column.name!r} has {_PROBLEMS[code]}")


@dataclass(frozen=True, kw_only=True)
class ColumnInSql:
    """A column of a query, and how its values are asked for.

    Attributes:
        place: Where it stands in the schema.
        column: What is public about it.
        family: Of which family its type in the database is.
        dialect: How the database writes.
    """

    place: int
    column: Column
    family: str
    dialect: SqlDialect

    @classmethod
    def of(cls, place: int, column: Column, family: str | None, dialect: SqlDialect) -> ColumnInSql:
        """Refuses what cannot be counted exactly as it is here, and says what to do."""
        wanted = _FAMILIES.get(column.dtype, set())
        if column.codes:
            raise TableError(
                f"column {column.name!r}: codes are not counted in a database; take them apart in the query"
            )
        if not wanted or (column.kind.is_integral and column.dtype == "float64"):
            raise TableError(
                f"column {column.name!r}: dtype {column.dtype} is not counted in a database; choose another"
            )
        if family not in wanted or (family in _TIMES and family not in dialect.microseconds):
            raise TableError(
                f"column {column.name!r}: the database has it as {family or 'a type that is not known here'}, the "
                f"schema as {column.dtype}; cast it in the query, or correct the schema"
            )
        if column.kind.is_categorical and family in _TIMES:
            raise TableError(f"column {column.name!r}: categories of times are not counted in a database; cast to text")
        return cls(place=place, column=column, family=str(family), dialect=dialect)

    @classmethod
    def all_of(cls, schema: Schema, families: Sequence[str | None], dialect: SqlDialect) -> tuple[ColumnInSql, ...]:
        """Those of a schema; all columns that cannot be counted are named."""
        columns = []
        with together() as attempts:
            for place, (column, family) in enumerate(zip(schema.columns, families, strict=True)):
                with attempts:
                    columns.append(cls.of(place, column, family, dialect))
        return tuple(columns)

    @property
    def value(self) -> str:
        """The value as it is, in what ``defined`` gives."""
        return f"value_{self.place}"

    @property
    def number(self) -> str:
        """The value as a float, as ``Column.to_number`` counts it; null where it is not finite."""
        return f"number_{self.place}"

    @property
    def clipped(self) -> str:
        """The number, cut to the declared bounds."""
        return f"clipped_{self.place}"

    @property
    def is_missing(self) -> str:
        """Whether there is no value."""
        missing = f"{self.value} IS NULL"
        return f"({missing} OR {self.dialect.is_nan(self.value)})" if self.family == "double" else f"({missing})"

    @property
    def as_number(self) -> str:
        """How the number is made from the value."""
        return f"CAST({self._counted} AS {self.dialect.double})"

    @property
    def _counted(self) -> str:
        """Days or microseconds of a time, and any other value as it is."""
        match self.family:
            case "date":
                return self.dialect.days(self.value)
            case "timestamp" | "timestamptz" | "time":
                return self.dialect.microseconds[self.family](self.value)
            case _:
                return self.value

    @property
    def as_plain_text(self) -> str:
        """The text by which ``row_choice`` tells a value from others."""
        match self.family:
            case "text":
                return self.value
            case "boolean":
                return f"CASE WHEN {self.value} THEN 'true' ELSE 'false' END"
            case "double":
                if self.dialect.bits is None:
                    raise self._not_here("lots of rows")
                plain = self.dialect.bits(f"{self.value} + {self.dialect.number(0.0)}")
            case _:
                plain = self._counted
        return f"CAST({plain} AS {self.dialect.varchar})"

    @property
    def as_clipped(self) -> str:
        """How the number is cut."""
        bounds = self.column.number_bounds()
        if bounds is None:
            return self.number
        low, high = map(self.dialect.number, bounds)
        return (
            f"CASE WHEN {self.number} < {low} THEN {low} WHEN {self.number} > {high} THEN {high} ELSE {self.number} END"
        )

    def located(self, cells: Cells, outputs: Sequence[int] | NDArray[np.int64]) -> str:
        """The output of the cell of every value."""
        missing = outputs[len(cells) - 1] if self.column.missing else MISSING
        match cells:
            case CategoryCells():
                found = self._among_categories(cells, outputs)
            case NumberCells():
                found = self._among_numbers(cells, outputs)
            case never:
                assert_never(never)
        return f"CASE WHEN {self.is_missing} THEN {missing} {self._too_large()}{found} END"

    def key(self) -> str:
        """The value itself, for counts of categories that nobody has declared."""
        match self.family:
            case "text":
                return self.dialect.as_text(self.value)
            case "double":
                zero = self.dialect.number(0.0)
                return f"CASE WHEN NOT {self.is_missing} THEN {self.value} + {zero} END"
            case _:
                return self.value

    def bucket(self, size: int) -> str:
        """The bucket of a number, null where there is none."""
        if self.dialect.bucket is None:
            raise self._not_here("common numbers")
        return f"CASE WHEN NOT {self.is_missing} THEN {self.dialect.bucket(self.clipped, size)} END"

    def common(self) -> str:
        """The number that is scattered, null where there is none."""
        return f"CASE WHEN NOT {self.is_missing} THEN {self.clipped} + {self.dialect.number(0.0)} END"

    def rounding(self, classes: RoundingClasses) -> str:
        """The rounding class of a number, null where there is none, and of zero."""
        if self.dialect.round_even is None:
            raise self._not_here("how round numbers are")
        number, units = self.clipped, self.dialect.number(float(classes.units))
        whole = self.dialect.round_even(f"({number}) * {units}")
        exact = f"abs({number}) < {self.dialect.number(_LARGEST_EXACT / classes.units)}"
        if classes.between:
            exact = f"CASE WHEN {exact} THEN {whole} / {units} = {number} ELSE FALSE END"
        steps = " ".join(
            f"WHEN mod(CAST(abs({whole}) AS {self.dialect.whole}), {size}) = 0 THEN {place + classes.between}"
            for place, size in reversed(list(enumerate(classes.steps))[1:])
        )
        step = f"CASE {steps} ELSE {int(classes.between)} END" if steps else str(int(classes.between))
        magnitudes = " ".join(
            f"WHEN abs({number}) >= {self.dialect.number(least)} THEN {place * classes.shape[1]}"
            for place, least in reversed(list(enumerate(classes.magnitudes))[1:])
        )
        magnitude = f"CASE {magnitudes} ELSE 0 END" if magnitudes else "0"
        found = f"{magnitude} + CASE WHEN {exact} THEN {step} ELSE 0 END"
        return f"CASE WHEN NOT {self.is_missing} AND {self.clipped} <> {self.dialect.number(0.0)} THEN {found} END"

    def _not_here(self, what: str) -> TableError:
        return TableError(
            f"column {self.column.name!r}: {what} cannot be counted in {self.dialect.name}; declare it as categories, "
            "or as whole numbers of a range of at most 512"
        )

    def _too_large(self) -> str:
        """What a smaller dtype of whole numbers does not hold."""
        if self.family != "whole":
            return ""
        held = np.iinfo(self.column.dtype)
        return (
            f"WHEN {self.value} < {held.min} OR {self.value} > {held.max} THEN {TOO_LARGE} " if held.bits < 64 else ""
        )

    def _among_categories(self, cells: CategoryCells, outputs: Sequence[int] | NDArray[np.int64]) -> str:
        value = self.dialect.as_text(self.value) if self.family == "text" else self.value
        endless = ""
        if self.family == "double":
            largest = self.dialect.number(float(np.finfo(np.float64).max))
            endless = f"WHEN abs({self.value}) > {largest} THEN {ENDLESS} "
        found = " ".join(
            f"WHEN {value} = {self._literal(category)} THEN {outputs[place]}"
            for place, category in enumerate(cells.categories)
        )
        return f"{endless}{found} ELSE {outputs[len(cells.categories)] if cells.other else OUTSIDE}"

    def _literal(self, category: object) -> str:
        match category:
            case bool():
                return "TRUE" if category else "FALSE"
            case str():
                if "\0" in category:
                    raise TableError(f"column {self.column.name!r}: category {category!r} has a null byte; drop it")
                return self.dialect.as_text(self.dialect.text(category))
            case int():
                return str(category)
            case float():
                return self.dialect.number(category)
            case dt.date():
                return f"DATE '{category.isoformat()}'"
            case _:
                raise TableError(f"column {self.column.name!r}: category {category!r} is not counted in a database")

    def _among_numbers(self, cells: NumberCells, outputs: Sequence[int] | NDArray[np.int64]) -> str:
        """Intervals by comparison with their edges, halved again and again; what is outside is refused or cut."""
        number, largest = self.number, self.dialect.number(float(np.finfo(np.float64).max))
        refused = f"WHEN {number} IS NULL OR abs({number}) > {largest} THEN {ENDLESS} "
        bounds = self.column.number_bounds()
        if bounds is not None and self.column.outside.is_refused:
            low, high = map(self.dialect.number, bounds)
            refused += f"WHEN {number} < {low} OR {number} > {high} THEN {OUTSIDE} "
        runs = _runs(cells, outputs)
        return f"{refused}ELSE {_halved(self.clipped, runs, self.dialect)}"


def named(query: str, columns: Sequence[ColumnInSql], also: str = "") -> str:
    """The query with values under names of our own."""
    values = ", ".join(f"{one.dialect.identifier(one.column.name)} AS {one.value}" for one in columns)
    return f"SELECT {values}{also} FROM ({query}) AS asked"


def numbered(inner: str, columns: Sequence[ColumnInSql]) -> str:
    """What has such values, with numbers and numbers cut to bounds."""
    measured = [one for one in columns if not one.column.kind.is_categorical]
    numbers = "".join(f", {one.as_number} AS {one.number}" for one in measured)
    clipped = "".join(f", {one.as_clipped} AS {one.clipped}" for one in measured)
    return f"SELECT counted.*{clipped} FROM (SELECT named.*{numbers} FROM ({inner}) AS named) AS counted"


def _runs(cells: NumberCells, outputs: Sequence[int] | NDArray[np.int64]) -> list[tuple[float, int]]:
    """Lower ends of the intervals that share an output, and these."""
    runs: list[tuple[float, int]] = []
    for place in range(cells.num_values):
        if not runs or runs[-1][1] != outputs[place]:
            runs.append((float(cells.edges[place]), int(outputs[place])))
    return runs


def _halved(number: str, runs: list[tuple[float, int]], dialect: SqlDialect) -> str:
    if len(runs) == 1:
        return str(runs[0][1])
    middle = len(runs) // 2
    below, above = (_halved(number, half, dialect) for half in (runs[:middle], runs[middle:]))
    return f"CASE WHEN {number} < {dialect.number(runs[middle][0])} THEN {below} ELSE {above} END"
