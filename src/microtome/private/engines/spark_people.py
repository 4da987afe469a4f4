"""People of a Spark frame: executors bring the rows of each together, and keep those that ``row_choice`` keeps.

    partition ─► blocks, each row with whose it is ─► every row to the part of that person
              ─► the rows of a part ─► those that are kept, packed by how many a person has

Nothing is random but the key, which reaches tasks as that of noisy rows does (``shared_key``), so whatever Spark does
again comes out as before. Rows are chosen by what is in them, so it does not matter in which order they arrive. A frame
that gives other rows when a task is run again would tear people apart: every block tells all parts what it had, and
parts that were told different things are refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc

from microtome.errors import MicrotomeError, TableError
from microtome.private.engines.shared_key import handed_out, whole_key
from microtome.private.engines.spark_jobs import (
    ORIGIN,
    TWICE,
    UNSTEADY,
    Batches,
    columns_of,
    partition_table,
    record_batch,
    run,
    task_context,
    watched,
)
from microtome.private.engines.spark_packing import PACK_ROWS, blob, dropped, records_at_once
from microtome.private.key_texts import refuse_spellings
from microtome.private.passes import Told
from microtome.private.people import (
    kept_rows,
    key_of,
    refuse_nobodys,
    spelled_several_ways,
    unit_of,
    with_owners,
)
from microtome.schema import Schema
from microtome.schema.view import View

_DEALT = pa.schema(
    [
        ("part", pa.int32()),
        ("partition", pa.int64()),
        ("block", pa.int64()),
        ("size", pa.int64()),
        ("nobodys", pa.int64()),
        ("digest", pa.binary()),
        ("rows", pa.binary()),
        ("problem", pa.string()),
    ]
)
"""What a block sends to a part: the rows of its people, and what all of the block was like; or why there is nothing."""
_DEALT_IN_SPARK = (
    "part int, partition bigint, block bigint, size bigint, nobodys bigint, digest binary, rows binary, problem string"
)
_KEPT = pa.schema(
    [
        ("part", pa.int32()),
        ("siblings", pa.int32()),
        ("records", pa.int64()),
        ("rows", pa.binary()),
        ("total", pa.int64()),
        ("nobodys", pa.int64()),
        ("several", pa.int64()),
        ("seen", pa.binary()),
        ("problem", pa.string()),
    ]
)
"""What a part keeps: as packed rows, with what it was told of all blocks, and how many keys it has in several
spellings; or why there is nothing."""
_KEPT_IN_SPARK = (
    "part int, siblings int, records bigint, rows binary, total bigint, nobodys bigint, several bigint, seen binary, "
    "problem string"
)
_PARTS_A_PARTITION = 2
"""Parts for each partition of the frame: one has to fit in a worker's memory, with what is made of it."""


@dataclass(frozen=True, kw_only=True)
class PeopleTask:
    """What executors are told: public facts alone, and half of the key, which is none.

    Attributes:
        schema: What is public about the frame.
        view: What is measured of its rows.
        num_parts: Parts that people are dealt to.
        half: Half of the key.
        driver: Host and port at which the other half is to be had.
    """

    schema: Schema
    view: View
    num_parts: int
    half: bytes
    driver: tuple[str, int]

    def key(self) -> bytes:
        """The whole key, on an executor."""
        return whole_key(self.half, *self.driver)


@dataclass(frozen=True, kw_only=True)
class PackedPeople:
    """Rows that are kept of people, as executors hold them; whoever has gathered them drops them."""

    packed_rows: Any
    most_rows: int

    def held(self) -> AbstractContextManager[None]:
        """They stay what they are."""
        return nullcontext()

    def packed(self, schema: Schema, told: Told) -> Any:
        """The packed frame."""
        return self.packed_rows


@contextmanager
def gathered_people(frame: Any, schema: Schema, view: View, key: bytes, told: Told) -> Iterator[tuple[Any, int]]:
    """The packed frame of what is kept of people, and their number."""
    settings = frame.sparkSession.sparkContext.getConf()
    host = settings.get("spark.driver.host")
    with handed_out(key, settings.get("spark.driver.bindAddress", host)) as (half, port):
        parts = _PARTS_A_PARTITION * int(run(lambda: frame.rdd.getNumPartitions()))
        task = PeopleTask(schema=schema, view=view, num_parts=parts, half=half, driver=(host, port))
        kept = _job(frame, task).persist()
        try:
            with watched(frame.sparkSession.sparkContext, told), records_at_once(frame, PACK_ROWS):
                found = run(lambda: kept.drop("rows").collect())
            people = checked([row.asDict() for row in found], parts, unit_of(schema).key)
            yield kept.select("siblings", "records", "rows", "problem"), people
        finally:
            dropped(kept)


def _job(frame: Any, task: PeopleTask) -> Any:
    named = columns_of(frame, [*task.schema.names, unit_of(task.schema).key])
    dealt = named.mapInArrow(_dealer(task), _DEALT_IN_SPARK)
    by_part = dealt.repartition(task.num_parts, "part").sortWithinPartitions("part", "partition", "block")
    return by_part.mapInArrow(_keeper(task), _KEPT_IN_SPARK)


def dealt_partition(number: int, batches: Batches, task: PeopleTask, key: bytes) -> Iterator[pa.RecordBatch]:
    """What a partition sends to all parts, block by block."""
    try:
        for block, (rows, whose) in enumerate(_blocks(batches, task.schema)):
            yield _dealt(number, block, rows, whose, task, key)
    except MicrotomeError as error:
        yield record_batch(_DEALT, [(0, number, 0, 0, 0, b"", None, str(error))])


