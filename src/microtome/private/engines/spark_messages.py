"""What tasks send to the driver, one message each: what was counted of which partitions, or why nothing could be.

Every message says which partitions it is of, and one that came before is dropped. A row that cannot be counted is
reported as such, and not as a failed task, which Spark would try again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from typing import Any

import pyarrow as pa

from microtome.errors import MicrotomeError, TableError
from microtome.private.engines.sent_counts import add_bytes, to_bytes
from microtome.private.engines.spark_jobs import Batches, record_batch, run, watched
from microtome.private.engines.spark_packing import records_at_once
from microtome.private.passes import TableTally, Told

_MESSAGE = pa.schema(
    [("partitions", pa.list_(pa.int64())), ("rows", pa.int64()), ("counts", pa.binary()), ("problem", pa.string())]
)
"""Of which partitions, how many rows these have, what was counted, or why nothing could be."""
MESSAGE_IN_SPARK = "partitions array<bigint>, rows bigint, counts binary, problem string"
_MOST_AT_ONCE = 64
"""Messages that the driver takes; more are merged in groups on the way to it."""


def message(partitions: Iterable[int], rows: int, tally: TableTally) -> pa.RecordBatch:
    """What was counted."""
    return record_batch(_MESSAGE, [(sorted(partitions), rows, to_bytes(tally), None)])


def problem(partitions: Iterable[int], error: MicrotomeError) -> pa.RecordBatch:
    """Why nothing could be."""
    return record_batch(_MESSAGE, [(sorted(partitions), 0, None, str(error))])


def collected(sent: Any, partitions: int, tally: TableTally, told: Told) -> tuple[set[int], int]:
    """Add what all tasks of a frame of messages send to a tally; gives the partitions, and the number of their rows."""
    if partitions > _MOST_AT_ONCE:
        groups = math.isqrt(partitions)
        sent = sent.repartition(groups, "partitions").mapInArrow(_group_merger(tally), MESSAGE_IN_SPARK)
    with watched(sent.sparkSession.sparkContext, told), records_at_once(sent):
        messages = run(sent.collect)
    return merged(tally, (row.asDict() for row in messages))


def gathered(
    context: Any, tasks: int, work: Callable[[int], pa.RecordBatch], tally: TableTally, told: Told
) -> tuple[set[int], int]:
    """The same of numbered tasks that read for themselves what they count: for these Spark need not plan a query."""
    sent = run(lambda: context.parallelize(range(tasks), max(tasks, 1))).map(_numbered(work))
    if tasks > _MOST_AT_ONCE:
        sent = sent.partitionBy(math.isqrt(tasks)).mapPartitions(_numbered_merger(tally))
    sent = sent.values()
    sent._jrdd_deserializer = _serializer()
    with watched(context, told):
        messages = run(sent.collect)
    return merged(tally, (row for one in messages for row in of_bytes(one).to_pylist()))


def _serializer() -> Any:
    """What passes bytes on as they are, so that nothing is unpickled here that tasks have sent."""
    from pyspark.serializers import NoOpSerializer

    return NoOpSerializer()


def _numbered(work: Callable[[int], pa.RecordBatch]) -> Callable[[int], tuple[int, bytes]]:
    """What a task does: its work, with its number."""

    def numbered(number: int) -> tuple[int, bytes]:
        from microtome.private.engines.spark_messages import as_bytes

        return number, as_bytes(work(number))

    return numbered


def _numbered_merger(tally: TableTally) -> Callable[[Iterator[tuple[int, bytes]]], Iterator[tuple[int, bytes]]]:
    """What a task of the second stage does: merges the messages that it gets into one."""

    def merge(sent: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
        from microtome.private.engines.spark_messages import as_bytes, merged_group, of_bytes

        yield 0, as_bytes(merged_group((of_bytes(one) for _, one in sent), tally))

    return merge


def as_bytes(batch: pa.RecordBatch) -> bytes:
    """A message as bytes."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def of_bytes(sent: bytes) -> pa.RecordBatch:
    """The message that came as bytes."""
    return pa.ipc.open_stream(sent).read_next_batch()


def _group_merger(tally: TableTally) -> Callable[[Batches], Iterator[Any]]:
    """What a task of the second stage does: merges the messages that it gets into one."""

    def merge(batches: Batches) -> Iterator[pa.RecordBatch]:
        from microtome.private.engines.spark_messages import merged_group

        yield merged_group(batches, tally)

    return merge


def merged_group(batches: Batches, tally: TableTally) -> pa.RecordBatch:
    """The message of a group of partitions."""
    tally = deepcopy(tally)  # a copy is empty, whatever was counted before
    try:
        partitions, rows = merged(tally, (row for batch in batches for row in batch.to_pylist()))
    except MicrotomeError as error:
        return problem([], error)
    return message(partitions, rows, tally)


def merged(tally: TableTally, messages: Iterable[dict[str, Any]]) -> tuple[set[int], int]:
    """Add all messages to a tally, each partition once; gives the partitions, and the number of their rows."""
    seen: set[int] = set()
    total = 0
    for one in messages:
        if one["problem"] is not None:
            raise TableError(one["problem"])
        partitions = set(one["partitions"])
        if partitions and partitions <= seen:
            continue
        if partitions & seen:
            raise MicrotomeError("Spark has sent a partition in two groups; nothing is released, start again")
        add_bytes(tally, bytes(one["counts"]))
        seen |= partitions
        total += int(one["rows"])
    return seen, total
