"""Levels of a column for many rows at once, so that its tables with known columns come out as expected, not as chance would.

Row i has level l with probability S[i, l]. Of the rows in which another column has the level a, so many should have l as
these probabilities add up to; independent draws scatter around that by its root, which in tables of a few hundred rows
is more than the error of the model. So levels are drawn independently first, and then drawn anew, a few rows at a time:
the new level, drawn by S as well, is taken instead of the old with the probability 1/(1 + exp(ΔE)), where

    E = strength · Σ D²/(expected + 1)   over all cells of all tables,   D = expected − drawn.

Drawing from S with such choices has the distribution Π S·exp(−E) in the end: each row nearly keeps its own, and rows
make up for each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
_STRENGTH = 8.0
"""How much what is missing counts beside the shares of a row."""
_SWEEPS = 6
"""How often each row is drawn anew."""
_BLOCKS, _FEWEST, _MOST = 64, 8, 256
"""Rows that are drawn anew together do not know of each other: they are few, so that they do not all make up for the
same."""


def drawn(shares: Singles, rng: np.random.Generator) -> Ints:
    """A place in every row, in proportion to the shares there."""
    ends = np.cumsum(shares, axis=1, dtype=np.float32)
    return _at(ends, rng)


def dealt(shares: Singles, known: Sequence[Ints], rng: np.random.Generator) -> Ints:
    """The same, so that together with each of the known columns places are about as frequent as expected."""
    count, width = shares.shape
    ends = np.cumsum(shares, axis=1, dtype=np.float32)
    found = _at(ends, rng)
    step = int(np.clip(count // _BLOCKS, _FEWEST, _MOST))
    if count <= step or width == 1:
        return found
    tables = _Tables.of(shares / np.maximum(ends[:, -1:], np.float32(1e-30)), found, known)
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
    """What is missing in the tables with all known columns.

    Attributes:
        missing: Expected less drawn, cell by cell (levels of all known columns, one behind the other × places).
        ease: 1/(expected + 1).
        starts: For every row where the level that it has in each known column is.
    """

    missing: Floats
    ease: Floats
    starts: Ints

    @classmethod
    def of(cls, shares: Singles, found: Ints, known: Sequence[Ints]) -> _Tables:
        """The tables of rows that were drawn."""
        count, width = shares.shape
        every = [np.zeros(count, np.int64), *known]
        firsts = np.cumsum([0, *(int(one.max()) + 1 for one in every)])
        starts = np.stack([one + first for one, first in zip(every, firsts[:-1], strict=True)], axis=1)
        expected = np.zeros((int(firsts[-1]), width))
        for column in starts.T:
            for place in range(width):
                expected[:, place] += np.bincount(column, weights=shares[:, place], minlength=len(expected))
        cells = (starts * width + found[:, None]).ravel()
        drawn_there = np.bincount(cells, minlength=expected.size).reshape(expected.shape)
        return cls(missing=expected - drawn_there, ease=1.0 / (expected + 1.0), starts=starts)

    def change(self, rows: Ints, old: Ints, new: Ints) -> Floats:
        """By how much E grows for each of some rows that goes from one place to another."""
        starts = self.starts[rows]
        left = (2.0 * self.missing[starts, old[:, None]] + 1.0) * self.ease[starts, old[:, None]]
        come = (1.0 - 2.0 * self.missing[starts, new[:, None]]) * self.ease[starts, new[:, None]]
        total: Floats = (left + come).sum(axis=1)
        return total

    def move(self, rows: Ints, old: Ints, new: Ints) -> None:
        """Let rows go from one place to another."""
        starts = self.starts[rows]
        np.add.at(self.missing, (starts, old[:, None]), 1.0)
        np.subtract.at(self.missing, (starts, new[:, None]), 1.0)


def _at(ends: Singles, rng: np.random.Generator) -> Ints:
    """A place in every row, of cumulative shares."""
    targets = rng.random(len(ends), dtype=np.float32)[:, None] * ends[:, -1:]
    places: Ints = np.minimum((ends <= targets).sum(axis=1), ends.shape[1] - 1)
    return places
