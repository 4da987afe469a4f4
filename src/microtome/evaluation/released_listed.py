"""A column of categories in a report from a release alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from microtome.evaluation.comparable_table import MISSING, labels_of
from microtome.evaluation.distributions import Coverage, Distribution, bars, listed_coverage
from microtome.evaluation.hidden_share import HiddenShare
from microtome.evaluation.released_column import ReleasedColumn
from microtome.evaluation.values import whole_percent
from microtome.schema import OTHER, CategoryCells

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class ListedColumn(ReleasedColumn):
    """A column whose cells are categories."""

    partition: CategoryCells
    names: tuple[str, ...]
    metric = "TVComplement"
    width = 0.0

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What the cells are called, the one for missing values left out."""
        named = labels_of(self.code.column, self.partition.categories)
        return (*named, OTHER) if self.partition.other else tuple(named)

    @cached_property
    def unknown(self) -> HiddenShare:
        """Share of “(other)”, also where too few seemed to have it for it to be kept."""
        place = len(self.partition.categories)
        if not self.partition.other or self.code.margins[place] > 0.0:
            return HiddenShare.of(float(self._of_values(self.shares)[-1]) if self.partition.other else 0.0)
        noise = self.code.noise_scale * (1.0 if self.code.column.is_declared else np.sqrt(len(self.code.cells) - 1))
        return HiddenShare.under_noise(float(self.code.counts[place]) / self.total, noise / self.total)

    @property
    def _unknown_in_words(self) -> str:
        return f"not learnt: of {whole_percent(self.unknown.value)} of its records only “{OTHER}” is known"

    @cached_property
    def strange(self) -> float:
        """Share of rows with a category that has no cell."""
        return float(((self.cells == MISSING) & ~self.gone).mean())

    @cached_property
    def _told_apart(self) -> Floats:
        named = np.delete(self.shares, self.partition.num_values - 1) if self.partition.other else self.shares
        return np.asarray(named * min((1.0 - self.unknown.value) / max(float(named.sum()), 1e-300), 1.0))

    @cached_property
    def hidden_bins(self) -> Floats:
        """A category is one bin."""
        return np.ones(len(self.level_shares))

    @cached_property
    def resolved(self) -> Floats:
        """All of a level but “(other)”."""
        known = self.shares.copy()
        if self.partition.other:
            known[self.partition.num_values - 1] = 0.0
        inside = np.bincount(self.code.levels, weights=known, minlength=len(self.level_shares))
        return np.asarray(inside / np.maximum(self.level_shares, 1e-300)).clip(0.0, 1.0)

    def level_label(self, cells: Ints) -> str:
        """The first category, and how many more."""
        first = self.labels[cells[0]]
        return first if len(cells) == 1 else f"{first} and {len(cells) - 1} more"

    def _located(self) -> Ints:
        place = {label: index for index, label in enumerate(self.labels)}
        unnamed = len(self.labels) - 1 if self.partition.other else MISSING
        found = np.array([place.get(label, unnamed) for label in self.names], dtype=np.int64)
        return np.asarray(np.append(found, MISSING)[self.values], dtype=np.int64)

    def _distance(self, first: Floats, second: Floats) -> float:
        return 0.5 * float(np.abs(self._of_values(first) - self._of_values(second)).sum())

    def _distribution(self, made: Floats) -> Distribution:
        size = self.partition.num_values
        labels, real, made = self.labels, self.shares[:size], made[:size]
        error = np.full(size, self.code.noise_scale / self.total)
        if self.strange > 0:
            labels, real, made = (*labels, "not in the release"), np.append(real, 0.0), np.append(made, self.strange)
            error = np.append(error, 0.0)
        return bars(labels, real, made, error)

    def _coverage(self, made: Floats) -> Coverage:
        named = len(self.partition.categories)
        other = float(made[named]) if self.partition.other else 0.0
        return listed_coverage(self.code.margins[:named], made[:named], beyond=self.strange + other)
