"""People and all that hangs on them, of several tables: brought together person by person, and some rows kept.

Tables are scattered to parts by the person whose each row is, which is the one that its parent hangs on. Then, part by
part and parents first, rows of a parent are chosen and put beside what they hang on (``linked_view``). The weight of a
row is that of its parent, shared by all rows of that parent that are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microtome.errors import TableError
from microtome.private.key_checks import check_keys, key_columns
from microtome.private.partitions import Partitions, parts_for
from microtome.private.people import gaps, order_numbers, starts
from microtome.private.row_choice import Kept, Lots, content, keep, keyed_hash
from microtome.private.table import PrivateTable
from microtome.private.weighted_rows import WeightedRows
from microtome.private.weighting import WHOLE, WeightedBlock
from microtome.progress import Progress, Tell
from microtome.schema import LinkedSchema, LinkedTable, Schema
from microtome.schema.linked_view import LinkedView, linked_views
from microtome.whole_file import disk_errors, scratch_folder

Ints = NDArray[np.int64]
_FOLDER = "microtome-people"
_WORDS = 2
"""128 bits of a keyed hash stand for a key, so that nobody is taken for another."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkedPeople:
    """Records of all views, on disk, by weight and number of siblings.

    Attributes:
        num_people: Rows of the people's table.
        views: For each view, its records by what they count for: these, their weight, and how many siblings stand
            together.
    """

    num_people: int
    views: Mapping[str, Iterable[tuple[pa.Table, int, int]]]

    def blocks(self, rows: int) -> Iterator[WeightedBlock]:
        """All records of all views in blocks of about so many, whole groups of siblings in each; people come first."""
        for number, (name, tables) in enumerate(self.views.items()):
            for table, weight, siblings in tables:
                step = max(rows // siblings, 1) * siblings
                for start in range(0, table.num_rows, step):
                    block = table.slice(start, step).combine_chunks()
                    people = 0 if number else block.num_rows
                    yield WeightedBlock(rows=block, weight=weight, siblings=siblings, people=people, view=name)


@contextmanager
def linked_people(
    schema: LinkedSchema, tables: Mapping[str, PrivateTable], *, key: bytes, progress: Progress, tell: Tell
) -> Iterator[LinkedPeople]:
    """The records of all people, on disk for as long as they are needed; the holder is told what is left out."""
    for name, rows in tables.items():
        if rows.counter is not None:
            raise TableError(
                f"{name}: rows of a person have to be brought together here, and this engine counts them where they "
                "are; give the tables as files or frames"
            )
    left_out = check_keys(schema, tables)
    if left_out:
        tell("", left_out)
    views = linked_views(schema)
    with scratch_folder(_FOLDER) as folder, disk_errors(folder), ExitStack() as stack:
        parts = parts_for(*(rows.num_rows for rows in tables.values()))
        scattered = _Scattered(schema, folder, key, stack, parts)
        for table in schema.tables:
            scattered.add(table, tables[table.name], progress)
        kept = {name: stack.enter_context(WeightedRows(folder / f"kept-{n}.arrow")) for n, name in enumerate(views)}
        for part in range(parts):
            _gather(part, schema, views, scattered, kept, key)
            progress("people", part + 1, parts)
        yield LinkedPeople(num_people=scattered.num_people, views=kept)


class _Scattered:
    """All tables in parts, by the person whose each row is. Rows know their own place among others by hashes alone."""

    def __init__(self, schema: LinkedSchema, folder: Path, key: bytes, stack: ExitStack, parts: int) -> None:
        self._schema, self._key, self._num_parts, self.num_people = schema, key, parts, 0
        self.tables = {
            table.name: stack.enter_context(Partitions(folder, f"table-{number}"))
            for number, table in enumerate(schema.tables)
        }
        self._homes: dict[str, tuple[Lots, NDArray[np.int8]]] = {}

    def add(self, table: LinkedTable, rows: PrivateTable, progress: Progress) -> None:
        """Write every row of a table to the part of its person."""
        seen, homes = 0, [(child.name, list[Lots](), list[NDArray[np.int8]]()) for child in self._children(table)]
        for batch, ids in self._identified(table, rows):
            parts = self._parts(table, ids["up"] if table.parent else ids["own"])
            for name, hashes, found in homes:
                hashes.append(ids[f"down {name}"][:, 0])
                found.append(parts.astype(np.int8))
            for name, hashed in ids.items():
                for word in range(_WORDS):
                    batch = batch.append_column(f"{name} {word}", pa.array(hashed[:, word]))
            self.tables[table.name].add(batch, parts)
            seen += batch.num_rows
            progress(table.name, seen, rows.num_rows)
        self.tables[table.name].close()
        self.num_people = seen if table.parent is None else self.num_people
        for name, hashes, found in homes:
            known = np.concatenate([np.zeros(0, np.uint64), *hashes])
            order = np.argsort(known)
            self._homes[name] = known[order], np.concatenate([np.zeros(0, np.int8), *found])[order]

    def _children(self, table: LinkedTable) -> list[LinkedTable]:
        return self._schema.children(table.name)

    def _identified(self, table: LinkedTable, rows: PrivateTable) -> Iterator[tuple[pa.RecordBatch, dict[str, Lots]]]:
        """Batches, with hashes of what their rows hang on and of what hangs on them."""
        columns = key_columns(table, self._children(table))
        names = [column.name for column in columns]
        rows.check_columns(table.schema, names)
        for batch, arrays in rows.keyed(table.schema.columns, columns, as_declared=True):
            keys = dict(zip(names, arrays, strict=True))
            ids: dict[str, Lots] = {}
            if table.parent is None:
                ids["own"] = self._hashed(keys[str(table.key)])
            elif table.parent.cardinality.is_held_by_parent:
                ids["up"] = self._hashed(keys[str(table.key)])
            else:
                ids["up"] = self._hashed(keys[table.parent.foreign_key])
            for child in self._children(table):
                ids[f"down {child.name}"] = self._down(child, table, keys, batch)
            yield batch, ids

    def _down(
        self, child: LinkedTable, table: LinkedTable, keys: Mapping[str, pa.Array], batch: pa.RecordBatch
    ) -> Lots:
        """What rows of a child that hang on these rows have as the hash of what they hang on."""
        parent = child.parent
        if parent is None or parent.owner is None:
            return self._hashed(keys[str(table.key)])
        column, value = parent.owner
        owns = pc.fill_null(pc.equal(batch.column(column), pa.scalar(value, batch.column(column).type)), False)
        held = self._hashed(keys[parent.foreign_key])
        return np.where(np.asarray(owns)[:, None], held, np.uint64(0))

    def _hashed(self, keys: pa.Array) -> Lots:
        return keyed_hash(keys, self._key, words=_WORDS)

    def _parts(self, table: LinkedTable, ids: Lots) -> Ints:
        """The part of each row: that of the row that it hangs on."""
        if table.parent is None:
            return (ids[:, 0] % np.uint64(self._num_parts)).astype(np.int64)
        known, parts = self._homes[table.name]
        places = np.minimum(np.searchsorted(known, ids[:, 0]), max(len(known) - 1, 0))
        if len(ids) and (not len(known) or (known[places] != ids[:, 0]).any()):
            raise TableError(f"table {table.name!r} changed while it was read; start again with a fixed copy")
        return parts[places].astype(np.int64)

    def part(self, name: str, number: int) -> pa.Table | None:
        """The rows of a part, if it has any."""
        held = self.tables[name]
        return held.part(number) if held.has(number) else None


@dataclass(frozen=True, kw_only=True, eq=False)
class _Above:
    """Records of a view in one part, for what hangs on them.

    Attributes:
        rows: All columns of the view.
        weights: What each counts for, in steps.
    """

    rows: pa.Table
    weights: Ints


def _gather(
    part: int,
    schema: LinkedSchema,
    views: Mapping[str, LinkedView],
    scattered: _Scattered,
    kept: Mapping[str, WeightedRows],
    key: bytes,
) -> None:
    """Write the records of all views of the people of one part."""
    done: dict[str, _Above] = {}
    chosen = dict[str, _Chosen]()
    for table in schema.tables:
        found = scattered.part(table.name, part)
        above = None if table.parent is None else chosen.get(table.parent.table)
        if table.parent is None and found is not None:
            chosen[table.name] = _Chosen.of_people(found)
        elif table.parent is not None and above is not None:
            chosen[table.name] = _Chosen.below(table, above, found, key)
    for table in schema.tables:
        if table.name not in chosen:
            continue
        one, view = chosen[table.name], views[table.name]
        counts = {name: _counted(chosen[name], len(one.owner)) for name in view.counts}
        beside = None if table.parent is None else done[table.parent.table]
        done[table.name] = _recorded(view, one, counts, beside, kept[table.name])


@dataclass(frozen=True, kw_only=True, eq=False)
class _Chosen:
    """Records of a table in one part: rows that are kept, and one without a row for each parent that has none.

    Attributes:
        rows: The rows of the table that are kept.
        owner: The record of the parent that each record hangs on.
        place: For each record which row it is; −1 where there is none.
        kept: Siblings and places of the records.
    """

    rows: pa.Table | None
    owner: Ints
    place: Ints
    kept: Kept

    @classmethod
    def of_people(cls, rows: pa.Table) -> _Chosen:
        """All people."""
        every = np.arange(rows.num_rows)
        alone = Kept(index=every, siblings=np.ones_like(every), place=np.zeros_like(every))
        return cls(rows=rows, owner=every, place=every, kept=alone)

    @classmethod
    def below(cls, table: LinkedTable, above: _Chosen, rows: pa.Table | None, key: bytes) -> _Chosen:
        """The rows of a table that are kept of each record above."""
        parent = table.parent
        assert parent is not None
        count = len(above.owner)
        if rows is None:
            index, owner, taken = np.zeros(0, np.int64), np.zeros(0, np.int64), _nothing()
        else:
            rows = _by_own_key(rows)
            whose = _matched(_hashes(rows, "up"), above.hashes(f"down {table.name}"))
            index = np.flatnonzero(whose >= 0)
            rows = rows.take(pa.array(index))
            owners = np.column_stack([whose[index], whose[index]]).astype(np.uint64)
            order = None
            if parent.order is not None:
                order = order_numbers(_whole(rows, parent.order), table.schema[parent.order])
            columns = [_whole(rows, name) for name in table.schema.names]
            taken = keep(owners, content(columns, key), order, parent.most, key)
            owner = whose[index][taken.index]
        without = np.setdiff1d(np.arange(count), owner)
        owner = np.concatenate([owner, without])
        place = np.concatenate([taken.index, np.full(len(without), -1)])
        siblings = np.concatenate([taken.siblings, np.ones(len(without), np.int64)])
        within = np.concatenate([taken.place, np.zeros(len(without), np.int64)])
        return cls(rows=rows, owner=owner, place=place, kept=Kept(index=place, siblings=siblings, place=within))

    def hashes(self, name: str) -> Lots:
        """The hash of every record by which others name it; zero where there is no row."""
        if self.rows is None:
            return np.zeros((len(self.place), _WORDS), np.uint64)
        found = _hashes(self.rows, name)
        there = self.place >= 0
        taken = found[np.where(there, self.place, 0)] if len(found) else np.zeros((len(there), _WORDS), np.uint64)
        return np.where(there[:, None], taken, np.uint64(0))

    def column(self, name: str, kind: pa.DataType) -> pa.Array:
        """The values of a column of the table; missing where there is no row."""
        if self.rows is None:
            return pa.nulls(len(self.place), kind)
        return _whole(self.rows, name).take(pa.array(self.place, mask=self.place < 0))

    def times(self, name: str, schema: Schema) -> NDArray[np.float64]:
        """By what records follow each other; 0 where there is no row."""
        found = np.zeros(len(self.place))
        there = self.place >= 0
        if self.rows is not None:
            found[there] = order_numbers(_whole(self.rows, name), schema[name])[self.place[there]]
        return found


def _recorded(
    linked: LinkedView, chosen: _Chosen, counts: Mapping[str, Ints], above: _Above | None, kept: WeightedRows
) -> _Above:
    """Write the records of a view; gives what hangs below needs of them."""
    view, table = linked.view, linked.table
    there = chosen.place >= 0
    numbers = {linked.counts[name]: found for name, found in counts.items()}
    weights, inherited = np.full(len(there), WHOLE, np.int64), dict[str, pa.Array]()
    if above is not None:
        weights = above.weights[chosen.owner] // chosen.kept.siblings
        owners = pa.array(chosen.owner)
        taken = [_whole(above.rows, name).take(owners) for name in linked.sources]
        inherited = dict(zip(view.inherited, taken, strict=True))
    compared = {one.name: one for one in view.same}
    arrays = []
    for column in view.own_schema.columns:
        if column.name in table.schema.names:
            arrays.append(chosen.column(column.name, column.storage_type))
        elif column.name in numbers:
            arrays.append(pa.array(numbers[column.name], column.arrow_type, mask=~there))
        elif column.name == view.start and view.order is not None:
            arrays.append(starts(chosen.times(view.order, table.schema), chosen.kept, column, ~there))
        elif column.name == view.first:
            arrays.append(pa.array(chosen.kept.place == 0, mask=~there))
        elif column.name == view.gap and view.order is not None:
            arrays.append(gaps(chosen.times(view.order, table.schema), chosen.kept, column))
        elif column.name in compared:
            one = compared[column.name]
            own = chosen.column(one.column, table.schema[one.column].storage_type)
            arrays.append(pc.equal(own, inherited[one.above]))
        else:
            raise TableError(f"nothing is known of the column {column.name!r} of linked tables; nothing is released")
    rows = pa.table([*arrays, *inherited.values()], names=view.schema.names)
    kept.add(rows, weights, chosen.kept.siblings)
    return _Above(rows=rows, weights=weights)


def _counted(below: _Chosen, count: int) -> Ints:
    """How many rows of a table hang on each of so many records."""
    return np.bincount(below.owner[below.place >= 0], minlength=count)


def _matched(names: Lots, known: Lots) -> Ints:
    """The place of each hash among known ones, −1 where it is not there; what is zero is no hash."""
    both = np.ascontiguousarray(np.vstack([known, names])).view([("a", np.uint64), ("b", np.uint64)]).ravel()
    _, codes = np.unique(both, return_inverse=True)
    places = np.full(codes.max(initial=-1) + 1, -1)
    real = known.any(axis=1)
    places[codes[: len(known)][real]] = np.flatnonzero(real)
    return places[codes[len(known) :]]


def _by_own_key(rows: pa.Table) -> pa.Table:
    """Rows in the order of what they are called below: of equal ones it decides which is which, and not the file."""
    below = [name for name in rows.column_names if name.startswith("down ")]
    return rows.sort_by([(name, "ascending") for name in below]) if below else rows


def _hashes(rows: pa.Table, name: str) -> Lots:
    return np.column_stack([np.asarray(rows.column(f"{name} {word}")) for word in range(_WORDS)])


def _nothing() -> Kept:
    none = np.zeros(0, np.int64)
    return Kept(index=none, siblings=none, place=none)


def _whole(rows: pa.Table, name: str) -> pa.Array:
    return rows.column(name).combine_chunks()
