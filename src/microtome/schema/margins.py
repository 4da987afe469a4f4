"""From noisy counts to margins and levels: what the profile is worth after the noise.

Everything here is post-processing of numbers that are already public.

* A *margin* is the share of each cell, non-negative and summing to one: the noisy counts projected onto the
  simplex, which is the least-squares estimate.
* A *level* is what the mechanism encodes: one category, or some rare categories together, or a quantile bin of
  numbers. The cells of a level are told apart again, when a value is drawn, by their margins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from microtome.schema.cells import NumberCells
from microtome.schema.domain import evidence

_RARE = 2.0
"""A category with fewer records than this many noise standard deviations is pooled with its like."""
_CLEAR = 10.0
"""A bin that shares what common values leave has this many times the share of what is rare."""
_EVEN = 50.0
"""The same of the bins of a column without common values, where the column does not say how many there are."""
_LEAST_EXPECTED = 1e-6
"""Of what is expected in the cell of a tail that has most, for cells without any width; and the least distance, as a
part of the largest number."""
WIDE = 40
"""Columns of a table up to which nothing is given up for its width."""
_LEVELS_IN_ALL = 1600
"""Levels that the columns of a wider table have together, about."""
_FEWEST_BINS = 16
"""Bins of such a column where the noise is strong."""


@dataclass(frozen=True, kw_only=True)
class Fineness:
    """How finely values are told apart, where their column does not say.

    Attributes:
        pool: Share below which categories are coded together, and no number has a level of its own.
        most_bins: Quantile bins of numbers where the noise is weak.
        splits_rest: Whether bins share evenly what common values leave, or are as large as they would be without.
    """

    pool: float
    most_bins: int
    splits_rest: bool


COARSE = Fineness(pool=0.01, most_bins=16, splits_rest=False)
"""For noise on every record: the more levels, the thinner the signal of each."""
FINE = Fineness(pool=0.0025, most_bins=32, splits_rest=True)
"""For noise on counts: a level that stands out from the noise is worth having."""


def for_width(fineness: Fineness, columns: int) -> Fineness:
    """The same for a table of so many columns: from some number on, fewer levels of each.

    All pairs of columns share one budget, so the noise of a table grows with the number of columns while the records in
    its cells do not get more: fine cells of a wide table are noise alone. And what a fit costs goes by the square of
    all levels together.
    """
    if columns <= WIDE:
        return fineness
    bins = max(_LEVELS_IN_ALL // columns, 2)
    return Fineness(pool=max(fineness.pool, 0.5 / bins), most_bins=min(fineness.most_bins, bins), splits_rest=False)


def project_to_simplex(counts: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Shares p ≥ 0 with Σp = 1 that are nearest to ``counts / total`` in least squares."""
    shares = counts / total
    descending = np.sort(shares)[::-1]
    excess = (np.cumsum(descending) - 1.0) / np.arange(1, len(shares) + 1)
    active = np.flatnonzero(descending > excess)[-1]
    projected: NDArray[np.float64] = np.maximum(shares - excess[active], 0.0)
    projected /= projected.sum()
    return projected


