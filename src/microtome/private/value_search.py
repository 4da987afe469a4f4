"""The search for numbers that many records share, in columns whose bounds are declared.

A district's density, a fee, a rent: such a number is drawn as it is, and not from somewhere in the cell around it. The
questions are those that a column without bounds is asked too: whether many records share a number, and if so which.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from microtome.errors import MicrotomeError
from microtome.private.domain import Answer, Domain, Question
from microtome.private.histograms import bucket_histogram, number_histogram
from microtome.schema import Column, NumberCells
from microtome.schema.domain import MOST_VALUES, with_values

_LEAST_SHARE = 0.002
"""Of all records, that a common number has."""
_IN_VAIN = 0.1
"""Probability of looking for common numbers where there are none. It costs a small part of the profile and shows
nothing; one in ten makes the buckets about as keen as the threshold under which numbers then show."""
_CANDIDATE = 2.0
"""Standard deviations by which buckets in which numbers are looked for must be fuller than others."""

Floats = NDArray[np.float64]


def full_buckets(counts: Floats, scale: float) -> NDArray[np.bool_] | None:
    """The buckets in which to look for common numbers; ``None`` where none stands out.

    Numbers that nobody shares fall into buckets by chance, which with many records differ by more than the noise.
    """
    above, spread = counts - counts.mean(), math.hypot(scale, math.sqrt(max(float(counts.mean()), 0.0)))
    heavy = -float(scipy.special.ndtri(_IN_VAIN / len(counts)))
    return above > _CANDIDATE * spread if (above > heavy * spread).any() else None


def common_numbers(values: list[Any], counts: Floats, total: float, low: float, high: float) -> tuple[float, ...]:
    """The commonest of the numbers that show, those beyond the ends left out: they count there."""
    order = np.argsort(-counts[:-1], kind="stable")[:MOST_VALUES]
    wanted = [float(values[place]) for place in order if counts[place] > _LEAST_SHARE * total]
    return tuple(sorted(value for value in wanted if low <= value < high))


@dataclass(frozen=True, kw_only=True, eq=False)
class ValueFinding:
    """What is known of the common numbers of one column, all of it public.

    Attributes:
        index: The column's place.
        column: Its description.
        cells: The cells that its bounds give.
        total: About how many records have a number; ``None`` as long as nothing was asked.
        full: The fullest buckets; none once the numbers in them are known.
        values: Numbers that many records share.
        noise: Of all histograms so far.
    """

    index: int
    column: Column
    cells: NumberCells
    total: float | None = None
    full: NDArray[np.bool_] | None = None
    values: tuple[float, ...] = ()
    noise: tuple[float, ...] = ()

    def questions(self) -> list[Question]:
        """The histograms to be counted next."""
        if self.total is None:
            return [Question("buckets", bucket_histogram(self.column))]
        return [] if self.full is None else [Question("values", number_histogram(self.column, self.full))]

    def answered(self, name: str, answer: Answer, scale: float, total: float | None) -> ValueFinding:
        """What is known after a question was answered under noise."""
        del total
        match name:
            case "buckets":
                found, full = float(answer.counts.sum()), full_buckets(answer.counts, scale)
                return replace(self, total=found, full=full, noise=(*self.noise, scale))
            case "values":
                assert self.total is not None
                low, *_, high = self.cells.edges
                values = common_numbers(answer.values, answer.counts, self.total, low, high)
                return replace(self, values=values, full=None, noise=(*self.noise, scale))
        raise MicrotomeError(f"the search for common numbers has no question {name!r}; nothing is released")

    def domain(self) -> Domain:
        """What the profile is to know: the declared cells, and one for every common number."""
        edges = with_values(self.cells.edges, self.values, integral=self.cells.integral)
        return Domain(cells=replace(self.cells, edges=edges), search_noise=self.noise)
