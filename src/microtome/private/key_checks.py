"""Keys of linked tables, checked before anything is reserved: every row must hang, through its parents, on one person.

Where that fails there is no promise to make: a row that hangs on two people would be protected for neither, one that
hangs on nobody would be counted as nobody's. What is told are counts, tables and columns, and to the holder alone.
Keys are held in memory, some bytes a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from microtome.errors import TableError, together
from microtome.private.key_texts import plain_spelling, spelled_several_ways
from microtome.private.table import PrivateTable
from microtome.schema import LinkedSchema, LinkedTable, Parent
from microtome.schema.aside import Aside


def check_keys(schema: LinkedSchema, tables: Mapping[str, PrivateTable]) -> tuple[str, ...]:
    """Refuse tables whose keys do not fit together, with all that is wrong.

    Args:
        schema: How the tables hang together.
        tables: The private tables, by name.

    Returns:
        Remarks for the holder: of which parents rows are left out, and how many.
    """
    absent = [repr(name) for name in schema.names if name not in tables]
    if absent:
        raise TableError(f"no table {', '.join(absent)}; given are {', '.join(tables) or 'none'}")
    keys = {}
    with together() as attempts:
        for table in schema.tables:
            with attempts:
                keys[table.name] = _keys(table, schema, tables[table.name])
    links = [_Link(table, schema[table.parent.table], table.parent, keys) for table in schema.tables if table.parent]
    with together() as attempts:
        for name, problem in (
            *_of_keys(schema, keys),
            *((link.name, said) for link in links for said in link.problems()),
        ):
            attempts.errors.append(TableError(f"table {name!r}: {problem}"))
    return tuple(f"table {link.name!r}: {said}" for link in links for said in link.left_out())


def key_columns(table: LinkedTable, children: Sequence[LinkedTable]) -> list[Aside]:
    """The columns of a table that hold keys: its own, its parent's, and those of what it owns."""
    names = [] if table.key is None else [table.key]
    if table.parent is not None and not table.parent.cardinality.is_held_by_parent:
        names.append(table.parent.foreign_key)
    names += [child.parent.foreign_key for child in children if child.parent and child.parent.owner is not None]
    return [table.key_column(name, "key") for name in dict.fromkeys(names)]


def _keys(table: LinkedTable, schema: LinkedSchema, rows: PrivateTable) -> pa.Table:
    """The columns of a table that hold keys, as texts, and those that say whose a row is."""
    children = schema.children(table.name)
    keys = key_columns(table, children)
    owners = {child.parent.owner[0] for child in children if child.parent and child.parent.owner is not None}
    columns = [column for column in table.schema.columns if column.name in owners]
    names = [*(key.name for key in keys), *(column.name for column in columns)]
    rows.check_columns(table.schema, names)
    kinds = [pa.string() for _ in keys] + [column.storage_type for column in columns]
    kind = pa.schema(list(zip(names, kinds, strict=True)))
    found = rows.keyed(columns, keys, as_declared=True) if names else ()
    return pa.concat_tables([kind.empty_table(), *(pa.table([*own, *one.columns], schema=kind) for one, own in found)])


def _of_keys(schema: LinkedSchema, keys: Mapping[str, pa.Table]) -> Iterator[tuple[str, str]]:
    """What is wrong with keys by themselves."""
    for table in schema.tables:
        if table.key is None:
            continue
        values = keys[table.name][table.key]
        if values.null_count:
            yield table.name, f"key {table.key!r} is missing in {_rows(values.null_count)}"
        several = _more_than(values, 1)
        if several.num_rows:
            rows = _rows(pc.sum(several["counts"]).as_py())
            yield table.name, f"key {table.key!r} is not unique: {several.num_rows:,} of its values stand in {rows}"
        alike = _more_than(plain_spelling(values.unique()), 1).num_rows
        if alike:
            yield table.name, spelled_several_ways(alike, table.key, "a row of its own")


