"""Rows of a Spark frame, read once and kept by the executors that read them: few large messages of Arrow's, not rows.

    frame ─► the columns of the schema, in its types ─► messages of some 2¹⁶ rows ─► held in executors' memory or disks

Every pass reads the messages: Spark looks at a file once, and passes a message on as it is, where rows would be taken
apart and put together again each time. What is held is dropped at the end of the release.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import pyarrow as pa
import pyarrow.ipc as ipc

from microtome.errors import MicrotomeError, TableError
from microtome.private.engines.spark_jobs import Batches, columns_of, partition_table, record_batch, run, watched
from microtome.private.passes import Told
from microtome.private.people import blocks_of
from microtome.private.weighting import TableBlock
from microtome.schema import Schema

PACK = pa.schema([("siblings", pa.int32()), ("records", pa.int64()), ("rows", pa.binary()), ("problem", pa.string())])
"""A message: rows a person, if the rows are of people; how many records; the rows; or why there are none."""
PACK_IN_SPARK = "siblings int, records bigint, rows binary, problem string"
PACK_ROWS = 1 << 16
"""Rows of a message, the most that a pass looks at together."""
_PACKS_AT_ONCE = 16
"""Messages that Spark hands to a worker together."""
_RECORDS_AT_ONCE = "spark.sql.execution.arrow.maxRecordsPerBatch"


class Packs(Protocol):
    """Packed rows."""

    @property
    def most_rows(self) -> int:
        """Rows of a person that there are at most."""
        ...

    def held(self) -> AbstractContextManager[None]:
        """For as long as a release takes."""
        ...

    def packed(self, schema: Schema, told: Told) -> Any:
        """The packed frame."""
        ...


@dataclass(kw_only=True)
class PackedRows:
    """Rows of a frame that are packed when they are first needed, and dropped when ``held`` ends."""

    frame: Any
    most_rows: ClassVar[int] = 1
    _packed: Any = field(default=None, init=False)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Whatever is packed in here is dropped at the end."""
        try:
            yield
        finally:
            if self._packed is not None:
                dropped(self._packed)
                self._packed = None

    def packed(self, schema: Schema, told: Told) -> Any:
        """The packed frame; packs it if that was not done."""
        if self._packed is None:
            rows = columns_of(self.frame, schema.names).mapInArrow(_packer(schema), PACK_IN_SPARK)
            self._packed = rows.persist()
            packed_now(self._packed, lambda done, total: told(min(done, total - 1), total))
        return self._packed


def packed_now(packed: Any, told: Told) -> int:
    """Have all rows packed, by a job of its own; gives the number of records, and refuses rows that cannot be."""
    with watched(packed.sparkSession.sparkContext, told), records_at_once(packed, PACK_ROWS):
        found = run(lambda: packed.selectExpr("sum(records)", "min(problem)").collect())[0]
    if found[1] is not None:
        raise TableError(found[1])
    return int(found[0] or 0)


def dropped(packed: Any) -> None:
    """Drop what executors hold; a session that has ended holds nothing."""
    with suppress(Exception):
        packed.unpersist(blocking=True)


@contextmanager
def records_at_once(frame: Any, number: int = _PACKS_AT_ONCE) -> Iterator[None]:
    """Have Spark hand so many records to a worker together, in jobs that are run in here."""
    settings = frame.sparkSession.conf
    before = settings.get(_RECORDS_AT_ONCE)
    settings.set(_RECORDS_AT_ONCE, str(number))
    try:
        yield
    finally:
        with suppress(Exception):  # a session that has ended is told of by the job itself
            settings.set(_RECORDS_AT_ONCE, before)


def packed_partition(batches: Batches, schema: Schema) -> Iterator[pa.RecordBatch]:
    """The messages of a partition."""
    try:
        for block in partition_table(batches, schema).blocks(schema, PACK_ROWS):
            yield record_batch(PACK, [(1, block.num_rows, blob(block), None)])
    except MicrotomeError as error:
        yield record_batch(PACK, [(0, 0, None, str(error))])


def blob(rows: pa.Table) -> bytes:
    """Rows as a message of Arrow's."""
    sink = pa.BufferOutputStream()
    with ipc.new_stream(sink, rows.schema, options=ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue())


def unpacked(batches: Batches, names: Collection[str] | None = None) -> Iterator[tuple[pa.Table, int]]:
    """The rows of all messages, with some columns or all, and how many of them a person has."""
    for batch in batches:
        siblings, _, rows, problems = (batch.column(name) for name in PACK.names)
        for place in range(batch.num_rows):
            if problems[place].is_valid:
                raise TableError(problems[place].as_py())
            if not rows[place].is_valid:
                continue
            yield _some_columns(rows[place].as_buffer(), names), siblings[place].as_py()


def _some_columns(packed: pa.Buffer, names: Collection[str] | None) -> pa.Table:
    if names is None:
        return ipc.open_stream(packed).read_all()
    there = ipc.open_stream(packed).schema.names
    wanted = [place for place, name in enumerate(there) if name in names] or [0]  # there are as many rows as that has
    return ipc.open_stream(packed, options=ipc.IpcReadOptions(included_fields=wanted)).read_all()


def unpacked_blocks(
    batches: Batches, rows: int, most_rows: int, names: Collection[str] | None = None
) -> Iterator[TableBlock]:
    """The same in blocks of about so many rows."""
    for table, siblings in unpacked(batches, names):
        yield from blocks_of(table, siblings, rows, most_rows)


def _packer(schema: Schema) -> Callable[[Batches], Iterator[Any]]:
    def packing(batches: Batches) -> Iterator[pa.RecordBatch]:
        from microtome.private.engines.spark_packing import packed_partition

        yield from packed_partition(batches, schema)

    return packing
