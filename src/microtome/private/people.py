"""People and their rows: all rows of a person brought together, wherever in a table they stand, and some kept.

    table ─► parts, by a keyed hash of whose a row is ─► people, part by part ─► rows that are kept, by their number

Rows lie in a private folder meanwhile, without their keys, and memory does not grow with the table. Nothing is counted
here and nothing comes out: passes read what was kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microtome.errors import TableError
from microtome.private.key_texts import plain_spelling, refuse_spellings
from microtome.private.partitions import Partitions, parts_for
from microtome.private.row_choice import Kept, Lots, content, keep, keyed_hash
from microtome.private.table import Counter, PrivateTable, RowWriter
from microtome.private.weighting import WHOLE, TableBlock, WeightedBlock
from microtome.progress import Progress
from microtome.schema import Column, Schema
from microtome.schema.aside import Aside
from microtome.schema.cells import numbers_to_arrow
from microtome.schema.unit import Unit
from microtome.schema.view import View
from microtome.whole_file import disk_errors, scratch_folder

_FOLDER = "microtome-people"
_OWNER = ("owner 0", "owner 1")
"""Columns of the parts that say whose a row is: 128 bits of a keyed hash, so that nobody is taken for another."""
_SPELLING = "spelling"
"""The column with a hash of the key's plain spelling. Rows are dealt by it: all spellings of a key are in one part."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PeopleTable:
    """Rows that are kept of people, by how many a person has.

    Attributes:
        origin: What to call them in messages.
        num_rows: The number of people, where it is public.
        tables: For each number of rows, those of the people who have so many, one person after the other.
        most_rows: Rows of a person that there are at most.
        counter: Who counts them where they are, if they are not here.
        writer: Who writes noisy rows there, if anybody can.
    """

    origin: str
    num_rows: int | None
    tables: Mapping[int, pa.Table]
    most_rows: int
    counter: Counter | None = None
    writer: RowWriter | None = None
    is_of_people: ClassVar[bool] = True

    def blocks(self, schema: Schema, rows: int) -> Iterator[TableBlock]:
        """All rows in blocks of about so many, whole people in each."""
        for siblings, table in self.tables.items():
            yield from blocks_of(table.select(schema.names), siblings, rows, self.most_rows)

    def pieces(self, schema: Schema, rows: int) -> Iterator[TableBlock]:
        """The same."""
        return self.blocks(schema, rows)

    def check_columns(self, schema: Schema) -> None:
        """All columns of the view are there: they were made for it."""


