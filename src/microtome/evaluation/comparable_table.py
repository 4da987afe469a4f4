"""Tables as arrays that can be compared: measured values as numbers, listed ones as positions in a common list.

Two tools write the same column in different types: 1, 1.0 and "1", true and "True", a date and its text. Measured
columns become float64 with NaN for a missing value; dates are days and times are microseconds since 1970. Listed ones
are compared by what their values look like as text, and become positions in one list of labels, −1 where missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microtome.errors import TableError
from microtome.evaluation.tables import RawTable
from microtome.schema import DTYPES, Column, Kind, Schema
from microtome.schema.column import Value

MISSING = -1
Values = NDArray[Any]
"""float64 or int64."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparableTable:
    """A table whose values can be compared with those of others that were coded with it.

    Attributes:
        origin: What to call it.
        columns: What is known of each column.
        labels: The common list of values of each listed column.
        values: Numbers or positions, column by column.
        num_rows: How many rows.
        codes: Of measured columns that have codes, which one each value is, −1 for none; in ``values`` they count as
            missing, since they are no measurements.
    """

    origin: str
    columns: tuple[Column, ...]
    labels: dict[str, tuple[str, ...]]
    values: dict[str, Values]
    num_rows: int
    codes: dict[str, NDArray[np.int64]] = field(default_factory=dict)

    def take(self, rows: NDArray[np.int64]) -> ComparableTable:
        """Some of its rows."""
        taken = self.with_values({name: values[rows] for name, values in self.values.items()}, len(rows))
        return replace(taken, codes={name: codes[rows] for name, codes in self.codes.items()})

    def with_values(self, values: dict[str, Values], num_rows: int) -> ComparableTable:
        """A table of the same columns with other values."""
        return ComparableTable(
            origin=self.origin, columns=self.columns, labels=self.labels, values=values, num_rows=num_rows
        )

    @property
    def listed(self) -> list[str]:
        """Names of the columns whose values are listed."""
        return [column.name for column in self.columns if column.kind.is_categorical]

    @property
    def measured(self) -> list[str]:
        """Names of the columns whose values are measured."""
        return [column.name for column in self.columns if not column.kind.is_categorical]

    def missing(self, name: str) -> NDArray[np.bool_]:
        """Which values of a column are missing."""
        values = self.values[name]
        found: NDArray[np.bool_] = values == MISSING if name in self.labels else np.isnan(values)
        return found


def code_tables(raw: Sequence[RawTable], schema: Schema) -> tuple[list[ComparableTable], list[str]]:
    """Code some tables with common labels; notes on columns that are not in the schema."""
    notes = _check_columns(raw, schema)
    parts: list[dict[str, Values]] = [{} for _ in raw]
    codes: list[dict[str, NDArray[np.int64]]] = [{} for _ in raw]
    labels = {}
    for column in schema.columns:
        if column.kind.is_categorical:
            texts = [_texts(table, column) for table in raw]
            labels[column.name] = _labels(column, texts)
            known = pa.array(labels[column.name], pa.string())
            for part, text in zip(parts, texts, strict=True):
                places = pc.fill_null(pc.index_in(text, value_set=known), MISSING)
                part[column.name] = places.to_numpy().astype(np.int64)
        else:
            for part, coded, table in zip(parts, codes, raw, strict=True):
                values = _whole(table.data.column(column.name))
                if column.codes:
                    values, coded[column.name] = _without_codes(values, column)
                part[column.name] = _numbers(values, table, column)
    tables = [
        ComparableTable(
            origin=one.origin,
            columns=schema.columns,
            labels=labels,
            values=part,
            num_rows=one.data.num_rows,
            codes=coded,
        )
        for one, part, coded in zip(raw, parts, codes, strict=True)
    ]
    return tables, notes


def shuffled_columns(table: ComparableTable, rng: np.random.Generator) -> ComparableTable:
    """Every column shuffled by itself: exact margins, no dependence."""
    values = {name: rng.permutation(values) for name, values in table.values.items()}
    return table.with_values(values, table.num_rows)


def sampled(table: ComparableTable, most: int, rng: np.random.Generator) -> ComparableTable:
    """At most so many of its rows, at random."""
    if table.num_rows <= most:
        return table
    return table.take(np.sort(rng.choice(table.num_rows, most, replace=False)))


