"""What the search for undeclared columns asks, is answered, and finds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from microtome.private.histograms import Histogram
from microtome.schema import Cells, Column

WEIGHTS = {
    "scale": 12.0,
    "rounding": 4.0,
    "buckets": 5.0,
    "finer": 5.0,
    "values": 12.0,
    "categories": 12.0,
}
"""Shares of the budget, in μ², where a histogram of K cells in the profile has K^⅔."""


class Question(NamedTuple):
    """A histogram to be counted, and what it is called in ``WEIGHTS``."""

    name: str
    histogram: Histogram


@dataclass(frozen=True, kw_only=True, eq=False)
class Answer:
    """Noisy counts; of a sparse histogram those of the values that are shown, and of missing values last."""

    counts: NDArray[np.float64]
    values: list[Any] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True, eq=False)
class Domain:
    """What the search has found of one column, for the profile.

    Attributes:
        cells: The cells to count it on; of categories those that are known, to which the profile may add.
        likely: The ends between which numbers were found; ``None`` if nothing stood out, and of categories.
        rounding: Noisy counts of its rounding classes, with their noise.
        search_noise: Noise of all other histograms of the search.
        left: About which share of all records has a category that is not known.
    """

    cells: Cells
    likely: tuple[float, float] | None = None
    rounding: tuple[NDArray[np.float64], float] | None = None
    search_noise: tuple[float, ...]
    left: float = 0.0


class Finding(Protocol):
    """What the search knows of one column, all of it public."""

    @property
    def index(self) -> int:
        """The column's place."""
        ...

    @property
    def column(self) -> Column:
        """Its description."""
        ...

    def questions(self) -> list[Question]:
        """The histograms to be counted next."""
        ...

    def answered(self, name: str, answer: Answer, scale: float, total: float | None) -> Self:
        """What is known after a question was answered; ``total`` is the number of records where that is public."""
        ...

    def domain(self) -> Domain:
        """What the profile is to know, if nothing more is asked."""
        ...
