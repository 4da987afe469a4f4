"""Linked tables of audit data: a target is a person with rows in every table, which come and go together.

All rows of a person stand on the same cells, and there are as many of them as are kept. So a person adds a whole unit
to one cell of every table of every view: the most that anybody can do. Of steps from a row to the next a person takes
those between rows that are alike, and one to no row at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pyarrow as pa

from microtome.accounting import Neighbours
from microtome.auditing.audit_data import AuditData, Coins
from microtome.auditing.audit_table import Records, TableAuditData, build_audit_table, places_of
from microtome.private import LinkedSource, fresh_key, linked_people, open_linked
from microtome.progress import silent, untold
from microtome.schema import Aside, Column, LinkedSchema, LinkedTable, Parent, Schema
from microtome.schema.linked_view import linked_views

_TABLES = ("people", "visits", "drugs")
"""The tables: each hangs on the one before."""
LINKED_COLUMNS = 5
"""Columns that are profiled: one of each table, and two numbers of rows."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkedAuditData(AuditData[Records]):
    """A data of linked tables; a record has a person's value in each of them.

    Attributes:
        schema: How they hang together.
        rows: Rows of every parent.
    """

    releases_each: ClassVar[int] = 2
    schema: LinkedSchema
    rows: int

    def opened(self, coins: Coins) -> LinkedSource:
        """The tables in which the targets are that ``coins`` say, as the door opens them."""
        opened = open_linked(self._tables(self.present(coins).table), self.schema)
        with linked_people(self.schema, opened, key=fresh_key(), progress=silent, tell=untold) as people:
            held = {name: [(_copied(rows), *counted) for rows, *counted in view] for name, view in people.views.items()}
        return LinkedSource(
            people=replace(people, views=held),
            schema=self.schema,
            count_is_public=not self.neighbours.protects_count,
            null_records=self.num_blanks(coins),
        )

    def _tables(self, people: pa.Table) -> dict[str, pa.Table]:
        """All rows of some people."""
        tables, values = {}, np.arange(people.num_rows)
        for place, name in enumerate(_TABLES):
            above = np.arange(len(values) // (self.rows if place else 1))
            columns = {name: people.column(name).take(pa.array(values)), _key(name): np.arange(len(values))}
            if place:
                columns[_key(_TABLES[place - 1])] = np.repeat(above, self.rows)
            tables[name] = pa.table(columns)
            values = np.repeat(values, self.rows)
        return tables

    @cached_property
    def views(self) -> dict[str, TableAuditData]:
        """The people as each view has them: all columns but steps."""
        return {name: self._seen_in(one.view.schema) for name, one in linked_views(self.schema).items()}

    def _seen_in(self, schema: Schema) -> TableAuditData:
        targets, substitutes, crowd = (
            self._seen(group, schema) for group in (self.targets, self.substitutes, self.crowd)
        )
        return TableAuditData(
            schema=schema, neighbours=self.neighbours, spots=(), targets=targets, substitutes=substitutes, crowd=crowd
        )

    def _seen(self, people: Records, schema: Schema) -> Records:
        """One record for all rows of a person: they are alike."""
        columns = []
        for column in schema.columns:
            source = column.name.rsplit(": ", 1)[-1]
            if source in _TABLES:
                columns.append(people.table.column(source))
            else:  # the number of rows of some table
                columns.append(pa.array(np.full(len(people), self.rows), column.arrow_type))
        table = pa.table(columns, names=schema.names)
        return Records(table=table, places=places_of(schema, table, np.zeros((len(people), len(columns)), np.int64)))


def build_linked_audit(
    values: Sequence[str], *, neighbours: Neighbours, rows: int, num_targets: int, crowd_size: int
) -> LinkedAuditData:
    """Data of three tables with a column of these values each.

    Args:
        values: The categories of every column.
        neighbours: The neighbouring relation.
        rows: Rows of every parent.
        num_targets: People at stake.
        crowd_size: People who are always there.
    """
    columns = [Column(name=name, kind="categorical", categories=tuple(values), missing=False) for name in _TABLES]
    flat = build_audit_table(
        Schema(columns=tuple(columns)),
        neighbours=neighbours,
        num_targets=num_targets,
        num_spots=len(values),
        crowd_spots=len(values),
        crowd_size=crowd_size,
    )
    return LinkedAuditData(
        schema=LinkedSchema(tables=tuple(_table(place, column, rows) for place, column in enumerate(columns))),
        neighbours=neighbours,
        rows=rows,
        targets=flat.targets,
        substitutes=flat.substitutes,
        crowd=flat.crowd,
    )


def _table(place: int, column: Column, rows: int) -> LinkedTable:
    name, above = column.name, _TABLES[place - 1]
    keys = [name] if place == 0 else [name, above]
    aside = tuple(Aside(name=_key(one), action="surrogate", dtype="int64", place=1 + n) for n, one in enumerate(keys))
    parent = None if place == 0 else Parent(table=above, foreign_key=_key(above), max_rows=rows)
    return LinkedTable(name=name, key=_key(name), parent=parent, schema=Schema(columns=(column,), aside=aside))


def _key(table: str) -> str:
    return f"key of {table}"


def _copied(rows: pa.Table) -> pa.Table:
    """Rows that stay when their file is gone."""
    return rows.take(pa.array(np.arange(rows.num_rows)))
