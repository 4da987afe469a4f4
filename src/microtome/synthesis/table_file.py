"""Streaming tables to a CSV or Parquet file, complete or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from microtome.errors import ParameterError
from microtome.progress import Progress
from microtome.whole_file import whole_file

_WRITERS = {".csv": pacsv.CSVWriter, ".parquet": pq.ParquetWriter}


def write_tables(path: Path, tables: Iterable[pa.Table], num_rows: int, progress: Progress) -> None:
    """Write a stream of tables, whole or not at all."""
    if path.suffix not in _WRITERS:
        raise ParameterError(f"{path}: the output must end in {' or '.join(_WRITERS)}")
    stream = iter(tables)
    first = next(stream)
    done = 0
    with whole_file(path) as file, _WRITERS[path.suffix](file, first.schema) as writer:
        for table in chain([first], stream):
            writer.write_table(table)
            done += table.num_rows
            progress("sample", done, num_rows)
