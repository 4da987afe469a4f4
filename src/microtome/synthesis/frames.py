"""Drawn rows as a frame of the user's choice, its columns held as the schema says that the real frame holds them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from microtome.errors import ParameterError
from microtome.extras import how_to_install
from microtome.schema import OTHER, CategoryCells, Codebook, ColumnCode, Schema
from microtome.schema.frame_type import CATEGORY, UNITS

_ROOMY: dict[pa.DataType, Any] = {
    pa.bool_(): pd.BooleanDtype(),
    pa.float32(): pd.Float32Dtype(),
    pa.float64(): pd.Float64Dtype(),
    **{getattr(pa, f"int{bits}")(): getattr(pd, f"Int{bits}Dtype")() for bits in (8, 16, 32, 64)},
    **{getattr(pa, f"uint{bits}")(): getattr(pd, f"UInt{bits}Dtype")() for bits in (8, 16, 32, 64)},
}
"""Pandas' types with room for missing values."""


class FrameKind(StrEnum):
    """Libraries whose frames can be drawn."""

    PANDAS = "pandas"
    POLARS = "polars"
    ARROW = "arrow"


def frame_kind(name: str) -> FrameKind:
    """A library by its name."""
    try:
        return FrameKind(name)
    except ValueError:
        raise ParameterError(f"as_ is {name!r}; it must be one of {', '.join(FrameKind)}") from None


def as_frame(table: pa.Table, schema: Schema, kind: FrameKind) -> Any:
    """A typed table as a frame of a library."""
    match kind:
        case FrameKind.ARROW:
            return table
        case FrameKind.POLARS:
            return _polars(table)
        case FrameKind.PANDAS:
            return _pandas(table, schema)


def public_frame(table: pa.Table, kind: FrameKind) -> Any:
    """A table that is given back as it is, as a frame of a library."""
    match kind:
        case FrameKind.ARROW:
            return table
        case FrameKind.POLARS:
            return _polars(table)
        case FrameKind.PANDAS:
            return table.to_pandas()


def typed(table: pa.Table, codebook: Codebook) -> pa.Table:
    """The table with columns of categories as dictionaries, and datetimes in the real frame's unit."""
    for code in codebook.codes:
        name, frame = code.column.name, code.column.frame
        if frame == CATEGORY:
            table = _with(table, name, _coded(table.column(name), code))
        elif frame in UNITS:
            table = _with(table, name, _in_unit(table.column(name), UNITS[frame]))
    return table


def with_pandas_notes(table: pa.Table, schema: Schema) -> pa.Table:
    """A typed table with what pandas notes in a Parquet file, by which it reads its own types again."""
    empty = _pandas(table.slice(0, 0), schema)
    return table.replace_schema_metadata(pa.Schema.from_pandas(empty, preserve_index=False).metadata)


def _with(table: pa.Table, name: str, values: pa.ChunkedArray) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, values)


def _coded(values: pa.ChunkedArray, code: ColumnCode) -> pa.ChunkedArray:
    """Values by their place among all categories of the column, drawn or not."""
    match code.cells:
        case CategoryCells(categories=categories, other=other):
            named = [*categories, OTHER] if other and code.column.dtype == "string" else list(categories)
    dictionary = pa.array(named, type=code.column.arrow_type)
    ordered = code.column.kind.facts.is_ordered
    places = pc.index_in(values, value_set=dictionary)
    parts = [pa.DictionaryArray.from_arrays(part, dictionary, ordered=ordered) for part in places.chunks]
    return pa.chunked_array(parts, pa.dictionary(pa.int32(), dictionary.type, ordered=ordered))


def _in_unit(values: pa.ChunkedArray, unit: str) -> pa.ChunkedArray:
    """Datetimes in a unit. All can hold them: a column's are less than 2^53 microseconds from 1970."""
    return values.cast(pa.timestamp(unit, tz=values.type.tz), safe=False)


def _pandas(table: pa.Table, schema: Schema) -> pd.DataFrame:
    """Arrow to pandas; whole numbers and booleans that may be missing get types with room for that."""
    frame: pd.DataFrame = table.to_pandas()
    for column in schema.columns:
        values = table.column(column.name)
        if column.frame == "string":
            frame[column.name] = frame[column.name].astype("string")
        elif values.type in _ROOMY and (column.frame or (column.missing and not pa.types.is_floating(values.type))):
            frame[column.name] = values.to_pandas(types_mapper=_ROOMY.get)
    frame.index.name = schema.index
    return frame


def _polars(table: pa.Table) -> Any:
    try:
        import polars
    except ImportError as error:
        raise ParameterError(f"as_ is 'polars', which is not installed: {how_to_install('polars')}") from error
    return polars.from_arrow(table)