def _blocks(batches: Batches, schema: Schema) -> Iterator[tuple[pa.RecordBatch, pa.Array]]:
    """Rows in the schema's types, and their keys, in blocks of some size."""
    waiting: list[tuple[pa.RecordBatch, pa.Array]] = []
    held = 0
    for batch, (whose,) in partition_table(batches, schema).keyed(schema.columns, [key_of(schema)]):
        waiting.append((batch, whose))
        held += batch.num_rows
        if held >= PACK_ROWS:
            yield _together(waiting)
            waiting, held = [], 0
    if held:
        yield _together(waiting)


def _together(waiting: list[tuple[pa.RecordBatch, pa.Array]]) -> tuple[pa.RecordBatch, pa.Array]:
    return pa.concat_batches([batch for batch, _ in waiting]), pa.concat_arrays([whose for _, whose in waiting])


def _dealt(
    partition: int, block: int, rows: pa.RecordBatch, whose: pa.Array, task: PeopleTask, key: bytes
) -> pa.RecordBatch:
    """The rows of a block by part; every part gets a message, if one without rows."""
    owned, numbers = with_owners(rows, whose, key, task.num_parts)
    by_part = pa.Table.from_batches([owned]).take(pa.array(np.argsort(numbers, kind="stable")))
    ends = np.cumsum(np.bincount(numbers, minlength=task.num_parts)).tolist()
    sent = [
        blob(by_part.slice(start, end - start)) if end > start else None
        for start, end in zip([0, *ends], ends, strict=False)
    ]
    whole = hashlib.blake2b(b"".join(filter(None, sent)), digest_size=16).digest()
    told = (rows.num_rows, whose.null_count, whole)
    return record_batch(_DEALT, [(part, partition, block, *told, own, None) for part, own in enumerate(sent)])


def kept_parts(batches: Batches, task: PeopleTask, key: bytes) -> Iterator[pa.RecordBatch]:
    """What is kept of the parts whose pieces come, sorted by part, partition and block."""
    pieces = (piece for batch in batches for piece in batch.to_pylist())
    for part, own in groupby(pieces, key=lambda piece: piece["part"]):
        try:
            yield from _kept(part, own, task, key)
        except MicrotomeError as error:
            yield record_batch(_KEPT, [(part, 0, 0, None, 0, 0, 0, b"", str(error))])


def _kept(part: int, pieces: Iterator[dict[str, Any]], task: PeopleTask, key: bytes) -> Iterator[pa.RecordBatch]:
    seen, tables, last = hashlib.blake2b(digest_size=16), [], None
    total = nobodys = 0
    for piece in pieces:
        place = piece["partition"], piece["block"]
        if piece["problem"] is not None:
            raise TableError(piece["problem"])
        if place == last:
            raise MicrotomeError(TWICE)
        seen.update(f"{place} {piece['size']} {piece['digest'].hex()}\n".encode())
        total, nobodys, last = total + piece["size"], nobodys + piece["nobodys"], place
        if piece["rows"] is not None:
            tables.append(ipc.open_stream(piece["rows"]).read_all())
    found = pa.concat_tables(tables).combine_chunks() if tables else None
    several = 0 if found is None else spelled_several_ways(found)
    told = (total, nobodys, several, seen.digest(), None)
    yield record_batch(_KEPT, [(part, 0, 0, None, *told)])
    if found is not None and not nobodys:
        rows, siblings = kept_rows(found, task.schema, task.view, key)
        for number in np.unique(siblings).tolist():
            alike = rows.filter(pa.array(siblings == number))
            step = max(PACK_ROWS // number, 1) * number
            for start in range(0, alike.num_rows, step):
                some = alike.slice(start, step).combine_chunks()
                yield record_batch(_KEPT, [(part, number, some.num_rows // number, blob(some), *told)])


def checked(found: list[dict[str, Any]], num_parts: int, key: str) -> int:
    """The number of people; refuses any but one set of all parts, made of the same blocks."""
    for problem in (one["problem"] for one in found if one["problem"] is not None):
        raise TableError(problem)
    if len({bytes(one["seen"]) for one in found}) > 1:
        raise TableError(UNSTEADY)
    firsts = sorted(one["part"] for one in found if one["siblings"] == 0)
    if found and firsts != list(range(num_parts)):
        raise MicrotomeError("Spark has not gathered every part once; nothing is released, start again")
    for one in found:
        refuse_nobodys(one["nobodys"], one["total"], key, ORIGIN)
    refuse_spellings(sum(one["several"] for one in found if one["siblings"] == 0), key, ORIGIN)
    return sum(one["records"] for one in found)


def _dealer(task: PeopleTask) -> Callable[[Batches], Iterator[Any]]:
    def deal(batches: Batches) -> Iterator[pa.RecordBatch]:
        from microtome.private.engines.spark_people import dealt_partition

        yield from dealt_partition(task_context().partitionId(), batches, task, task.key())

    return deal


def _keeper(task: PeopleTask) -> Callable[[Batches], Iterator[Any]]:
    def keep(batches: Batches) -> Iterator[pa.RecordBatch]:
        from microtome.private.engines.spark_people import kept_parts

        yield from kept_parts(batches, task, task.key())

    return keep
