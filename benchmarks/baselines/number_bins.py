"""Numbers as a few bins for methods that take categories, cut by Microtome's own code for columns.

A noisy histogram on public cells gives quantile bins, common values apart; values within a bin are drawn by it, and
by another of how round they are.
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


def num_histograms(numeric: Sequence[Column]) -> int:
    """Histograms that ``noisy_bins`` counts; a record is in at most one cell of each."""
    return len(numeric) + sum(rounding_classes(column) is not None for column in numeric)


def laplace_bins(frame: pd.DataFrame, numeric: Sequence[Column], epsilon: float) -> dict[str, ColumnCode]:
    """Bins of the numeric columns, for ε in total.

    The l1 sensitivity of H histograms is H, and Laplace noise of scale H/ε is what it takes.
    """
    rng, scale = np.random.default_rng(), num_histograms(numeric) / epsilon
    return noisy_bins(frame, numeric, lambda size: rng.laplace(scale=scale, size=size), math.sqrt(2) * scale)


def noisy_bins(
    frame: pd.DataFrame, numeric: Sequence[Column], noise: Callable[[int], Floats], deviation: float
) -> dict[str, ColumnCode]:
    """Bins of the numeric columns, from counts with noise of this standard deviation."""
    bins = {}
    for column in numeric:
        numbers, cells = frame[column.name].to_numpy(float), _cells(column)
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
    return code.levels[_cells(code.column).locate(values.to_numpy(float))]


def _cells(column: Column) -> NumberCells:
    cells = initial_cells(column)
    if not (isinstance(cells, NumberCells) and column.is_declared and not column.missing):
        raise ValueError(f"column {column.name!r} is not one of numbers with declared bounds and none missing")
    return cells
