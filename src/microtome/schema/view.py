"""What is measured of the rows of a table that protects people: one record a row, and what stands beside it.

A view of a table has its columns and, where a person may have several rows,

- how many rows there are (*rows*),
- where rows have an order: when the first of them was (*start*), whether a row is that one (*first*), and how far it
  is to the next (*gap*),
- what the next row of the same person has (*steps*): the level of each column there, counted with the level here. The
  level is that of the column's own code, and one more says that there is no next row.

Rows of a person have weights that sum to one, so a view is the distribution of: a person, and one of their rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from microtome.errors import SchemaError
from microtome.schema.category_code import CategoryCode
from microtome.schema.cells import CategoryCells, NumberCells
from microtome.schema.codebook import Codebook
from microtome.schema.column import Column
from microtome.schema.column_code import ColumnCode
from microtome.schema.document import Schema
from microtome.schema.kind import Kind
from microtome.schema.unit import Unit

Floats = NDArray[np.float64]
ROWS, FIRST = "number of rows", "first row"
_UNMEASURED = 1e12
"""The noise of a count that was never made, so that nobody leans on it."""


@dataclass(frozen=True, kw_only=True)
class Same:
    """A column that may have the value of one further up, both naming rows of one public table.

    Attributes:
        name: The column that says whether it has.
        column: The column.
        above: The one further up, under its name in the view.
    """

    name: str
    column: str
    above: str


@dataclass(frozen=True, kw_only=True)
class View:
    """What is measured of one table.

    Attributes:
        schema: All columns that have values of their own: those of the table, those that are derived, and at the end
            those that are inherited.
        given: Columns that are known before a row is drawn: what is the same in all rows of a person, and their number.
        steps: Columns of which the level in the next row is counted too.
        order: The column by which rows follow each other.
        most_rows: Rows of a person that there are at most.
        rows: The column that says how many rows a person has; none where they have one.
        start: The column that says when the first row of a person was, where rows have an order.
        first: The column that says whether a row is the first, where rows have an order.
        gap: The column that says how far it is to the next row, where rows have an order.
        inherited: The columns of the table above that are its too: another view has their codes, and their tables.
        certain: Columns that are missing only where there is no row at all.
        settled: Columns that say what others say too, such as whether there is a row: they are counted with none.
        same: Which columns are compared with which further up.
    """

    schema: Schema
    given: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    order: str | None = None
    most_rows: int = 1
    rows: str | None = None
    start: str | None = None
    first: str | None = None
    gap: str | None = None
    inherited: tuple[str, ...] = ()
    certain: tuple[str, ...] = ()
    settled: tuple[str, ...] = ()
    same: tuple[Same, ...] = ()

    @property
    def is_of_people(self) -> bool:
        """Whether a person may have several rows in it."""
        return self.rows is not None

    @property
    def num_columns(self) -> int:
        """Columns that are counted with others, steps included."""
        return len(self.schema.columns) + len(self.steps)

    @cached_property
    def own_schema(self) -> Schema:
        """The columns that are profiled: those that are not inherited."""
        if not self.inherited:
            return self.schema
        return replace(self.schema, columns=self.schema.columns[: len(self.schema.columns) - len(self.inherited)])

    def measured_pairs(self) -> NDArray[np.bool_]:
        """Which pairs of columns are counted (columns × columns): all, but a step only with the column itself.

        Pairs of inherited columns are counted in the view that they are from, and settled columns with none.
        """
        own, size = len(self.schema.columns), self.num_columns
        measured = np.zeros((size, size), dtype=bool)
        measured[:own, :own] = True
        first = own - len(self.inherited)
        measured[first:own, first:own] = False
        for name in self.settled:
            place = self.schema.names.index(name)
            measured[place] = measured[:, place] = False
        for place, name in enumerate(self.steps, start=own):
            base = self.schema.names.index(name)
            measured[base, place] = measured[place, base] = True
        np.fill_diagonal(measured, val=False)
        return measured

    def with_steps(self, codebook: Codebook) -> Codebook:
        """The codebook with the codes of steps behind those of the profile; public, like all that they are made of."""
        if not self.steps:
            return codebook
        codes = dict(zip(self.schema.names, codebook.codes, strict=True))
        ended = self._share_of_last(codes)
        added = [_step_code(codes[name], ended) for name in self.steps]
        return replace(codebook, codes=(*codebook.codes, *added))

    def _share_of_last(self, codes: dict[str, ColumnCode]) -> float:
        """Share of records that have no next row: one of every person's."""
        if self.rows is None:
            return 1.0
        code = codes[self.rows]
        match code.cells:
            case NumberCells() as cells:
                numbers = np.maximum(cells.middles(), 1.0)
                return float(np.clip((code.margins[: len(numbers)] / numbers).sum(), 1e-3, 1.0 - 1e-3))
            case CategoryCells():
                raise SchemaError(f"column {self.rows!r}: the number of rows is no category")

    def inheriting(self, codebook: Codebook, codes: Sequence[ColumnCode]) -> Codebook:
        """The codebook of what is profiled with the codes of what is inherited behind, under their names here."""
        named = [
            replace(code, column=replace(code.column, name=name))
            for code, name in zip(codes, self.inherited, strict=True)
        ]
        return replace(codebook, codes=(*codebook.codes, *named))

    def full_schema(self, codebook: Codebook) -> Schema:
        """The schema of all columns of a codebook with steps."""
        return (
            replace(self.schema, columns=tuple(code.column for code in codebook.codes)) if self.steps else self.schema
        )

    @cached_property
    def step_places(self) -> tuple[int, ...]:
        """Places of the columns of which the next row's level is counted."""
        return tuple(self.schema.names.index(name) for name in self.steps)


