"""A first schema of a table, from column names and types alone.

Parquet files and frames state their types. A CSV file states none: its first block is parsed to guess them,
and nothing but the type comes out: no bound, category or count. Even a type is data, though: one record can change it.
So the draft is for its holder to correct, and is marked as a draft until they confirm it; no release takes it before.
"""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

from microtome.errors import SchemaError
from microtome.private.table import open_table
from microtome.schema import Column, Kind, Schema
from microtome.schema.frame_layout import with_frame_types

_IDENTIFIER = re.compile(
    r"(^|[_\s.-])(id|uuid|guid|ssn|email|e-mail|phone|telephone|address|iban|passport|url|first_?name|"
    r"last_?name|surname|full_?name|comments?|notes?|description|free_?text)($|[_\s.-])",
    re.IGNORECASE,
)


def draft_schema(source: Any, *, target: str | None = None, skip: tuple[str, ...] = ()) -> Schema:
    """Draft the schema of a table.

    Args:
        source: A CSV or Parquet path, or a pandas, polars or Arrow table.
        target: The column to be predicted, if there is one.
        skip: Columns to leave out.

    Returns:
        A schema in which nothing is declared but the types, and these as a draft: correct it, then ``confirm()`` it.
    """
    table = open_table(source)
    unknown = sorted(set(skip) - set(table.types))
    if unknown:
        raise SchemaError(f"{table.origin}: no column {unknown[0]!r} to leave out; it has {', '.join(table.types)}")
    columns = [_draft_column(name, kind) for name, kind in table.types.items() if name not in skip]
    return with_frame_types(Schema(columns=tuple(columns), target=target, drafted=True), source)


def _draft_column(name: str, arrow_type: pa.DataType) -> Column:
    if pa.types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    if _IDENTIFIER.search(name) and not pa.types.is_boolean(arrow_type):
        raise SchemaError(
            f"column {name!r} looks like an identifier or free text, which no release can protect and no model "
            f"can learn: leave it out (--skip {name!r}), or rename it if it is a code with few values"
        )
    kind, dtype = _kind_of(name, arrow_type)
    return Column(name=name, kind=kind, dtype=dtype)


def _kind_of(name: str, arrow_type: pa.DataType) -> tuple[Kind, str]:
    is_a = pa.types
    if is_a.is_boolean(arrow_type):
        return Kind.BOOLEAN, "bool"
    if is_a.is_integer(arrow_type):
        return Kind.INTEGER, str(arrow_type)
    if is_a.is_floating(arrow_type):
        return Kind.FLOAT, "float32" if arrow_type == pa.float32() else "float64"
    if is_a.is_decimal(arrow_type):
        return Kind.FLOAT, "float64"
    if is_a.is_date(arrow_type):
        return Kind.DATE, "date"
    if is_a.is_timestamp(arrow_type) and arrow_type.tz is None:
        return Kind.DATETIME, "datetime"
    if arrow_type in (pa.string(), pa.large_string(), pa.string_view()):
        return Kind.CATEGORICAL, "string"
    if is_a.is_null(arrow_type):
        raise SchemaError(f"column {name!r} has no type (all values missing?); leave it out (--skip {name!r})")
    raise SchemaError(
        f"column {name!r} is of type {arrow_type}, which cannot be released; turn it into numbers, text, dates or "
        f"times without zone, or leave it out (--skip {name!r})"
    )
