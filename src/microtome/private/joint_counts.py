"""How often levels of a few columns occur together, for all sets of so many columns at once.

Columns of few levels are counted together: those of a *team* have one joint code, and the table of some teams' codes,
counted in one go, holds the table of every set of columns within them, as sums over the rest. So the number of passes
over the rows goes by the sets of teams, of which there are fewer than sets of columns. Sums are taken once, at the end.
Counts are whole numbers, and what is counted of a row depends on that row alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from threading import Lock

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
_NEAR = 1 << 13
"""Cells that a core has at hand; to count in a larger table takes longer, by about this for each doubling:"""
_FARTHER = 0.5
_LARGEST = 512
"""Joint levels of a team at most."""
_MOST_IN_ALL = 1 << 23
"""Cells of all these tables together; teams are smaller rather than to have more."""


class JointCounts:
    """Counts of all sets of so many columns, filled block by block, on several threads if need be.

    Args:
        widths: Levels of each column.
        order: Columns of a set.
        num_parts: Rows of each part are counted apart.
    """

    def __init__(self, widths: Sequence[int], order: int, num_parts: int = 1) -> None:
        self._widths, self._num_parts = widths, num_parts
        self._teams = _quickest_teams(widths, order, num_parts)
        self._sizes = [_product(widths, team) for team in self._teams]
        sets = combinations(range(len(self._teams)), min(order, len(self._teams)))
        self._tables = {teams: np.zeros(num_parts * _product(self._sizes, teams), np.int64) for teams in sets}
        self._locks = {teams: Lock() for teams in self._tables}

    def add(self, levels: Sequence[Ints] | Ints, parts: Ints | None = None, weight: int = 1) -> None:
        """Count rows, given as levels column by column, and the part that each is of; each for so much."""
        codes = [_joint(levels, team, self._widths) for team in self._teams]
        started: tuple[tuple[int, ...], Ints | None] = (), parts
        own = np.empty_like(codes[0])  # memory of its own for every table would take longer than to count
        for teams, table in self._tables.items():
            *others, last = teams
            if started[0] != tuple(others):
                started = tuple(others), self._started(codes, others, parts)
            code = codes[last] if started[1] is None else np.multiply(started[1], self._sizes[last], out=own)
            if started[1] is not None:
                code += codes[last]
            with self._locks[teams]:
                np.add.at(table, code, weight)

    def _started(self, codes: list[Ints], teams: list[int], parts: Ints | None) -> Ints | None:
        """The joint code of the part and of some teams."""
        code = parts
        for team in teams:
            code = codes[team] if code is None else code * self._sizes[team] + codes[team]
        return code

    def merge(self, other: JointCounts) -> None:
        """Add what another of the same columns has counted."""
        for teams, table in self._tables.items():
            table += other._tables[teams]

    def tables(self, sets: Sequence[tuple[int, ...]]) -> Iterator[Ints]:
        """The counts of sets of columns, part by part (parts × levels × …), in their order."""
        team_of = {column: place for place, team in enumerate(self._teams) for column in team}
        summed: dict[tuple[tuple[int, ...], ...], Ints] = {}  # team by team: what several sets share is summed once
        for columns in sets:
            within = tuple(sorted({team_of[column] for column in columns}))
            axes = [column for team in within for column in self._teams[team]]
            dropped = [tuple(column for column in self._teams[team] if column not in columns) for team in within]
            if (within,) not in summed:
                summed[(within,)] = self._of_teams(within)
            for number, rest in enumerate(dropped, start=1):
                key = (within, *dropped[:number])
                if key not in summed:
                    over = tuple(1 + axes.index(column) for column in rest)
                    summed[key] = summed[key[:-1]].sum(axis=over, keepdims=True)
            yield _summed(summed[(within, *dropped)], [axes.index(column) for column in columns])

    def _of_teams(self, within: tuple[int, ...]) -> Ints:
        """The table of some teams' columns (parts × levels × …), out of any that has all of these teams."""
        teams = next(teams for teams in self._tables if {*within} <= {*teams})
        table = self._tables[teams].reshape(self._num_parts, *(self._sizes[team] for team in teams))
        kept = table.sum(axis=tuple(axis for axis, team in enumerate(teams, start=1) if team not in within))
        shape = [self._widths[column] for team in within for column in self._teams[team]]
        return np.asarray(kept, np.int64).reshape(self._num_parts, *shape)


def _quickest_teams(widths: Sequence[int], order: int, num_parts: int) -> list[list[int]]:
    """The teams that take the least time and have room; columns by themselves if none have."""
    sizes = [2**power for power in range(1, _LARGEST.bit_length())]
    tried = [_teams(widths, most) for most in sizes]
    cells = [num_parts * _cells_of_sets([_product(widths, team) for team in teams], order) for teams in tried]
    fitting = [pair for pair in zip(cells, tried, strict=True) if pair[0] <= _MOST_IN_ALL]
    if not fitting:
        return [[column] for column in range(len(widths))]
    return min(fitting, key=lambda pair: _time(pair[0], math.comb(len(pair[1]), min(order, len(pair[1])))))[1]


def _time(cells: int, sets: int) -> float:
    """About how long it takes to count a row in so many tables with so many cells in all."""
    return sets * (1.0 + _FARTHER * math.log2(max(cells / (sets * _NEAR), 1.0)))


def _cells_of_sets(sizes: Sequence[int], order: int) -> int:
    """Cells of the tables of all sets of so many teams: an elementary symmetric polynomial."""
    cells = [1, *[0] * min(order, len(sizes))]
    for size in sizes:
        cells = [1, *(more + size * fewer for fewer, more in pairwise(cells))]
    return cells[-1]


def _teams(widths: Sequence[int], most: int) -> list[list[int]]:
    """Columns in teams with at most so many joint levels, the widest by themselves if need be."""
    teams: list[list[int]] = []
    for column in sorted(range(len(widths)), key=lambda one: -widths[one]):
        sizes = [_product(widths, team) * widths[column] for team in teams]
        place = max((size, place) for place, size in enumerate([0, *sizes]) if size <= most)[1]
        if place:
            teams[place - 1].append(column)
        else:
            teams.append([column])
    return teams


def _product(sizes: Sequence[int], members: Sequence[int]) -> int:
    return math.prod(sizes[member] for member in members)


def _joint(levels: Sequence[Ints] | Ints, team: Sequence[int], widths: Sequence[int]) -> Ints:
    code = np.array(levels[team[0]], np.int64)
    for column in team[1:]:
        code *= widths[column]
        code += levels[column]
    return code


def _summed(joint: Ints, kept: Sequence[int]) -> Ints:
    """The table of some axes behind that of parts, in their order, summed over all others."""
    dropped = tuple(axis for axis in range(1, joint.ndim) if axis - 1 not in kept)
    table: Ints = joint.sum(axis=dropped) if dropped else joint
    places = np.argsort(np.argsort(kept))
    return table.transpose(0, *(1 + places))
