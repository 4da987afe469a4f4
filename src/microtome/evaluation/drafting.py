"""What kind of column each one is, where no schema says so: from the types in the table, and a look at its values.

The tables of a report are in plain sight of whoever makes it, so unlike the draft of a schema for a release this one
may look: whole numbers with few values are codes, and text in which most values are different is left out.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from microtome.errors import SchemaError, TableError
from microtome.evaluation.tables import RawTable
from microtome.schema import Column, Kind, Schema

CODES = 12
"""Whole numbers with at most this many values are taken for codes."""
_MANY = 1000
_MOSTLY = 0.5


def schema_of(real: RawTable, *, schema: Schema | None, target: str | None) -> tuple[Schema, list[str]]:
    """The columns to compare with the target settled, and notes on those that were left out.

    Args:
        real: The table that says what columns there are, where no schema does.
        schema: What is known of the columns.
        target: The column to be predicted, in place of the schema's.
    """
    notes: list[str] = []
    if schema is None:
        columns = []
        for name in real.data.column_names:
            column, problem = _drafted(name, real.data.column(name), wanted=name == target)
            if column is None:
                notes.append(f"Column {name!r} is left out: {problem}.")
            else:
                columns.append(column)
        if not columns:
            raise TableError(f"{real.origin}: no column that can be compared; {' '.join(notes)}")
        schema = Schema(columns=tuple(columns))
    if target is not None and target not in schema.names:
        raise SchemaError(f"target {target!r} is not a column; columns are {', '.join(schema.names)}")
    return Schema(columns=schema.columns, target=target or schema.target), notes


def _drafted(name: str, values: pa.ChunkedArray, *, wanted: bool) -> tuple[Column | None, str]:
    """A column's description, or why it is left out."""
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    is_a = pa.types
    if values.null_count == len(values):
        return None, "all its values are missing"
    if is_a.is_boolean(kind):
        return Column(name=name, kind=Kind.BOOLEAN), ""
    if is_a.is_date(kind):
        return Column(name=name, kind=Kind.DATE), ""
    if is_a.is_timestamp(kind):
        return Column(name=name, kind=Kind.DATETIME), ""
    if is_a.is_time(kind):
        return Column(name=name, kind=Kind.TIME), ""
    if is_a.is_integer(kind) or is_a.is_floating(kind) or is_a.is_decimal(kind):
        return _number(name, values, whole=is_a.is_integer(kind))
    if kind in (pa.string(), pa.large_string(), pa.string_view()):
        distinct = pc.count_distinct(_plain(values)).as_py()
        if not wanted and distinct > _MANY and distinct > _MOSTLY * len(values):
            return None, f"it has {distinct:,} different texts in {len(values):,} rows, as names and identifiers have"
        return Column(name=name, kind=Kind.CATEGORICAL), ""
    return None, f"values of type {kind} cannot be compared"


def _number(name: str, values: pa.ChunkedArray, *, whole: bool) -> tuple[Column | None, str]:
    numbers = _plain(values)
    if not whole:
        numbers = numbers.cast(pa.float64())
        numbers = pc.if_else(pc.is_finite(numbers), numbers, pa.scalar(None, pa.float64()))
        whole = bool(pc.all(pc.equal(pc.floor(numbers), numbers)).as_py())
    distinct = pc.count_distinct(numbers).as_py()
    if whole and distinct <= CODES:
        dtype = "int64" if pa.types.is_integer(numbers.type) else "float64"
        return Column(name=name, kind=Kind.CATEGORICAL, dtype=dtype), ""
    if pa.types.is_integer(numbers.type):
        if distinct == len(values) and distinct > _MANY:
            return None, f"it has {distinct:,} different whole numbers in as many rows, as identifiers have"
        return Column(name=name, kind=Kind.INTEGER, dtype="int64"), ""
    return Column(name=name, kind=Kind.FLOAT), ""


def _plain(values: pa.ChunkedArray) -> pa.ChunkedArray:
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values
