"""A column tried out on public shapes: real noise, the code that real profiles go through, no private row.

First the profile is made of each shape and of what the search would have found of it, under noise. Then, in a release
of aggregates, the tables of pairs tell the shares of levels once more, and a fit takes both together, each for what its
noise leaves it worth; so does a trial.

Noise enters as the ratio of its standard deviation to the number of records, the only thing that matters. Ratios of
the profile are rounded to an eighth of an octave, so that a curve over ε meets most of them again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from microtome.forecasting.reference import Shape, learnt_shape, quantile_bins
from microtome.forecasting.search_trial import Found, noise_of, noisy
from microtome.private.domain import Domain
from microtome.schema import (
    CategoryCells,
    CellCounts,
    Column,
    ColumnCode,
    Fineness,
    NumberCells,
    NumberCode,
    code_from_counts,
    project_to_simplex,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_STEPS_AN_OCTAVE = 8


@dataclass(frozen=True, kw_only=True, eq=False)
class Draw:
    """The profile of one shape under one draw of the noise.

    Attributes:
        shape: The shape.
        code: What the profile makes of it.
        places: The cell of the code that each entry of the shape is counted in.
        named: Whether that cell is the entry's own, or part of it; not so for what goes to "(other)".
    """

    shape: Shape
    code: ColumnCode
    places: Ints
    named: NDArray[np.bool_]

    def true_levels(self) -> Floats:
        """The share of each level, without noise."""
        levels = self.code.levels[self.places]
        return np.bincount(levels, weights=self.shape.shares, minlength=self.code.num_levels).astype(np.float64)

    def errors(self, level_shares: Floats) -> tuple[float, float]:
        """How far the column is off if its levels get these shares: by itself, and as a side of two-way tables."""
        known = self.code.level_margins
        scale = np.divide(level_shares, known, out=np.zeros_like(known), where=known > 0)
        margins = self.code.margins * scale[self.code.levels]
        if self.shape.bins is None:
            found = np.where(self.named, margins[self.places], 0.0)
            distance = 0.5 * float(np.abs(found - self.shape.shares).sum() + 1.0 - found.sum())
            return distance, distance
        within = np.flatnonzero(self.named)
        apart = -self.shape.shares
        apart[within] += margins[self.places[within]]
        return float(np.abs(np.cumsum(apart)).max()), 0.5 * float(np.abs(np.bincount(self.shape.bins, apart)).sum())


def try_column(
    column: Column, found: tuple[Found, ...], fineness: Fineness, noise_ratio: float, threshold_ratio: float
) -> tuple[Draw, ...]:
    """The profile of a column under noise of ``noise_ratio`` × records, after what was found of it.

    Categories that are to be learnt show from a noisy count of ``threshold_ratio`` × records on.
    """
    return _tried(column, found, fineness, rounded_ratio(noise_ratio), rounded_ratio(threshold_ratio))


def known_column(code: ColumnCode) -> Draw:
    """A column on the code of another release, taken to be alike: no profile tells its levels, tables alone do."""
    named = np.ones(len(code.margins), dtype=np.bool_)
    bins = None
    match code.cells:
        case NumberCells() as cells:
            bins = quantile_bins(code.margins[: cells.num_values], len(cells) - cells.num_values)
        case CategoryCells(other=True, categories=categories):
            named[len(categories)] = False
    shape = Shape(cells=code.cells, shares=code.margins, bins=bins)
    return Draw(shape=shape, code=replace(code, noise_scale=math.inf), places=np.arange(len(named)), named=named)


def mean_errors(draws: tuple[Draw, ...], pair_ratio: float) -> tuple[float, float]:
    """Both errors of a column, on average, after tables of pairs have told its levels under noise of that ratio.

    ``pair_ratio`` is infinite where there are none.
    """
    rng = noise_of(draws[0].code.column)
    found = [draw.errors(_level_shares(draw, pair_ratio, rng)) for draw in draws]
    error, table_error = np.mean(found, axis=0)
    return float(error), float(table_error)


def rounded_ratio(ratio: float) -> float:
    """The nearest of some ratios, eight an octave."""
    return float(2.0 ** (round(_STEPS_AN_OCTAVE * math.log2(ratio)) / _STEPS_AN_OCTAVE)) if ratio > 0 else 0.0


def _level_shares(draw: Draw, pair_ratio: float, rng: np.random.Generator) -> Floats:
    """The shares of levels that a fit ends with: the profile's and the tables', by what their noise leaves them."""
    profile = draw.code.level_margins
    if math.isinf(pair_ratio):
        return profile
    cells = np.bincount(draw.code.levels, minlength=len(profile))
    own, total = pair_ratio**2, draw.code.noise_scale**2 * cells
    counted = draw.true_levels() + pair_ratio * rng.standard_normal(len(profile))
    return project_to_simplex(counted + (profile - counted) * own / (own + total), 1.0)


@lru_cache(maxsize=4096)
def _tried(
    column: Column, found: tuple[Found, ...], fineness: Fineness, noise_ratio: float, threshold_ratio: float
) -> tuple[Draw, ...]:
    rng = noise_of(column)
    return tuple(_profiled(column, one, fineness, noise_ratio, threshold_ratio, rng) for one in found)


def _profiled(
    column: Column,
    found: Found,
    fineness: Fineness,
    noise_ratio: float,
    threshold_ratio: float,
    rng: np.random.Generator,
) -> Draw:
    """The code that the profile would settle."""
    shape = found.shape
    match shape, found.domain:
        case Shape(below=below), Domain(cells=NumberCells() as cells) as domain if below is not None:
            seen = learnt_shape(cells, below)
            given = _given(column, noisy(seen.shares, noise_ratio, rng), noise_ratio, fineness, domain)
            code = NumberCode.from_counts(cells, given, likely=domain.likely)
            places, named = _places_in(cells, code.cells)
            return Draw(shape=seen, code=code, places=places, named=named & (domain.likely is not None))
        case Shape(cells=None), Domain(cells=CategoryCells() as known) as domain:
            return _with_categories(column, shape, known, domain, fineness, noise_ratio, threshold_ratio, rng)
    assert shape.cells is not None
    given = _given(column, noisy(shape.shares, noise_ratio, rng), noise_ratio, fineness, None)
    named = np.ones(len(shape.shares), dtype=np.bool_)
    return Draw(shape=shape, code=code_from_counts(shape.cells, given), places=np.arange(len(named)), named=named)


def _with_categories(
    column: Column,
    shape: Shape,
    known: CategoryCells,
    domain: Domain,
    fineness: Fineness,
    noise_ratio: float,
    threshold_ratio: float,
    rng: np.random.Generator,
) -> Draw:
    """The same where categories are to be learnt: those show that the search has found, or that pass the threshold."""
    counts = noisy(shape.shares, noise_ratio, rng)
    values, named = len(counts) - column.missing, np.ones(len(counts), dtype=np.bool_)
    named[:values] = counts[:values] > threshold_ratio
    named[[int(str(place)) for place in known.categories]] = True
    shown = np.flatnonzero(named[:values])
    cells = CategoryCells(categories=tuple(f"{place}" for place in shown), other=True, missing=column.missing)
    places = np.where(named, np.cumsum(named) - 1, len(shown))
    places[values:] = len(shown) + 1
    kept = counts[named]
    counts = np.insert(kept, len(shown), 1.0 - kept.sum())
    code = code_from_counts(cells, _given(column, counts, noise_ratio, fineness, domain))
    return Draw(shape=shape, code=code, places=places, named=named)


def _given(column: Column, counts: Floats, noise_ratio: float, fineness: Fineness, domain: Domain | None) -> CellCounts:
    return CellCounts(
        column=column,
        counts=counts,
        noise_scale=noise_ratio,
        total=1.0,
        fineness=fineness,
        search_noise=() if domain is None else domain.search_noise,
    )


def _places_in(whole: NumberCells, cut: NumberCells) -> tuple[Ints, NDArray[np.bool_]]:
    """The cell, after cutting to learnt bounds, that values of each cell are counted in, and whether it is the same."""
    starts = whole.edges[:-1]
    places, kept = cut.locate(starts), (starts >= cut.edges[0]) & (starts < cut.edges[-1])
    others = np.arange(whole.num_codes + whole.missing)
    return np.concatenate([places, cut.num_values + others]), np.concatenate([kept, np.ones(len(others), np.bool_)])
