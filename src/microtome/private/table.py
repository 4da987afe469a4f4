"""Opening the private table: text files, workbooks and Parquet, pandas, polars and Arrow, one stream of Arrow batches.

Rows leave this file only as Arrow batches of the schema's own types, for the rest of ``private/`` to count
and encode. A table can be streamed more than once; nothing is kept in memory for files.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from microtome.errors import TableError, together
from microtome.private.passes import TableTally
from microtome.schema import Column, Dialect, Schema
from microtome.schema.dialect import (
    COMPRESSED,
    SHEETS,
    TEXT_FILES,
    bare_suffix,
    require_table_file,
    separator_hint,
    text_error,
)
from microtome.schema.sheet import Sheet

_BATCH_ROWS = 65_536


class Counter(Protocol):
    """Whoever counts the rows of a table where they are (``engines``)."""

    def num_rows(self) -> int | None:
        """How many there are, if that can be asked before anything is reserved."""
        ...

    def held(self) -> AbstractContextManager[None]:
        """The table as it is now, for as long as a release takes."""
        ...

    def fill(self, tally: TableTally, schema: Schema, block_rows: int) -> int:
        """Count all rows, so many at a time; gives their number."""
        ...


@dataclass(frozen=True, kw_only=True)
class PrivateTable:
    """A table that can be streamed as often as needed.

    Attributes:
        origin: What to call it in messages.
        types: Column names and storage types, as the file or frame states them.
        num_rows: Number of rows where the source says so without being read.
        stream: Gives batches of the wanted columns, in the wanted types where the source can parse them.
        counter: Who counts its rows where they are, if they are not to be streamed.
    """

    origin: str
    types: dict[str, pa.DataType]
    num_rows: int | None
    stream: Callable[[Sequence[Column]], Iterator[pa.RecordBatch]]
    counter: Counter | None = None

    def blocks(self, schema: Schema, rows: int) -> Iterator[pa.Table]:
        """The table in pieces of exactly ``rows`` rows (the last may be shorter), in the schema's types."""
        self.check_columns(schema)
        waiting: list[pa.RecordBatch] = []
        held = 0
        seen = 0
        for batch in self.stream(schema.columns):
            waiting.append(_conform(batch, schema, self.origin, seen))
            held += batch.num_rows
            seen += batch.num_rows
            if held >= rows:
                table = pa.Table.from_batches(waiting)
                whole = held - held % rows
                for start in range(0, whole, rows):
                    yield table.slice(start, rows).combine_chunks()
                waiting, held = table.slice(whole).to_batches(), held - whole
        if held:
            yield pa.Table.from_batches(waiting).combine_chunks()

    def counted(self, schema: Schema) -> PrivateTable:
        """The same with its number of rows, read off the file if need be: only for whom that number is public."""
        self.check_columns(schema)
        if self.num_rows is not None:
            return self
        if self.counter is not None:
            return replace(self, num_rows=self.counter.num_rows())
        return replace(self, num_rows=sum(batch.num_rows for batch in self.stream(schema.columns[:1])))

    def check_columns(self, schema: Schema) -> None:
        """Refuse a schema with columns that the table has not."""
        absent = [repr(name) for name in schema.names if name not in self.types]
        if absent:
            hint = separator_hint(list(self.types))
            raise TableError(f"{self.origin}: no column {', '.join(absent)}; it has {', '.join(self.types)}{hint}")


def open_table(source: Any, dialect: Dialect | None = None) -> PrivateTable:
    """Open a path or a frame without reading a row (a text file's header and first block aside).

    ``dialect`` is how a text file or workbook is written; by default as usual for its name.
    """
    if isinstance(source, str | Path):
        return _open_path(Path(source), dialect)
    if isinstance(source, PrivateTable):
        return source
    if type(source).__module__.startswith("pyspark."):
        from microtome.private.engines.spark import open_spark

        return open_spark(source)
    return _open_frame(source)


def _open_path(path: Path, dialect: Dialect | None) -> PrivateTable:
    require_table_file(path)
    suffix = bare_suffix(path)
    if suffix in (".parquet", ".pq"):
        return _open_parquet(path)
    if suffix in TEXT_FILES:
        return _open_text(path, dialect or Dialect.usual(path))
    if suffix in SHEETS:
        return _open_sheet(path, dialect or Dialect())
    known = ", ".join((*TEXT_FILES, ".parquet", *SHEETS))
    raise TableError(f"{path}: give one of the files {known}, text also compressed ({', '.join(COMPRESSED)})")


