"""Drawing rows so that their two-way tables come out as the model has them, and not as chance would.

Independent draws of n rows scatter every cell of every table by the square root of its count. For wide tables that
scatter is larger than the error of the model itself. Here rows are drawn in blocks. For every pair of units the
draws keep count of what is missing so far, D = what the model expects − what was drawn, and in the next block a
unit has the force

    f = Σ_b D[unit, unit drawn in column b] / (H · expected in a block + 1),

the columns one after the other, the widest first. Two candidates are drawn for each value by its distribution alone,
and the second is taken with the probability 1/(1 + exp(−2·(f₂ − f₁))): to first order a unit then has its probability
times exp(f), but only the forces of two units have to be known. So what is missing is made up for within about H
blocks, and the error of a table grows with n hardly at all instead of as √n. Each row by itself keeps nearly its
distribution; rows are no longer independent of each other, but make up for each other.

Scatter matters less the more rows there are: of a million independent draws the shares are as exact as those of 131,072
balanced ones. So between these numbers a growing share of the blocks is drawn by their distributions alone, and no
account is kept of them, which takes a third of the time; from a million rows on all are.

Categories are balanced one by one, not only the levels that are coded: what a level holds is drawn here too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from microtome.synthesis import pool as pools
from microtome.synthesis.pool import Pool, Units

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
_HORIZON = 4.0
_STRONGEST_PAIR, _STRONGEST = 0.7, 3.0
_BLOCKS, _FEWEST_ROWS, _MOST_ROWS = 32, 64, 4096
"""Few rows are drawn in small blocks, so that there are enough of them to make up for each other; for a row of a large
block there is less to remember."""
_MOST_COLUMNS = 128
"""Columns up to which rows are balanced: it costs by pairs of them, and what a release tells of a pair gets less."""
_ALL_BALANCED, _NONE_BALANCED = 1 << 17, 1 << 20
"""Numbers of rows up to which all are balanced, and from which on none is."""


class BalancedDraws:
    """Draws units of all columns, block after block, and remembers what is missing.

    Args:
        units: The units of every column.
        num_rows: How many rows will be drawn in all.
        columns: The columns that are wanted, by default all; of others the first unit is given.
    """

    def __init__(self, units: Sequence[Units], num_rows: int, *, columns: Sequence[int] | None = None) -> None:
        widths = np.array([len(one) for one in units])
        drawn = np.arange(len(units)) if columns is None else np.asarray(columns, dtype=np.int64)
        self._block_rows = int(np.clip(num_rows // _BLOCKS, _FEWEST_ROWS, _MOST_ROWS))
        self._starts: Ints = np.cumsum(widths) - widths
        self._size = int(widths.sum())
        widest_first = drawn[np.argsort(widths[drawn], kind="stable")[::-1]]
        self._order = [int(column) for column in widest_first if widths[column] > 1]
        share = (_NONE_BALANCED - num_rows) / (_NONE_BALANCED - _ALL_BALANCED)
        is_narrow = self._size <= pools.MOST_UNITS and len(self._order) <= _MOST_COLUMNS
        self._share = float(np.clip(share, 0.0, 1.0)) if is_narrow else 0.0
        self._due = 0.0
        remembered = self._size if self._share else 0
        self._missing_alone = np.zeros(remembered)
        self._missing = np.zeros((remembered, remembered), np.float32)
        self._pool: Pool | None = None

    def __call__(self, pool: Pool, count: int, rng: np.random.Generator) -> list[Ints]:
        """Units of every column of some rows that are drawn from a pool."""
        members, step = pool.choose(count, rng), self._block_rows
        if self._share and pool is not self._pool:
            self._expect(pool)
        pool, members = pool.narrowed(members)
        drawn = np.zeros((len(self._starts), count), np.int64)
        for start in range(0, count, step):
            block = pool, members[start : start + step], drawn[:, start : start + step], rng
            self._due += self._share
            if self._due < 1.0:
                self._draw_alone(*block)
                continue
            self._due -= 1.0
            self._draw_balanced(*block)
        return list(drawn)

    def _expect(self, pool: Pool) -> None:
        """Note which share of the rows each unit and each pair of units should have."""
        self._pool = pool
        self._alone, self._pairs = pool.shares(), pool.pair_shares()
        self._ease_alone = 1.0 / (_HORIZON * self._block_rows * self._alone + 1.0)
        self._ease = 1.0 / (np.float32(_HORIZON * self._block_rows) * self._pairs + np.float32(1.0))

    def _draw_alone(self, pool: Pool, members: Ints, drawn: Ints, rng: np.random.Generator) -> None:
        """Draw the units of a block of rows into ``drawn``, each by its distribution alone."""
        for column in self._order:
            numbers = rng.integers(0, 1 << 32, size=len(members), dtype=np.uint32)
            drawn[column] = pool.tables[column].draw(members, numbers)

    def _draw_balanced(self, pool: Pool, members: Ints, drawn: Ints, rng: np.random.Generator) -> None:
        """Draw the units of a block of rows into ``drawn``, so that they make up for what is missing."""
        forces, count = self._forces(), len(members)
        units = np.empty((len(self._order), count), np.int64)
        rows_of, twice = np.empty_like(units), np.concatenate([members, members])
        for place, column in enumerate(self._order):
            numbers = rng.integers(0, 1 << 32, size=2 * count, dtype=np.uint32)
            both = pool.tables[column].draw(twice, numbers).reshape(2, count)
            first, other = both
            apart = np.flatnonzero(first != other)
            candidates = both.take(apart, axis=1) + self._starts[column]
            taken = apart[_takes_second(forces, candidates, rows_of[:place].take(apart, axis=1), rng)]
            first[taken] = other[taken]
            drawn[column] = first
            np.add(first, self._starts[column], out=units[place])
            np.multiply(units[place], self._size, out=rows_of[place])
        self._remember(units, rows_of)

    def _forces(self) -> tuple[Singles, Singles]:
        """What pulls on each unit by itself, and with each unit drawn in another column (one long row)."""
        pull = self._missing * self._ease
        own = 2.0 * np.clip(self._missing_alone * self._ease_alone, -_STRONGEST_PAIR, _STRONGEST_PAIR)
        return own.astype(np.float32), np.clip(pull, -_STRONGEST_PAIR, _STRONGEST_PAIR, out=pull).ravel()

    def _remember(self, units: Ints, rows_of: Ints) -> None:
        """Count what was drawn: every pair once, in the row of the column that was drawn first.

        Columns are in the order in which they were drawn, and ``rows_of`` is where the rows of their units begin.
        """
        count, size = units.shape[1], self._size
        self._missing_alone += count * self._alone
        self._missing += np.float32(count) * self._pairs
        self._missing_alone -= np.bincount(units.ravel(), minlength=size)
        for place, column in enumerate(self._order[:-1]):
            start = self._starts[column]
            width = int(units[place].max()) + 1 - start
            pairs = units[place + 1 :] + (rows_of[place] - start * size)
            counts = np.bincount(pairs.ravel(), minlength=width * size)
            self._missing[start : start + width] -= counts.reshape(width, size)


def _takes_second(
    forces: tuple[Singles, Singles], candidates: Ints, rows_of: Ints, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Where the second of two candidates (2 × rows) is taken, given where the rows of the units drawn before begin."""
    own, pull = forces
    force = own[candidates]
    for one, candidate in zip(force, candidates, strict=True):
        one += pull.take(rows_of + candidate).sum(axis=0)
    apart = np.clip(force[1] - force[0], -_STRONGEST, _STRONGEST)
    taken: NDArray[np.bool_] = rng.random(len(apart), dtype=np.float32) * (1.0 + np.exp(-2.0 * apart)) < 1.0
    return taken
