"""Tables of audit data, on cells of their own.

A target is a worst case by construction: every encoded row has the full distance to the null record, and a record
adds 1 to one cell of every table; its substitute differs from it in every column. Targets stand on cells of their own
as far as there are enough, so that their noise is independent; that sharpens the bound and is not needed for its
validity. The crowd is there to make the profile distinguish levels, without which rows would carry nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

import numpy as np
import pyarrow as pa

from microtome.accounting import Neighbours
from microtome.auditing.audit_data import AuditData, Coins, Places
from microtome.errors import ParameterError
from microtome.private import TableSource, fresh_key, open_table, people_of
from microtome.private.cell_index import cell_indices
from microtome.progress import silent
from microtome.schema import CategoryCells, Cells, Column, NumberCells, Schema, initial_cells
from microtome.schema.cells import numbers_to_arrow
from microtome.schema.view import view_of

_LARGEST_LEARNT, _MOST_DAYS = 2.0**20, 2.0**14
"""Up to where targets stand in a column whose bounds are to be learnt; by kind, as its numbers are counted."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Records:
    """Some records, as a table and as the place of every value among the column's cells.

    Attributes:
        table: The records.
        places: Rows × columns. The cell on which the value is counted; for categories that are to be learnt, its
            number among the column's spots.
    """

    table: pa.Table
    places: Places

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, chosen: Coins) -> Records:
        return Records(table=self.table.filter(pa.array(chosen)), places=self.places[chosen])

    def followed_by(self, other: Records) -> Records:
        """These records, and then the others."""
        return Records(
            table=pa.concat_tables([self.table, other.table]), places=np.concatenate([self.places, other.places])
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class TableAuditData(AuditData[Records]):
    """A data of tables.

    Attributes:
        schema: What is public.
        spots: For every column, the values that are used.
    """

    schema: Schema
    spots: tuple[pa.Array, ...]

    def opened(self, coins: Coins) -> TableSource:
        """The table in which the targets are that ``coins`` say, as the door opens it.

        With a unit each is a person, who has the record as often as rows of a person are kept: everything behind them
        comes and goes together, and all of it stands on the same cells, which is the most that a person can do.
        """
        records = self.present(coins).table
        if self.schema.unit is None:
            return TableSource(table=open_table(records), schema=self.schema, null_records=self.num_blanks(coins))
        often, whose = self.schema.unit.max_rows, np.arange(records.num_rows)
        rows = records.take(pa.array(np.tile(whose, often)))
        rows = rows.append_column(self.schema.unit.key, pa.array(np.tile(whose, often)))
        gathered = people_of(
            open_table(rows), self.schema, view_of(self.schema), key=fresh_key(), progress=silent, count_is_public=True
        )
        with gathered as people:
            held = {
                number: pa.concat_tables([table]).take(pa.array(np.arange(table.num_rows)))
                for number, table in people.tables.items()
            }
        return TableSource(table=replace(people, tables=held), schema=self.schema, null_records=self.num_blanks(coins))

    def with_numbers_of_rows(self, schema: Schema) -> TableAuditData:
        """The same people with how many rows each has behind the columns, as a schema of both has it."""
        often = 1 if self.schema.unit is None else self.schema.unit.max_rows
        extra = schema.columns[len(self.schema.columns) :]

        def seen(people: Records) -> Records:
            table = people.table
            for column in extra:
                table = table.append_column(column.name, pa.array(np.full(len(people), often), column.arrow_type))
            picked = np.column_stack([people.places, np.zeros((len(people), len(extra)), np.int64)])
            return Records(table=table, places=places_of(schema, table, picked))

        spots = (*self.spots, *(pa.array([often], column.arrow_type) for column in extra))
        targets, substitutes, crowd = (seen(group) for group in (self.targets, self.substitutes, self.crowd))
        return replace(self, schema=schema, spots=spots, targets=targets, substitutes=substitutes, crowd=crowd)


def build_audit_table(
    schema: Schema, *, neighbours: Neighbours, num_targets: int, num_spots: int, crowd_spots: int, crowd_size: int
) -> TableAuditData:
    """Data of the columns of a schema.

    Args:
        schema: What is public.
        neighbours: The neighbouring relation.
        num_targets: Records at stake.
        num_spots: Most different values of a column on which targets stand.
        crowd_spots: On how many of these the crowd stands, the ends first.
        crowd_size: Records that are always there.
    """
    spots = [_spots(column, num_spots) for column in schema.columns]
    sizes = np.array([len(values) for values in spots])
    # Rounds of a Latin square: two targets share their values in at most one column, if the numbers of spots allow.
    rounds, steps = np.divmod(np.arange(num_targets)[:, None], sizes.max())
    targets = (steps + rounds * np.arange(len(sizes))) % sizes
    turned = (targets + sizes // 2) % sizes
    crowd = np.stack([_crowd(len(values), crowd_spots, crowd_size, turn) for turn, values in enumerate(spots)], axis=1)

    def records(picked: Places) -> Records:
        table = pa.table(
            [values.take(pa.array(column)) for values, column in zip(spots, picked.T, strict=True)], names=schema.names
        )
        return Records(table=table, places=places_of(schema, table, picked))

    return TableAuditData(
        schema=schema,
        neighbours=neighbours,
        spots=tuple(spots),
        targets=records(targets),
        substitutes=records(turned),
        crowd=records(crowd),
    )


def _crowd(num_spots: int, crowd_spots: int, size: int, turn: int) -> Places:
    """Which spot every record of the crowd stands on: evenly, in another order for every column."""
    standing = _spread(num_spots, crowd_spots)
    chosen: Places = standing[np.random.default_rng(turn).permutation(np.arange(size) % len(standing))]
    return chosen


def _spots(column: Column, most: int) -> pa.Array:
    """At most ``most`` values of a column, each in a cell of its own."""
    match initial_cells(column):
        case None:
            return _new_categories(column, most) if column.kind.is_categorical else _new_numbers(column, most)
        case NumberCells() as cells:
            return _numbers(column, cells, most)
        case CategoryCells(categories=categories):
            values = pa.array(list(categories), type=column.arrow_type)
            return values.take(pa.array(_spread(len(values), most)))
        case never:
            assert_never(never)


def _spread(number: int, most: int) -> Places:
    """At most ``most`` places of so many, evenly spread."""
    places: Places = np.unique(np.linspace(0, number - 1, min(most, number)).round().astype(np.int64))
    return places


def _new_categories(column: Column, most: int) -> pa.Array:
    """Categories that nobody declared."""
    if pa.types.is_string(column.arrow_type):
        return pa.array([f"value {number:03d}" for number in range(most)])
    if pa.types.is_temporal(column.arrow_type):
        raise ParameterError(f"column {column.name!r}: declare its categories; the audit has no dates to try it on")
    return pa.array(np.arange(min(most, 100))).cast(column.arrow_type)


def _new_numbers(column: Column, most: int) -> pa.Array:
    """Numbers of a column whose bounds nobody declared: of many scales, as far as its type can hold them."""
    limit = float(np.iinfo(column.dtype).max) if "int" in column.dtype else np.inf
    largest = _LARGEST_LEARNT if column.kind.facts.day is None else _MOST_DAYS * column.kind.facts.day
    values = np.unique(np.rint(np.geomspace(1.0, min(largest, limit), most)))
    return numbers_to_arrow(column, values, None)


def _numbers(column: Column, cells: NumberCells, most: int) -> pa.Array:
    low, high = cells.edges[:-1], cells.edges[1:]
    values = np.ceil(low) if cells.integral else (low + high) / 2
    return numbers_to_arrow(column, values[_spread(len(values), most)], None)


def places_of(schema: Schema, table: pa.Table, picked: Places) -> Places:
    """The cell on which each value is counted; where there are no cells yet, the spot that was picked."""
    places = picked.copy()
    for index, column in enumerate(schema.columns):
        cells: Cells | None = initial_cells(column)
        if cells is not None:
            places[:, index] = cell_indices(table.column(index).combine_chunks(), column, cells)
    return places
