"""What is measured of linked tables: a view of each, in which a row has all that it hangs on beside it.

The root's view has people with their attributes and, for each table that hangs on them, the number of rows there. The
view of another table has a record for each of its rows, with its own attributes, the numbers of rows that hang on it,
the attributes of its ancestors and the numbers of rows that hang on these; a parent without rows has a record in which
everything of its own is missing. So each view has all people, with weights that sum to one, and what a view inherits is
distributed there as in the view that it is from: nothing has to be measured twice.

Where a row and something that it hangs on name rows of one public table, such as the districts of an account and of its
owner, they mostly name the same. Noise would hide that in a table of all districts with all districts; whether they do
is a column of the row, and known far better.

Some numbers of rows are settled by other columns: that of a link that always has one, of what a link owns, which its
own column tells, and, beside the columns of a row, whether there is that row. What is settled is counted with nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from microtome.errors import SchemaError
from microtome.schema.codebook import Codebook
from microtome.schema.column import Column
from microtome.schema.document import Schema
from microtome.schema.kind import Kind
from microtome.schema.linked import LinkedSchema
from microtome.schema.linked_table import LinkedTable, Parent
from microtome.schema.view import Same, View, order_columns


@dataclass(frozen=True, kw_only=True)
class LinkedView:
    """What is measured of one of several tables.

    Attributes:
        table: The table.
        view: What is measured of it.
        counts: For each table that hangs on it, the column that says how many rows are there.
        sources: Where inherited columns are from: their names in the parent's view, in the order of ``view.inherited``.
    """

    table: LinkedTable
    view: View
    counts: dict[str, str]
    sources: tuple[str, ...] = ()


def linked_views(schema: LinkedSchema, *, same: bool = True) -> dict[str, LinkedView]:
    """The views of all private tables, parents first; ``same`` is off for files from before there was such a column."""
    views: dict[str, LinkedView] = {}
    for table in schema.tables:
        counts = {child.name: f"number of {child.name}" for child in schema.children(table.name)}
        numbers = [_number(counts[child.name], child.parent) for child in schema.children(table.name) if child.parent]
        if table.parent is None:
            schema_of = _with(table, (*table.schema.columns, *numbers))
            view = View(schema=schema_of, settled=tuple(_settled_numbers(table, counts, schema)))
            views[table.name] = LinkedView(table=table, view=view, counts=counts)
        else:
            compared = _compared(table, schema) if same else {}
            views[table.name] = _below(
                table, table.parent, views[table.parent.table], schema, counts, numbers, compared
            )
    return views


def inheriting(views: Mapping[str, LinkedView], profiled: Mapping[str, Codebook]) -> dict[str, Codebook]:
    """The codebooks of all views with the codes of what they inherit, from those of what is profiled in each."""
    found: dict[str, Codebook] = {}
    for name, one in views.items():
        found[name] = profiled[name]
        if one.table.parent is not None:
            above = one.table.parent.table
            known = dict(zip(views[above].view.schema.names, found[above].codes, strict=True))
            found[name] = one.view.inheriting(profiled[name], [known[source] for source in one.sources])
    return found


def _below(
    table: LinkedTable,
    parent: Parent,
    above: LinkedView,
    schema: LinkedSchema,
    counts: dict[str, str],
    numbers: list[Column],
    compared: dict[Same, Column],
) -> LinkedView:
    order, rows = parent.order, above.counts[table.name]
    own = [*table.schema.columns, *numbers]
    derived, start, first, gap = list[Column](), None, None, None
    if order is not None:
        derived = order_columns(table.schema[order])
        start, first, gap = (column.name for column in derived)
    derived += compared.values()
    sources = _inherited(above, rows)
    handed = {name: name if name in above.view.inherited else f"{above.table.name}: {name}" for name in sources}
    inherited = [replace(above.view.schema[name], name=handed[name]) for name in sources]
    columns = tuple(replace(column, missing=True) for column in (*own, *derived))
    view = View(
        schema=_with(table, (*columns, *inherited)),
        given=tuple(handed.values()),
        steps=tuple(column.name for column in own if column.name != order) if parent.most > 1 else (),
        order=order,
        most_rows=schema.max_rows_of_person(table.name),
        rows=handed[rows],
        start=start,
        first=first,
        gap=gap,
        inherited=tuple(handed.values()),
        certain=tuple(column.name for column in (*own, *derived) if not column.missing or column.name == gap),
        settled=(
            *_settled_numbers(table, counts, schema),
            *(handed[name] for name in sources if name in _telling(parent, rows) or name in above.view.settled),
        ),
        same=tuple(compared),
    )
    return LinkedView(table=table, view=view, counts=counts, sources=sources)


def _compared(table: LinkedTable, schema: LinkedSchema) -> dict[Same, Column]:
    """Columns that name rows of a public table, each with the nearest one further up that does; and what says so."""
    found: dict[Same, Column] = {}
    for name, public in table.references.items():
        own = table.schema[name]
        others = (
            (one, one.schema[other])
            for one in reversed(schema.ancestors(table.name))
            for other, to in one.references.items()
            if to == public and _read_alike(one.schema[other], own)
        )
        nearest = next(others, None)
        if nearest is not None:
            one, other = nearest
            same = Same(name=f"{name} as {one.name}: {other.name}", column=name, above=f"{one.name}: {other.name}")
            found[same] = Column(name=same.name, kind=Kind.BOOLEAN, missing=own.missing or other.missing)
    return found


def _read_alike(one: Column, other: Column) -> bool:
    return (one.dtype, one.storage_type) == (other.dtype, other.storage_type)


def _inherited(above: LinkedView, rows: str) -> tuple[str, ...]:
    """What a table has of the one above: its attributes, those that it has inherited, and numbers of rows.

    Numbers of rows of other tables too: what hangs on one parent is drawn given them, and they tell much of it.
    """
    settled = set(above.counts.values()) & set(above.view.settled)
    compared = {one.name for one in above.view.same}
    derived = {above.view.start, above.view.first, above.view.gap, *compared, *settled} - {rows}
    return tuple(name for name in above.view.schema.names if name not in derived)


def _settled_numbers(table: LinkedTable, counts: Mapping[str, str], schema: LinkedSchema) -> list[str]:
    """Numbers of rows that are always the same, or that a column of the table tells."""
    parents = {child.name: child.parent for child in schema.children(table.name)}
    return [
        counts[name]
        for name, parent in parents.items()
        if parent is not None and (parent.owner is not None or parent.min_rows == parent.most)
    ]


def _telling(parent: Parent, rows: str) -> set[str]:
    """Columns of the table above that tell, where there can be one row at most, whether it is there."""
    if parent.most > 1:
        return set()
    return {rows} if parent.owner is None else {rows, parent.owner[0]}


def _number(name: str, parent: Parent) -> Column:
    return Column(
        name=name, kind=Kind.INTEGER, bounds=(min(parent.min_rows, parent.most - 1), parent.most), missing=False
    )


def _with(table: LinkedTable, columns: tuple[Column, ...]) -> Schema:
    names = [column.name for column in columns]
    taken = sorted({name for name in names if names.count(name) > 1 or name in table.schema.names_aside})
    if taken:
        raise SchemaError(
            f"table {table.name!r}: column {taken[0]!r} has the name of what is measured beside the columns; rename it"
        )
    return replace(table.schema, columns=columns)
