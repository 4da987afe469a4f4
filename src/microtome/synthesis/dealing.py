"""Levels of a column for many rows at once: its tables with known columns come out as expected, not as chance has them.

Row i has level l with probability S[i, l]. Of the rows in which another column has the level a, so many should have l
as these probabilities add up to. Independent draws scatter around that by its root, which in tables of a few hundred
rows is more than the error of the model. So levels are drawn independently first, and then drawn anew, a few rows at a
time: the new level, drawn by S as well, is taken instead of the old with the probability 1/(1 + exp(ΔE)), where

    E = strength · Σ D²/(expected + 1)   over all cells of all tables,   D = expected − drawn.

Drawing from S with such choices has the distribution Π S·exp(−E) in the end: each row nearly keeps its own, and rows
make up for each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
_LEAST = np.float32(1e-30)
_STRENGTH = 8.0
"""How much what is missing counts beside the shares of a row."""
_SWEEPS = 6
"""How often each row is drawn anew."""
_BLOCKS, _FEWEST, _MOST = 64, 8, 256
"""Rows that are drawn anew together do not know of each other: they are few, so that they do not all make up for the
same."""


def dealt(shares: Singles, known: Sequence[Ints], rng: np.random.Generator) -> Ints:
    """A level for every row, by its shares, so that tables with each of the known columns come out as expected.

    Args:
        shares: In proportion to the probability of each level (rows × levels).
        known: Levels of other columns.
        rng: Draws them.
    """
    count, width = shares.shape
    ends = np.cumsum(shares, axis=1, dtype=np.float32)
    found = _at(ends, rng)
    step = int(np.clip(count // _BLOCKS, _FEWEST, _MOST))
    if count <= step or width == 1:
        return found
    tables = _Tables.of(shares / np.maximum(ends[:, -1:], _LEAST), found, known)
    for _ in range(_SWEEPS):
        order = rng.permutation(count)
        for start in range(0, count, step):
            rows = order[start : start + step]
            other = _at(ends[rows], rng)
            rows, other = rows[other != found[rows]], other[other != found[rows]]
            change = tables.change(rows, found[rows], other)
            taken = rng.random(len(rows)) * (1.0 + np.exp(np.minimum(_STRENGTH * change, 50.0))) < 1.0
            rows, other = rows[taken], other[taken]
            tables.move(rows, found[rows], other)
            found[rows] = other
    return found


@dataclass(frozen=True, eq=False)
class _Tables:
    """What is missing in the tables with all known columns, and in the column by itself.

    Attributes:
        missing: Expected less drawn, cell by cell: a row for each level of all known columns, one behind the other.
        ease: 1/(expected + 1).
        starts: Rows × known columns: where the cells of the level that a row has in each begin.
    """

    missing: Floats
    ease: Floats
    starts: Ints

    @classmethod
    def of(cls, shares: NDArray[Any], found: Ints, known: Sequence[Ints]) -> _Tables:
        """The tables of rows that were drawn."""
        count, width = shares.shape
        every = [np.zeros(count, np.int64), *known]
        firsts = np.cumsum([0, *(int(one.max()) + 1 for one in every)])
        levels = np.stack([one + first for one, first in zip(every, firsts[:-1], strict=True)], axis=1)
        expected: Floats = np.zeros((int(firsts[-1]), width))
        for column in levels.T:
            for place in range(width):
                expected[:, place] += np.bincount(column, weights=shares[:, place], minlength=len(expected))
        starts = levels * width
        made = np.bincount((starts + found[:, None]).ravel(), minlength=expected.size)
        return cls(missing=expected.ravel() - made, ease=1.0 / (expected.ravel() + 1.0), starts=starts)

    def change(self, rows: Ints, old: Ints, new: Ints) -> Floats:
        """By how much E grows for each of some rows that goes from one place to another."""
        left, come = self.starts[rows] + old[:, None], self.starts[rows] + new[:, None]
        lost = (1.0 + 2.0 * self.missing[left]) * self.ease[left]
        gained = (1.0 - 2.0 * self.missing[come]) * self.ease[come]
        total: Floats = (lost + gained).sum(axis=1)
        return total

    def move(self, rows: Ints, old: Ints, new: Ints) -> None:
        """Let rows go from one place to another."""
        left, come = self.starts[rows] + old[:, None], self.starts[rows] + new[:, None]
        np.add.at(self.missing, left.ravel(), 1.0)
        np.add.at(self.missing, come.ravel(), -1.0)


def _at(ends: Singles, rng: np.random.Generator) -> Ints:
    """A place in every row, of cumulative shares."""
    targets = rng.random(len(ends), dtype=np.float32)[:, None] * ends[:, -1:]
    places: Ints = np.minimum((ends <= targets).sum(axis=1), ends.shape[1] - 1)
    return places
