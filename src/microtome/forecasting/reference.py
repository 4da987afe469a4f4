"""What columns look like where nobody has looked: public shapes in place of the private one.

How much noise harms a column depends on how its values are spread, which is private. So a forecast takes shapes that
columns of real tables commonly have:

* listed values fall off by Zipf's law, the k-th with a share in proportion to k^−1.3;
* measured values are a bell inside their bounds, or crowd at the low end of them.

Where categories or bounds are to be learnt, how many values there are, and where, is private too. Shapes of several
sizes then stand for it.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from microtome.schema import CategoryCells, Cells, Column, NumberCells, initial_cells
from microtome.schema.domain import scale_cells

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_BINS = 16
"""Quantile bins of a measured column in two-way tables, as a report cuts them."""
_ZIPF = 1.3
_LEARNT_SIZES = (2, 4, 8, 20)
"""How many values a column may have whose categories are to be learnt."""
_CODE = 0.01
"""Share of each code of a measured column."""
_MISSING = 0.05
"""Share of missing values where they are allowed."""
_BELL = (0.4, 0.15)
"""Mean and standard deviation of a bell, in parts of the declared range."""
_CROWD = 0.08
"""Mean of values that crowd at the low end, in parts of the declared range."""
_LEARNT_BELL = (50.0, 15.0)
_LEARNT_CROWD = (1000.0, 1.0)
"""Median, and standard deviation of the logarithm, of a skewed column whose bounds are to be learnt."""
_LEARNT_DATES = (dt.datetime(2015, 1, 1), 4 * 365.25)


@dataclass(frozen=True, kw_only=True, eq=False)
class Shape:
    """One way in which the values of a column may be spread.

    Attributes:
        cells: The cells that the profile counts them on; ``None`` where the categories are to be learnt.
        shares: Share of each cell; of each category, and of missing values if there may be any, where they are learnt.
        bins: The quantile bin of each cell of a measured column; ``None`` for a listed one.
        below: The share of values below some numbers, where bounds are to be learnt: the cells then are those with
            which the search for them begins.
    """

    cells: Cells | None
    shares: Floats
    bins: Ints | None = None
    below: Callable[[Floats], Floats] | None = None

    def table_levels(self) -> Floats:
        """Shares of the levels that two-way tables are made of."""
        if self.bins is None:
            return self.shares
        return np.bincount(self.bins, weights=self.shares).astype(np.float64)


def shapes_of(column: Column) -> list[Shape]:
    """The shapes that stand for a column, each as likely as the others."""
    match initial_cells(column):
        case None if not column.kind.is_categorical:
            return [learnt_shape(scale_cells(column), below) for below in _learnt(column)]
        case None:
            return [Shape(cells=None, shares=_with_missing(_zipf(size), column.missing)) for size in _LEARNT_SIZES]
        case CategoryCells() as cells:
            shares = np.zeros(len(cells))
            named = len(cells.categories)
            shares[:named] = _zipf(named)
            return [Shape(cells=cells, shares=_with_missing(shares[: cells.num_values], column.missing))]
        case NumberCells() as cells:
            return [_measured(cells, np.diff(below)) for below in _cumulative(column, cells.edges)]


def learnt_shape(cells: NumberCells, below: Callable[[Floats], Floats]) -> Shape:
    """A shape on cells that were found; what lies beyond their ends counts at the ends."""
    inner = np.concatenate([[0.0], below(cells.edges[1:-1]), [1.0]])
    return replace(_measured(cells, np.diff(inner)), below=below)


def _measured(cells: NumberCells, shares: Floats) -> Shape:
    shares = shares / shares.sum()
    bins = quantile_bins(shares, cells.num_codes + cells.missing)
    coded = np.concatenate([shares * (1.0 - _CODE * cells.num_codes), np.full(cells.num_codes, _CODE)])
    return Shape(cells=cells, shares=_with_missing(coded, cells.missing), bins=bins)


def quantile_bins(shares: Floats, others: int) -> Ints:
    """The bin of each cell of numbers, of about as many records each; codes and missing values have their own."""
    middles = (np.cumsum(shares) - shares / 2) / max(shares.sum(), np.finfo(float).tiny)
    bins = np.minimum((_BINS * middles).astype(np.int64), _BINS - 1)
    return np.concatenate([bins, _BINS + np.arange(others)])


def _zipf(size: int) -> Floats:
    """Shares that fall off by Zipf's law; large and small ones in turn, as lists of codes have them."""
    falling = np.arange(1, size + 1, dtype=float) ** -_ZIPF
    order = np.argsort(np.arange(size) % 3, kind="stable")
    shares = np.empty(size)
    shares[order] = falling / falling.sum()
    return shares


def _with_missing(shares: Floats, missing: bool) -> Floats:
    return np.append(shares * (1.0 - _MISSING), _MISSING) if missing else shares


def _cumulative(column: Column, edges: Floats) -> list[Floats]:
    """Share of the values below each edge, for the shapes of a measured column of declared bounds."""
    bounds = column.number_bounds()
    assert bounds is not None
    parts = (edges - bounds[0]) / (bounds[1] - bounds[0])
    return [special.ndtr((parts - _BELL[0]) / _BELL[1]), -np.expm1(-np.maximum(parts, 0.0) / _CROWD)]


def _learnt(column: Column) -> list[Callable[[Floats], Floats]]:
    """The share of values below some numbers, for the shapes of a measured column whose bounds are to be learnt."""
    if column.kind.facts.day is not None:
        middle, days = _LEARNT_DATES
        first, spread = column.to_number(middle), days * column.kind.facts.day
        return [lambda numbers: special.ndtr((numbers - first) / spread)]
    return [_bell_below, _crowd_below]


def _bell_below(numbers: Floats) -> Floats:
    below: Floats = special.ndtr((numbers - _LEARNT_BELL[0]) / _LEARNT_BELL[1])
    return below


def _crowd_below(numbers: Floats) -> Floats:
    median, spread = _LEARNT_CROWD
    below: Floats = special.ndtr(np.log(np.maximum(numbers, math.exp(-40.0)) / median) / spread)
    return below
