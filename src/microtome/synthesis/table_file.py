"""Streaming tables to a CSV or Parquet file, complete or not at all, or as CSV to standard output."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
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
_PARQUET = ".parquet"
_PACKINGS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
"""Of text; Parquet is packed by itself."""


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
    packing = _PACKINGS.get(path.suffix)
    kind = path.suffix if packing is None else path.with_suffix("").suffix
    in_text = kind in TEXT_FILES
    if not in_text and (packing or kind != _PARQUET):
        endings = f"{', '.join(TEXT_FILES)}, these also with {', '.join(_PACKINGS)} behind, or in {_PARQUET}"
        raise ParameterError(f"{path}: the output must end in {endings}")
    if spreadsheet_safe and not in_text:
        raise ParameterError(f"{path}: no spreadsheet runs what is in it; spreadsheet-safe is for text files")
    dialect = (schema.file or Dialect()).with_options(separator=Dialect.of_name(path)) if in_text else None
    stream = _texts(tables, schema, spreadsheet_safe) if in_text else iter(tables)
    first = next(stream)
    with whole_file(path) as file:
        packed = nullcontext(file) if packing is None else pa.CompressedOutputStream(_LeftOpen(file), packing)
        with packed as sink:
            _write(sink, dialect, chain([first], stream), first.schema, num_rows, progress)


def stream_text(
    file: BinaryIO,
    tables: Iterable[pa.Table],
    num_rows: int,
    progress: Progress,
    schema: Schema,
    *,
    spreadsheet_safe: bool = False,
) -> None:
    """Write a stream of tables to an open file, as they come and as the table's own text file is written."""
    stream = _texts(tables, schema, spreadsheet_safe)
    first = next(stream)
    _write(file, schema.file or Dialect(), chain([first], stream), first.schema, num_rows, progress)


def _texts(tables: Iterable[pa.Table], schema: Schema, spreadsheet_safe: bool) -> Iterator[pa.Table]:
    stream = (as_text(table, schema) for table in tables)
    return map(_quoted, stream) if spreadsheet_safe else stream


def _write(
    file: Any,
    dialect: Dialect | None,
    tables: Iterable[pa.Table],
    schema: pa.Schema,
    num_rows: int,
    progress: Progress,
) -> None:
    """Write text in a dialect, or Parquet without one."""
    done = 0
    with _writer(file, schema, dialect) as writer:
        for table in tables:
            writer.write_table(table)
            done += table.num_rows
            progress("sample", done, num_rows)


def _writer(file: Any, schema: pa.Schema, dialect: Dialect | None) -> Any:
    if dialect is None:
        return pq.ParquetWriter(file, schema)
    file = file if dialect.encoding == "utf-8" else Transcoder(file, dialect.encoding)
    if dialect.quote != '"':
        return _OwnQuotes(file, schema, dialect)
    return pacsv.CSVWriter(file, schema, write_options=pacsv.WriteOptions(delimiter=dialect.separator))


class _OwnQuotes:
    """A writer of text with quotes of another kind than Arrow's."""

    def __init__(self, file: Any, schema: pa.Schema, dialect: Dialect) -> None:
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


class _LeftOpen:
    """A file that is not closed by whoever packs into it: it is synced first."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, data: bytes) -> int:
        return self._file.write(data)

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        """Leave it to its owner."""


def _quoted(table: pa.Table) -> pa.Table:
    """The table with an apostrophe before every text and heading that a spreadsheet would take for a formula."""
    columns = [
        pc.if_else(pc.match_substring_regex(column, _RUNS), pc.binary_join_element_wise("'", column, ""), column)
        if pa.types.is_string(column.type)
        else column
        for column in table.columns
    ]
    return pa.table(columns, names=[f"'{name}" if re.match(_RUNS, name) else name for name in table.column_names])
