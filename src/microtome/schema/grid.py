"""The public cells on which a declared column is counted: a grid inside its bounds, or its categories.

What nobody declared has no grid: where its numbers lie is searched for first (``microtome.schema.domain``), and its
categories are learnt as they are counted.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from microtome.schema.cells import CategoryCells, Cells, NumberCells
from microtome.schema.column import Column
from microtome.schema.kind import Kind

WHOLE_NUMBERS = 512
"""A declared range of at most this many whole numbers gets a cell each."""
EVEN_CELLS = 128
"""Evenly spaced cells of any other declared range."""
_DECLARED_PER_OCTAVE = 8
_DECLARED_OCTAVES = 14


def initial_cells(column: Column) -> Cells | None:
    """The cells to count a column on; ``None`` where bounds or categories have yet to be learnt."""
    if not column.kind.is_categorical:
        return number_cells(column)
    if column.categories is None:
        return None
    other = not column.outside.is_refused
    return CategoryCells(categories=column.categories, other=other, missing=column.missing)


def number_cells(column: Column) -> NumberCells | None:
    """The cells of a measured column; ``None`` where bounds have yet to be learnt."""
    bounds = column.number_bounds()
    return None if bounds is None else NumberCells.of(column, _declared_edges(column.kind, *bounds))


def _declared_edges(kind: Kind, low: float, high: float) -> NDArray[np.float64]:
    """A cell a whole number where they are few; otherwise even cells refined towards zero.

    The smallest and the largest whole number have cells of their own: values beyond them are often recorded as these.
    """
    integral = kind.is_integral
    end = high + 1.0 if integral else high
    if integral and end - low <= WHOLE_NUMBERS:
        return np.arange(low, end + 1.0)
    edges = np.linspace(low, end, EVEN_CELLS + 1)
    if kind.is_number:
        scale = max(abs(low), abs(end))
        octaves = scale * 2.0 ** (np.arange(-_DECLARED_OCTAVES * _DECLARED_PER_OCTAVE, 1) / _DECLARED_PER_OCTAVE)
        edges = np.concatenate([edges, both_sides(octaves, integral)])
    if integral:
        edges = np.round(edges)
    inside = edges[(edges >= low) & (edges <= end)]
    ends = [low, low + 1.0, high, end] if integral else [low, end]
    return np.unique(np.concatenate([inside, ends]))


def both_sides(magnitudes: NDArray[np.float64], integral: bool) -> NDArray[np.float64]:
    """The magnitudes on both sides of zero, with a cell for zero alone.

    A whole number k has the cell [k, k+1): mirrored edges are shifted by one so that −k is cut like k.
    """
    if integral:
        magnitudes = np.round(magnitudes)
        return np.concatenate([1.0 - magnitudes, [0.0, 1.0], magnitudes])
    return np.concatenate([-magnitudes, [0.0, np.nextafter(0.0, 1.0)], magnitudes])
