"""Numbers as a few bins for methods that take categories, cut by Microtome's own code for columns.

A noisy histogram on public cells gives quantile bins, common values apart; values within a bin are drawn by it, and
by another of how round they are. Where a table is too small to spend ε on that, bins of equal width are public.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from microtome.schema import (
    CellCounts,
    Column,
    ColumnCode,
    NumberCells,
    code_from_counts,
    initial_cells,
    rounding_classes,
)

Floats = npt.NDArray[np.float64]
BINS = 32
"""Bins of a column at most, common values aside."""
PUBLIC_BINS = 16
_EVEN = 1e9
"""What all cells are said to hold, each by its width, where nothing was counted: far more than any noise."""


def num_histograms(numeric: Sequence[Column]) -> int:
    """Histograms that ``noisy_bins`` counts; a record is in at most one cell of each."""
    return len(numeric) + sum(rounding_classes(column) is not None for column in numeric)


def laplace_bins(frame: pd.DataFrame, numeric: Sequence[Column], epsilon: float) -> dict[str, ColumnCode]:
    """Bins of the numeric columns, for ε in total.

    The l1 sensitivity of H histograms is H, and Laplace noise of scale H/ε is what it takes.
    """
    rng, scale = np.random.default_rng(), num_histograms(numeric) / epsilon
    return noisy_bins(frame, numeric, lambda size: rng.laplace(scale=scale, size=size), math.sqrt(2) * scale)


def public_bins(numeric: Sequence[Column]) -> dict[str, ColumnCode]:
    """Bins of equal width between the declared bounds: they cost nothing, and know nothing of the table."""
    bins = {}
    for column in numeric:
        cells = cells_of(column)
        widths = np.diff(cells.edges)
        given = CellCounts(
            column=replace(column, bins=PUBLIC_BINS),
            counts=_EVEN * widths / widths.sum(),
            noise_scale=1.0,
            total=int(_EVEN),
        )
        bins[column.name] = code_from_counts(cells, given, rounding=None)
    return bins


def noisy_bins(
    frame: pd.DataFrame, numeric: Sequence[Column], noise: Callable[[int], Floats], deviation: float
) -> dict[str, ColumnCode]:
    """Bins of the numeric columns, from counts with noise of this standard deviation."""
    bins = {}
    for column in numeric:
        numbers, cells = frame[column.name].to_numpy(float), cells_of(column)
        rounded = rounding_classes(column)
        given = CellCounts(
            column=replace(column, bins=BINS),
            counts=np.bincount(cells.locate(numbers), minlength=len(cells)) + noise(len(cells)),
            noise_scale=deviation,
            total=len(frame),
        )
        bins[column.name] = code_from_counts(
            cells,
            given,
            rounding=None if rounded is None else (rounded.count(numbers) + noise(len(rounded)), deviation),
        )
    return bins


def binned(values: pd.Series, code: ColumnCode) -> npt.NDArray[np.int64]:
    """The bin of every number."""
    return code.levels[cells_of(code.column).locate(values.to_numpy(float))]


def cells_of(column: Column) -> NumberCells:
    """The public cells that a column's numbers are counted in."""
    cells = initial_cells(column)
    if not (isinstance(cells, NumberCells) and column.is_declared and not column.missing):
        raise ValueError(f"column {column.name!r} is not one of numbers with declared bounds and none missing")
    return cells
