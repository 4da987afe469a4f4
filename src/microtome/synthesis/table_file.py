"""Streaming tables to a CSV or Parquet file, complete or not at all."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from microtome.errors import ParameterError
from microtome.progress import Progress
from microtome.whole_file import whole_file

_RUNS = "^[=+@\\-\t\r\n]"
"""Text that begins so is a formula to a spreadsheet, or becomes one when the first character is dropped."""
_WRITERS = {".csv": pacsv.CSVWriter, ".parquet": pq.ParquetWriter}


def write_tables(
    path: Path, tables: Iterable[pa.Table], num_rows: int, progress: Progress, *, spreadsheet_safe: bool = False
) -> None:
    """Write a stream of tables, whole or not at all; ``spreadsheet_safe`` quotes what a spreadsheet would run."""
    if path.suffix not in _WRITERS:
        raise ParameterError(f"{path}: the output must end in {' or '.join(_WRITERS)}")
    if spreadsheet_safe and path.suffix != ".csv":
        raise ParameterError(f"{path}: no spreadsheet runs what is in it; spreadsheet-safe is for .csv files")
    stream = map(_quoted, tables) if spreadsheet_safe else iter(tables)
    first = next(stream)
    done = 0
    with whole_file(path) as file, _WRITERS[path.suffix](file, first.schema) as writer:
        for table in chain([first], stream):
            writer.write_table(table)
            done += table.num_rows
            progress("sample", done, num_rows)


def _quoted(table: pa.Table) -> pa.Table:
    """The table with an apostrophe before every text and heading that a spreadsheet would take for a formula."""
    columns = [
        pc.if_else(pc.match_substring_regex(column, _RUNS), pc.binary_join_element_wise("'", column, ""), column)
        if pa.types.is_string(column.type)
        else column
        for column in table.columns
    ]
    return pa.table(columns, names=[f"'{name}" if re.match(_RUNS, name) else name for name in table.column_names])
