"""Streaming tables to a CSV or Parquet file, complete or not at all, or as CSV to standard output."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import nullcontext
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from microtome.errors import ParameterError
from microtome.progress import Progress
from microtome.whole_file import whole_file

_RUNS = "^[=+@\\-\t\r\n]"
"""Text that begins so is a formula to a spreadsheet, or becomes one when the first character is dropped."""
_CSV, _PARQUET = ".csv", ".parquet"
_WRITERS = {_CSV: pacsv.CSVWriter, _PARQUET: pq.ParquetWriter}
_PACKINGS = {".gz": "gzip", ".zst": "zstd"}
"""Of CSV; Parquet is packed by itself."""


def write_tables(
    path: Path, tables: Iterable[pa.Table], num_rows: int, progress: Progress, *, spreadsheet_safe: bool = False
) -> None:
    """Write a stream of tables, whole or not at all; ``spreadsheet_safe`` quotes what a spreadsheet would run."""
    packing = _PACKINGS.get(path.suffix)
    kind = path.suffix if packing is None else path.with_suffix("").suffix
    if kind not in _WRITERS or (packing and kind == _PARQUET):
        endings = [*(_CSV + more for more in ("", *_PACKINGS)), _PARQUET]
        raise ParameterError(f"{path}: the output must end in {', '.join(endings[:-1])} or {endings[-1]}")
    if spreadsheet_safe and kind != _CSV:
        raise ParameterError(f"{path}: no spreadsheet runs what is in it; spreadsheet-safe is for .csv files")
    stream = map(_quoted, tables) if spreadsheet_safe else iter(tables)
    first = next(stream)
    with whole_file(path) as file:
        _write(file, kind, packing, chain([first], stream), first.schema, num_rows, progress)


def stream_csv(
    file: BinaryIO, tables: Iterable[pa.Table], num_rows: int, progress: Progress, *, spreadsheet_safe: bool = False
) -> None:
    """Write a stream of tables as CSV to an open file, as they come."""
    stream = map(_quoted, tables) if spreadsheet_safe else iter(tables)
    first = next(stream)
    _write(file, _CSV, None, chain([first], stream), first.schema, num_rows, progress)


def _write(
    file: BinaryIO,
    kind: str,
    packing: str | None,
    tables: Iterable[pa.Table],
    schema: pa.Schema,
    num_rows: int,
    progress: Progress,
) -> None:
    done = 0
    packed = nullcontext(file) if packing is None else pa.CompressedOutputStream(_LeftOpen(file), packing)
    with packed as sink, _WRITERS[kind](sink, schema) as writer:
        for table in tables:
            writer.write_table(table)
            done += table.num_rows
            progress("sample", done, num_rows)


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
