"""Columns of a report from a release alone: free to publish, and honest about what the release does not know.

The release's best estimate of a column is its profile, cell by cell, brought into line with the sums of its two-way
tables. A synthetic table that was made from the release agrees with that estimate whether it is right or not, so the
distance d between both is not the error. Three things are added:

* *noise*: noise of the stated size is added to what was estimated, the estimate is made again, and its mean distance
  s from the first is what noise alone does. A table that follows the release as it is has the error √(d² + s²); it
  cannot be more than d + s nor less than |d − s|;
* *unknown values*: records whose value the release only knows as "(other)" are wrong in any synthetic table; so are
  those beyond the ends that were learnt, and all of a column of which nothing stood out. How many these are is itself
  known under noise only (``hidden_share``);
* *width*: within an interval that holds many records and is not one value, nobody knows where these are. Spread evenly
  they may be off by all of its share, and are taken to be off by a third.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from microtome.evaluation.binning import BINS
from microtome.evaluation.comparable_table import MISSING
from microtome.evaluation.distributions import ColumnFigures, Coverage, Distribution, shares_of
from microtome.evaluation.hidden_share import HiddenShare
from microtome.evaluation.values import whole_percent
from microtome.schema import ColumnCode, project_to_simplex

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_SIMULATIONS = 16
_OFF = 1.0 / 3.0
_DOUBT = 0.2
"""A column that the release alone may have wrong by more than this is marked."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleasedColumn(ABC):
    """What a release knows of a column, and the same column of a synthetic table.

    Attributes:
        code: The column as it was released.
        total: Number of records.
        level_shares: Share of each level, by profile and two-way tables together.
        level_noise: Standard deviation of its noise.
        ends_are_counted: Whether two-way tables tell of records beyond learnt ends: they count them at the ends.
        values: The synthetic values.
        gone: Which of them are missing.
    """

    code: ColumnCode
    total: float
    level_shares: Floats
    level_noise: Floats
    ends_are_counted: bool
    values: NDArray[Any]
    gone: NDArray[np.bool_]

    @cached_property
    def cells(self) -> Ints:
        """The cell of every synthetic value; −1 for a value that has none."""
        missing = len(self.code.cells) - 1 if self.code.cells.missing else MISSING
        return np.where(self.gone, missing, self._located())

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Which synthetic values are missing."""
        return self.gone

    @cached_property
    def levels(self) -> Ints:
        """The level of every synthetic value."""
        return np.where(self.cells >= 0, self.code.levels[self.cells], MISSING)

    @cached_property
    def shares(self) -> Floats:
        """Share of every cell: levels by all that was released, cells within them by the profile."""
        return self._within(self.level_shares, self.code.margins)

    def figures(self, rng: np.random.Generator) -> ColumnFigures:
        """All that can be said of the column."""
        made = shares_of(self.cells, len(self.code.cells))
        away = self._distance(self.shares, made)
        noise = float(np.mean([self._distance(again, self.shares) for again in self._simulated(rng)]))
        unknown, wide = self.unknown, self.width
        errors = (
            away + noise + wide + unknown.high,
            float(np.hypot(away, noise)) + _OFF * wide + unknown.value,
            abs(away - noise) + unknown.low,
        )
        low, score, high = (1.0 - min(error + self.strange, 1.0) for error in errors)
        column, missing = self.code.column, self.code.cells.missing
        defined = not self.gone.all()
        return ColumnFigures(
            name=column.name,
            kind=str(column.kind),
            unit=column.unit,
            metric=self.metric,
            score=score if defined else None,
            band=(low, high) if defined else None,
            noise_floor=noise,
            doubt=self._doubt(noise),
            missing=float(self.shares[-1]) if missing else 0.0,
            missing_error=self.code.noise_scale / self.total if missing else 0.0,
            synthetic_missing=float(self.is_missing.mean()),
            distribution=self._distribution(made),
            coverage=self._coverage(made),
        )

    def _doubt(self, noise: float) -> str | None:
        """Why the release hardly knows the column, by whatever table was made from it."""
        parts = {
            f"mostly noise: noise alone may move {whole_percent(noise)} of its records": noise,
            self._unknown_in_words: self.unknown.value,
            f"coarse: {whole_percent(self.width)} of its records lie in one interval": _OFF * self.width,
        }
        return max(parts, key=lambda reason: parts[reason]) if sum(parts.values()) > _DOUBT else None

    def _simulated(self, rng: np.random.Generator) -> Iterator[Floats]:
        """Shares as they would have been estimated under other noise of the same size."""
        for _ in range(_SIMULATIONS):
            levels = self.level_shares + self.level_noise * rng.standard_normal(len(self.level_shares))
            noise = self.code.noise_scale * rng.standard_normal(len(self.code.margins))
            cells = project_to_simplex(self.code.margins * self.total + noise, self.total)
            yield self._within(project_to_simplex(levels, 1.0), cells)

    def _within(self, level_shares: Floats, cells: Floats) -> Floats:
        """Shares of cells that add up to those of levels; a level whose cells have nothing is spread evenly."""
        cells = np.maximum(cells, 1e-12)
        inside = np.bincount(self.code.levels, weights=cells, minlength=len(level_shares))
        found: Floats = cells * (level_shares / inside)[self.code.levels]
        return found

    def _of_values(self, shares: Floats) -> Floats:
        """Shares of the cells of values among records that have one."""
        values = shares[: self.code.cells.num_values]
        return np.asarray(values / max(float(values.sum()), 1e-300), dtype=np.float64)

    @property
    @abstractmethod
    def metric(self) -> str:
        """What the score is."""

    @property
    @abstractmethod
    def unknown(self) -> HiddenShare:
        """Share of records of whose value nothing is known but that it is another, or beyond an end."""

    @property
    @abstractmethod
    def _unknown_in_words(self) -> str:
        """The same in words."""

    @property
    @abstractmethod
    def strange(self) -> float:
        """Share of synthetic rows with a value that the release cannot have."""

    @property
    @abstractmethod
    def _told_apart(self) -> Floats:
        """Shares of the values that the release tells apart."""

    @property
    def spread(self) -> float:
        """The chance that two records differ, in bins of a report: what a column has to share with others at most."""
        known = self._told_apart
        return max(1.0 - float(known @ known) - max(1.0 - float(known.sum()), 0.0) / BINS, 0.0)

    @property
    @abstractmethod
    def hidden_bins(self) -> Floats:
        """How many bins of a report each level would be, were its values told apart; at least one."""

    @property
    @abstractmethod
    def resolved(self) -> Floats:
        """Share of each level of which a synthetic table can be right about its value."""

    @abstractmethod
    def level_label(self, cells: Ints) -> str:
        """What a level of some cells of values is called."""

    @abstractmethod
    def _located(self) -> Ints:
        """The cell of each synthetic value, whatever for missing ones."""

    @abstractmethod
    def _distance(self, first: Floats, second: Floats) -> float:
        """How far apart two tables of shares of cells are."""

    @property
    @abstractmethod
    def width(self) -> float:
        """Share of the fullest interval that is not one value."""

    @abstractmethod
    def _distribution(self, made: Floats) -> Distribution: ...

    @abstractmethod
    def _coverage(self, made: Floats) -> Coverage: ...
