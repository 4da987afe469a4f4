"""Columns of a report from a release alone: free to publish, and honest about what the release does not know.

The release's best estimate of a column is its profile, cell by cell, brought into line with the sums of its two-way
tables. A synthetic table that was made from the release agrees with that estimate whether it is right or not, so the
distance d between both is not the error. Three things are added:

* *noise*: noise of the stated size is added to what was estimated, the estimate is made again, and its mean distance
  s from the first is what noise alone does. A table that follows the release as it is has the error √(d² + s²); it
  cannot be more than d + s nor less than |d − s|;
* *unknown values*: records whose value the release only knows as "(other)" are wrong in any synthetic table; so are
  those beyond the ends that were learnt, which two-way tables count at the ends and the profile does not count at all;
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
import pyarrow.compute as pc
from numpy.typing import NDArray

from microtome.evaluation.binning import BINS
from microtome.evaluation.comparable_table import MISSING, ComparableTable, labels_of
from microtome.evaluation.distributions import (
    ColumnFigures,
    Coverage,
    Distribution,
    bars,
    binned,
    display_edges,
    interval_labels,
    listed_coverage,
    shares_of,
)
from microtome.evaluation.values import short_number, whole_percent
from microtome.schema import OTHER, CategoryCells, ColumnCode, NumberCells, project_to_simplex

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_SIMULATIONS = 16
_TAIL = 0.005
_DRAWS = 64
_WIDE = 1.0 / 64.0
"""Intervals with a smaller share than this are not looked into: they are narrow enough."""
_OFF = 1.0 / 3.0
_RESOLVED = 2.0
"""A level of more than so many bins of a report hides where its records are."""
_CLEAR = 3.0
"""Records beyond an end have to stand out by so many standard deviations."""
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
        values: The synthetic values.
        gone: Which of them are missing.
    """

    code: ColumnCode
    total: float
    level_shares: Floats
    level_noise: Floats
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
        wrong, wide = self.unknown + self.strange, self.width
        errors = (away + noise + wide, float(np.hypot(away, noise)) + _OFF * wide, abs(away - noise))
        low, score, high = (1.0 - min(error + wrong, 1.0) for error in errors)
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
            self._unknown_in_words: self.unknown,
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
    def unknown(self) -> float:
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
    def unknown(self) -> float:
        """Share of “(other)”."""
        return float(self._of_values(self.shares)[-1]) if self.partition.other else 0.0

    @property
    def _unknown_in_words(self) -> str:
        return f"not learnt: of {whole_percent(self.unknown)} of its records only “{OTHER}” is known"

    @cached_property
    def strange(self) -> float:
        """Share of rows with a category that has no cell."""
        return float(((self.cells == MISSING) & ~self.gone).mean())

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


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasuredColumn(ReleasedColumn):
    """A column whose cells are intervals, and codes beside them."""

    partition: NumberCells
    codes: Ints
    metric = "KSComplement"

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """The smallest and the largest value that the release knows of."""
        return float(self.partition.edges[0]), float(self.partition.edges[-1]) - self.partition.integral

    @cached_property
    def unknown(self) -> float:
        """Share of records beyond one of the learnt ends, the one with more of them."""
        return float(self._beyond.max())

    @property
    def _unknown_in_words(self) -> str:
        return f"cut off: about {whole_percent(self._beyond.sum())} of its records lie beyond the ends that were learnt"

    @cached_property
    def _beyond(self) -> Floats:
        """Of each level the share of records that tables count there and the profile does not, where that is clear."""
        size, found = self.partition.num_values, np.zeros(len(self.level_shares))
        for level in {self.code.levels[0], self.code.levels[size - 1]}:
            cells = self.code.levels == level
            more = float(self.level_shares[level] - self.code.counts[cells].sum() / self.total)
            noise = float(np.hypot(self.level_noise[level], self.code.noise_scale / self.total * np.sqrt(cells.sum())))
            found[level] = more if more > _CLEAR * noise else 0.0
        return found

    @cached_property
    def strange(self) -> float:
        """Share of rows beyond the ends."""
        return float(((self.values < self.bounds[0]) | (self.values > self.bounds[1])).mean())

    @cached_property
    def _one_value(self) -> Floats:
        """Of each cell the share that its commonest value has where the release draws from it."""
        single = self.partition.singletons()
        found = single.astype(np.float64)
        heavy = np.flatnonzero(~single & (self._of_values(self.shares) >= _WIDE))
        drawn = self.code.draw_values(np.repeat(heavy, _DRAWS), np.random.default_rng(0))
        names = pc.dictionary_encode(drawn).indices.to_numpy().reshape(-1, _DRAWS)
        found[heavy] = [np.bincount(line).max() / _DRAWS for line in names]
        return np.concatenate([found, np.ones(self.partition.num_codes + self.partition.missing)])

    @cached_property
    def hidden_bins(self) -> Floats:
        """A level of one value is one bin, others are as many as they have records for."""
        return np.maximum(self._bins, 1.0)

    @cached_property
    def resolved(self) -> Floats:
        """All of a level that is narrow enough, but for what lies beyond its end."""
        inside = 1.0 - self._beyond / np.maximum(self.level_shares, 1e-300)
        return np.clip(inside, 0.0, 1.0) * np.minimum(_RESOLVED / np.maximum(self._bins, 1e-300), 1.0)

    @cached_property
    def _bins(self) -> Floats:
        """The share of each level beside its commonest value, in bins of a report."""
        commonest = np.zeros(len(self.level_shares))
        np.maximum.at(commonest, self.code.levels, self.shares * self._one_value)
        return np.asarray(BINS * np.maximum(self.level_shares - commonest, 0.0), dtype=np.float64)

    def level_label(self, cells: Ints) -> str:
        """Its ends."""
        low, high = self.partition.edges[cells[0]], self.partition.edges[cells[-1] + 1] - self.partition.integral
        first, last = short_number(self.code.column, low), short_number(self.code.column, high)
        return first if first == last else f"{first} to {last}"

    @cached_property
    def cells(self) -> Ints:
        """The cell of every synthetic value, or of its code; −1 for a value that has none."""
        return np.where(self.codes >= 0, self.partition.num_values + self.codes, super().cells)

    @property
    def is_missing(self) -> NDArray[np.bool_]:
        """Which synthetic values are missing: codes are no numbers, but there."""
        return self.gone & (self.codes < 0)

    def _located(self) -> Ints:
        return self.partition.locate(np.where(self.gone, 0.0, self.values))

    def _distance(self, first: Floats, second: Floats) -> float:
        return float(np.abs(np.cumsum(self._of_values(first) - self._of_values(second))).max())

    @cached_property
    def width(self) -> float:
        """Share of the fullest interval, its commonest value left out."""
        spread = 1.0 - self._one_value[: self.partition.num_values]
        return float((self._of_values(self.shares) * spread).max())

    def _distribution(self, made: Floats) -> Distribution:
        """Display bins over all but the tails of what was released; a cell's share is spread evenly over its width."""
        del made
        column, cells = self.code.column, self.partition
        shares = self.shares[: cells.num_values]
        first, last = np.searchsorted(np.cumsum(self._of_values(self.shares)), [_TAIL, 1.0 - _TAIL])
        low, high = float(cells.edges[first]), float(cells.edges[min(last + 1, cells.num_values)])
        edges = display_edges(low, high - cells.integral, integral=cells.integral)
        with np.errstate(over="ignore", invalid="ignore"):
            below = np.clip((edges[None, 1:-1] - cells.edges[:-1, None]) / np.diff(cells.edges)[:, None], 0.0, 1.0)
        ones = np.ones((cells.num_values, 1))
        parts = np.diff(np.hstack([0.0 * ones, below, ones]), axis=1)
        return Distribution(
            labels=interval_labels(column, edges, self.bounds),
            real=shares @ parts,
            synthetic=binned(edges, self.values),
            error=self.code.noise_scale / self.total * np.sqrt((parts**2).sum(axis=0)),
            measured=True,
            ends=(short_number(column, self.bounds[0]), short_number(column, self.bounds[1])),
        )

    def _coverage(self, made: Floats) -> Coverage:
        del made
        present = self.values[~self.gone]
        found = (float(present.min()), float(present.max())) if len(present) else self.bounds
        texts = [tuple(short_number(self.code.column, end) for end in ends) for ends in (self.bounds, found)]
        return Coverage(
            bounds=(texts[0][0], texts[0][1]), synthetic_bounds=(texts[1][0], texts[1][1]), outside=self.strange
        )


def released_column(
    code: ColumnCode, table: ComparableTable, *, total: float, level_shares: Floats, level_noise: Floats
) -> ReleasedColumn:
    """A column of a release beside that of a synthetic table."""
    name = code.column.name
    values, gone = table.values[name], table.missing(name)
    match code.cells:
        case NumberCells() as cells:
            return MeasuredColumn(
                code=code, total=total, level_shares=level_shares, level_noise=level_noise, values=values, gone=gone,
                partition=cells, codes=table.codes.get(name, np.full(table.num_rows, MISSING)),
            )  # fmt: skip
        case CategoryCells() as cells:
            return ListedColumn(
                code=code, total=total, level_shares=level_shares, level_noise=level_noise, values=values, gone=gone,
                partition=cells, names=table.labels[name],
            )  # fmt: skip
