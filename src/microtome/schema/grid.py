"""The public cells on which a column is counted before anything is known of its values.

Declared columns are counted on a grid inside their bounds. Columns whose bounds are to be learnt are counted
on a fixed grid that covers every number worth releasing: about sixteen cells an octave on both sides of zero,
zero alone, months for dates. One record falls in one cell, so bounds, quantiles and point masses are all
learnt from one histogram of sensitivity 1.
"""

from __future__ import annotations

import datetime as dt

import numpy as np
from numpy.typing import NDArray

from microtome.errors import SchemaError
from microtome.schema.cells import CategoryCells, Cells, NumberCells
from microtome.schema.column import Column, Kind

WHOLE_NUMBERS = 512
"""A declared range of at most this many whole numbers gets a cell each."""
EVEN_CELLS = 128
"""Evenly spaced cells of any other declared range."""
CELLS_PER_OCTAVE = 16
"""Cells between a number and its double on the grid for undeclared bounds."""
_DECLARED_PER_OCTAVE = 8
_DECLARED_OCTAVES = 14
_SMALLEST_EXPONENT, _LARGEST_EXPONENT = -20, 50
_FIRST_YEAR, _LAST_YEAR = 1850, 2150


def initial_cells(column: Column) -> Cells | None:
    """The cells to count a column on; ``None`` for categories that have yet to be learnt."""
    if column.kind.is_categorical:
        if column.categories is None:
            return None
        other = not column.outside.is_refused
        return CategoryCells(categories=column.categories, other=other, missing=column.missing)
    return number_cells(column)


def number_cells(column: Column) -> NumberCells:
    """The cells to count a measured column on."""
    bounds = column.number_bounds()
    edges = _learning_edges(column) if bounds is None else _declared_edges(column.kind, *bounds)
    return NumberCells(edges=edges, integral=column.kind.is_integral, missing=column.missing)


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
        edges = np.concatenate([edges, _both_sides(octaves, integral)])
    if integral:
        edges = np.round(edges)
    inside = edges[(edges >= low) & (edges <= end)]
    ends = [low, low + 1.0, high, end] if integral else [low, end]
    return np.unique(np.concatenate([inside, ends]))


def _learning_edges(column: Column) -> NDArray[np.float64]:
    match column.kind:
        case Kind.DATE:
            return _month_edges(1.0)
        case Kind.DATETIME:
            return _month_edges(86_400e6)
        case Kind.INTEGER | Kind.FLOAT:
            return _octave_edges(column)
        case Kind.CATEGORICAL | Kind.ORDERED | Kind.BOOLEAN | Kind.TIME:  # times have the bounds of a day
            raise SchemaError(f"column {column.name!r}: a {column.kind} column has no grid of numbers to learn")


def _octave_edges(column: Column) -> NDArray[np.float64]:
    integral = column.kind.is_integral
    first = 0 if integral else _SMALLEST_EXPONENT
    exponents = np.arange(first, _LARGEST_EXPONENT)
    steps = 1.0 + np.arange(CELLS_PER_OCTAVE) / CELLS_PER_OCTAVE
    magnitudes = (2.0 ** exponents[:, None] * steps).ravel()
    edges = _both_sides(np.append(magnitudes, 2.0**_LARGEST_EXPONENT), integral)
    edges = np.unique(np.round(edges) if integral else edges)
    return _within_type(edges, column) if "int" in column.dtype else edges


def _within_type(edges: NDArray[np.float64], column: Column) -> NDArray[np.float64]:
    """No cell beyond what the storage type can hold: noise alone could put a drawn value there."""
    limits = np.iinfo(column.dtype)
    low, end = np.clip([float(limits.min), float(limits.max) + 1.0], edges[0], edges[-1])
    return np.unique(np.concatenate([[low], edges[(edges >= low) & (edges <= end)], [end]]))


def _both_sides(magnitudes: NDArray[np.float64], integral: bool) -> NDArray[np.float64]:
    """The magnitudes on both sides of zero, with a cell for zero alone.

    A whole number k has the cell [k, k+1): mirrored edges are shifted by one so that −k is cut like k.
    """
    if integral:
        magnitudes = np.round(magnitudes)
        return np.concatenate([1.0 - magnitudes, [0.0, 1.0], magnitudes])
    return np.concatenate([-magnitudes, [0.0, np.nextafter(0.0, 1.0)], magnitudes])


def _month_edges(units_a_day: float) -> NDArray[np.float64]:
    months = [dt.date(year, month, 1) for year in range(_FIRST_YEAR, _LAST_YEAR) for month in range(1, 13)]
    days = np.array([(month - dt.date(1970, 1, 1)).days for month in [*months, dt.date(_LAST_YEAR, 1, 1)]])
    return days * units_a_day
