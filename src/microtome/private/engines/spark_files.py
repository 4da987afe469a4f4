"""Files of a Spark frame that executors read and count for themselves, so that no row passes through Java.

    files ─► row groups, dealt to tasks ─► read by Arrow ─► our tally ─► one message a task ─► the driver

That is so where a frame is all rows of some Parquet files and nothing else, which its plan says, and where Arrow reads
the columns of the schema as Spark does. Any doubt, and there are no such files. Whoever reads a file makes sure, before
and after, that it is the one that the driver has seen.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Self
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from microtome.errors import MicrotomeError, TableError
from microtome.private.engines.spark_messages import gathered, message, problem
from microtome.private.memory import keep_freed_memory
from microtome.private.parquet import open_parquet
from microtome.private.passes import TableTally, Told
from microtome.private.stored_file import StoredFile
from microtome.private.table import narrowed
from microtome.schema import Schema

_RELATION = "org.apache.spark.sql.execution.datasources.LogicalRelation"
_SCAN = (
    "org.apache.spark.sql.execution.datasources.HadoopFsRelation",
    "org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat",
    "org.apache.spark.sql.execution.datasources.InMemoryFileIndex",
)
"""What a frame of files is made of, in Spark's words: relation, format, and how the files were listed."""
_OPTIONS = {"path", "paths"}
"""What may have been said of the files: where they are."""
_ALIKE = {
    pa.bool_(),
    pa.int8(),
    pa.int16(),
    pa.int32(),
    pa.int64(),
    pa.float32(),
    pa.float64(),
    pa.string(),
    pa.date32(),
    pa.timestamp("us"),
}
"""Types of which Arrow and Spark read the same values."""
_CALENDAR = "spark.sql.parquet.datetimeRebaseModeInRead"
_OLD_CALENDAR = b"org.apache.spark.legacyDateTime"
_WRITER = b"org.apache.spark.version"
_END = struct.Struct("<I4s")
_MAGIC = b"PAR1"
_ROWS_A_TASK = 1 << 22
_FILES_AT_ONCE = 8


@dataclass(frozen=True, kw_only=True)
class ParquetPart:
    """Row groups of a file.

    Attributes:
        path: Where it is, for the driver and all executors.
        size: Its bytes.
        modified: When it was written to, in nanoseconds since 1970.
        footer: A digest of what the file says of itself.
        groups: Their numbers, and how many rows each has.
    """

    path: str
    size: int
    modified: int
    footer: str
    groups: tuple[tuple[int, int], ...]

    @classmethod
    def whole(cls, path: str) -> tuple[Self, pa.Schema, dict[bytes, bytes]]:
        """All row groups of a file, its columns, and what its writer has added."""
        status, digest = os.stat(path), _footer(path)
        file = pq.ParquetFile(path, pre_buffer=False)
        groups = tuple((group, file.metadata.row_group(group).num_rows) for group in range(file.num_row_groups))
        part = cls(path=path, size=status.st_size, modified=status.st_mtime_ns, footer=digest, groups=groups)
        return part, file.schema_arrow, file.metadata.metadata or {}

    @property
    def rows(self) -> int:
        """Rows of all groups."""
        return sum(rows for _, rows in self.groups)

    def require_same(self) -> None:
        """Refuse a file that is another one by now."""
        try:
            status = os.stat(self.path)
            found = status.st_size, status.st_mtime_ns, _footer(self.path)
        except OSError as error:
            raise TableError(
                f"{self.path}: {error.strerror or error}; executors must reach the files that the driver reaches"
            ) from error
        if found != (self.size, self.modified, self.footer):
            raise self.changed()

    def changed(self) -> TableError:
        """What is said of a file that is another one by now."""
        return TableError(f"{self.path} changed while it was read; start again with a fixed copy")


@dataclass(frozen=True, kw_only=True)
class PlainFiles:
    """All rows of some Parquet files.

    Attributes:
        session: Spark's.
        parts: The files.
        columns: Columns that Arrow reads as Spark does.
    """

    session: Any
    parts: tuple[ParquetPart, ...]
    columns: frozenset[str]

    @property
    def rows(self) -> int:
        """How many there are."""
        return sum(part.rows for part in self.parts)

    def have(self, schema: Schema) -> bool:
        """Whether all columns of a schema can be read by Arrow."""
        return self.columns.issuperset(schema.names)

    def fill(self, tally: TableTally, schema: Schema, block_rows: int, told: Told) -> int:
        """Count all rows; gives their number."""
        tasks = dealt(self.parts, int(self.session.sparkContext.defaultParallelism))
        counter = _counter(tasks, tally, schema, block_rows)
        seen, rows = gathered(self.session.sparkContext, len(tasks), counter, tally, told)
        if seen != set(range(len(tasks))):
            raise MicrotomeError("Spark has not counted every part once; nothing is released, start again")
        return rows


def plain_files(frame: Any, types: dict[str, pa.DataType]) -> PlainFiles | None:
    """The files whose rows a frame stands for; ``None`` where it may stand for anything else."""
    paths = _listed(frame)
    if not paths:
        return None
    try:
        with ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
            found = list(pool.map(ParquetPart.whole, paths))
    except (OSError, pa.ArrowException):
        return None  # Spark may still read it, or say what is wrong
    old = _setting(frame, _CALENDAR) != "CORRECTED"
    columns = frozenset(types)
    for _, schema, told in found:
        columns &= _alike(schema, types, old_days=old or _has_old_days(told))
    return PlainFiles(session=frame.sparkSession, parts=tuple(part for part, *_ in found), columns=columns)


