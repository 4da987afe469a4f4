"""The private table, whatever it is kept in: one stream of Arrow batches, which can be had more than once.

Rows leave this file only as Arrow batches of the schema's own types, for the rest of ``private/`` to count and encode.
``opening`` opens files, frames and data sets.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from microtome.errors import TableError, together
from microtome.private.key_texts import declared_sort, key_texts
from microtome.private.passes import Shard, TableTally, Told
from microtome.private.sliced_rows import SlicedRows
from microtome.schema import Column, Kind, Schema
from microtome.schema.aside import Aside
from microtome.schema.dialect import separator_hint
from microtome.schema.misreading import cast_error, rows_in_words
from microtome.schema.view import View

Stream = Callable[[Sequence[Column]], Iterator[pa.RecordBatch]]
"""Batches of the wanted columns, in the wanted types where their source can parse them."""


class Counter(Protocol):
    """Whoever counts the rows of a table where they are (``engines``)."""

    def num_rows(self) -> int | None:
        """How many there are, if that can be asked before anything is reserved."""
        ...

    def held(self) -> AbstractContextManager[None]:
        """The table as it is now, for as long as a release takes."""
        ...

    def fill(self, tally: TableTally, schema: Schema, block_rows: int, told: Told) -> int:
        """Count all rows, so many at a time; gives their number."""
        ...


class RowWriter(Protocol):
    """Whoever writes noisy rows of a table where its rows are (``engines``)."""

    def write(
        self, rows: SlicedRows, num_records: int, schema: Schema, folder: Path, secret: bytes, told: Told
    ) -> list[Shard]:
        """Write rows of all records, and null rows, to a folder: in random order, under noise of the key ``secret``."""
        ...


@dataclass(frozen=True, kw_only=True)
class Gathered:
    """Rows that are kept of people, where they are.

    Attributes:
        counter: Who counts them: columns of the view, each row for its part of a person.
        writer: Who writes noisy rows of people with one row each, if anybody can.
        num_people: How many people there are, where that was asked for.
    """

    counter: Counter
    writer: RowWriter | None
    num_people: int | None


class Gatherer(Protocol):
    """Whoever brings the rows of people together where they are, and keeps some of each (``engines``)."""

    def people(
        self, schema: Schema, view: View, key: bytes, told: Told, *, count_is_public: bool
    ) -> AbstractContextManager[Gathered]:
        """The rows that ``row_choice`` keeps with this key, for as long as they are needed."""
        ...


@dataclass(frozen=True, kw_only=True)
class PrivateTable:
    """A table that can be streamed as often as needed.

    Attributes:
        origin: What to call it in messages.
        types: Column names and storage types, as the file or frame states them.
        num_rows: Number of rows where the source says so without being read.
        stream: Gives batches of the wanted columns, in the wanted types where the source can parse them.
        parts: The tables that it is made of, one after the other; none for one that is not made of others.
        counter: Who counts its rows where they are, if they are not to be streamed.
        writer: Who writes noisy rows there, if anybody can.
        gatherer: Who brings the rows of people together there, if anybody can.
    """

    is_of_people: ClassVar[bool] = False
    origin: str
    types: dict[str, pa.DataType]
    num_rows: int | None
    stream: Stream
    parts: tuple[PrivateTable, ...] = ()
    counter: Counter | None = None
    writer: RowWriter | None = None
    gatherer: Gatherer | None = None

    def blocks(self, schema: Schema, rows: int) -> Iterator[pa.Table]:
        """The table in pieces of exactly ``rows`` rows (the last may be shorter), in the schema's types."""
        self.check_columns(schema)
        waiting: list[pa.RecordBatch] = []
        held = 0
        for batch in self._conformed(schema):
            waiting.append(batch)
            held += batch.num_rows
            if held >= rows:
                table = pa.Table.from_batches(waiting)
                whole = held - held % rows
                for start in range(0, whole, rows):
                    yield table.slice(start, rows).combine_chunks()
                waiting, held = table.slice(whole).to_batches(), held - whole
        if held:
            yield pa.Table.from_batches(waiting).combine_chunks()

    def pieces(self, schema: Schema, rows: int) -> Iterator[pa.Table]:
        """The table in pieces of at most ``rows`` rows, as its source has them: for whom it does not matter which."""
        self.check_columns(schema)
        for batch in self._conformed(schema):
            step = -(-batch.num_rows // max(-(-batch.num_rows // rows), 1))
            for start in range(0, batch.num_rows, step or 1):
                yield pa.Table.from_batches([batch.slice(start, step)])

    def _conformed(self, schema: Schema) -> Iterator[pa.RecordBatch]:
        return (batch for batch, _ in self.keyed(schema.columns, (), as_places=True))

    def keyed(
        self, columns: Sequence[Column], keys: Sequence[Aside], *, as_declared: bool = False, as_places: bool = False
    ) -> Iterator[tuple[pa.RecordBatch, list[pa.Array]]]:
        """All batches of some columns in their types, with keys as texts; what does not fit is told of by its part.

        Keys have one sort, the one that they are declared to be (``as_declared``), or that of the first part. Texts of
        categories may come as places in a list of them (``as_places``), as their source has them.
        """
        texts = [Column(name=key.name, kind=Kind.CATEGORICAL, dtype="string") for key in keys]
        sorts = {key.name: declared_sort(key) for key in keys} if as_declared else dict[str, str]()
        for part in self.parts or (self,):
            seen = 0
            for batch in part.stream((*columns, *texts)):
                found = [key_texts(batch.column(key.name), key, part.origin, sorts) for key in keys]
                yield _conform(batch, columns, part.origin, seen, as_places=as_places), found
                seen += batch.num_rows

    def counted(self, schema: Schema) -> PrivateTable:
        """The same with its number of rows, read off the file if need be: only for whom that number is public."""
        self.check_columns(schema)
        if self.num_rows is not None:
            return self
        if self.counter is not None:
            return replace(self, num_rows=self.counter.num_rows())
        # As text, which every value is: what cannot be read is told of all columns at once, by the first pass.
        first = Column(name=schema.columns[0].name, kind=Kind.CATEGORICAL)
        return replace(self, num_rows=sum(batch.num_rows for batch in self.stream([first])))

    def check_columns(self, schema: Schema, keys: Sequence[str] = ()) -> None:
        """Refuse a schema with columns, or keys, that the table has not."""
        absent = [repr(name) for name in (*keys, *schema.names) if name not in self.types]
        if absent:
            hint = separator_hint(list(self.types))
            raise TableError(f"{self.origin}: no column {', '.join(absent)}; it has {', '.join(self.types)}{hint}")


def stored_table(origin: str, schema: pa.Schema, stream: Stream, num_rows: int | None) -> PrivateTable:
    """What is stored with these columns."""
    refuse_repeated(schema.names, origin)
    types = dict(zip(schema.names, schema.types, strict=True))
    return PrivateTable(origin=origin, types=types, num_rows=num_rows, stream=stream)


def narrowed(schema: Schema, names: Collection[str]) -> Schema:
    """Some columns of a schema, one at least: there are as many rows as that has values."""
    wanted = [column for column in schema.columns if column.name in names]
    return Schema(columns=tuple(wanted or schema.columns[:1]))


def refuse_repeated(names: Sequence[str], origin: str) -> None:
    """Refuse two columns of one name."""
    repeated = [name for name, count in collections.Counter(names).items() if count > 1]
    if repeated:
        raise TableError(f"{origin}: column {repeated[0]!r} occurs twice; rename one of them")


def _conform(
    batch: pa.RecordBatch, columns: Sequence[Column], origin: str, first_row: int, *, as_places: bool
) -> pa.RecordBatch:
    """Columns of the batch in their order and types."""
    arrays = []
    with together() as attempts:
        for column in columns:
            try:
                array = batch.column(column.name)
                arrays.append(_places(array, column) if as_places and _has_places(column) else _cast(array, column))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                found = batch.column(column.name)
                where = f"{origin}: column {column.name!r}, {rows_in_words(found, error, first_row)}"
                attempts.errors.append(TableError(f"{where}: {cast_error(column, found.type, error)}"))
    return pa.RecordBatch.from_arrays(arrays, names=[column.name for column in columns])


def _as_text(array: pa.Array) -> pa.Array:
    """Numbers and dates of a column that may hold texts too, as these."""
    if pa.types.is_floating(array.type):
        array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
    return array.cast(pa.string())


def _has_places(column: Column) -> bool:
    """Whether values of a column are texts as they stand: of these there are few, and each occurs often."""
    return pa.types.is_string(column.storage_type) and column.notation is None and not column.codes


def _places(array: pa.Array, column: Column) -> pa.Array:
    """Texts as places in a list of them, so that a text is looked up once and not once a row."""
    if pa.types.is_dictionary(array.type) and _is_text(array.type.value_type) and not array.dictionary.null_count:
        return pa.DictionaryArray.from_arrays(array.indices.cast(pa.int32()), array.dictionary.cast(pa.string()))
    return _cast(array, column).dictionary_encode()


def _cast(array: pa.Array, column: Column) -> pa.Array:
    wanted = column.storage_type
    if isinstance(array, pa.ExtensionArray):
        array = array.storage  # how an engine calls a type of its own; what it holds are numbers or text
    if pa.types.is_dictionary(array.type):
        values = array.dictionary
        array = (values.cast(pa.string()) if _is_text(values.type) else values).take(array.indices)
    if column.notation is not None and _is_text(array.type):
        return column.notation.read(array, wanted)
    if column.has_text_codes:
        array = _as_text(array)
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
