"""Spark's tasks, run here one after the other: what they send, without a cluster to send it over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from microtome.private.engines.spark import counted_partition
from microtome.private.engines.spark_messages import merged
from microtome.private.engines.spark_packing import packed_partition
from microtome.private.engines.spark_people import PeopleTask, dealt_partition, kept_parts
from microtome.private.engines.spark_people import checked as checked_people
from microtome.private.engines.spark_rows import (
    RowTask,
    committed,
    noisy_partition,
    null_blocks,
    row_task,
    written_shards,
)
from microtome.private.randomness import KeyedRandomness
from microtome.private.table import Gathered, PrivateTable
from microtome.schema import Schema

Pieces = list[dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Here:
    """Counter and writer of a table in partitions; ``between`` may do something to what is sent between two stages.

    Partitions of people are packed already, and they have ``most_rows`` rows at most.
    """

    partitions: Sequence[Any]
    between: Callable[[Pieces, Any, Any], Pieces] = lambda pieces, task, key: pieces
    most_rows: int = 1

    @contextmanager
    def people(self, schema: Any, view: Any, key: bytes, told: Any, *, count_is_public: bool) -> Iterator[Gathered]:
        task = PeopleTask(schema=schema, view=view, num_parts=3, half=b"", driver=("", 0))
        dealt = [
            piece
            for number, table in enumerate(self.partitions)
            for batch in dealt_partition(number, table.to_batches(), task, key)
            for piece in batch.to_pylist()
        ]
        dealt = self.between(dealt, task, key)
        dealt.sort(key=lambda piece: (piece["part"], piece["partition"], piece["block"]))
        kept = list(kept_parts([pa.RecordBatch.from_pylist(dealt)], task, key)) if dealt else []
        people = checked_people([row for batch in kept for row in batch.to_pylist()], 3, schema.unit.key)
        here = Here(partitions=[kept[::2], kept[1::2]], most_rows=view.most_rows)
        yield Gathered(counter=here, writer=here, num_people=people if count_is_public else None)

    def num_rows(self) -> int:
        return sum(table.num_rows for table in self.partitions)

    def held(self) -> AbstractContextManager[None]:
        return nullcontext()

    def fill(self, tally: Any, schema: Any, block_rows: int, told: Any) -> int:
        sent = [
            counted_partition(number, packs(table, schema), tally, block_rows, self.most_rows)
            for number, table in enumerate(self.partitions)
        ]
        told(len(sent), len(sent))
        return merged(tally, (row for batch in sent for row in batch.to_pylist()))[1]

    def write(self, rows: Any, num_records: int, schema: Any, folder: Path, secret: bytes, told: Any) -> Any:
        task, key = row_task(rows, b"", ("", 0)), KeyedRandomness(secret)
        pieces = self.between(sent_by(self.partitions, rows.num_rows - num_records, task, key), task, key)
        pieces.sort(key=lambda piece: (piece["shard"], piece["partition"], piece["block"]))
        batch = pa.RecordBatch.from_pylist(pieces)
        written = [row for one in written_shards([batch], str(folder), task, key, 0) for row in one.to_pylist()]
        told(1, 1)
        return committed(written, task.num_shards, rows.num_rows, folder)


def packs(partition: pa.Table | list[pa.RecordBatch], schema: Schema) -> list[pa.RecordBatch]:
    """The rows of a partition, packed if they are not."""
    return partition if isinstance(partition, list) else list(packed_partition(partition.to_batches(), schema))


def sent_by(partitions: Sequence[Any], missing: int, task: RowTask, key: KeyedRandomness) -> Pieces:
    """All pieces of the partitions and of null rows."""
    schema = Schema(columns=tuple(code.column for code in task.codebook.codes))
    batches = [
        batch
        for number, partition in enumerate(partitions)
        for batch in noisy_partition(number, packs(partition, schema), task, key)
    ]
    batches += list(null_blocks(range(-(-missing // task.block_rows)), missing, task, key))
    return [piece for batch in batches for piece in batch.to_pylist()]


def in_partitions(table: pa.Table, rows: int, **options: Any) -> PrivateTable:
    """A table as Spark holds it, in partitions of so many rows."""
    parts = [table.slice(first, rows) for first in range(0, table.num_rows, rows)]
    types = dict(zip(table.schema.names, table.schema.types, strict=True))
    here = Here(partitions=parts, **options)

    def refused(_: Any) -> Any:
        raise AssertionError("rows are not read here")

    return PrivateTable(
        origin="the frame",
        types=types,
        num_rows=None,
        stream=refused,
        counter=here,
        writer=here,
        gatherer=here,
    )