def _open_parquet(path: Path) -> PrivateTable:
    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise TableError(f"{path}: not a readable Parquet file: {error}") from error
    _refuse_repeated(file.schema_arrow.names, str(path))

    def stream(columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
        names = [column.name for column in columns]
        try:
            # Arrow's read-ahead keeps every byte it has read: memory would grow with the file.
            yield from pq.ParquetFile(path, pre_buffer=False).iter_batches(_BATCH_ROWS, columns=names)
        except (pa.ArrowInvalid, OSError) as error:
            raise TableError(f"{path}: {error}") from error

    types = dict(zip(file.schema_arrow.names, file.schema_arrow.types, strict=True))
    return PrivateTable(origin=str(path), types=types, num_rows=file.metadata.num_rows, stream=stream)


def _open_text(path: Path, dialect: Dialect) -> PrivateTable:
    names = dialect.header(path)
    _refuse_repeated(names, str(path))

    def read(columns: Sequence[Column] | None) -> pacsv.CSVStreamingReader:
        types = {column.name: column.type_in_text for column in columns or ()}
        try:
            return dialect.reader(path, names, types, None if columns is None else list(types))
        except (pa.ArrowInvalid, pa.ArrowKeyError, OSError, UnicodeError) as error:
            raise text_error(path, names, error) from error

    def stream(columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
        reader = read(columns)
        while True:
            try:
                yield reader.read_next_batch()
            except StopIteration:
                return
            except (pa.ArrowInvalid, OSError, UnicodeError) as error:
                raise text_error(path, names, error) from error

    types = dict(zip(names, read(None).schema.types, strict=True))
    return PrivateTable(origin=str(path), types=types, num_rows=None, stream=stream)


def _open_sheet(path: Path, dialect: Dialect) -> PrivateTable:
    """A sheet of a workbook: every cell is text, for the schema to say what it means."""
    sheet = Sheet(path=path, dialect=dialect)
    _refuse_repeated(sheet.names, str(path))

    def stream(columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
        yield from sheet.batches([column.name for column in columns], _BATCH_ROWS)

    return PrivateTable(origin=str(path), types=dict.fromkeys(sheet.names, pa.string()), num_rows=None, stream=stream)


def _open_frame(source: Any) -> PrivateTable:
    names = getattr(source, "column_names", None) or list(getattr(source, "columns", ()))
    _refuse_repeated([str(name) for name in names], "the table")
    if not hasattr(source, "__arrow_c_stream__"):
        raise TableError(
            f"cannot read a table from {type(source).__name__}; give a path, or a pandas, polars or Arrow table"
        )
    try:
        table = pa.table(pa.RecordBatchReader.from_stream(source).read_all())
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise TableError(f"the table cannot be turned into Arrow: {'; '.join(map(str, error.args))}") from error

    _refuse_repeated(table.column_names, "the table")
    if names:
        # A pandas index travels as one more column, which nobody has named as part of the table.
        table = table.select([str(name) for name in names])

    def stream(columns: Sequence[Column]) -> Iterator[pa.RecordBatch]:
        yield from table.select([column.name for column in columns]).to_batches(_BATCH_ROWS)

    types = dict(zip(table.schema.names, table.schema.types, strict=True))
    return PrivateTable(origin="the table", types=types, num_rows=table.num_rows, stream=stream)


def _refuse_repeated(names: Sequence[str], origin: str) -> None:
    repeated = [name for name, count in collections.Counter(names).items() if count > 1]
    if repeated:
        raise TableError(f"{origin}: column {repeated[0]!r} occurs twice; rename one of them")


def _conform(batch: pa.RecordBatch, schema: Schema, origin: str, first_row: int) -> pa.RecordBatch:
    """The batch's columns in the schema's order and types."""
    arrays = []
    with together() as attempts:
        for column in schema.columns:
            try:
                arrays.append(_cast(batch.column(column.name), column))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                where = f"{origin}: column {column.name!r}, rows from {first_row}"
                attempts.errors.append(TableError(f"{where}: not all values are {column.described}: {error}"))
    return pa.RecordBatch.from_arrays(arrays, names=schema.names)


def _as_text(array: pa.Array) -> pa.Array:
    """Numbers and dates of a column that may hold texts too, as these; others as they are."""
    if pa.types.is_floating(array.type):
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
    return array if pa.types.is_dictionary(array.type) else array.cast(pa.string())


def _cast(array: pa.Array, column: Column) -> pa.Array:
    wanted = column.storage_type
    if column.has_text_codes:
        array = _as_text(array)
    if pa.types.is_dictionary(array.type):
        values = array.dictionary
        array = (values.cast(pa.string()) if _is_text(values.type) else values).take(array.indices)
    if column.notation is not None and _is_text(array.type):
        return column.notation.read(array, wanted)
    if pa.types.is_string(wanted) and not _is_text(array.type):
        raise pa.ArrowInvalid(f"values are stored as {array.type}")
    if pa.types.is_floating(array.type) and pa.types.is_integer(wanted):
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
        _refuse_rounded(array)
    if pa.types.is_boolean(wanted) and not (pa.types.is_boolean(array.type) or _is_text(array.type)):
        array = _zero_or_one(array)
    return array.cast(wanted, safe=not pa.types.is_timestamp(wanted))


def _refuse_rounded(array: pa.Array) -> None:
    """Refuse whole numbers that floats do not tell apart: which one was meant, a neighbour's missing value decided.

    Pandas turns a column of whole numbers into floats for a single gap.
    """
    exact = 2.0 ** (24 if pa.types.is_float32(array.type) else 53)
    rounded = pc.greater_equal(pc.abs(array.cast(pa.float64())), exact)
    if pc.any(rounded).as_py():
        raise pa.ArrowInvalid(
            f"value {array.filter(rounded)[0]} is a whole number that floats cannot hold exactly; store the column as "
            "integers (in pandas 'Int64', which has room for missing values) or as text"
        )


def _zero_or_one(array: pa.Array) -> pa.Array:
    """Arrow would take every number but zero for true."""
    numbers = array.cast(pa.float64())
    wrong = pc.and_not(numbers.is_valid(), pc.is_in(numbers, value_set=pa.array([0.0, 1.0])))
    if pc.any(wrong).as_py():
        raise pa.ArrowInvalid(f"value {array.filter(wrong)[0]} is neither 0 nor 1")
    return numbers


def _is_text(arrow_type: pa.DataType) -> bool:
    return arrow_type in (pa.string(), pa.large_string(), pa.string_view())
