"""The search for the numbers of a column that nobody has declared bounds for.

It begins with three questions, a histogram each: of which *scale* its numbers are (octaves, or decades of dates), how
*round* they are, and whether many records share a number (counts of *buckets* into which numbers are scattered). Then,
where they are asked for, finer cells where one cell holds most records, and which numbers are shared, of those in the
fullest buckets. A number shows under the threshold of undeclared categories.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from microtome.errors import MicrotomeError
from microtome.private.domain import Answer, Domain, Question
from microtome.private.histograms import bucket_histogram, cell_histogram, number_histogram, rounding_histogram
from microtome.private.value_search import common_numbers, full_buckets
from microtome.schema import Column, NumberCells, rounding_classes
from microtome.schema.domain import are_few, is_crowded, narrowed, nothing_learnt, scale_cells

REFINEMENTS = 3
"""How often cells may be refined before the profile."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class NumberFinding:
    """What the search knows of one column of numbers, all of it public.

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
        total: The number of records, if that is public.
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
    total: float | None = None

    @cached_property
    def finer(self) -> tuple[NumberCells, tuple[float, float]] | None:
        """Finer cells, and the ends between which records were found; ``None`` where nothing stood out."""
        assert self.counts is not None
        return narrowed(self.cells, *self.counts, step=self.step, values=self.values, total=self.total)

    @cached_property
    def is_fine(self) -> bool:
        """Whether the finer cells hold single numbers, so that no question is left."""
        assert self.counts is not None
        return are_few(self.cells, *self.counts, step=self.step, total=self.total)

    def with_finer(self, counts: Floats, scale: float) -> NumberFinding:
        """After finer cells were counted. Where nothing stands out of these the search ends."""
        assert self.finer is not None
        tried = replace(
            self, cells=self.finer[0], counts=(counts, scale), noise=(*self.noise, scale), refined=self.refined + 1
        )
        if tried.finer is None:
            return replace(self, noise=tried.noise, refined=REFINEMENTS)
        return tried

    def with_rounding(self, counts: Floats, scale: float) -> NumberFinding:
        """After rounding classes were counted."""
        classes = rounding_classes(self.column)
        assert classes is not None
        return replace(self, rounding=(counts, scale), step=classes.step_of(counts, scale))

    def with_buckets(self, counts: Floats, scale: float) -> NumberFinding:
        """After buckets were counted: where one stands out, numbers are looked for in all that may."""
        return replace(self, full=full_buckets(counts, scale), noise=(*self.noise, scale))

    def with_values(self, values: list[Any], counts: Floats, scale: float) -> NumberFinding:
        """After numbers were counted: the commonest of those that show."""
        assert self.counts is not None
        low, *_, high = scale_cells(self.column).edges
        common = common_numbers(values, counts, float(self.counts[0].sum()), low, high)
        return replace(self, values=common, full=None, noise=(*self.noise, scale))

    def questions(self) -> list[Question]:
        """The histograms to be counted next."""
        column = self.column
        if self.counts is None:
            classes = rounding_classes(column)
            rounding = [] if classes is None else [Question("rounding", rounding_histogram(column, classes))]
            return [
                Question("scale", cell_histogram(column, self.cells)),
                Question("buckets", bucket_histogram(column)),
                *rounding,
            ]
        if self.finer is None or self.is_fine:
            return []
        crowded = self.refined < REFINEMENTS and is_crowded(self.cells, *self.counts, step=self.step)
        finer = [Question("finer", cell_histogram(column, self.finer[0]))] if crowded else []
        values = [] if self.full is None else [Question("values", number_histogram(column, self.full))]
        return finer + values

    def answered(self, name: str, answer: Answer, scale: float, total: float | None) -> NumberFinding:
        """What is known after a question was answered under noise."""
        match name:
            case "scale":
                return replace(self, counts=(answer.counts, scale), noise=(*self.noise, scale), total=total)
            case "finer":
                return self.with_finer(answer.counts, scale)
            case "rounding":
                return self.with_rounding(answer.counts, scale)
            case "buckets":
                return self.with_buckets(answer.counts, scale)
            case "values":
                return self.with_values(answer.values, answer.counts, scale)
        raise MicrotomeError(f"the search for numbers has no question {name!r}; nothing is released")

    def domain(self) -> Domain:
        """What the profile is to know."""
        if self.counts is None or self.finer is None:
            found, likely = nothing_learnt(self.column), None
        else:
            found, likely = self.finer
        return Domain(cells=found, likely=likely, rounding=self.rounding, search_noise=self.noise)


def start(index: int, column: Column) -> NumberFinding:
    """What is known at first: nothing but the cells to begin with."""
    return NumberFinding(index=index, column=column, cells=scale_cells(column))
