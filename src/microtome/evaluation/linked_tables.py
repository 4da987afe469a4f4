"""Linked tables on two sides, coded alike, with every row's place under its parent.

Keys themselves are never compared: those of synthetic tables are made up. What they stand for is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microtome.errors import TableError, together
from microtome.evaluation.comparable_table import ComparableTable, code_tables
from microtome.evaluation.tables import RawTable, read_table
from microtome.schema import Column, LinkedSchema, LinkedTable
from microtome.schema.table_folder import tables_in

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
NOBODY = -1


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkedTables:
    """One side of a comparison.

    Attributes:
        schema: How the tables hang together.
        raw: The tables as they were given.
        coded: Their columns, without keys.
        parents: The row of its parent that each row hangs on, by table; −1 for an orphan.
    """

    schema: LinkedSchema
    raw: dict[str, RawTable]
    coded: dict[str, ComparableTable]
    parents: dict[str, Ints]

    def counts(self, name: str) -> Ints:
        """How many rows of a table each row of its parent has."""
        rows = self.parents[name]
        parent = self.schema.links[name].table
        return np.bincount(rows[rows >= 0], minlength=self.coded[parent].num_rows)

    def places_in(self, name: str, ancestor: str) -> Ints:
        """The row of an ancestor that each row of a table hangs on."""
        places = np.arange(self.coded[name].num_rows)
        while name != ancestor:
            above = np.append(self.parents[name], NOBODY)  # the last serves what hangs on nobody
            places = above[places]
            name = self.schema.links[name].table
        return places

    def joined(self, name: str) -> ComparableTable:
        """A table's rows with what its ancestors have, columns named after their tables; orphans are left out."""
        columns: list[Column] = []
        labels: dict[str, tuple[str, ...]] = {}
        values: dict[str, Any] = {}
        kept = self.places_in(name, self.schema.root.name) >= 0
        for table in (*self.schema.ancestors(name), self.schema[name]):
            coded, places = self.coded[table.name], self.places_in(name, table.name)[kept]
            for column in coded.columns:
                full = f"{table.name}.{column.name}"
                columns.append(_renamed(column, full))
                values[full] = coded.values[column.name][places]
                labels |= {full: coded.labels[column.name]} if column.name in coded.labels else {}
        return ComparableTable(
            origin=name, columns=tuple(columns), labels=labels, values=values, num_rows=int(kept.sum())
        )


Sides = tuple[LinkedTables, LinkedTables]
"""The real tables and the synthetic ones."""


def _renamed(column: Column, name: str) -> Column:
    """The column under another name, as far as a comparison needs it."""
    return Column(name=name, kind=column.kind, dtype=column.dtype, categories=column.categories, unit=column.unit)


def read_linked(real: Any, synthetic: Any, schema: LinkedSchema) -> tuple[tuple[LinkedTables, LinkedTables], list[str]]:
    """Both sides, from folders or tables by name; with notes on columns that are not compared."""
    raw = [_read_side(source, role, schema) for source, role in ((real, "real"), (synthetic, "synthetic"))]
    notes: list[str] = []
    coded: tuple[dict[str, ComparableTable], dict[str, ComparableTable]] = ({}, {})
    with together() as attempts:
        for table in schema.tables:
            with attempts:
                sides, said = code_tables([one[table.name] for one in raw], table.schema)
                coded[0][table.name], coded[1][table.name] = sides
                notes += [note for note in said if "not compared" not in note]
    first, second = (
        LinkedTables(schema=schema, raw=one, coded=parts, parents=_parents(one, schema))
        for one, parts in zip(raw, coded, strict=True)
    )
    return (first, second), notes


def read_side(source: Any, role: str, schema: LinkedSchema) -> LinkedTables:
    """One side by itself, from a folder or tables by name."""
    raw = _read_side(source, role, schema)
    coded = {table.name: code_tables([raw[table.name]], table.schema)[0][0] for table in schema.tables}
    return LinkedTables(schema=schema, raw=raw, coded=coded, parents=_parents(raw, schema))


def _read_side(source: Any, role: str, schema: LinkedSchema) -> dict[str, RawTable]:
    given: Mapping[str, Any] = source if isinstance(source, Mapping) else tables_in(Path(source))
    absent = [repr(name) for name in schema.names if name not in given]
    if absent:
        raise TableError(f"the {role} tables: no table {', '.join(absent)}; there are {', '.join(given)}")
    return {
        table.name: read_table(given[table.name], f"the {role} {table.name}", table.schema) for table in schema.tables
    }


def _parents(raw: Mapping[str, RawTable], schema: LinkedSchema) -> dict[str, Ints]:
    return {name: _parent_rows(schema[name], schema, raw) for name in schema.links}


def _parent_rows(table: LinkedTable, schema: LinkedSchema, raw: Mapping[str, RawTable]) -> Ints:
    """The row of its parent that each row of a table hangs on."""
    parent = schema.links[table.name]
    own, above = raw[table.name], raw[parent.table]
    if parent.owner is None:
        return _places(_keys(own, parent.foreign_key), _keys(above, schema[parent.table].key or ""))
    column, value = parent.owner
    owns = pc.fill_null(pc.equal(_keys(above, column), str(value)), False).to_numpy(zero_copy_only=False)
    rows = np.flatnonzero(owns)
    held = _places(_keys(own, table.key or ""), _keys(above, parent.foreign_key).take(pa.array(rows)))
    return np.where(held >= 0, np.append(rows, NOBODY)[held], NOBODY)


def _keys(table: RawTable, name: str) -> pa.Array:
    """A column of keys as text, whatever their type."""
    if name not in table.data.column_names:
        raise TableError(f"{table.origin}: no column {name!r}; it has {', '.join(table.data.column_names)}")
    values = table.data.column(name).combine_chunks()
    values = values if isinstance(values, pa.Array) else pa.concat_arrays(values.chunks)
    return values.cast(pa.int64() if pa.types.is_floating(values.type) else values.type).cast(pa.string())


def _places(values: pa.Array, known: pa.Array) -> Ints:
    """Where each value first stands among the known ones; −1 for nowhere, and for a missing value."""
    found = pc.fill_null(pc.index_in(values, value_set=known, skip_nulls=True), NOBODY)
    places: Ints = found.to_numpy(zero_copy_only=False).astype(np.int64)
    return places