def view_of(schema: Schema) -> View:
    """What is measured of a table: its columns and, where people may have several rows, what stands beside them."""
    unit = schema.unit
    if unit is None or unit.max_rows == 1:
        return View(schema=schema)
    derived = [Column(name=ROWS, kind=Kind.INTEGER, bounds=(1, unit.max_rows), missing=False)]
    start, first, gap = None, None, None
    if unit.order is not None:
        timed = order_columns(schema[unit.order])
        start, first, gap = (column.name for column in timed)
        derived += timed
    _refuse_taken([column.name for column in derived], schema)
    return View(
        schema=replace(schema, columns=(*schema.columns, *derived)),
        given=(*unit.constant, ROWS),
        steps=_stepping(schema, unit),
        order=unit.order,
        most_rows=unit.max_rows,
        rows=ROWS,
        start=start,
        first=first,
        gap=gap,
    )


def _stepping(schema: Schema, unit: Unit) -> tuple[str, ...]:
    return tuple(name for name in schema.names if name not in unit.constant and name != unit.order)


def order_columns(order: Column) -> list[Column]:
    """What is measured of rows in a sequence: when the first was, which is the first, how far it is to the next.

    Gaps are in the numbers that the order counts: units, days or microseconds.
    """
    ends, whole = order.number_bounds(), order.kind.is_integral
    apart = None if ends is None else (0, int(ends[1] - ends[0])) if whole else (0.0, ends[1] - ends[0])
    return [
        replace(order, name=f"first {order.name}", weight=1.0, format=None, unit=None, frame=None),
        Column(name=FIRST, kind=Kind.BOOLEAN, missing=False),
        Column(name=f"{order.name} to next row", kind=Kind.INTEGER if whole else Kind.FLOAT, bounds=apart),
    ]


def _refuse_taken(names: Sequence[str], schema: Schema) -> None:
    taken = sorted({*names} & {*schema.names, *schema.names_aside})
    if taken:
        raise SchemaError(f"column {taken[0]!r} has the name of what is measured of people's rows; rename it")


def _step_code(code: ColumnCode, ended: float) -> CategoryCode:
    """The level of a column in the next row; its shares are guessed, for the tables to tell."""
    margins = np.append(code.level_margins * (1.0 - ended), ended)
    column = Column(
        name=f"next {code.column.name}", kind=Kind.CATEGORICAL, dtype="int64", categories=tuple(range(code.num_levels))
    )
    return CategoryCode(
        column=replace(column, weight=1.0),
        cells=CategoryCells(categories=column.categories or (), other=False, missing=True),
        counts=np.zeros(len(margins)),
        noise_scale=_UNMEASURED,
        margins=margins / margins.sum(),
        levels=np.arange(len(margins)),
    )
