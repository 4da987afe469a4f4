"""The search for columns of numbers that nobody has declared bounds for: some passes before the profile.

The first asks three questions of every such column, a histogram each: of which *scale* its numbers are (octaves, or
decades of dates), how *round* they are, and whether many records share a number (counts of *buckets* into which
numbers are scattered). What it finds settles what the next one asks: finer cells where one cell holds most records, and
which numbers are shared, of those in the fullest buckets. A number shows under the threshold of undeclared categories.

A record adds at most 1 to each histogram, so a histogram with noise σ costs s/σ². All of them come out of the profile's
μ², and what they leave is the profile's: whatever is found, the sum is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microtome.errors import MicrotomeError
from microtome.private.histograms import (
    Histogram,
    SparseHistogram,
    bucket_histogram,
    cell_histogram,
    number_histogram,
    rounding_histogram,
)
from microtome.private.passes import Pass, Published
from microtome.private.profile_budget import ProfileBudget
from microtome.private.randomness import Randomness
from microtome.schema import Column, NumberCells, Schema, rounding_classes
from microtome.schema.domain import MOST_VALUES, are_few, is_crowded, narrowed, nothing_learnt, scale_cells

REFINEMENTS = 4
"""How often cells may be refined before the profile."""
SEARCH_HISTOGRAMS = 3 + REFINEMENTS
"""Histograms of a column's search, that of rounding not counted: scale, buckets, numbers, and all that are finer."""
_LEAST_SHARE = 0.002
"""Of all records, that a common number has."""
_HEAVY, _CANDIDATE = 5.0, 2.0
"""Standard deviations by which a bucket must be fuller than others: one of them to look for common numbers at all,
and those in which they are looked for."""
_WEIGHTS = {"scale": 12.0, "rounding": 4.0, "buckets": 5.0, "finer": 5.0, "values": 12.0}
"""Shares of the budget, in μ², where a histogram of K cells in the profile has K^⅔."""

_NUMBERS_A_COLUMN = 8

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Finding:
    """What the search knows of one column, all of it public.

    Attributes:
        index: The column's place.
        column: Its description.
        cells: The cells that were last counted, or are to be.
        counts: Their noisy counts, with the noise; ``None`` as long as they are not counted.
        step: Numbers are multiples of this, as far as can be seen.
        rounding: Noisy counts of rounding classes, with their noise.
        full: The fullest buckets; none once the numbers in them are known.
        values: Numbers that many records share.
        noise: Of all histograms so far, those of rounding apart.
        refined: How often cells were refined.
    """

    index: int
    column: Column
    cells: NumberCells
    counts: tuple[Floats, float] | None = None
    step: float = 0.0
    rounding: tuple[Floats, float] | None = None
    full: NDArray[np.bool_] | None = None
    values: tuple[float, ...] = ()
    noise: tuple[float, ...] = ()
    refined: int = 0

    @cached_property
    def finer(self) -> tuple[NumberCells, tuple[float, float]] | None:
        """Finer cells, and the ends between which records were found; ``None`` where nothing stood out."""
        assert self.counts is not None
        return narrowed(self.cells, *self.counts, step=self.step, values=self.values)

    @cached_property
    def is_fine(self) -> bool:
        """Whether the finer cells hold single numbers, so that no question is left."""
        assert self.counts is not None
        return are_few(self.cells, *self.counts, step=self.step)

    def with_finer(self, counts: Floats, scale: float) -> Finding:
        """After finer cells were counted. Where nothing stands out of these the search ends."""
        assert self.finer is not None
        tried = replace(
            self, cells=self.finer[0], counts=(counts, scale), noise=(*self.noise, scale), refined=self.refined + 1
        )
        if tried.finer is None:
            return replace(self, noise=tried.noise, refined=REFINEMENTS)
        return tried

    def with_rounding(self, counts: Floats, scale: float) -> Finding:
        """After rounding classes were counted."""
        classes = rounding_classes(self.column)
        assert classes is not None
        return replace(self, rounding=(counts, scale), step=classes.step_of(counts, scale))

    def with_buckets(self, counts: Floats, scale: float) -> Finding:
        """After buckets were counted: where one stands out, numbers are looked for in all that may."""
        above = counts - counts.mean()
        full = above > _CANDIDATE * scale if (above > _HEAVY * scale).any() else None
        return replace(self, full=full, noise=(*self.noise, scale))

    def with_values(self, values: list[Any], counts: Floats, scale: float) -> Finding:
        """After numbers were counted: the commonest of those that show."""
        assert self.counts is not None
        order = np.argsort(-counts[:-1], kind="stable")[:MOST_VALUES]
        least = _LEAST_SHARE * float(self.counts[0].sum())
        common = sorted(float(values[place]) for place in order if counts[place] > least)
        return replace(self, values=tuple(common), full=None, noise=(*self.noise, scale))

    def domain(self) -> Domain:
        """What the profile is to know."""
        cells, likely = self.finer or (nothing_learnt(self.column), None)
        return Domain(cells=cells, likely=likely, rounding=self.rounding, search_noise=self.noise)


