"""Drawing rows so that their two-way tables come out as the model has them, and not as chance would.

Independent draws of n rows scatter every cell of every table by the square root of its count. For wide tables that
scatter is larger than the error of the model itself. Here rows are drawn in blocks. For every pair of values the
draws keep count of what is missing so far, D = what the model expects − what was drawn, and in the next block a
value is drawn with its probability times

    exp(Σ_b D[value, value drawn in column b] / (H · expected in a block + 1)),

the columns one after the other, the widest first. So what is missing is made up for within about H blocks, and the
error of a table grows with n hardly at all instead of as √n. Each row by itself keeps nearly its distribution;
rows are no longer independent of each other, but make up for each other.

Categories are balanced one by one, not only the levels that are coded: what a level holds is drawn here too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from microtome.schema import ColumnCode, stratified

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_HORIZON = 8.0
_MOST_CELLS = 1024
_MOST_UNITS = 4096
_STRONGEST_PAIR, _STRONGEST = 0.7, 3.0


class BalancedDraws:
    """Draws values of all columns, block after block, and remembers what is missing.

    Args:
        codes: The code of every column.
        num_rows: How many rows will be drawn in all; few are drawn in small blocks.
    """

    def __init__(self, codes: Sequence[ColumnCode], num_rows: int) -> None:
        self._codes = codes
        self._block_rows = int(np.clip(num_rows // 32, 64, 1024))
        self._by_cell = [_fits(code) for code in codes]
        if sum(_num_units(code, cells) for code, cells in zip(codes, self._by_cell, strict=True)) > _MOST_UNITS:
            self._by_cell = [False] * len(codes)
        widths = [_num_units(code, cells) for code, cells in zip(codes, self._by_cell, strict=True)]
        self._ends: Ints = np.cumsum(widths)
        self._starts: Ints = self._ends - np.array(widths)
        self._order = np.argsort(widths, kind="stable")[::-1]
        size = int(self._ends[-1])
        self._balances = size <= _MOST_UNITS
        self._level_of, self._share = self._units()
        self._missing = np.zeros((size, size), np.float32) if self._balances else np.zeros((0, 0), np.float32)
        self._missing_alone = np.zeros(size)

    def __call__(self, probabilities: Floats, rng: np.random.Generator) -> list[Ints]:
        """Cells (of categories) or levels (of numbers) of every column, given distributions over levels a row."""
        step = self._block_rows
        parts = [probabilities[start : start + step] for start in range(0, len(probabilities), step)]
        drawn = np.concatenate([self._block(part, rng) for part in parts])
        return [drawn[:, column] for column in range(drawn.shape[1])]

    def is_cells(self, column: int) -> bool:
        """Whether a column's draws are cells; levels otherwise."""
        return self._by_cell[column]

    def _block(self, levels: Floats, rng: np.random.Generator) -> Ints:
        probabilities = levels[:, self._level_of] * self._share
        if self._balances:
            table = (levels.T @ levels)[self._level_of][:, self._level_of]
            expected = (table * np.outer(self._share, self._share)).astype(np.float32)
            alone = probabilities.sum(axis=0)
            pull = np.clip(self._missing / (_HORIZON * expected + 1.0), -_STRONGEST_PAIR, _STRONGEST_PAIR)
            own = self._missing_alone / (_HORIZON * alone + 1.0)
            own = 2.0 * np.clip(own, -_STRONGEST_PAIR, _STRONGEST_PAIR)
        drawn = np.empty((len(levels), len(self._codes)), np.int64)
        done: list[int] = []
        for column in self._order:
            part = slice(self._starts[column], self._ends[column])
            weights = probabilities[:, part]
            if self._balances:
                force = np.tile(own[part], (len(levels), 1))
                for other in done:
                    force += pull[self._starts[other] + drawn[:, other], part]
                weights = weights * np.exp(np.clip(force, -_STRONGEST, _STRONGEST))
            drawn[:, column] = _draw(weights, rng)
            done.append(int(column))
        if self._balances:
            self._remember(expected, alone, drawn + self._starts)
        return drawn

    def _remember(self, expected: NDArray[np.float32], alone: Floats, units: Ints) -> None:
        size = len(alone)
        pairs = (units[:, :, None] * size + units[:, None, :]).ravel()
        self._missing += expected - np.bincount(pairs, minlength=size * size).reshape(size, size)
        self._missing_alone += alone - np.bincount(units.ravel(), minlength=size)

    def _units(self) -> tuple[Ints, Floats]:
        """The level (counted through all columns) of every unit, and the unit's share of it."""
        level_of, shares, first = [], [], 0
        for code, cells in zip(self._codes, self._by_cell, strict=True):
            if cells:
                mass = code.level_margins[code.levels]
                level_of.append(first + code.levels)
                shares.append(np.divide(code.margins, mass, out=np.zeros_like(mass), where=mass > 0))
            else:
                level_of.append(first + np.arange(code.num_levels))
                shares.append(np.ones(code.num_levels))
            first += code.num_levels
        return np.concatenate(level_of), np.concatenate(shares)


def _fits(code: ColumnCode) -> bool:
    return code.column.kind.is_categorical and len(code.cells) <= _MOST_CELLS


def _num_units(code: ColumnCode, cells: bool) -> int:
    return len(code.cells) if cells else code.num_levels


def _draw(weights: Floats, rng: np.random.Generator) -> Ints:
    """A value a row in proportion to its weights, by numbers that spread evenly over the rows."""
    cumulative = np.cumsum(weights, axis=1)
    targets = stratified(np.zeros(len(weights), np.int64), rng) * cumulative[:, -1]
    drawn: Ints = (cumulative <= targets[:, None]).sum(axis=1)
    last: Ints = weights.shape[1] - 1 - np.argmax(weights[:, ::-1] > 0, axis=1)
    return np.minimum(drawn, last)
