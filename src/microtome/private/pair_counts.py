"""How often each pair of levels of two columns occurs, for all pairs of columns at once.

Columns of few levels are counted together: those of a *team* have one joint code, and the table of two teams' codes,
counted in one go, holds the table of every column of one team with every column of the other, as sums over the rest. So
the number of passes over the rows goes by the teams, of which there are fewer than columns. Counts are whole numbers,
and what is counted of a row depends on that row alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
_MOST_CELLS = 1 << 16
"""Cells of a table of two teams: it is to stay in a near cache."""
_ROWS_A_CELL = 2
"""A table of two teams has at most so many times fewer cells than there are rows: its cells are summed after each
count."""


def pair_counts(levels: Ints, widths: Sequence[int]) -> Ints:
    """Counts of all pairs of levels (d × d), given levels column by column (columns × rows); symmetric.

    The blocks of a column with itself hold its own counts on their diagonals.
    """
    starts = np.cumsum([0, *widths])
    counts = np.zeros((starts[-1], starts[-1]), np.int64)
    most = min(_MOST_CELLS, levels.shape[1] // _ROWS_A_CELL)
    coded = [(team, _joint(levels, team, widths)) for team in _teams(widths, int(most**0.5))]
    for team, code in coded:
        joint = _counted(code, [widths[column] for column in team])
        for axis, column in enumerate(team):
            part = np.arange(starts[column], starts[column + 1])
            counts[part, part] = _summed(joint, (axis,))
        _put(counts, starts, joint, combinations(enumerate(team), 2))
    for (team, code), (other_team, other_code) in combinations(coded, 2):
        shape = [widths[column] for column in team + other_team]
        joint = _counted(code * math.prod(shape[len(team) :]) + other_code, shape)
        _put(counts, starts, joint, product(enumerate(team), enumerate(other_team, start=len(team))))
    return counts


def _teams(widths: Sequence[int], most: int) -> list[list[int]]:
    """Columns in teams with at most so many joint levels, the widest by themselves if need be."""
    teams: list[list[int]] = []
    for column in sorted(range(len(widths)), key=lambda one: -widths[one]):
        sizes = [math.prod(widths[member] for member in team) * widths[column] for team in teams]
        place = max((size, place) for place, size in enumerate([0, *sizes]) if size <= most)[1]
        if place:
            teams[place - 1].append(column)
        else:
            teams.append([column])
    return teams


def _joint(levels: Ints, team: Sequence[int], widths: Sequence[int]) -> Ints:
    code = np.ascontiguousarray(levels[team[0]])
    for column in team[1:]:
        code = code * widths[column] + levels[column]
    return code


def _counted(code: Ints, shape: Sequence[int]) -> Ints:
    return np.bincount(code, minlength=math.prod(shape)).reshape(shape)


def _summed(joint: Ints, kept: tuple[int, ...]) -> Ints:
    """The table of some axes, in their order, summed over all others."""
    summed: Ints = joint.sum(axis=tuple(axis for axis in range(joint.ndim) if axis not in kept))
    return summed


def _put(counts: Ints, starts: Ints, joint: Ints, pairs: Iterable[tuple[tuple[int, int], tuple[int, int]]]) -> None:
    """Write the tables of pairs of columns, each with its axis, to both of their places."""
    for (axis, column), (other_axis, other_column) in pairs:
        one, other = (slice(starts[each], starts[each + 1]) for each in (column, other_column))
        table = _summed(joint, (axis, other_axis))
        counts[one, other], counts[other, one] = table, table.T