@dataclass(frozen=True, kw_only=True, eq=False)
class Domain:
    """What the search has found of one column, for the profile.

    Attributes:
        cells: The cells to count it on.
        rounding: Noisy counts of its rounding classes, with their noise.
        likely: The ends between which records were found; ``None`` if nothing stood out.
        search_noise: Noise of all other histograms of the search.
    """

    cells: NumberCells
    likely: tuple[float, float] | None
    rounding: tuple[Floats, float] | None
    search_noise: tuple[float, ...]


def is_searched(column: Column) -> bool:
    """Whether a column's numbers have to be searched for."""
    return not column.kind.is_categorical and not column.is_declared


def search_weight(column: Column) -> float:
    """The most that the search for a column may cost; what it does not need is the profile's."""
    return sum(_WEIGHTS.values()) + (REFINEMENTS - 1) * _WEIGHTS["finer"] if is_searched(column) else 0.0


class SearchPass:
    """One round of questions."""

    stage = "search"

    def __init__(
        self,
        budget: ProfileBudget,
        following: Callable[[dict[int, Domain], ProfileBudget], Pass],
        findings: list[Finding],
    ) -> None:
        self.width = _NUMBERS_A_COLUMN * len(findings)
        self._budget, self._following, self._findings = budget, following, findings
        self._asked = [_questions(finding) for finding in findings]

    def add(self, block: pa.Table) -> None:
        """Count the rows of a block."""
        for finding, asked in zip(self._findings, self._asked, strict=True):
            array = block.column(finding.index).combine_chunks()
            for histogram in asked.values():
                histogram.add(array)

    def merge(self, other: Self) -> None:
        """Add what another round of the same questions has counted."""
        for mine, theirs in zip(self._asked, other._asked, strict=True):
            for name, histogram in mine.items():
                histogram.merge(theirs[name])

    def publish(self, randomness: Randomness, num_records: int) -> Published:
        """The answers under noise settle what is asked next; when no question is left the profile follows."""
        findings = []
        for finding, asked in zip(self._findings, self._asked, strict=True):
            answered = finding
            for name, histogram in asked.items():
                stream = randomness.stream(f"search {name} {finding.refined}", finding.index)
                answered = self._answered(answered, name, histogram, stream)
            findings.append(answered)
        budget = self._budget.less(sum(_WEIGHTS[name] for asked in self._asked for name in asked))
        if any(map(_questions, findings)):
            following: Pass = SearchPass(budget, self._following, findings)
        else:
            following = self._following({finding.index: finding.domain() for finding in findings}, budget)
        return Published(events=(), arrays={}, following=following)

    def _answered(self, finding: Finding, name: str, histogram: Histogram, stream: np.random.Generator) -> Finding:
        scale = self._budget.noise_of(_WEIGHTS[name])
        if isinstance(histogram, SparseHistogram):
            return finding.with_values(*histogram.shown(scale, self._budget.threshold(scale), stream), scale)
        counts = histogram.noisy(scale, stream)
        match name:
            case "scale":
                return replace(finding, counts=(counts, scale), noise=(*finding.noise, scale))
            case "finer":
                return finding.with_finer(counts, scale)
            case "rounding":
                return finding.with_rounding(counts, scale)
            case "buckets":
                return finding.with_buckets(counts, scale)
        raise MicrotomeError(f"the search has no question {name!r}; nothing is released")


def start_search(
    schema: Schema, budget: ProfileBudget, following: Callable[[dict[int, Domain], ProfileBudget], Pass]
) -> Pass:
    """The first round; what follows the search at once where no column has to be searched for."""
    findings = [
        Finding(index=place, column=column, cells=scale_cells(column))
        for place, column in enumerate(schema.columns)
        if is_searched(column)
    ]
    return SearchPass(budget, following, findings) if findings else following({}, budget)


def _questions(finding: Finding) -> dict[str, Histogram]:
    """The histograms to be counted next, by name."""
    column = finding.column
    if finding.counts is None:
        asked: dict[str, Histogram] = {
            "scale": cell_histogram(column, finding.cells),
            "buckets": bucket_histogram(column),
        }
        classes = rounding_classes(column)
        return asked if classes is None else {**asked, "rounding": rounding_histogram(column, classes)}
    finer = finding.finer
    if finer is None or finding.is_fine:
        return {}
    crowded = finding.refined < REFINEMENTS and is_crowded(finding.cells, *finding.counts, step=finding.step)
    return {
        **({"finer": cell_histogram(column, finer[0])} if crowded else {}),
        **({} if finding.full is None else {"values": number_histogram(column, finding.full)}),
    }
