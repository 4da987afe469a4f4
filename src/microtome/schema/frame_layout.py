"""What a draft takes from the types of a data frame, so that drawn rows come back as the real ones are held.

It is read off the types, never off values, and confirmed with the draft: which records there are may have made a type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from microtome.schema.column import Column
from microtome.schema.document import Schema
from microtome.schema.frame_type import CATEGORY, UNITS, WITHOUT_GAPS, frame_types
from microtome.schema.kind import Kind


def with_frame_types(schema: Schema, source: Any) -> Schema:
    """A drafted schema that also says how the frame, or the Parquet file of one, holds its columns and its index."""
    layout = _layout(source)
    if layout is None:
        return schema
    held: Mapping[str, Any] = layout.pandas_metadata or {}
    names = {entry["field_name"]: _frame_name(entry) for entry in held.get("columns", ())}
    columns = [_held(column, layout.field(column.name).type, names.get(column.name)) for column in schema.columns]
    return replace(schema, columns=tuple(columns), index=_index_name(held))


def _layout(source: Any) -> pa.Schema | None:
    """Names and types of a frame or Parquet file; a text file states none."""
    if isinstance(source, str | Path):
        is_parquet = Path(source).suffix in (".parquet", ".pq") and Path(source).is_file()
        return pq.read_schema(source) if is_parquet else None
    if isinstance(source, pa.Table):
        return source.schema
    return pa.RecordBatchReader.from_stream(source.head(0)).schema if hasattr(source, "head") else None


def _held(column: Column, stored: pa.DataType, name: str | None) -> Column:
    if name == CATEGORY or pa.types.is_dictionary(stored):
        return _of_categories(column, stored)
    if pa.types.is_timestamp(stored) and name not in UNITS:
        name = f"datetime64[{stored.unit}]"
    known = name if name in frame_types(column.dtype) else None
    gaps = column.missing and name not in WITHOUT_GAPS
    return replace(column, frame=known, missing=gaps)


def _of_categories(column: Column, stored: pa.DataType) -> Column:
    """A column of categories, as what the frame lists, whatever its values could be read as."""
    listed = stored.value_type if pa.types.is_dictionary(stored) else stored
    in_text = listed in (pa.string(), pa.large_string(), pa.string_view())
    if column.kind.is_categorical and (column.dtype == "string" or not in_text):
        return replace(column, frame=CATEGORY)
    dtype = "string" if in_text else column.dtype
    return Column(name=column.name, kind=Kind.CATEGORICAL, dtype=dtype, frame=CATEGORY)


def _frame_name(entry: Mapping[str, Any]) -> str:
    """Pandas' name of a type; for categories its own notes have the type of their numbers."""
    return CATEGORY if entry["pandas_type"] == "categorical" else str(entry["numpy_type"])


def _index_name(held: Mapping[str, Any]) -> str | None:
    """The name of an index of one level; its values are not read."""
    index = held.get("index_columns") or [None]
    only = index[0]["name"] if isinstance(index[0], Mapping) else index[0]
    is_made_up = only is None or str(only).startswith("__index_level_")
    return None if len(index) > 1 or is_made_up else str(only)
