"""Synthetic rows of people as a release has counted real ones: of everybody one row, drawn at random.

What was counted is the distribution of a person and one of their rows (``schema.view``): everybody counts once, however
many rows they have. So of everybody one row is drawn, below it one row of each table that hangs on it, and beside it
stands what was counted there: how many rows there are, when the first was, how far it is to the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from microtome.evaluation.comparable_table import MISSING, ComparableTable, Values
from microtome.evaluation.linked_tables import LinkedTables
from microtome.schema.linked_view import LinkedView
from microtome.schema.view import View

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
NOWHERE = -1
_NO_YES = ("false", "true")


@dataclass(frozen=True, kw_only=True, eq=False)
class _Drawn:
    """One row of each of some parents.

    Attributes:
        rows: The row; −1 where the parent has none.
        first: The first row of the same parent.
        following: The row after it; −1 where there is none.
        numbers: How many rows the parent has.
    """

    rows: Ints
    first: Ints
    following: Ints
    numbers: Ints

    @classmethod
    def of(cls, hanging: Ints, parents: Ints, times: Floats | None, most: int, rng: np.random.Generator) -> _Drawn:
        """Of the rows that hang on each of some parents one by lot; ``times`` is what puts them in sequence."""
        order = np.lexsort((np.arange(len(hanging)) if times is None else times, hanging))
        order = np.append(order[hanging[order] >= 0], NOWHERE)
        counts = np.bincount(hanging[hanging >= 0], minlength=int(parents.max(initial=0)) + 1)
        starts = np.cumsum(counts) - counts
        numbers = np.where(parents >= 0, counts[parents], 0)
        place = (rng.random(len(parents)) * numbers).astype(np.int64)
        begin, there = starts[parents], numbers > 0
        return cls(
            rows=order[np.where(there, begin + place, NOWHERE)],
            first=order[np.where(there, begin, NOWHERE)],
            following=order[np.where(place + 1 < numbers, begin + place + 1, NOWHERE)],
            numbers=np.minimum(numbers, most),
        )

    def beside(self, view: View, times: Floats | None) -> ComparableTable:
        """What was counted of a sequence besides the columns."""
        if times is None or view.start is None or view.first is None or view.gap is None:
            return ComparableTable(origin="", columns=(), labels={}, values={}, num_rows=len(self.rows))
        now, then, later = (_taken(times, rows, np.nan) for rows in (self.rows, self.first, self.following))
        is_first = np.where(self.rows >= 0, (self.rows == self.first).astype(np.int64), MISSING)
        return ComparableTable(
            origin="",
            columns=(),
            labels={view.first: _NO_YES},
            values={view.start: then, view.first: is_first, view.gap: later - now},
            num_rows=len(self.rows),
        )


def one_row_each(table: ComparableTable, owners: Ints, view: View, rng: np.random.Generator) -> ComparableTable:
    """One row of everybody, with what was counted beside it."""
    times = None if view.order is None else table.values[view.order]
    people = np.arange(int(owners.max(initial=-1)) + 1)
    drawn = _Drawn.of(owners, people, times, view.most_rows, rng)
    numbers = {} if view.rows is None else {view.rows: drawn.numbers.astype(np.float64)}
    return _beside(view, _rows_of(table, drawn.rows), numbers, drawn.beside(view, times))


@dataclass(frozen=True, kw_only=True, eq=False)
class OneRowEach:
    """Of everybody one row of a table.

    Attributes:
        table: The rows, with all columns of the view.
        following: The columns of the table itself in the rows after these, where there are any.
        goes_on: Which of them have a row after them.
    """

    table: ComparableTable
    following: ComparableTable
    goes_on: NDArray[np.bool_]


def one_path_each(
    side: LinkedTables, views: Mapping[str, LinkedView], rng: np.random.Generator
) -> dict[str, OneRowEach]:
    """Of everybody one row of every table, each below the one that it hangs on; a table as each view has it."""
    rows: dict[str, Ints] = {}
    paths: dict[str, OneRowEach] = {}
    for name, one in views.items():
        coded, parent = side.coded[name], one.table.parent
        nothing = ComparableTable(origin=name, columns=(), labels={}, values={}, num_rows=coded.num_rows)
        if parent is None:
            rows[name], extra = np.arange(coded.num_rows), [nothing]
            later = np.full(coded.num_rows, NOWHERE)
        else:
            times = None if parent.order is None else coded.values[parent.order]
            drawn = _Drawn.of(side.parents[name], rows[parent.table], times, parent.most, rng)
            rows[name], later = drawn.rows, drawn.following
            inherited = _inherited(one, paths[parent.table].table)
            extra = [drawn.beside(one.view, times), inherited, _same(one.view, _rows_of(coded, rows[name]), inherited)]
        counts = {
            label: np.minimum(side.counts(child), side.schema.links[child].most) for child, label in one.counts.items()
        }
        numbers, numbers_later = (
            {label: _taken(found, places, np.nan) for label, found in counts.items()} for places in (rows[name], later)
        )
        paths[name] = OneRowEach(
            table=_beside(one.view, _rows_of(coded, rows[name]), numbers, *extra),
            following=_beside(one.view, _rows_of(coded, later), numbers_later, only=one.view.steps),
            goes_on=later >= 0,
        )
    return paths


def _inherited(linked: LinkedView, above: ComparableTable) -> ComparableTable:
    """What a view has of the one above, under its names here."""
    names = dict(zip(linked.view.inherited, linked.sources, strict=True))
    return ComparableTable(
        origin="",
        columns=(),
        labels={name: above.labels[source] for name, source in names.items() if source in above.labels},
        values={name: above.values[source] for name, source in names.items()},
        num_rows=above.num_rows,
        codes={name: above.codes[source] for name, source in names.items() if source in above.codes},
    )


def _same(view: View, rows: ComparableTable, inherited: ComparableTable) -> ComparableTable:
    """Whether columns have the value of one above; missing where either is."""
    values: dict[str, Values] = {}
    for one in view.same:
        own, above = (
            np.array([*table.labels[name], ""], dtype=object)[table.values[name]]
            for table, name in ((rows, one.column), (inherited, one.above))
        )
        absent = (rows.values[one.column] == MISSING) | (inherited.values[one.above] == MISSING)
        values[one.name] = np.where(absent, MISSING, (own == above).astype(np.int64))
    return ComparableTable(
        origin="",
        columns=(),
        labels=dict.fromkeys(values, _NO_YES),
        values=values,
        num_rows=len(rows.values[view.same[0].column]) if view.same else 0,
    )


def _rows_of(table: ComparableTable, rows: Ints) -> ComparableTable:
    """Some rows of a table, everything missing where there is none."""
    values = {
        name: _taken(found, rows, MISSING if name in table.labels else np.nan) for name, found in table.values.items()
    }
    codes = {name: _taken(found, rows, MISSING) for name, found in table.codes.items()}
    return ComparableTable(
        origin=table.origin, columns=table.columns, labels=table.labels, values=values, num_rows=len(rows), codes=codes
    )


def _beside(
    view: View,
    table: ComparableTable,
    numbers: Mapping[str, Floats],
    *others: ComparableTable,
    only: Sequence[str] | None = None,
) -> ComparableTable:
    """A table with all columns of a view, or only some."""
    values: dict[str, Values] = {**table.values, **numbers}
    labels, codes = dict(table.labels), dict(table.codes)
    for other in others:
        values |= other.values
        labels |= other.labels
        codes |= other.codes
    return ComparableTable(
        origin=table.origin,
        columns=view.schema.columns,
        labels=labels,
        values={name: values[name] for name in (view.schema.names if only is None else only)},
        num_rows=table.num_rows,
        codes=codes,
    )


def _taken(values: Values, rows: Ints, absent: float) -> Values:
    """Values at some rows, and another where there is no row."""
    kind = np.result_type(values, type(absent))
    found: Values = np.append(values, np.array(absent, kind)).astype(kind)[rows]
    return found
