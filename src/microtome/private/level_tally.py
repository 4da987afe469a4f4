"""Counts of levels, filled with rows as they are: what passes after the profile count with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microtome.private.aggregating import AggregateTally
from microtome.private.second_round import TripleTally
from microtome.private.sliced_rows import levels_of
from microtome.private.weighting import TableBlock, WeightedBlock, rows_of
from microtome.schema import Codebook


@dataclass(frozen=True)
class PairsAndTriples:
    """Counts of pairs, and of sets of three columns that may be chosen: one look at the rows for both."""

    pairs: AggregateTally
    triples: TripleTally

    def add(self, levels: NDArray[np.int64], weight: int = 1) -> None:
        """Count the rows of a block."""
        self.pairs.add(levels, weight)
        self.triples.add(levels, weight)

    def merge(self, other: PairsAndTriples) -> None:
        """Add what another of the same plan has counted."""
        self.pairs.merge(other.pairs)
        self.triples.merge(other.triples)

    def parts(self) -> list[pa.Array]:
        """What was counted, to be sent back."""
        return [*self.pairs.parts(), *self.triples.parts()]

    def add_parts(self, parts: Iterator[pa.Array]) -> None:
        """Add what another of the same plan has sent."""
        self.pairs.add_parts(parts)
        self.triples.add_parts(parts)


Levels = TypeVar("Levels", AggregateTally, TripleTally, PairsAndTriples)


@dataclass(frozen=True)
class LevelTally(Generic[Levels]):
    """Counts of levels, for rows that are yet to be coded.

    Attributes:
        codebook: The code of the rows.
        counts: What is counted.
        steps: Columns of which the level in the next row of the same person is counted too.
    """

    codebook: Codebook
    counts: Levels
    steps: tuple[int, ...] = ()

    @property
    def columns(self) -> set[str]:
        """Columns whose values are looked at: all."""
        return {code.column.name for code in self.codebook.codes}

    def add(self, block: TableBlock) -> None:
        """Count the rows of a block."""
        rows, weight = rows_of(block)
        levels = levels_of(rows, self.codebook)
        match block:
            case WeightedBlock() if self.steps:
                levels = np.column_stack([levels, self._next_levels(levels, block)])
        self.counts.add(levels, weight)

    def _next_levels(self, levels: NDArray[np.int64], block: WeightedBlock) -> NDArray[np.int64]:
        """The levels of the next row; where there is none, one more than a column has."""
        following = np.roll(levels[:, self.steps], -1, axis=0)
        none = [self.codebook.codes[place].num_levels for place in self.steps]
        return np.where(block.is_last[:, None], none, following)

    def merge(self, other: LevelTally[Levels]) -> None:
        """Add what another of the same codebook has counted."""
        self.counts.merge(other.counts)

    def parts(self) -> list[pa.Array]:
        """What was counted, to be sent back."""
        return self.counts.parts()

    def add_parts(self, parts: Iterator[pa.Array]) -> None:
        """Add what another of the same codebook has sent."""
        self.counts.add_parts(parts)
