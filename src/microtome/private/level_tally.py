"""Counts of levels, filled with rows as they are: what passes after the profile count with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

import pyarrow as pa

from microtome.private.aggregating import AggregateTally
from microtome.private.second_round import TripleTally
from microtome.private.sliced_rows import levels_of
from microtome.schema import Codebook

Levels = TypeVar("Levels", AggregateTally, TripleTally)


@dataclass(frozen=True)
class LevelTally(Generic[Levels]):
    """Counts of levels, for rows that are yet to be coded."""

    codebook: Codebook
    counts: Levels

    def add(self, block: pa.Table) -> None:
        """Count the rows of a block."""
        self.counts.add(levels_of(block, self.codebook))

    def merge(self, other: LevelTally[Levels]) -> None:
        """Add what another of the same codebook has counted."""
        self.counts.merge(other.counts)

    def parts(self) -> list[pa.Array]:
        """What was counted, to be sent back."""
        return self.counts.parts()

    def add_parts(self, parts: Iterator[pa.Array]) -> None:
        """Add what another of the same codebook has sent."""
        self.counts.add_parts(parts)
