"""Opening the private table: files of any number and place, data sets, frames; nothing is kept in memory for files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc as ipc

from microtome.errors import TableError, together
from microtome.private.arrow_stream import is_of_data_sets
from microtome.private.parquet import BATCH_ROWS, UNREADABLE, open_parquet
from microtome.private.stored_file import StoredFile, table_files
from microtome.private.table import PrivateTable, refuse_repeated, stored_table
from microtome.schema import Column, Dialect, Kind
from microtome.schema.dialect import (
    ARROW,
    COMPRESSED,
    KNOWN,
    PARQUET,
    SHEETS,
    TEXT_FILES,
    text_error,
    unread_column,
    unread_value,
)
from microtome.schema.misreading import unreadable
from microtome.schema.sheet import Sheet

_READ_AHEAD = 2
"""Batches that Arrow reads before they are asked for: more of them, and memory grows with the files."""
_ARROW_MAGIC = b"ARROW1"
_MORE_TOLD = 5
"""Values of a column that cannot be read and are named beside the first."""
_UNREADABLE_TEXT = (pa.ArrowInvalid, pa.ArrowKeyError, OSError, UnicodeError)


def open_table(source: Any, dialect: Dialect | None = None) -> PrivateTable:
    """Open files, a data set or a frame without reading a row (a text file's header and first block aside).

    ``dialect`` is how a text file or workbook is written; by default as usual for its name.
    """
    match source:
        case PrivateTable():
            return source
        case str() | Path() | list() | tuple():
            return _in_all([_open_file(file, dialect) for file in table_files(source)])
        case _ if is_of_data_sets(source, "FileSystemDataset"):
            return _open_data_set(source)
        case _ if type(source).__module__.startswith("pyspark."):
            from microtome.private.engines.spark import open_spark

            return open_spark(source)
        case _:
            return _open_frame(source)


def _in_all(tables: Sequence[PrivateTable]) -> PrivateTable:
    """Tables of the same columns, one after the other."""
    first = tables[0]
    if len(tables) == 1:
        return first
    for other in tables:
        apart = sorted(first.types.keys() ^ other.types.keys())
        if apart:
            where = first.origin if apart[0] in first.types else other.origin
            raise TableError(
                f"{first.origin} and {other.origin} have different columns: only {where} has {apart[0]!r}; files that "
                "are released together must have the same"
            )
    counts = [table.num_rows for table in tables]
    known = [count for count in counts if count is not None]
    return PrivateTable(
        origin=f"{first.origin} and {len(tables) - 1} more",
        types=first.types,
        num_rows=sum(known) if len(known) == len(counts) else None,
        stream=lambda columns: chain.from_iterable(table.stream(columns) for table in tables),
        parts=tuple(tables),
    )


def _open_file(file: StoredFile, dialect: Dialect | None) -> PrivateTable:
    before = file.signature()
    table = _with_partition(_by_ending(file, dialect), file)

    def require_same() -> None:
        if file.signature() != before:
            raise TableError(f"{file.name} changed while it was read; start again with a fixed copy")

    return _guarded(table, require_same)


def _guarded(table: PrivateTable, require_same: Callable[[], None]) -> PrivateTable:
    """The same, of which every reading makes sure, before and after, that it is what was opened."""

    def stream(columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
        require_same()
        yield from table.stream(columns)
        require_same()

    require_same()
    return PrivateTable(origin=table.origin, types=table.types, num_rows=table.num_rows, stream=stream)


def _by_ending(file: StoredFile, dialect: Dialect | None) -> PrivateTable:
    suffix = file.suffix
    if suffix in PARQUET:
        return open_parquet(file)
    if suffix in ARROW:
        return _open_arrow(file)
    if suffix in TEXT_FILES:
        return _open_text(file, dialect or Dialect.usual(Path(file.path)))
    if suffix in SHEETS and file.system is None:
        return _open_sheet(Path(file.path), dialect or Dialect())
    if suffix in SHEETS:
        raise TableError(
            f"{file.name}: a workbook is read from this machine only; copy it here, or store it as Parquet"
        )
    raise TableError(
        f"{file.name}: give one of the files {', '.join(KNOWN)}, text also compressed ({', '.join(COMPRESSED)})"
    )


def _with_partition(table: PrivateTable, file: StoredFile) -> PrivateTable:
    """The table with the columns that its folders stand for, as text, unless it has them itself."""
    added = {name: value for name, value in file.partition.items() if name not in table.types}
    if not added:
        return table

    def stream(columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
        own = [column for column in columns if column.name not in added]
        # A column that is read for its length alone, where only folders are asked for.
        read = own or [Column(name=next(iter(table.types)), kind=Kind.CATEGORICAL)]
        for batch in table.stream(read):
            arrays = [
                pa.array([added[column.name]], pa.string()).take(pa.repeat(0, batch.num_rows))
                if column.name in added
                else batch.column(column.name)
                for column in columns
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=[column.name for column in columns])

    types = table.types | dict.fromkeys(added, pa.string())
    return PrivateTable(origin=table.origin, types=types, num_rows=table.num_rows, stream=stream)


def _open_arrow(file: StoredFile) -> PrivateTable:
    """An Arrow file (Feather), or a stream of Arrow's in a file."""

    def batches(names: Sequence[str] | None) -> tuple[pa.Schema, int | None, Iterator[pa.RecordBatch]]:
        source = file.file()
        is_file = source.read(len(_ARROW_MAGIC)) == _ARROW_MAGIC
        source.seek(0)
        everything = (ipc.open_file if is_file else ipc.open_stream)(source)
        if names is None:
            return everything.schema, everything.count_rows() if is_file else None, iter(())
        options = ipc.IpcReadOptions(included_fields=[everything.schema.get_field_index(name) for name in names])
        if not is_file:
            source.seek(0)
            return everything.schema, None, iter(ipc.open_stream(source, options=options))
        reader = ipc.open_file(source, options=options)
        return everything.schema, None, map(reader.get_batch, range(reader.num_record_batches))

    try:
        schema, num_rows, _ = batches(None)
    except UNREADABLE as error:
        raise TableError(f"{file.name}: not a readable Arrow file: {error}") from error

    def stream(columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
        try:
            for batch in batches([column.name for column in columns])[2]:
                yield from _in_pieces(batch)
        except UNREADABLE as error:
            raise TableError(f"{file.name}: {error}") from error

    return stored_table(file.name, schema, stream, num_rows)


def _in_pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A batch in pieces that are worked on at a time."""
    for start in range(0, batch.num_rows, BATCH_ROWS):
        yield batch.slice(start, BATCH_ROWS)


def _open_text(file: StoredFile, dialect: Dialect) -> PrivateTable:
    path = Path(file.name)

    def elsewhere() -> pa.NativeFile | None:
        return None if file.system is None else file.stream()

    names = dialect.header(path, elsewhere())
    refuse_repeated(names, file.name)

    def batches(columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
        types = {column.name: column.type_in_text for column in columns}
        yield from dialect.reader(path, names, types, list(types), elsewhere())

    def others(column: Column, known: str | None) -> list[str]:
        texts = dialect.reader(path, names, {column.name: pa.string()}, [column.name], elsewhere())
        found: list[str] = []
        for batch in texts:
            told = [*found, *([] if known is None else [known])]
            found += unreadable(batch.column(0), column.type_in_text, dialect.decimal, told, _MORE_TOLD - len(found))
            if len(found) == _MORE_TOLD:
                break
        return found

    def stream(columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
        try:
            yield from batches(columns)
        except _UNREADABLE_TEXT as error:
            _refuse_text(
                path,
                names,
                error,
                lambda left: batches([one for one in columns if one.name in left]),
                lambda unread, known: others(next(one for one in columns if one.name == unread), known),
            )

    try:
        found = dialect.reader(path, names, {}, None, elsewhere()).schema.types
    except _UNREADABLE_TEXT as error:
        raise text_error(path, names, error) from error
    return PrivateTable(origin=file.name, types=dict(zip(names, found, strict=True)), num_rows=None, stream=stream)


def _refuse_text(
    path: Path,
    names: Sequence[str],
    error: Exception | None,
    batches: Callable[[Sequence[str]], Iterator[pa.RecordBatch]],
    others: Callable[[str, str | None], list[str]],
) -> None:
    """Tell of every column that cannot be read, and of some values of each.

    The reader stops at the first, so the other columns are read without it, and its other values as text.
    """
    left = list(names)
    with together() as attempts:
        while error is not None:
            unread = unread_column(names, error)
            like = [] if unread is None else others(unread, unread_value(error))
            attempts.errors.append(text_error(path, names, error, like))
            left = [name for name in left if unread is not None and name != unread]
            error = _first_error(batches(left)) if left else None


def _first_error(batches: Iterator[pa.RecordBatch]) -> Exception | None:
    try:
        for _ in batches:
            pass
    except _UNREADABLE_TEXT as error:
        return error
    return None


def _open_sheet(path: Path, dialect: Dialect) -> PrivateTable:
    """A sheet of a workbook: every cell is text, for the schema to say what it means."""
    sheet = Sheet(path=path, dialect=dialect)
    refuse_repeated(sheet.names, str(path))

    def stream(columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
        yield from sheet.batches([column.name for column in columns], BATCH_ROWS)

    return PrivateTable(origin=str(path), types=dict.fromkeys(sheet.names, pa.string()), num_rows=None, stream=stream)


def _open_data_set(source: Any) -> PrivateTable:
    """A data set of Arrow's, in its own file system and with its own partitions and filters."""
    from pyarrow.dataset import ParquetFragmentScanOptions

    files = [StoredFile(name=path, path=path, system=source.filesystem) for path in source.files]
    before = [file.signature() for file in files]
    options = ParquetFragmentScanOptions(pre_buffer=False) if source.format.default_extname == "parquet" else None

    def require_same() -> None:
        for file, signature in zip(files, before, strict=True):
            if file.signature() != signature:
                raise TableError(f"{file.name} changed while it was read; start again with a fixed copy")

    def stream(columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
        try:
            yield from source.scanner(
                columns=[column.name for column in columns],
                batch_size=BATCH_ROWS,
                batch_readahead=_READ_AHEAD,
                fragment_readahead=1,
                fragment_scan_options=options,
            ).to_batches()
        except UNREADABLE as error:
            raise TableError(f"the data set: {error}") from error

    return _guarded(stored_table("the data set", source.schema, stream, None), require_same)


def _open_frame(source: Any) -> PrivateTable:
    if hasattr(type(source), "collect"):
        raise TableError(
            f"the {type(source).__name__} cannot be computed piece by piece: polars does that from version 1.34 on; "
            "upgrade it, or give what collect() gives"
        )
    names = getattr(source, "column_names", None) or list(getattr(source, "columns", ()))
    names = [] if isinstance(source, pa.RecordBatch) else [str(name) for name in names]
    refuse_repeated(names, "the table")
    if not hasattr(source, "__arrow_c_stream__"):
        raise TableError(
            f"cannot read a table from {type(source).__name__}; give paths, a pandas, polars or Arrow table, or "
            "anything that Arrow can stream"
        )
    try:
        table = pa.table(pa.RecordBatchReader.from_stream(source).read_all())
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise TableError(f"the table cannot be turned into Arrow: {'; '.join(map(str, error.args))}") from error

    refuse_repeated(table.column_names, "the table")
    if names:
        # A pandas index travels as one more column, which nobody has named as part of the table.
        table = table.select(names)

    def stream(columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
        yield from table.select([column.name for column in columns]).to_batches(BATCH_ROWS)

    return stored_table("the table", table.schema, stream, table.num_rows)
