"""Parquet files as private tables: all of one, or some of its row groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from microtome.errors import TableError
from microtome.private.stored_file import StoredFile
from microtome.private.table import PrivateTable, stored_table
from microtome.schema import Column

BATCH_ROWS = 65_536
UNREADABLE = (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError, OSError)


def open_parquet(file: StoredFile, groups: Sequence[int] | None = None) -> PrivateTable:
    """A file, or, for whoever has one core, some of its row groups."""

    def opened(listed: Sequence[str] = ()) -> pq.ParquetFile:
        # Arrow's read-ahead keeps every byte it has read: memory would grow with the file.
        stored = file.path if file.system is None else file.file()
        return pq.ParquetFile(stored, read_dictionary=list(listed), pre_buffer=False)

    try:
        found = opened()
    except (pa.ArrowInvalid, OSError) as error:
        raise TableError(f"{file.name}: not a readable Parquet file: {error}") from error

    def stream(columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
        names = [column.name for column in columns]
        texts = [column.name for column in columns if _is_listed(found.schema_arrow, column)]
        try:
            yield from opened(texts).iter_batches(
                BATCH_ROWS, columns=names, row_groups=groups, use_threads=groups is None
            )
        except UNREADABLE as error:
            raise TableError(f"{file.name}: {error}") from error

    kept = range(found.num_row_groups) if groups is None else groups
    rows = sum(found.metadata.row_group(group).num_rows for group in kept)
    return stored_table(file.name, found.schema_arrow, stream, rows)


def _is_listed(stored: pa.Schema, column: Column) -> bool:
    """Whether a file of Parquet's lists the texts of a column, and says of every row which of them it has."""
    return column.kind.is_categorical and pa.types.is_string(stored.field(column.name).type)
