"""The search for what nobody has declared, tried out on public shapes.

The very questions are asked that a release would ask, and answered by a shape under noise: so what the search finds,
what it costs and what it leaves the profile are those of a release of such a table. Counts are shares of the records,
and noise is in parts of them. It has a seed by the column's name, for there is nothing to protect: a forecast is the
same whenever it is made.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from microtome.errors import MicrotomeError
from microtome.forecasting.reference import Shape, learnt_shape, shapes_of
from microtome.private.domain import WEIGHTS, Answer, Domain, Question
from microtome.private.histograms import NUM_BUCKETS, ByCell, ByNumber, DenseHistogram, SparseHistogram, buckets
from microtome.private.searching import start_finding
from microtome.schema import Column, NumberCells

Floats = NDArray[np.float64]
_REPEATS = 4
_NUMBERS = np.arange(4096.0)
"""Whole numbers among which some may be common in the shapes of whole columns."""


@dataclass(frozen=True, kw_only=True)
class SearchNoise:
    """The noise of a search.

    Attributes:
        unit: Of a histogram of weight 1, as a part of the records.
        certainty: Standard deviations from which a value shows that nobody has declared.
        knows_total: Whether the number of records is public.
    """

    unit: float
    certainty: float
    knows_total: bool

    def of(self, question: str) -> float:
        """Noise of the answer to a question."""
        return self.unit / math.sqrt(WEIGHTS[question])


@dataclass(frozen=True, kw_only=True, eq=False)
class Found:
    """What the search would find of one shape under one draw of the noise.

    Attributes:
        shape: The shape.
        domain: What the profile would know; ``None`` where nothing is searched for.
        spent: The weight of all questions.
    """

    shape: Shape
    domain: Domain | None
    spent: float

    @property
    def num_cells(self) -> int:
        """Cells that the profile would count."""
        cells = self.shape.cells if self.domain is None else self.domain.cells
        assert cells is not None
        return len(cells)

    @property
    def left(self) -> float:
        """The share of records with a category that is not known by then."""
        return 0.0 if self.domain is None else self.domain.left


@lru_cache(maxsize=4096)
def search_column(column: Column, noise: SearchNoise) -> tuple[Found, ...]:
    """What would be found of a column, for every shape and some draws of the noise."""
    rng = noise_of(column)
    return tuple(_searched(column, shape, noise, rng) for shape in shapes_of(column) for _ in range(_REPEATS))


def noise_of(column: Column) -> np.random.Generator:
    """The noise in which a column is tried out."""
    return np.random.default_rng(zlib.crc32(column.name.encode()))


def _searched(column: Column, shape: Shape, noise: SearchNoise, rng: np.random.Generator) -> Found:
    finding, spent = start_finding(0, column), 0.0
    if finding is None:
        return Found(shape=shape, domain=None, spent=0.0)
    while asked := finding.questions():
        for question in asked:
            scale = noise.of(question.name)
            answer = _answer(question, column, shape, scale, noise.certainty * scale, rng)
            finding = finding.answered(question.name, answer, scale, 1.0 if noise.knows_total else None)
            spent += WEIGHTS[question.name]
    return Found(shape=shape, domain=finding.domain(), spent=spent)


def _answer(
    question: Question, column: Column, shape: Shape, scale: float, threshold: float, rng: np.random.Generator
) -> Answer:
    match question.name, question.histogram:
        case "scale" | "finer", DenseHistogram(by=ByCell(cells=NumberCells() as cells)) if shape.below is not None:
            return Answer(counts=noisy(learnt_shape(cells, shape.below).shares, scale, rng))
        case "buckets", DenseHistogram():
            scattered = np.bincount(buckets(_NUMBERS), weights=_whole_shares(column, shape), minlength=NUM_BUCKETS)
            return Answer(counts=noisy(scattered.astype(np.float64), scale, rng))
        case "rounding", DenseHistogram() as classes:
            return Answer(counts=noisy(np.zeros(len(classes.counts)), scale, rng))
        case "values", SparseHistogram(by=ByNumber(chosen=chosen)):
            shares = np.where(chosen[buckets(_NUMBERS)], _whole_shares(column, shape), 0.0)
            return _shown(_NUMBERS.tolist(), np.append(shares, 0.0), scale, threshold, rng)
        case "categories", SparseHistogram():
            shares = shape.shares if column.missing else np.append(shape.shares, 0.0)
            return _shown([f"{place}" for place in range(len(shares) - 1)], shares, scale, threshold, rng)
    raise MicrotomeError(f"column {column.name!r}: no shape answers the question {question.name!r}")


def _shown(values: list[object], shares: Floats, scale: float, threshold: float, rng: np.random.Generator) -> Answer:
    """Those that pass the threshold, in order; the last share is that of missing values."""
    counts = noisy(shares, scale, rng)
    kept = np.flatnonzero((counts[:-1] > threshold) & (shares[:-1] > 0.0))
    return Answer(counts=np.append(counts[kept], counts[-1]), values=[values[place] for place in kept])


def _whole_shares(column: Column, shape: Shape) -> Floats:
    """The share of each of the first whole numbers; none of a column of other numbers, which hardly repeat."""
    if shape.below is None or not column.kind.is_integral or column.kind.is_temporal:
        return np.zeros(len(_NUMBERS))
    return shape.below(_NUMBERS + 1.0) - shape.below(_NUMBERS)


def noisy(shares: Floats, scale: float, rng: np.random.Generator) -> Floats:
    """Shares under noise."""
    return shares + scale * rng.standard_normal(len(shares))
