"""Numbers as a few bins for methods that take categories, cut as Microtome cuts its own columns.

A noisy histogram on public cells gives quantile bins, common values apart; values within a bin are drawn by it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from microtome.schema import Column, ColumnCode, NumberCells, initial_cells

BINS = 32
"""Bins of a column at most, common values aside."""


def noisy_bins(frame: pd.DataFrame, numeric: Sequence[Column], epsilon: float) -> dict[str, ColumnCode]:
    """Bins of the numeric columns, for ε in total.

    A record counts in one cell of each of the C histograms: their l1 sensitivity is C, and Laplace noise of scale C/ε
    is what it takes.
    """
    noise = np.random.default_rng()
    bins = {}
    for column in numeric:
        scale, cells = len(numeric) / epsilon, _cells(column)
        counts = np.bincount(cells.locate(frame[column.name].to_numpy(float)), minlength=len(cells))
        noisy = counts + noise.laplace(scale=scale, size=len(counts))
        bins[column.name] = ColumnCode.from_counts(
            replace(column, bins=BINS), cells, noisy, noise_scale=math.sqrt(2) * scale, total=len(frame)
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
