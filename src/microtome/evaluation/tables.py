"""Reading any table, ours or another tool's, whole: text files, workbooks, Parquet, pandas, polars and Arrow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from microtome.errors import TableError
from microtome.evaluation.values import plain_number
from microtome.schema import Column, Dialect, Schema
from microtome.schema.dialect import COMPRESSED, SHEETS, TEXT_FILES, bare_suffix, require_table_file, text_error
from microtome.schema.sheet import Sheet

_LONGEST = 40
"""Letters of a value that are shown of a row."""
_ARROW_ERRORS = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, pa.ArrowKeyError, OSError)

_SHEET_ROWS = 65_536


@dataclass(frozen=True, kw_only=True, eq=False)
class RawTable:
    """A table as it was given.

    Attributes:
        origin: What to call it in messages and on the page: a file's name, or what it is.
        data: All of it.
    """

    origin: str
    data: pa.Table


@dataclass(frozen=True, kw_only=True)
class SomeRows:
    """A few rows of a table as text.

    Attributes:
        names: The columns.
        rows: The values of each row, in order; empty where missing.
    """

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def to_list(self) -> list[dict[str, str]]:
        """A dictionary a row."""
        return [dict(zip(self.names, row, strict=True)) for row in self.rows]


def some_rows(table: RawTable, names: Sequence[str], rng: np.random.Generator, count: int = 8) -> SomeRows:
    """A few rows at random, so that anybody can see what they look like."""
    chosen = np.sort(rng.choice(table.data.num_rows, min(count, table.data.num_rows), replace=False))
    taken = table.data.select(list(names)).take(pa.array(chosen))
    columns = [[_text(value) for value in column.to_pylist()] for column in taken.columns]
    return SomeRows(names=tuple(names), rows=tuple(zip(*columns, strict=True)))


def _text(value: Any) -> str:
    if value is None or value != value:
        return ""
    text = plain_number(value) if isinstance(value, float) else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def read_table(source: Any, role: str, schema: Schema | None = None) -> RawTable:
    """Read a path or a frame; ``role`` ("the real table") is its name where it has none of its own.

    ``schema`` says how a file and its values are written. Another tool may have written a table in the usual way
    instead, which is read too.
    """
    match source:
        case RawTable():
            return source
        case str() | Path():
            table = RawTable(origin=Path(source).name, data=_from_path(Path(source), schema))
        case _:
            table = RawTable(origin=role, data=_from_frame(source, role))
    table = RawTable(origin=table.origin, data=_without_formats(table.data, schema))
    repeated = [name for name, count in Counter(table.data.column_names).items() if count > 1]
    if repeated:
        raise TableError(f"{table.origin}: column {repeated[0]!r} occurs twice; rename one of them")
    if table.data.num_rows == 0:
        raise TableError(f"{table.origin}: no rows; there is nothing to compare")
    return table


def _from_path(path: Path, schema: Schema | None) -> pa.Table:
    require_table_file(path)
    suffix = bare_suffix(path)
    try:
        if suffix in (".parquet", ".pq"):
            return pq.read_table(path)
        if suffix in TEXT_FILES:
            return _from_text(path, schema)
        if suffix in SHEETS:
            return _from_sheet(path, schema)
    except (*_ARROW_ERRORS, UnicodeError) as error:
        raise TableError(f"{path}: cannot be read: {error}") from error
    raise TableError(
        f"{path}: give one of the files {', '.join((*TEXT_FILES, '.parquet', *SHEETS))}, text also compressed "
        f"({', '.join(COMPRESSED)})"
    )


def _from_text(path: Path, schema: Schema | None) -> pa.Table:
    dialect, names = _dialect(path, schema)
    columns = [column for column in (() if schema is None else schema.columns) if column.name in names]
    types = {column.name: pa.string() for column in columns if column.dtype == "string" or column.notation is not None}
    try:
        return dialect.reader(path, names, types).read_all()
    except (pa.ArrowInvalid, UnicodeError) as error:
        raise text_error(path, names, error) from error


def _dialect(path: Path, schema: Schema | None) -> tuple[Dialect, list[str]]:
    """The dialect in which the file has the schema's columns: the stated one, or the usual one."""
    usual = Dialect.usual(path)
    stated = usual if schema is None or schema.file is None else schema.file
    try:
        names = stated.header(path)
    except TableError:
        return usual, usual.header(path)
    if schema is not None and not set(schema.names) <= set(names):
        others = usual.header(path)
        if set(schema.names) <= set(others):
            return usual, others
    return stated, names


def _from_sheet(path: Path, schema: Schema | None) -> pa.Table:
    if schema is None:
        raise TableError(f"{path}: the cells of a workbook have no types; give a schema, or save the sheet as CSV")
    sheet = Sheet(path=path, dialect=schema.file or Dialect())
    return pa.Table.from_batches(sheet.batches(sheet.names, _SHEET_ROWS))


def _without_formats(table: pa.Table, schema: Schema | None) -> pa.Table:
    """The table with values for texts in the schema's formats; a column that another tool wrote otherwise stays."""
    for column in () if schema is None else schema.columns:
        if column.notation is not None and column.name in table.column_names:
            table = _values(table, column)
    return table


def _values(table: pa.Table, column: Column) -> pa.Table:
    place, texts = table.column_names.index(column.name), table.column(column.name)
    if column.notation is None or not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
        return table
    try:
        chunks = [column.notation.read(chunk, column.storage_type) for chunk in texts.chunks]
    except pa.ArrowInvalid:
        return table
    return table.set_column(place, column.name, pa.chunked_array(chunks, column.storage_type))


def _from_frame(source: Any, role: str) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    if not hasattr(source, "__arrow_c_stream__"):
        raise TableError(f"{role} is a {type(source).__name__}; give a path, or a pandas, polars or Arrow table")
    names = [str(name) for name in getattr(source, "columns", ())]
    try:
        table = pa.table(pa.RecordBatchReader.from_stream(source).read_all())
    except _ARROW_ERRORS as error:
        raise TableError(f"{role} cannot be turned into Arrow: {'; '.join(map(str, error.args))}") from error
    # A pandas index travels as one more column, which nobody has named as part of the table.
    return table.select(names) if names and len(set(names)) == len(names) else table