def filled_up(counts: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Shares of the cells of a line, the nearest that there are; what is missing goes to cells by what they hold.

    The nearest shares of all would give every cell as much of what is missing: cells where nobody is too, and those
    may be far away.
    """
    held = np.maximum(counts, 0.0)
    return held / held.sum() if 0.0 < held.sum() <= total else project_to_simplex(counts, total)


def falling_tails(counts: NDArray[np.float64], noise_scale: float, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Counts that fall towards both ends beyond the outermost cells that stand out from the noise.

    There the counts are mostly noise, in cells that may be far away and wide: left as they are, a few false records
    can double a column's standard deviation. Tails that fall, and are not negative, average the noise out; they end
    where what is left is less than its noise. What falls is the density times the square of the distance from the mean,
    as in the tails of whatever has a standard deviation.
    """
    first, last = evidence(counts, noise_scale) or (0, len(counts))
    places = edges / max(float(np.abs(edges).max()), np.finfo(float).tiny)
    middles, held = (places[:-1] + places[1:]) / 2.0, np.maximum(counts[first:last], 0.0)
    apart = np.abs(middles - (held @ middles[first:last]) / max(float(held.sum()), np.finfo(float).tiny))
    expected = np.diff(places) / np.maximum(np.maximum(apart, np.diff(places)), _LEAST_EXPECTED) ** 2
    result = counts.copy()
    result[:first] = _falling(counts[:first][::-1], expected[:first][::-1], noise_scale)[::-1]
    result[last:] = _falling(counts[last:], expected[last:], noise_scale)
    return result


def _falling(tail: NDArray[np.float64], expected: NDArray[np.float64], noise_scale: float) -> NDArray[np.float64]:
    """The nearest counts that fall, relative to those that are expected up to a factor, as far as they stand out."""
    if not len(tail):
        return tail
    scaled = np.maximum(expected / max(expected.max(), np.finfo(float).tiny), _LEAST_EXPECTED)
    blocks = scipy.optimize.isotonic_regression(tail / scaled, weights=scaled**2, increasing=False).blocks
    sums, lengths = np.add.reduceat(tail, blocks[:-1]), np.diff(blocks)
    clear = np.flatnonzero(sums > noise_scale * np.sqrt(lengths))
    sums[clear[-1] + 1 if len(clear) else 0 :] = 0.0
    shares = scaled / np.repeat(np.add.reduceat(scaled, blocks[:-1]), lengths)
    fallen: NDArray[np.float64] = shares * np.repeat(np.maximum(sums, 0.0), lengths)
    return fallen


def category_levels(
    margins: NDArray[np.float64], pool: float, rare_share: float, *, missing: bool
) -> NDArray[np.int64]:
    """A level for each common category; rare ones share levels with the rare ones next to them in order.

    Codes that stand next to each other are often alike (occupations, regions, diagnoses). A shared level is
    filled until it has the share ``pool`` too.
    """
    num_categories = len(margins) - missing
    least = max(pool, rare_share)
    levels = np.zeros(len(margins), dtype=np.int64)
    level, shared, mass = -1, -1, 0.0
    for cell in range(num_categories):
        if margins[cell] >= least:
            level += 1
            levels[cell] = level
            continue
        if shared < 0 or mass >= least:
            level, shared, mass = level + 1, level + 1, 0.0
        levels[cell] = shared
        mass += margins[cell]
    values = slice(num_categories)
    levels[values] = _merge_last_shared(levels[values], margins[values], least, shared, mass)
    if missing:
        apart = margins[-1] >= rare_share
        levels[-1] = levels.max() + 1 if apart else levels[int(np.argmax(margins[:num_categories]))]
    return _without_empty(levels, margins)


def _merge_last_shared(
    levels: NDArray[np.int64], margins: NDArray[np.float64], least: float, shared: int, mass: float
) -> NDArray[np.int64]:
    """Join a last shared level that did not fill up to the shared level before it, if there is one."""
    if shared < 0 or mass >= least:
        return levels
    rare = np.flatnonzero((margins < least) & (levels < shared))
    return np.where(levels == shared, levels[rare[-1]], levels) if len(rare) else levels


def number_levels(
    cells: NumberCells,
    margins: NDArray[np.float64],
    bins: int | None,
    rare_share: float,
    fineness: Fineness = COARSE,
    *,
    single: NDArray[np.bool_] | None = None,
) -> NDArray[np.int64]:
    """Quantile bins of neighbouring cells, common and missing values apart.

    Few values are told apart as categories are: joined with a common 0, a rare 1 would have nothing to do with other
    columns. ``single`` says which cells hold one value only, where more is known of that than the cells tell.
    """
    values = margins[: cells.num_values]
    bins, least = _bins(bins, rare_share, fineness)
    single = cells.singletons() if single is None else single
    if fineness.splits_rest and int((values > 0.0).sum()) <= bins and single[values > 0.0].all():
        least = min(least, max(fineness.pool, rare_share))
    wanted = math.sqrt(float(values.sum())) / bins if fineness.splits_rest else 1.0 / bins
    point, wanted = _common_values(single & (values >= rare_share), values, bins, least, wanted)
    levels = np.zeros(len(margins), dtype=np.int64)
    level, mass = 0, 0.0
    for cell in range(cells.num_values):
        after_point = cell > 0 and (point[cell - 1] or point[cell])
        if after_point or mass >= wanted * (1.0 - 1e-9):
            level, mass = level + (cell > 0), 0.0
        levels[cell] = level
        mass += values[cell]
    levels = _merge_slivers(levels, margins, point, max(0.25 * wanted, rare_share), cells.num_values)
    for cell in range(cells.num_values, len(cells)):  # codes and missing values
        levels[cell] = levels[:cell].max() + 1 if margins[cell] >= rare_share else levels[int(np.argmax(values))]
    return _without_empty(levels, margins)


def _common_values(
    single: NDArray[np.bool_], values: NDArray[np.float64], bins: int, least: float, wanted: float
) -> tuple[NDArray[np.bool_], float]:
    """Which single values have a bin's share or more, and what that share is, ``least`` at the least.

    Bins share evenly what common values leave: where nine of ten records are zero, the others are not one bin but as
    many as stand out from the noise, and a column of few values has each by itself. Where numbers are missing in most
    records, as in a table that few people have rows in, bins are smaller (``wanted``) and fewer, by the root of the
    share that have one.
    """
    common = np.zeros(len(values), dtype=np.bool_)
    while True:
        found = single & (values >= wanted)
        if (found == common).all():
            return common, wanted
        common = found
        even = float(values[~common].sum()) / max(bins - int(common.sum()), 1)
        wanted = min(wanted, max(even, least))


def most_category_levels(num_cells: int | None, pool: float, rare_share: float) -> int | None:
    """The most levels that ``category_levels`` can give, whatever the counts; ``None`` where there is no bound.

    Levels of their own and shared ones have the least share each, but for one that did not fill up and one for missing
    values; and no level is without a cell (``num_cells``, if they are known).
    """
    least = max(pool, rare_share)
    by_share = int(1.0 / least) + 2 if least > 0 else None
    bounds = [bound for bound in (num_cells, by_share) if bound is not None]
    return min(bounds) if bounds else None


def most_number_levels(
    num_cells: int, bins: int | None, rare_share: float, fineness: Fineness, num_codes: int = 0
) -> int:
    """The most levels that ``number_levels`` can give, whatever the counts.

    Common values and bins that filled up have the least share of a bin. Others stand before a common value or at the
    end, so there are at most one more of them, and once slivers are merged each has a quarter of that share: F + F/4
    such shares are at most all records. Missing values may have one level more, and so may each code.
    """
    least = _bins(bins, rare_share, fineness)[1]
    return min(num_cells, int(1.6 / least) + 3 + num_codes) if least > 0 else num_cells


def _bins(bins: int | None, rare_share: float, fineness: Fineness) -> tuple[int, float]:
    """How many bins there are to be, and the least share that one may have."""
    if bins is None:
        even = 1.0 / max(_EVEN * rare_share, 1.0 / fineness.most_bins)
        bins = max(int(even), min(_FEWEST_BINS, fineness.most_bins))
    least = max(_CLEAR * rare_share, fineness.pool)
    return bins, min(least, 1.0 / bins) if fineness.splits_rest else 1.0 / bins


def rare_share(noise_scale: float, total: float) -> float:
    """The share below which a cell cannot be told from noise."""
    return _RARE * noise_scale / total


def _merge_slivers(
    levels: NDArray[np.int64],
    margins: NDArray[np.float64],
    point: NDArray[np.bool_],
    least: float,
    num_values: int,
) -> NDArray[np.int64]:
    """Join bins with too little mass to the bin before them (after them at the start)."""
    merged = levels.copy()
    for level in range(int(levels[:num_values].max()) + 1):
        inside = np.flatnonzero(merged[:num_values] == level)
        if len(inside) == 0 or point[inside].any() or margins[inside].sum() >= least:
            continue
        neighbour = inside[0] - 1 if inside[0] > 0 else inside[-1] + 1
        if neighbour < num_values:
            merged[inside] = merged[neighbour]
    return merged


def _without_empty(levels: NDArray[np.int64], margins: NDArray[np.float64]) -> NDArray[np.int64]:
    """Renumber levels 0, 1, …; cells of a level without mass join the level with most."""
    mass = np.bincount(levels, weights=margins)
    levels = np.where(mass[levels] > 0.0, levels, int(np.argmax(mass)))
    return np.unique(levels, return_inverse=True)[1].astype(np.int64)
