"""A Spark frame as a private table: executors count their own rows, and send counts.

    frame ─► packed partitions ─► our tally on Arrow batches ─► one message each ─► merged in groups ─► the driver

The driver draws the noise: nothing random happens in a task, so whatever Spark repeats, speculates on or loses, a
partition has the counts that it has (``spark_messages``). Executors need this package; rows travel between Spark and it
as Arrow batches, on the executor's machine, unless the frame is some files, which executors read (``spark_files``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from microtome.errors import MicrotomeError, ParameterError, TableError
from microtome.extras import how_to_install
from microtome.private.engines.spark_files import PlainFiles, plain_files
from microtome.private.engines.spark_jobs import ORIGIN, Batches, run
from microtome.private.engines.spark_messages import MESSAGE_IN_SPARK, collected, message, problem
from microtome.private.engines.spark_packing import PackedRows, Packs, unpacked_blocks
from microtome.private.engines.spark_people import PackedPeople, gathered_people
from microtome.private.engines.spark_rows import SparkRows
from microtome.private.memory import keep_freed_memory
from microtome.private.passes import TableTally, Told
from microtome.private.table import Gathered, PrivateTable
from microtome.schema import Column, Schema
from microtome.schema.view import View

DAEMON = "microtome.private.engines.spark_daemon"
"""What makes Python workers that have this package loaded."""


def open_spark(frame: Any) -> PrivateTable:
    """A Spark frame, none of whose rows come here."""
    if ".connect." in type(frame).__module__:
        raise TableError(
            f"{ORIGIN} is one of Spark Connect, whose driver is elsewhere; run this where that driver is, or write the "
            "frame to Parquet and release that"
        )
    if frame.isStreaming:
        raise TableError(f"{ORIGIN} never ends: it is a stream; write what came so far to Parquet and release that")
    rows, types = PackedRows(frame=frame), _types(frame)
    return PrivateTable(
        origin=ORIGIN,
        types=types,
        num_rows=None,
        stream=_refuse_streaming,
        counter=SparkCounter(frame=frame, rows=rows, files=plain_files(frame, types)),
        writer=SparkRows(frame=frame, rows=rows),
        gatherer=SparkGatherer(frame=frame),
    )


@contextmanager
def parquet_on_spark(path: Path, master: str | None) -> Iterator[Any]:
    """A Parquet file or folder as a frame of a Spark session of its own, on this machine unless a master is named."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise ParameterError(f"Spark is not installed; {how_to_install('pyspark')}, and Java 17 or newer") from None
    if not (path.is_dir() or path.suffix in (".parquet", ".pq")):
        raise TableError(f"{path}: Spark reads Parquet files and folders of these; convert it, or leave out --engine")
    builder = SparkSession.builder.appName("microtome").config("spark.ui.showConsoleProgress", "false")
    builder = builder.config("spark.python.daemon.module", DAEMON)
    try:
        session = builder.master(master or "local[*]").getOrCreate()
    except Exception as error:  # no Java, no such master: whatever it is, Spark has not started
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ParameterError(
            f"Spark does not start: {first}; it needs Java 17 or newer, and a master in reach"
        ) from error
    try:
        yield run(lambda: session.read.parquet(str(path.resolve())))
    finally:
        session.stop()


@dataclass(frozen=True, kw_only=True)
class SparkCounter:
    """Has the executors of a Spark frame count its rows.

    Attributes:
        frame: The frame.
        rows: What executors hold of it.
        files: The files that it is, where executors may read these for themselves.
    """

    frame: Any
    rows: Packs
    files: PlainFiles | None = None

    def num_rows(self) -> int:
        """How many rows there are."""
        return int(run(self.frame.count)) if self.files is None else self.files.rows

    def held(self) -> AbstractContextManager[None]:
        """Executors read a frame once, and hold what they have read; what they lose is read again."""
        return self.rows.held()

    def fill(self, tally: TableTally, schema: Schema, block_rows: int, told: Told) -> int:
        """Count all rows; gives the number of records."""
        if self.files is not None and self.files.have(schema):
            return self.files.fill(tally, schema, block_rows, told)
        packed = self.rows.packed(schema, told)
        sent = packed.mapInArrow(partition_counter(tally, block_rows, self.rows.most_rows), MESSAGE_IN_SPARK)
        return collected(sent, int(run(packed.rdd.getNumPartitions)), tally, told)[1]


@dataclass(frozen=True, kw_only=True)
class SparkGatherer:
    """Has the executors of a Spark frame bring the rows of people together."""

    frame: Any

    @contextmanager
    def people(
        self, schema: Schema, view: View, key: bytes, told: Told, *, count_is_public: bool
    ) -> Iterator[Gathered]:
        """The rows that are kept; they are gathered at once, as those of a file are."""
        with gathered_people(self.frame, schema, view, key, told) as (packed, people):
            rows = PackedPeople(packed_rows=packed, most_rows=view.most_rows)
            yield Gathered(
                counter=SparkCounter(frame=packed, rows=rows),
                writer=SparkRows(frame=packed, rows=rows),
                num_people=people if count_is_public else None,
            )


def partition_counter(tally: TableTally, block_rows: int, most_rows: int) -> Callable[[Batches], Iterator[Any]]:
    """What a task does: counts the rows of its partition, and sends one message."""

    def count(batches: Batches) -> Iterator[pa.RecordBatch]:
        from microtome.private.engines.spark import counted_partition
        from microtome.private.engines.spark_jobs import task_context

        yield counted_partition(task_context().partitionId(), batches, tally, block_rows, most_rows)

    return count


def counted_partition(
    number: int, packs: Batches, tally: TableTally, block_rows: int, most_rows: int = 1
) -> pa.RecordBatch:
    """The message of one partition, whose rows are packed."""
    keep_freed_memory()
    tally, records = deepcopy(tally), 0  # a copy is empty, whatever was counted before
    try:
        for block in unpacked_blocks(packs, block_rows, most_rows, tally.columns):
            tally.add(block)
            records += len(block)
    except MicrotomeError as error:
        return problem([number], error)
    return message([number], records, tally)


def _types(frame: Any) -> dict[str, pa.DataType]:
    """Names and types of the columns; ``null`` for a type that Arrow has no name for, which no schema can ask for."""
    from pyspark.sql.pandas.types import to_arrow_type

    types = {}
    for field in frame.schema.fields:
        if field.name in types:
            raise TableError(f"{ORIGIN}: column {field.name!r} occurs twice; rename one of them")
        try:
            types[field.name] = to_arrow_type(field.dataType)
        except Exception:
            types[field.name] = pa.null()
    return types


def _refuse_streaming(_: Sequence[Column]) -> Iterator[pa.RecordBatch]:
    raise TableError(f"{ORIGIN} is counted where it is; its rows are not read here. Give a file or a frame in memory")
