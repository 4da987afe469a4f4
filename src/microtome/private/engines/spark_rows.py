"""Noisy rows of a Spark frame, made by the executors that hold the records and written by them, in random order.

    partition ─► blocks ─► noise keyed by (secret, partition, block) ─► every row to a shard drawn for it
              ─► the rows of a shard, in order of partition and block ─► a keyed permutation ─► a file

Whatever a task draws follows from the secret and from where its records are: a task that is run again does the same
again, to the last bit, so nothing is looked at twice. A frame that gives other records then, or the same in another
order, would mix two runs of a task; every block is sent with a checksum to all shards, and shards that have seen
different ones are refused.

The secret is needed by tasks and must not be written anywhere: ``shared_key`` brings it there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microtome.errors import MicrotomeError, TableError
from microtome.private.engines.shared_key import handed_out, whole_key
from microtome.private.engines.spark_jobs import (
    ORIGIN,
    TWICE,
    UNSTEADY,
    Batches,
    record_batch,
    run,
    task_context,
    watched,
)
from microtome.private.engines.spark_packing import Packs, records_at_once, unpacked_blocks
from microtome.private.passes import Shard, Told
from microtome.private.randomness import KeyedRandomness
from microtome.private.sliced_rows import NoisyBlocks, SlicedRows
from microtome.private.slicing import SlicingMechanism
from microtome.published.shards import shard_name, write_shard
from microtome.schema import Codebook, Schema

_PIECE = pa.schema(
    [
        ("shard", pa.int32()),
        ("partition", pa.int64()),
        ("block", pa.int64()),
        ("size", pa.int64()),
        ("digest", pa.binary()),
        ("rows", pa.binary()),
        ("problem", pa.string()),
    ]
)
"""What a block sends to a shard: some of its rows, and what all of it was like; or why there is nothing."""
_PIECE_IN_SPARK = "shard int, partition bigint, block bigint, size bigint, digest binary, rows binary, problem string"
_WRITTEN = pa.schema(
    [
        ("shard", pa.int32()),
        ("rows", pa.int64()),
        ("digest", pa.string()),
        ("seen", pa.binary()),
        ("file", pa.string()),
        ("problem", pa.string()),
    ]
)
"""What a shard tells: its rows and their checksum, what blocks it has seen, and the name of its file so far."""
_WRITTEN_IN_SPARK = "shard int, rows bigint, digest string, seen binary, file string, problem string"
_LEAST_PIECE = 64
"""Rows that a block sends to a shard, on average: fewer, and messages outgrow what they carry."""
_PADDING = -1
"""The partition of null rows, which are in no frame."""


@dataclass(frozen=True, kw_only=True)
class RowTask:
    """What executors are told: public facts alone, and half of the key, which is none.

    Attributes:
        codebook: The code of the rows.
        directions: The matrix U.
        noise_scale: The standard deviation σ.
        nonnegative: Whether rows are clipped to non-negative coordinates too.
        block_rows: Records a block.
        piece_rows: Records with a stream of their own.
        num_shards: Files to write.
        half: Half of the key.
        driver: Host and port at which the other half is to be had.
    """

    codebook: Codebook
    directions: NDArray[np.float64]
    noise_scale: float
    nonnegative: bool
    block_rows: int
    piece_rows: int
    num_shards: int
    half: bytes
    driver: tuple[str, int]

    def key(self) -> KeyedRandomness:
        """The whole key, on an executor."""
        return KeyedRandomness(whole_key(self.half, *self.driver))

    def noisy(self, randomness: KeyedRandomness) -> NoisyBlocks:
        """What makes noisy rows, under noise of this key."""
        slicing = SlicingMechanism(
            directions=self.directions,
            noise_scale=self.noise_scale,
            nonnegative=self.nonnegative,
            randomness=randomness,
        )
        return NoisyBlocks(
            codebook=self.codebook, slicing=slicing, block_rows=self.block_rows, piece_rows=self.piece_rows
        )


@dataclass(frozen=True, kw_only=True)
class SparkRows:
    """Has the executors of a Spark frame make and write noisy rows.

    Attributes:
        frame: The frame.
        rows: What executors hold of it.
    """

    frame: Any
    rows: Packs

    def write(
        self, rows: SlicedRows, num_records: int, schema: Schema, folder: Path, secret: bytes, told: Told
    ) -> list[Shard]:
        """Write all rows to shards of a folder that driver and executors share."""
        settings = self.frame.sparkSession.sparkContext.getConf()
        host = settings.get("spark.driver.host")
        with handed_out(secret, settings.get("spark.driver.bindAddress", host)) as (half, port):
            task, packed = row_task(rows, half, (host, port)), self.rows.packed(schema, told)
            with watched(self.frame.sparkSession.sparkContext, told), records_at_once(self.frame):
                found = run(lambda: self._job(task, packed, rows.num_rows - num_records, folder).collect())
        return committed([row.asDict() for row in found], task.num_shards, rows.num_rows, folder)

    def _job(self, task: RowTask, packed: Any, missing: int, folder: Path) -> Any:
        """The frame of what shards tell; to collect it is the work."""
        pieces = packed.mapInArrow(_maker(task), _PIECE_IN_SPARK)
        if missing > 0:
            blocks = -(-missing // task.block_rows)
            null = self.frame.sparkSession.range(0, blocks, 1, min(blocks, _most_tasks(self.frame)))
            pieces = pieces.unionByName(null.mapInArrow(_padder(task, missing), _PIECE_IN_SPARK))
        by_shard = pieces.repartition(task.num_shards, "shard").sortWithinPartitions("shard", "partition", "block")
        return by_shard.mapInArrow(_writer(task, str(folder)), _WRITTEN_IN_SPARK)


def row_task(rows: SlicedRows, half: bytes, driver: tuple[str, int]) -> RowTask:
    """What executors are told of the rows that they are to make."""
    noisy = rows.noisy
    most = max(1, noisy.block_rows // _LEAST_PIECE)
    return RowTask(
        codebook=rows.codebook,
        directions=rows.slicing.directions,
        noise_scale=rows.slicing.noise_scale,
        nonnegative=rows.slicing.nonnegative,
        block_rows=noisy.block_rows,
        piece_rows=noisy.piece_rows,
        num_shards=min(rows.num_bins, most),
        half=half,
        driver=driver,
    )


def noisy_partition(number: int, packs: Batches, task: RowTask, key: KeyedRandomness) -> Iterator[pa.RecordBatch]:
    """What a partition, whose rows are packed, sends to all shards, block by block."""
    own = KeyedRandomness(key.subkey(f"partition/{number}"))
    noisy = task.noisy(own)
    try:
        for block, records in enumerate(unpacked_blocks(packs, task.block_rows, most_rows=1)):
            yield _dealt(number, block, noisy((block, records)), task.num_shards, own)
    except MicrotomeError as error:
        yield record_batch(_PIECE, [(0, number, 0, 0, b"", b"", str(error))])


def null_blocks(numbers: Iterable[int], count: int, task: RowTask, key: KeyedRandomness) -> Iterator[pa.RecordBatch]:
    """The same of null rows, ``count`` in all, of which a block has as many as a block of records."""
    own = KeyedRandomness(key.subkey(f"partition/{_PADDING}"))
    noisy = task.noisy(own)
    for block in numbers:
        size = min(task.block_rows, count - block * task.block_rows)
        yield _dealt(_PADDING, block, noisy((block, size)), task.num_shards, own)


def _dealt(
    partition: int, block: int, rows: NDArray[np.int16], num_shards: int, randomness: KeyedRandomness
) -> pa.RecordBatch:
    """The rows of a block, each for a shard that is drawn for it; every shard gets a message, if an empty one."""
    drawn = randomness.stream("shard", block).integers(0, num_shards, size=len(rows))
    grouped = rows[np.argsort(drawn, kind="stable")]
    ends = np.cumsum(np.bincount(drawn, minlength=num_shards)).tolist()
    whole = hashlib.blake2b(rows.data, digest_size=16).digest()
    starts = [0, *ends[:-1]]
    return record_batch(
        _PIECE,
        [
            (shard, partition, block, len(rows), whole, grouped[start:end].tobytes(), None)
            for shard, (start, end) in enumerate(zip(starts, ends, strict=True))
        ],
    )


def written_shards(
    batches: Batches, folder: str, task: RowTask, key: KeyedRandomness, attempt: int
) -> Iterator[pa.RecordBatch]:
    """Write the shards whose pieces come, sorted by shard, partition and block, to files of this attempt alone."""
    pieces = (piece for batch in batches for piece in batch.to_pylist())
    for shard, own in groupby(pieces, key=lambda piece: piece["shard"]):
        seen, parts, last = hashlib.blake2b(digest_size=16), [], None
        problem = None
        for piece in own:
            place = piece["partition"], piece["block"]
            problem = problem or piece["problem"] or (TWICE if place == last else None)
            seen.update(f"{place} {piece['size']} {piece['digest'].hex()}\n".encode())
            parts.append(np.frombuffer(piece["rows"], np.int16))
            last = place
        if problem is not None:
            yield record_batch(_WRITTEN, [(shard, 0, "", b"", "", problem)])
            continue
        rows = np.concatenate(parts).reshape(-1, task.directions.shape[1])
        order = key.stream("shuffle", shard).permutation(len(rows))
        file = f"{shard_name(shard)}.attempt-{attempt}"
        digest = write_shard(Path(folder) / file, rows[order])
        yield record_batch(_WRITTEN, [(shard, len(rows), digest, seen.digest(), file, None)])


def committed(found: list[dict[str, Any]], num_shards: int, num_rows: int, folder: Path) -> list[Shard]:
    """The shards, under their names: of several attempts at one, that of which Spark has taken the result."""
    shards = checked(found, num_shards, num_rows)
    for one in found:
        (folder / one["file"]).rename(folder / shard_name(one["shard"]))
    for left in set(folder.iterdir()) - {folder / shard_name(number) for number in range(num_shards)}:
        left.unlink(missing_ok=True)  # of attempts that were killed, or came second
    return shards


def checked(found: list[dict[str, Any]], num_shards: int, num_rows: int) -> list[Shard]:
    """The shards in order; refuses any but one set of all rows, made of the same blocks."""
    for problem in (one["problem"] for one in found if one["problem"] is not None):
        raise TableError(problem)
    found = sorted(found, key=lambda one: one["shard"])
    if [one["shard"] for one in found] != list(range(num_shards)):
        raise MicrotomeError("Spark has not written every shard once; nothing is released, start again")
    if len({bytes(one["seen"]) for one in found}) != 1:
        raise TableError(UNSTEADY)
    if sum(one["rows"] for one in found) != num_rows:
        raise TableError(f"{ORIGIN} changed while it was read; start again with a fixed copy")
    return [Shard(num_rows=one["rows"], digest=one["digest"]) for one in found]


def _maker(task: RowTask) -> Callable[[Batches], Iterator[Any]]:
    def make(batches: Batches) -> Iterator[pa.RecordBatch]:
        from microtome.private.engines.spark_rows import noisy_partition

        yield from noisy_partition(task_context().partitionId(), batches, task, task.key())

    return make


def _padder(task: RowTask, count: int) -> Callable[[Batches], Iterator[Any]]:
    def pad(batches: Batches) -> Iterator[pa.RecordBatch]:
        from microtome.private.engines.spark_rows import null_blocks

        yield from null_blocks((n for batch in batches for n in batch.column(0).to_pylist()), count, task, task.key())

    return pad


def _writer(task: RowTask, folder: str) -> Callable[[Batches], Iterator[Any]]:
    def write(batches: Batches) -> Iterator[pa.RecordBatch]:
        from microtome.private.engines.spark_rows import written_shards

        yield from written_shards(batches, folder, task, task.key(), task_context().taskAttemptId())

    return write


def _most_tasks(frame: Any) -> int:
    return int(frame.sparkSession.sparkContext.defaultParallelism)