def blocks_of(table: pa.Table, siblings: int, rows: int, most_rows: int) -> Iterator[TableBlock]:
    """Rows of people who have so many each, in blocks of about ``rows``, whole people in each."""
    step = max(rows // siblings, 1) * siblings
    for start in range(0, table.num_rows, step):
        block = table.slice(start, step).combine_chunks()
        people = block.num_rows // siblings
        if most_rows == 1:
            yield block
        else:
            yield WeightedBlock(rows=block, weight=WHOLE // siblings, siblings=siblings, people=people)


@contextmanager
def people_of(
    table: PrivateTable, schema: Schema, view: View, *, key: bytes, progress: Progress, count_is_public: bool
) -> Iterator[PeopleTable]:
    """The rows of a table's people that are kept, on disk for as long as they are needed.

    Args:
        table: The private rows.
        schema: What is public about them, with a unit.
        view: What is measured of them.
        key: Fresh secret bits.
        progress: Told how many rows were read.
        count_is_public: Whether the number of people may be known.
    """
    unit = unit_of(schema)
    table.check_columns(schema, [unit.key])
    if table.counter is not None:
        if table.gatherer is None:
            raise TableError(
                f"{table.origin}: the rows of a person have to be brought together here, and this engine counts them "
                "where they are; give the rows as files or a frame, or one row a person and no unit"
            )
        told = partial(progress, "people")
        with table.gatherer.people(schema, view, key, told, count_is_public=count_is_public) as found:
            yield PeopleTable(
                origin=table.origin,
                num_rows=found.num_people,
                tables={},
                most_rows=unit.max_rows,
                counter=found.counter,
                writer=found.writer,
            )
        return
    with scratch_folder(_FOLDER) as folder, disk_errors(folder), Partitions(folder, "part") as parts:
        _scatter(table, schema, parts, key, progress)
        with Partitions(folder, "kept") as kept:
            several = 0
            for number, part in parts.read():
                several += spelled_several_ways(part)
                kept.add(*kept_rows(part, schema, view, key))
                parts.drop(number)
            refuse_spellings(several, unit.key, table.origin)
            tables = dict(kept.read())
            people = sum(found.num_rows // siblings for siblings, found in tables.items())
            yield PeopleTable(
                origin=table.origin,
                num_rows=people if count_is_public else None,
                tables=tables,
                most_rows=unit.max_rows,
            )


def unit_of(schema: Schema) -> Unit:
    """The unit of a schema that has one."""
    if schema.unit is None:
        raise TableError("the schema names no unit, so rows are nobody's; nothing is released")
    return schema.unit


def key_of(schema: Schema) -> Aside:
    """The column that says whose a row is, and what its keys are declared to be."""
    name = unit_of(schema).key
    return next(one for one in schema.aside if one.name == name)


def _scatter(table: PrivateTable, schema: Schema, parts: Partitions, key: bytes, progress: Progress) -> None:
    """Write every row to the part of the person whose it is."""
    rows = nobodys = 0
    for batch, (whose,) in table.keyed(schema.columns, [key_of(schema)]):
        owned, numbers = with_owners(batch, whose, key, parts_for(table.num_rows))
        nobodys += whose.null_count
        parts.add(owned, numbers)
        rows += batch.num_rows
        progress("people", rows, table.num_rows)
    refuse_nobodys(nobodys, rows, unit_of(schema).key, table.origin)


def with_owners(
    batch: pa.RecordBatch, whose: pa.Array, key: bytes, parts: int
) -> tuple[pa.RecordBatch, NDArray[np.int64]]:
    """Rows with whose they are, and the part of so many that each belongs to."""
    owners, spelling = keyed_hash(whose, key, words=len(_OWNER)), keyed_hash(plain_spelling(whose), key)[:, 0]
    for place, column in enumerate(_OWNER):
        batch = batch.append_column(column, pa.array(owners[:, place]))
    return batch.append_column(_SPELLING, pa.array(spelling)), (spelling % np.uint64(parts)).astype(np.int64)


def spelled_several_ways(part: pa.Table) -> int:
    """How many keys of a part stand there in several spellings: owners that only spelling tells apart."""
    found = np.unique(np.column_stack([np.asarray(part.column(name)) for name in (_SPELLING, *_OWNER)]), axis=0)
    _, spellings = np.unique(found[:, 0], return_counts=True)
    return int((spellings > 1).sum())


def refuse_nobodys(nobodys: int, rows: int, name: str, origin: str) -> None:
    """Refuse rows of which nobody knows whose they are."""
    if nobodys:
        raise TableError(
            f"{origin}: {nobodys:,} of {rows:,} rows have no {name!r}, so nobody knows whose they are; fill it "
            "in, or leave these rows out"
        )


def kept_rows(part: pa.Table, schema: Schema, view: View, key: bytes) -> tuple[pa.Table, NDArray[np.int64]]:
    """The rows that are kept of the people of a part, those of a person together, and how many each of them has."""
    unit = unit_of(schema)
    owners: Lots = np.column_stack([np.asarray(part.column(name)) for name in _OWNER])
    columns = [part.column(name).combine_chunks() for name in schema.names]
    _refuse_changes(part, owners, unit.constant)
    order = None if unit.order is None else order_numbers(part.column(unit.order).combine_chunks(), schema[unit.order])
    chosen = keep(owners, content(columns, key), order, unit.max_rows, key)
    rows = part.select(schema.names).take(pa.array(chosen.index)).combine_chunks()
    for column in view.schema.columns[len(schema.columns) :]:
        rows = rows.append_column(column.name, _derived(column, view, chosen, order))
    return rows, chosen.siblings


def _derived(column: Column, view: View, chosen: Kept, order: NDArray[np.float64] | None) -> pa.Array:
    """What is measured beside the columns of the table."""
    match column.name:
        case view.rows:
            return pa.array(chosen.siblings, column.arrow_type)
        case view.start if order is not None:
            return starts(order[chosen.index], chosen, column)
        case view.first:
            return pa.array(chosen.place == 0)
        case view.gap if order is not None:
            return gaps(order[chosen.index], chosen, column)
        case name:
            raise TableError(f"nothing is known of the column {name!r} of people's rows; nothing is released")


def order_numbers(values: pa.Array, column: Column) -> NDArray[np.float64]:
    """The numbers by which rows follow each other."""
    refuse_unordered(values.null_count, column.name)
    counted = column.kind.facts.counted_as
    numbers = np.asarray(values.cast(counted) if column.kind.is_temporal else values).astype(np.float64)
    refuse_unordered(int(np.isnan(numbers).sum()), column.name)
    return numbers


def refuse_unordered(number: int, name: str) -> None:
    """Refuse so many rows that have no place among those of a person."""
    if number:
        raise TableError(f"column {name!r}: the order of rows is missing in {number:,} of them")


def starts(
    numbers: NDArray[np.float64], chosen: Kept, column: Column, missing: NDArray[np.bool_] | None = None
) -> pa.Array:
    """When the first row of the same owner was, of every row."""
    firsts = numbers[np.arange(len(numbers)) - chosen.place]
    return numbers_to_arrow(column, firsts, missing).cast(column.storage_type)


def gaps(numbers: NDArray[np.float64], chosen: Kept, column: Column) -> pa.Array:
    """How far it is from each row to the next of the same owner; missing where there is none."""
    ends = chosen.place == chosen.siblings - 1
    far = np.where(ends, 0.0, np.roll(numbers, -1) - numbers)
    try:
        return pa.array(far, mask=ends).cast(column.arrow_type)
    except pa.ArrowInvalid:
        # Not in Arrow's words, which have a value in them: on a cluster they would be in its logs.
        raise TableError(f"column {column.name!r}: rows of a person are farther apart than it can hold") from None


def _refuse_changes(rows: pa.Table, owners: Lots, constant: Sequence[str]) -> None:
    """Refuse what is declared to be the same in all rows of a person and is not, all columns at once."""
    by_owner = np.lexsort((owners[:, 1], owners[:, 0]))
    same = (owners[by_owner][1:] == owners[by_owner][:-1]).all(axis=1)
    changed = []
    for name in constant:
        codes = np.asarray(pc.fill_null(rows.column(name).combine_chunks().dictionary_encode().indices, -1))[by_owner]
        if (same & (codes[1:] != codes[:-1])).any():
            changed.append(name)
    refuse_changed(changed)


def refuse_changed(names: Sequence[str]) -> None:
    """Refuse columns that are declared to be the same in all rows of a person, and are not."""
    if names:
        changed = [f"column {name!r} is declared constant for a person, and is not" for name in names]
        raise TableError("\n".join(changed) + "; correct the table, or do not declare it")