def _check_columns(raw: Sequence[RawTable], schema: Schema) -> list[str]:
    notes = []
    for table in raw:
        absent = [name for name in schema.names if name not in table.data.column_names]
        if absent:
            names = ", ".join(repr(name) for name in absent[:5]) + (" …" if len(absent) > 5 else "")
            raise TableError(
                f"{table.origin}: no column {names}; it has {', '.join(table.data.column_names)}. Both tables need the "
                "same columns: rename or drop those that differ, or give a --schema of those to compare"
            )
    first = set(raw[0].data.column_names)
    for table in raw[1:]:
        extra = [name for name in table.data.column_names if name not in schema.names and name not in first]
        if extra:
            notes.append(f"{table.origin} has columns that are not compared: {', '.join(extra)}.")
    return notes


def _labels(column: Column, texts: Iterable[pa.Array]) -> tuple[str, ...]:
    """Declared categories in their order, then all others that occur, in order of number or text."""
    occurring = pc.unique(pa.chunked_array([text.unique() for text in texts], pa.string())).drop_null().to_pylist()
    declared = [] if column.categories is None else labels_of(column, column.categories)
    first = list(dict.fromkeys(declared))
    return tuple(first) + tuple(sorted(set(occurring) - set(first), key=_order))


def labels_of(column: Column, categories: Sequence[Value]) -> list[str]:
    """Categories in the text by which values of listed columns are compared."""
    return list(_canonical(pa.array(list(categories), column.arrow_type)).to_pylist())


def _order(label: str) -> tuple[int, float, str]:
    try:
        return 0, float(label), label
    except ValueError:
        return 1, 0.0, label


def _texts(table: RawTable, column: Column) -> pa.Array:
    values = _whole(table.data.column(column.name))
    try:
        texts = _canonical(values)
    except pa.ArrowInvalid as error:
        raise _unlike(table, column, values, error) from error
    if column.kind is Kind.BOOLEAN:
        lowered = pc.utf8_lower(texts)
        texts = pc.if_else(pc.equal(lowered, "1"), "true", pc.if_else(pc.equal(lowered, "0"), "false", lowered))
    return texts


def _canonical(values: pa.Array) -> pa.Array:
    """Values as text, equal values alike whatever their type: 1.0 is "1"."""
    kind = values.type
    if pa.types.is_decimal(kind):
        values = values.cast(pa.float64())
    if pa.types.is_floating(values.type):
        numbers = values.cast(pa.float64())
        numbers = pc.if_else(pc.is_nan(numbers), pa.scalar(None, pa.float64()), numbers)
        whole = pc.and_(pc.equal(pc.floor(numbers), numbers), pc.less(pc.abs(numbers), 2.0**53))
        as_whole = pc.if_else(pc.fill_null(whole, False), numbers, 0.0).cast(pa.int64()).cast(pa.string())
        return pc.if_else(pc.fill_null(whole, False), as_whole, numbers.cast(pa.string()))
    return values.cast(pa.string())


def _without_codes(values: pa.Array, column: Column) -> tuple[pa.Array, NDArray[np.int64]]:
    """Measurements, null for codes, and which code each value is: codes are compared by what they look like."""
    looks = pc.utf8_trim_whitespace(_canonical(values))
    place = pc.index_in(looks, value_set=pa.array(column.code_texts))
    rest = pc.if_else(place.is_valid(), pa.scalar(None, values.type), values)
    return rest, np.asarray(pc.fill_null(place, MISSING)).astype(np.int64)


def _numbers(values: pa.Array, table: RawTable, column: Column) -> NDArray[np.float64]:
    try:
        if column.kind.is_temporal:
            facts = column.kind.facts
            values = values.cast(DTYPES[facts.dtype], safe=False).cast(facts.counted_as)
        numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise _unlike(table, column, values, error) from error
    return np.where(np.isfinite(numbers), numbers, np.nan)


def _whole(values: pa.ChunkedArray) -> pa.Array:
    """One array of plain values: no dictionaries, no time zones."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_timestamp(values.type) and values.type.tz is not None:
        values = values.cast(pa.timestamp("us"))
    combined = values.combine_chunks()
    return combined if isinstance(combined, pa.Array) else pa.concat_arrays(combined.chunks)


def _unlike(table: RawTable, column: Column, values: pa.Array, error: Exception) -> TableError:
    return TableError(
        f"{table.origin}: column {column.name!r} is {values.type}, which does not compare with {column.kind} as in the "
        f"other table or schema: {error}"
    )