def _listed(frame: Any) -> list[str] | None:
    """The files of a frame whose plan, as it was asked for and as it will be run, is to read them all."""
    try:
        query = frame._jdf.queryExecution()
        plans = query.analyzed(), query.withCachedData(), query.optimizedPlan()
        if any(plan.getClass().getName() != _RELATION for plan in plans):
            return None
        relation = plans[0].relation()
        if relation.getClass().getName() != _SCAN[0]:
            return None
        parts = relation.fileFormat(), relation.location()
        if tuple(part.getClass().getName() for part in parts) != _SCAN[1:]:
            return None
        options = {name for name in relation.options().keySet().mkString("\n").split("\n") if name}
        if not options <= _OPTIONS or not relation.partitionSchema().isEmpty() or relation.bucketSpec().isDefined():
            return None
        addresses = [urlsplit(address) for address in relation.location().inputFiles()]
    except Exception:  # another version of Spark, whose plans are written otherwise
        return None
    if any(address.scheme != "file" or address.netloc for address in addresses):
        return None
    return [unquote(address.path) for address in addresses]


def _setting(frame: Any, name: str) -> str | None:
    """What is set in the frame's session, or what holds where nothing is; ``None`` where there is no such setting."""
    try:
        return str(frame.sparkSession.conf.get(name))
    except Exception:
        return None


def _alike(stored: pa.Schema, types: dict[str, pa.DataType], *, old_days: bool) -> set[str]:
    """Columns of a file that Arrow and Spark read alike; Spark takes names that differ in case alone for one."""
    folded = [name.casefold() for name in stored.names]
    known = {field.name: _plain(field.type) for field in stored if folded.count(field.name.casefold()) == 1}
    alike = {name for name, kind in types.items() if known.get(name) == kind and kind in _ALIKE}
    return {name for name in alike if not (old_days and types[name] == pa.date32())}


def _plain(stored: pa.DataType) -> pa.DataType:
    """The type of texts, however they are stored."""
    values = stored.value_type if pa.types.is_dictionary(stored) else stored
    return pa.string() if values in (pa.string(), pa.large_string(), pa.string_view()) else stored


def _has_old_days(told: dict[bytes, bytes]) -> bool:
    """Whether a version of Spark has written the file that counted days by another calendar, or may have."""
    return _OLD_CALENDAR in told or told.get(_WRITER, b"9").split(b".")[0] in (b"0", b"1", b"2")


def dealt(parts: Sequence[ParquetPart], parallelism: int) -> list[tuple[ParquetPart, ...]]:
    """The work of tasks: row groups that follow each other, about as many rows for each."""
    total = max(sum(part.rows for part in parts), 1)
    number = parallelism * -(-total // (_ROWS_A_TASK * parallelism))
    tasks: dict[int, list[ParquetPart]] = {}
    before = 0
    for part in parts:
        for group in part.groups:
            task = tasks.setdefault(min(before * number // total, number - 1), [])
            if task and task[-1].path == part.path and task[-1].groups[-1][0] == group[0] - 1:
                task[-1] = replace(task[-1], groups=(*task[-1].groups, group))
            else:
                task.append(replace(part, groups=(group,)))
            before += group[1]
    return [tuple(task) for task in tasks.values()]


def counted_parts(
    number: int, parts: Sequence[ParquetPart], tally: TableTally, schema: Schema, block_rows: int
) -> pa.RecordBatch:
    """The message of a task."""
    keep_freed_memory()
    tally, rows = deepcopy(tally), 0  # a copy is empty, whatever was counted before
    try:
        for part in parts:
            rows += _count(part, tally, schema, block_rows)
    except MicrotomeError as error:
        if isinstance(error.__cause__, OSError):
            raise  # a file that cannot be read now may be readable when Spark tries again
        return problem([number], error)
    return message([number], rows, tally)


def _count(part: ParquetPart, tally: TableTally, schema: Schema, block_rows: int) -> int:
    part.require_same()
    file = StoredFile(name=part.path, path=part.path)
    table, rows = open_parquet(file, groups=[group for group, _ in part.groups]), 0
    for block in table.pieces(narrowed(schema, tally.columns), block_rows):
        tally.add(block)
        rows += block.num_rows
    part.require_same()
    if rows != part.rows:
        raise part.changed()
    return rows


def _counter(
    tasks: Sequence[tuple[ParquetPart, ...]], tally: TableTally, schema: Schema, block_rows: int
) -> Callable[[int], pa.RecordBatch]:
    def count(number: int) -> pa.RecordBatch:
        from microtome.private.engines.spark_files import counted_parts

        return counted_parts(number, tasks[number], tally, schema, block_rows)

    return count


def _footer(path: str) -> str:
    """A digest of the end of a Parquet file, which says where and what everything in it is."""
    with open(path, "rb") as file:
        file.seek(-_END.size, os.SEEK_END)
        length, magic = _END.unpack(file.read(_END.size))
        if magic != _MAGIC:
            raise OSError(f"{path} is no Parquet file, or an encrypted one")
        file.seek(-_END.size - length, os.SEEK_END)
        return hashlib.blake2b(file.read(length), digest_size=16).hexdigest()
