"""Streaming tables to a CSV or Parquet file, complete or not at all."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from microtome.errors import ParameterError
from microtome.progress import Progress
from microtome.schema import Dialect, Schema
from microtome.schema.dialect import TEXT_FILES
from microtome.synthesis.finishing import Transcoder, as_text
from microtome.whole_file import whole_file

_RUNS = "^[=+@\\-\t\r\n]"
"""Text that begins so is a formula to a spreadsheet, or becomes one when the first character is dropped."""
_SUFFIXES = (*TEXT_FILES, ".parquet")


def write_tables(
    path: Path,
    tables: Iterable[pa.Table],
    num_rows: int,
    progress: Progress,
    schema: Schema,
    *,
    spreadsheet_safe: bool = False,
) -> None:
    """Write a stream of tables, whole or not at all, text as the schema says that the table's own file is written.

    ``spreadsheet_safe`` quotes what a spreadsheet would run.
    """
    if path.suffix not in _SUFFIXES:
        raise ParameterError(f"{path}: the output must end in {' or '.join(_SUFFIXES)}")
    in_text = path.suffix in TEXT_FILES
    if spreadsheet_safe and not in_text:
        raise ParameterError(f"{path}: no spreadsheet runs what is in it; spreadsheet-safe is for text files")
    stream = (as_text(table, schema) for table in tables) if in_text else iter(tables)
    stream = map(_quoted, stream) if spreadsheet_safe else stream
    first = next(stream)
    dialect = (schema.file or Dialect()).with_options(separator=Dialect.of_name(path))
    done = 0
    with whole_file(path) as file:
        target = _in_encoding(file, dialect) if in_text else file
        with _writer(target, first.schema, dialect if in_text else None) as writer:
            for table in chain([first], stream):
                writer.write_table(table)
                done += table.num_rows
                progress("sample", done, num_rows)


def _in_encoding(file: BinaryIO, dialect: Dialect) -> BinaryIO | Transcoder:
    return file if dialect.encoding == "utf-8" else Transcoder(file, dialect.encoding)


def _writer(file: BinaryIO | Transcoder, schema: pa.Schema, dialect: Dialect | None) -> Any:
    """A writer of text in a dialect, or of Parquet without one."""
    if dialect is None:
        return pq.ParquetWriter(file, schema)
    if dialect.quote != '"':
        return _OwnQuotes(file, schema, dialect)
    return pacsv.CSVWriter(file, schema, write_options=pacsv.WriteOptions(delimiter=dialect.separator))


class _OwnQuotes:
    """A writer of text with quotes of another kind than Arrow's."""

    def __init__(self, file: BinaryIO | Transcoder, schema: pa.Schema, dialect: Dialect) -> None:
        self._file, self._names, self._dialect = file, schema.names, dialect

    def __enter__(self) -> _OwnQuotes:
        self._write([self._names])
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def write_table(self, table: pa.Table) -> None:
        self._write(zip(*(column.cast(pa.string()).to_pylist() for column in table.columns), strict=True))

    def _write(self, rows: Iterable[Sequence[str | None]]) -> None:
        text = io.StringIO(newline="")
        writer = csv.writer(text, delimiter=self._dialect.separator, quotechar=self._dialect.quote, lineterminator="\n")
        writer.writerows(rows)
        self._file.write(text.getvalue().encode("utf-8"))


def _quoted(table: pa.Table) -> pa.Table:
    """The table with an apostrophe before every text and heading that a spreadsheet would take for a formula."""
    columns = [
        pc.if_else(pc.match_substring_regex(column, _RUNS), pc.binary_join_element_wise("'", column, ""), column)
        if pa.types.is_string(column.type)
        else column
        for column in table.columns
    ]
    return pa.table(columns, names=[f"'{name}" if re.match(_RUNS, name) else name for name in table.column_names])
