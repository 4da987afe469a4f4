"""A column of numbers, dates or times in a report from a release alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from microtome.evaluation.binning import BINS
from microtome.evaluation.distributions import Coverage, Distribution, binned, display_edges, interval_labels
from microtome.evaluation.hidden_share import HiddenShare
from microtome.evaluation.released_column import ReleasedColumn
from microtome.evaluation.values import short_number, whole_percent
from microtome.schema import NumberCells
from microtome.schema.domain import nothing_learnt

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_TAIL = 0.005
_DRAWS = 64
_WIDE = 1.0 / 64.0
"""Intervals with a smaller share than this are not looked into: they are narrow enough."""
_RESOLVED = 2.0
"""A level of more than so many bins of a report hides where its records are."""
_SHOWS = 5.0
"""Standard deviations of the noise of a search above which numbers would have stood out of it."""


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
    def unknown(self) -> HiddenShare:
        """Share of records beyond one of the learnt ends, the one with more of them."""
        return max(self._beyond.values(), key=lambda share: share.value, default=HiddenShare.of(0.0))

    @property
    def _unknown_in_words(self) -> str:
        if self._is_blank:
            return "not learnt: none of its numbers stood out of the noise"
        cut = min(sum(share.value for share in self._beyond.values()), 1.0)
        return f"cut off: about {whole_percent(cut)} of its records lie beyond the ends that were learnt"

    @cached_property
    def _is_blank(self) -> bool:
        """Whether its numbers were searched for in vain."""
        column = self.code.column
        return not self.code.is_learnt and np.array_equal(self.partition.edges, nothing_learnt(column).edges)

    @cached_property
    def _beyond(self) -> dict[int, HiddenShare]:
        """Of levels at an end that was learnt the share of records beyond it, which the profile does not count."""
        if self.code.column.is_declared:
            return {}
        first, last = (int(self.code.levels[place]) for place in (0, self.partition.num_values - 1))
        if self._is_blank:
            shown = _SHOWS * max(self.code.search_noise, default=0.0) / self.total
            return {first: HiddenShare(value=1.0, low=max(1.0 - shown, 0.0), high=1.0)}
        if not self.ends_are_counted:
            noise = self.code.noise_scale * np.sqrt(len(self.code.counts))
            left = self.total - float(self.code.counts.sum())
            return {last: HiddenShare.under_noise(left / self.total, noise / self.total)}
        return {level: self._beyond_end(level) for level in {first, last}}

    def _beyond_end(self, level: int) -> HiddenShare:
        """What tables count in a level and the profile does not."""
        cells = self.code.levels == level
        more = float(self.level_shares[level] - self.code.counts[cells].sum() / self.total)
        noise = float(np.hypot(self.level_noise[level], self.code.noise_scale / self.total * np.sqrt(cells.sum())))
        return HiddenShare.under_noise(more, noise)

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
        return self._inside * np.minimum(_RESOLVED / np.maximum(self._bins, 1e-300), 1.0)

    @cached_property
    def _inside(self) -> Floats:
        """Share of each level that does not lie beyond an end."""
        beyond = np.zeros(len(self.level_shares))
        for level, share in self._beyond.items():
            beyond[level] = share.value
        return np.asarray(1.0 - beyond / np.maximum(self.level_shares, 1e-300)).clip(0.0, 1.0)

    @cached_property
    def _told_apart(self) -> Floats:
        return self._commonest * self._inside

    @cached_property
    def _bins(self) -> Floats:
        """The share of each level beside its commonest value, in bins of a report."""
        return np.asarray(BINS * np.maximum(self.level_shares - self._commonest, 0.0), dtype=np.float64)

    @cached_property
    def _commonest(self) -> Floats:
        """Share of the commonest value of each level."""
        found = np.zeros(len(self.level_shares))
        np.maximum.at(found, self.code.levels, self.shares * self._one_value)
        return found

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
