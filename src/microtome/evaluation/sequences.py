"""Rows of a parent that follow each other: what comes next, after how long, and how alike neighbours are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from microtome.evaluation.binning import Levels, cut_columns
from microtome.evaluation.comparable_table import ComparableTable
from microtome.evaluation.distributions import ColumnFigures
from microtome.evaluation.fidelity import correlation
from microtome.evaluation.linked_tables import LinkedTables, Sides
from microtome.evaluation.number_tables import compare_numbers
from microtome.evaluation.pairs import PairFigures, compare_pair, mean_distance

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_Steps = tuple[Ints, Ints]


@dataclass(frozen=True, kw_only=True, eq=False)
class SequenceFigures:
    """Rows of a parent, one after the other.

    Attributes:
        order: The column that orders them.
        steps: Each column now with itself in the next row.
        gap: From one row to the next.
        autocorrelation: Of each measured column with itself one row later: real and synthetic.
    """

    order: str
    steps: tuple[PairFigures, ...]
    gap: ColumnFigures
    autocorrelation: dict[str, tuple[float, float]]

    @property
    def step_distance(self) -> float | None:
        """Mean total variation of all steps."""
        return mean_distance(self.steps)


def compare_sequences(name: str, order: str, sides: Sides) -> SequenceFigures:
    """The rows of a table, parent by parent, in order."""
    first, second = (side.coded[name] for side in sides)
    steps = [_steps(side, name, order) for side in sides]
    levels = dict(zip(first.values, cut_columns(first, second), strict=True))
    gaps = [_gaps(table.values[order], ends) for table, ends in zip((first, second), steps, strict=True)]
    return SequenceFigures(
        order=order,
        steps=tuple(_step(f"{name}.{column}", levels[column], steps) for column in levels if column != order),
        gap=compare_numbers(f"{order}: to the next row", gaps, whole=False),
        autocorrelation={
            column: (_autocorrelation(first, column, steps[0]), _autocorrelation(second, column, steps[1]))
            for column in first.measured
            if column != order
        },
    )


def _gaps(times: Floats, steps: _Steps) -> Floats:
    now, later = steps
    return times[later] - times[now]


def _step(name: str, levels: Levels, steps: list[_Steps]) -> PairFigures:
    """A column now with itself in the next row."""
    width, shares = len(levels.labels), []
    for codes, (now, later) in zip(levels.codes, steps, strict=True):
        joint = np.bincount(codes[now] * width + codes[later], minlength=width * width).reshape(width, width)
        shares.append(joint / max(len(now), 1))
    sizes = [max(len(now), 2) for now, _ in steps]
    return compare_pair(
        (name, "in the next row"), (levels.labels, levels.labels), (shares[0], shares[1]), (sizes[0], sizes[1])
    )


def _steps(side: LinkedTables, name: str, order: str) -> tuple[Ints, Ints]:
    """Rows, and the row of the same parent that comes next."""
    parents, times = side.parents[name], side.coded[name].values[order]
    sequence = np.lexsort((times, parents))
    sequence = sequence[parents[sequence] >= 0]
    now, later = sequence[:-1], sequence[1:]
    together = parents[now] == parents[later]
    return now[together], later[together]


def _autocorrelation(table: ComparableTable, column: str, steps: tuple[Ints, Ints]) -> float:
    now, later = (table.values[column][rows] for rows in steps)
    known = ~(np.isnan(now) | np.isnan(later))
    return correlation(now[known], later[known])
