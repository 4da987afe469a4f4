"""A column tried out on public shapes: real noise, the code that real profiles go through, no private row.

First the profile is made of each shape, under noise. Then, in a release of aggregates, the tables of pairs tell the
shares of levels once more, and a fit takes both together, each for what its noise leaves it worth; so does a trial.

Noise enters as the ratio of its standard deviation to the number of records, the only thing that matters. Ratios of
the profile are rounded to an eighth of an octave, so that a curve over ε meets most of them again. The noise has a
seed by the column's name, for there is nothing to protect: a forecast is the same whenever it is made.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from microtome.forecasting.reference import Shape, learnt_shape, shapes_of
from microtome.private.domain import WEIGHTS
from microtome.private.profile import WIDTH_NUMBERS
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
from microtome.schema.domain import narrowed, nothing_learnt

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_REPEATS = 4
_STEPS_AN_OCTAVE = 8
_SEARCH = math.sqrt(WIDTH_NUMBERS ** (2.0 / 3.0) / WEIGHTS["scale"])
"""Noise of the first histogram of a search, in units of that of the profile."""


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


def try_column(column: Column, fineness: Fineness, noise_ratio: float, threshold_ratio: float) -> tuple[Draw, ...]:
    """The profile of a column under noise of ``noise_ratio`` × records.

    Categories that are to be learnt show from a noisy count of ``threshold_ratio`` × records on.
    """
    return _tried(column, fineness, _rounded(noise_ratio), _rounded(threshold_ratio))


def mean_errors(draws: tuple[Draw, ...], pair_ratio: float) -> tuple[float, float]:
    """Both errors of a column, on average, after tables of pairs have told its levels under noise of that ratio.

    ``pair_ratio`` is infinite where there are none.
    """
    rng = _noise_of(draws[0].code.column)
    found = [draw.errors(_level_shares(draw, pair_ratio, rng)) for draw in draws]
    error, table_error = np.mean(found, axis=0)
    return float(error), float(table_error)


def _level_shares(draw: Draw, pair_ratio: float, rng: np.random.Generator) -> Floats:
    """The shares of levels that a fit ends with: the profile's and the tables', by what their noise leaves them."""
    profile = draw.code.level_margins
    if math.isinf(pair_ratio):
        return profile
    cells = np.bincount(draw.code.levels, minlength=len(profile))
    own, total = pair_ratio**2, draw.code.noise_scale**2 * cells
    counted = draw.true_levels() + pair_ratio * rng.standard_normal(len(profile))
    return project_to_simplex(counted + (profile - counted) * own / (own + total), 1.0)


def _noise_of(column: Column) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(column.name.encode()))


def _rounded(ratio: float) -> float:
    return float(2.0 ** (round(_STEPS_AN_OCTAVE * math.log2(ratio)) / _STEPS_AN_OCTAVE)) if ratio > 0 else 0.0


@lru_cache(maxsize=4096)
def _tried(column: Column, fineness: Fineness, noise_ratio: float, threshold_ratio: float) -> tuple[Draw, ...]:
    rng = _noise_of(column)
    return tuple(
        _profiled(column, shape, fineness, noise_ratio, threshold_ratio, rng)
        for shape in shapes_of(column)
        for _ in range(_REPEATS)
    )


def _profiled(
    column: Column,
    shape: Shape,
    fineness: Fineness,
    noise_ratio: float,
    threshold_ratio: float,
    rng: np.random.Generator,
) -> Draw:
    """The code that the profile would settle."""
    match shape:
        case Shape(cells=NumberCells() as first, below=below) if below is not None:
            return _searched(column, first, shape.shares, below, fineness, noise_ratio, rng)
    counts = shape.shares + noise_ratio * rng.standard_normal(len(shape.shares))
    cells, places, named = shape.cells, np.arange(len(counts)), np.ones(len(counts), dtype=np.bool_)
    if cells is None:
        values = len(counts) - column.missing
        named[:values] = counts[:values] > threshold_ratio
        shown = np.flatnonzero(named[:values])
        cells = CategoryCells(categories=tuple(f"{place}" for place in shown), other=True, missing=column.missing)
        places = np.where(named, np.cumsum(named) - 1, len(shown))
        places[values:] = len(shown) + 1
        kept = counts[named]
        counts = np.insert(kept, len(shown), 1.0 - kept.sum())
    given = CellCounts(column=column, counts=counts, noise_scale=noise_ratio, total=1.0, fineness=fineness)
    code = code_from_counts(cells, given)
    match cells, code.cells:
        case NumberCells() as whole, NumberCells() as cut:
            places, named = _places_in(whole, cut)
    return Draw(shape=shape, code=code, places=places, named=named)


def _searched(
    column: Column,
    first: NumberCells,
    shares: Floats,
    below: Callable[[Floats], Floats],
    fineness: Fineness,
    noise_ratio: float,
    rng: np.random.Generator,
) -> Draw:
    """The same where bounds are searched for first, by the first histogram of the search."""
    search_ratio = _SEARCH * noise_ratio
    counts = shares + search_ratio * rng.standard_normal(len(shares))
    found = narrowed(first, counts, search_ratio, step=0.0, values=())
    cells, likely = (nothing_learnt(column), None) if found is None else found
    seen = learnt_shape(cells, below)
    counts = seen.shares + noise_ratio * rng.standard_normal(len(seen.shares))
    given = CellCounts(
        column=column,
        counts=counts,
        noise_scale=noise_ratio,
        total=1.0,
        fineness=fineness,
        search_noise=(search_ratio,),
    )
    code = NumberCode.from_counts(cells, given, likely=likely)
    places, named = _places_in(cells, code.cells)
    if found is None:
        named = np.zeros_like(named)
    return Draw(shape=seen, code=code, places=places, named=named)


def _places_in(whole: NumberCells, cut: NumberCells) -> tuple[Ints, NDArray[np.bool_]]:
    """The cell, after cutting to learnt bounds, that values of each cell are counted in, and whether it is the same."""
    starts = whole.edges[:-1]
    places, kept = cut.locate(starts), (starts >= cut.edges[0]) & (starts < cut.edges[-1])
    others = np.arange(whole.num_codes + whole.missing)
    return np.concatenate([places, cut.num_values + others]), np.concatenate([kept, np.ones(len(others), np.bool_)])
