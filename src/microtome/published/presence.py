"""Which levels of linked tables cannot go together, because a row is there or is not: known without counting.

A view has a record without a row for a parent that has none, and everything of that row is missing there. So whoever
has a value of a row has one in every column of it that is never missing, has the rows above it, and is counted as
having rows. Pairs of levels of which one is of rows that are there, the other of rows that are not, have no record
whatever the tables hold. That follows from the schema alone, so it costs nothing; noise had made such records up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from microtome.schema import CategoryCells, Codebook, ColumnCode, NumberCells
from microtome.schema.linked_view import LinkedView

Bools = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class Tie:
    """Two columns of which some levels cannot go together.

    Attributes:
        columns: Their places.
        together: Pairs of levels that can.
    """

    columns: tuple[int, int]
    together: Bools


@dataclass(frozen=True, kw_only=True, eq=False)
class Presence:
    """What is known of the columns of all views.

    Attributes:
        impossible: Pairs of levels that no record has (d × d).
        ties: For every table, the column above that tells whether there is a row, with each of the row's own.
        absent: For every column of a row that has a value whenever there is a row, the level that says there is none.
    """

    impossible: Bools
    ties: tuple[Tie, ...]
    absent: Mapping[int, int]

    @classmethod
    def of(cls, views: Mapping[str, LinkedView], places: Mapping[str, Sequence[int]], codebook: Codebook) -> Presence:
        """That of views whose columns have these places in a codebook of all."""
        impossible = np.zeros((codebook.dim, codebook.dim), dtype=bool)
        told: dict[str, list[_Told]] = {}
        ties: list[Tie] = []
        absent: dict[int, int] = {}
        for name, one in views.items():
            if one.table.parent is None:
                continue
            above = views[one.table.parent.table]
            telling = _telling(one, above, places[above.table.name], codebook.codes)
            own = list(_own(one, places[name], codebook.codes))
            ties += [tie for column in own for tie in telling.ties(column)]
            absent |= {column.column: int(np.flatnonzero(column.absent)[0]) for column in own if column.absent.any()}
            told[name] = [telling, *own]
            for first in told[name]:
                for second in told[name]:
                    _mark(impossible, codebook, first, second, first.excludes(second))
                for second in _higher(one, views, told):
                    _mark(impossible, codebook, first, second, np.outer(first.present, second.absent))
        return cls(impossible=impossible, ties=tuple(ties), absent=absent)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Told:
    """What the levels of a column tell of a table's rows: that there is none, that there is one, or neither."""

    column: int
    absent: Bools
    present: Bools

    def excludes(self, other: _Told) -> Bools:
        """Pairs of levels of which one tells of a row and the other of none."""
        return np.outer(self.absent, other.present) | np.outer(self.present, other.absent)

    def ties(self, other: _Told) -> Iterator[Tie]:
        """What this column says of the other, if anything."""
        excluded = self.excludes(other)
        if excluded.any():
            yield Tie(columns=(self.column, other.column), together=~excluded)


def _telling(one: LinkedView, above: LinkedView, places: Sequence[int], codes: Sequence[ColumnCode]) -> _Told:
    """The column above that tells whether there is a row: the owner's, or the number of rows."""
    parent = one.table.parent
    owner = None if parent is None else parent.owner
    name = above.counts[one.table.name] if owner is None else owner[0]
    place = places[above.view.schema.names.index(name)]
    code = codes[place]
    there = np.zeros(len(code.cells), dtype=bool)
    match code.cells:
        case NumberCells() as cells:
            there[: cells.num_values] = cells.middles() > 0
        case CategoryCells(categories=categories):
            there[: len(categories)] = [owner is not None and value == owner[1] for value in categories]
    return _Told(column=place, absent=_levels(code, ~there), present=_levels(code, there))


def _own(one: LinkedView, places: Sequence[int], codes: Sequence[ColumnCode]) -> Iterator[_Told]:
    """The columns of a row: a value tells that it is there, a missing one that it is not, where it cannot be else."""
    view, certain = one.view, set(one.view.certain) - {one.view.gap}
    for name, place in zip(view.own_schema.names, places, strict=False):
        code = codes[place]
        value = np.ones(len(code.cells), dtype=bool)
        if code.cells.missing:
            value[-1] = False
        absent = _levels(code, ~value) & (name in certain)
        yield _Told(column=place, absent=absent, present=_levels(code, value))
    for place in places[len(view.schema.columns) :]:
        following = np.arange(codes[place].num_levels) < codes[place].num_levels - 1  # the last says: no next row
        yield _Told(column=place, absent=np.zeros_like(following), present=following)


def _levels(code: ColumnCode, cells: Bools) -> Bools:
    """The levels all of whose cells are among these."""
    others = np.bincount(code.levels, weights=~cells, minlength=code.num_levels)
    found: Bools = others == 0
    return found


def _higher(one: LinkedView, views: Mapping[str, LinkedView], told: Mapping[str, Sequence[_Told]]) -> Iterator[_Told]:
    """What the columns of all tables above tell of their own rows."""
    while one.table.parent is not None:
        one = views[one.table.parent.table]
        yield from told.get(one.table.name, ())


def _mark(impossible: Bools, codebook: Codebook, first: _Told, second: _Told, excluded: Bools) -> None:
    if first.column == second.column:
        return
    rows, columns = (codebook.blocks[one.column] for one in (first, second))
    impossible[rows.start : rows.stop, columns.start : columns.stop] |= excluded
    impossible[columns.start : columns.stop, rows.start : rows.stop] |= excluded.T
