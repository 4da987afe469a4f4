"""What rows are drawn from: members with a distribution over the units of every column each.

A *member* is a component of a mixture or a latent of a network; given it, the columns are independent. A *unit* is what
is drawn of a column: one of its cells if they are categories, so that each of them is balanced by itself, and
otherwise one of its levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from microtome.schema import ColumnCode
from microtome.schema.alias import AliasTable

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]
_MOST_CELLS = 1024
MOST_UNITS = 4096


@dataclass(frozen=True, kw_only=True, eq=False)
class Units:
    """The units of a column.

    Attributes:
        are_cells: Whether they are cells; levels otherwise.
        level_of: The level of each, counted through all columns.
        share: The share of its level that each has.
    """

    are_cells: bool
    level_of: Ints
    share: Floats

    @classmethod
    def of(cls, code: ColumnCode, first_level: int, *, by_cell: bool) -> Units:
        """The units of a column whose levels are counted from ``first_level``."""
        if not by_cell:
            return cls(
                are_cells=False, level_of=first_level + np.arange(code.num_levels), share=np.ones(code.num_levels)
            )
        mass = code.level_margins[code.levels]
        share = np.divide(code.margins, mass, out=np.zeros_like(mass), where=mass > 0)
        return cls(are_cells=True, level_of=first_level + code.levels, share=share)

    def __len__(self) -> int:
        return len(self.share)


def units_of(codes: Sequence[ColumnCode], *, by_cell: bool = True) -> list[Units]:
    """The units of all columns: cells of categories, if wanted, as long as there are not too many of them."""
    first = np.cumsum([0, *(code.num_levels for code in codes)]).tolist()
    cells = [by_cell and code.column.kind.is_categorical and len(code.cells) <= _MOST_CELLS for code in codes]
    places = list(zip(codes, first[:-1], cells, strict=True))
    units = [Units.of(code, start, by_cell=by_cell) for code, start, by_cell in places]
    if sum(map(len, units)) <= MOST_UNITS:
        return units
    return [Units.of(code, start, by_cell=False) for code, start, _ in places]


@dataclass(frozen=True, kw_only=True, eq=False)
class Pool:
    """The members that there are to draw from.

    Attributes:
        levels: Distributions over levels, column after column (K × d), those of each column adding up to one.
        weights: Weight of each member.
        units: The units of every column.
    """

    levels: Floats
    weights: Floats
    units: Sequence[Units]

    def choose(self, count: int, rng: np.random.Generator) -> Ints:
        """A member a row in proportion to the weights, as evenly as whole rows allow, in random order."""
        ends = np.cumsum(self.weights)
        targets = (np.arange(count) + rng.random(count)) * (ends[-1] / count)
        chosen: Ints = np.minimum(np.searchsorted(ends, targets, side="right"), np.flatnonzero(self.weights)[-1])
        rng.shuffle(chosen)
        return chosen

    def narrowed(self, members: Ints) -> tuple[Pool, Ints]:
        """These members alone, and their places among themselves: few rows need few of many tables.

        All of them stay together where most of them are asked for.
        """
        if 2 * len(members) >= len(self.weights):
            return self, members
        found, places = np.unique(members, return_inverse=True)
        return Pool(levels=self.levels[found], weights=self.weights[found], units=self.units), places

    @cached_property
    def tables(self) -> list[AliasTable]:
        """What to draw the units of every column from, given the member."""
        return [AliasTable(self.levels[:, units.level_of] * units.share) for units in self.units]

    def shares(self) -> Floats:
        """The share of every unit among all rows, column after column."""
        levels = (self.weights / self.weights.sum()) @ self.levels
        return np.concatenate([levels[units.level_of] * units.share for units in self.units])

    def pair_shares(self) -> Singles:
        """The share of every pair of units (u × u) among all rows."""
        level_of = np.concatenate([units.level_of for units in self.units])
        share = np.concatenate([units.share for units in self.units]).astype(np.float32)
        pairs = self.levels.T @ (self.levels * (self.weights / self.weights.sum())[:, None])
        among: Singles = pairs.astype(np.float32)[np.ix_(level_of, level_of)]
        among *= share
        among *= share[:, None]
        return among