class _Link:
    """A table's link to its parent, checked."""

    def __init__(self, table: LinkedTable, above: LinkedTable, parent: Parent, keys: Mapping[str, pa.Table]) -> None:
        self.name, self._table, self._above, self._parent = table.name, table, above, parent
        self._own, self._others = keys[table.name], keys[above.name]

    def problems(self) -> Iterator[str]:
        """What is wrong, in words."""
        yield from self._wrong_in_link() if self._parent.owner is not None else self._wrong_in_rows()

    def _wrong_in_rows(self) -> Iterator[str]:
        """Where the table itself holds its foreign key."""
        parent, foreign = self._parent, self._own[self._parent.foreign_key]
        parents = self._others[self._above.key]
        if foreign.null_count:
            yield f"{_rows(foreign.null_count)} without a parent: foreign key {parent.foreign_key!r} is missing there"
        orphans = _strangers(foreign, parents)
        if orphans:
            yield (
                f"{_rows(orphans)} without a parent: {parent.foreign_key!r} is no key of {parent.table!r} there"
                f"{_by_spelling(orphans, foreign, parents)}"
            )
        in_two = self._under_two_parents()
        if in_two:
            yield f"{in_two:,} of its keys hang on several rows of {parent.table!r}; a row hangs on one of them"
        several = _more_than(foreign, 1).num_rows
        if several and not parent.cardinality.is_many:
            yield f"several rows here for {_rows(several)} of {parent.table!r}; {parent.cardinality} allows one"
        fewer = _strangers(parents, _more_than(foreign, parent.min_rows - 1)["values"]) if parent.min_rows else 0
        if fewer:
            yield f"fewer rows here than min_rows, {parent.min_rows}, for {_rows(fewer)} of {parent.table!r}"

    def _under_two_parents(self) -> int:
        """Keys of the table that stand in rows of different parents."""
        if self._table.key in (None, self._parent.foreign_key):
            return 0
        pairs = self._own.select([self._table.key, self._parent.foreign_key])
        distinct = pairs.group_by(pairs.column_names).aggregate([])
        return len(_more_than(distinct[self._table.key], 1))

    def _wrong_in_link(self) -> Iterator[str]:
        """Where a link table names the rows, and one link is the owner's."""
        parent, keys, named = self._parent, self._own[self._table.key], self._others[self._parent.foreign_key]
        column, value = parent.owner or ("", None)
        owned = named.filter(pc.equal(self._others[column], pa.scalar(value, self._others[column].type)))
        if named.null_count:
            yield f"{_rows(named.null_count)} of {parent.table!r} name no row: {parent.foreign_key!r} is missing there"
        dangling = _strangers(named, keys)
        if dangling:
            yield (
                f"{_rows(dangling)} of {parent.table!r} name a row that is not here ({parent.foreign_key!r})"
                f"{_by_spelling(dangling, named, keys)}"
            )
        ownerless = _strangers(keys, owned)
        if ownerless:
            yield f"{_rows(ownerless)} without an owner: no row of {parent.table!r} with {column} = {value} names them"
        shared = _more_than(owned, 1).num_rows
        if shared:
            yield f"{_rows(shared)} with several owners ({column} = {value} in {parent.table!r}); a row has one"

    def left_out(self) -> Iterator[str]:
        """Of how many parents rows are left out, and how many rows."""
        parent = self._parent
        if not parent.cardinality.is_many:
            return
        counts = _more_than(self._own[parent.foreign_key], parent.most)
        if counts.num_rows:
            rows = pc.sum(counts["counts"]).as_py() - parent.most * counts.num_rows
            parents = f"{_rows(counts.num_rows)} of {parent.table!r}"
            yield f"more rows here than max_rows, {parent.most}, for {parents}: {_rows(rows)} will not be counted"


def _more_than(values: pa.ChunkedArray, least: int) -> pa.Table:
    """Values that stand in more than so many rows, and in how many."""
    counted = pc.value_counts(values.drop_null())
    table = pa.table({"values": counted.field("values"), "counts": counted.field("counts")})
    return table.filter(pc.greater(table["counts"], least))


def _strangers(values: pa.ChunkedArray, known: pa.ChunkedArray) -> int:
    """How many values are not among the known ones."""
    values = values.drop_null()
    found: int = pc.sum(pc.is_in(values, value_set=known.combine_chunks())).as_py() or 0
    return len(values) - found


def _by_spelling(strangers: int, values: pa.ChunkedArray, known: pa.ChunkedArray) -> str:
    """How many of the strangers are known but for their spelling, in words."""
    found = strangers - _strangers(plain_spelling(values), plain_spelling(known))
    return f"; {found:,} of them would be with another spelling (blanks, capitals, zeros)" if found else ""


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"
