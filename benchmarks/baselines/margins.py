"""Rows that know no dependence: the real ones as ceiling, and independent columns with exact and with noisy margins."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from baselines.encoding import codes, decode_codes, decode_numbers
from baselines.protocol import RunContext
from microtome.accounting import gaussian_mu
from microtome.schema import Column, Schema, project_to_simplex

MOST_CELLS = 1024
"""Cells of a numeric column at most, zero's own aside."""


class RealRows:
    """The training rows themselves: not private, the ceiling of every metric."""

    def __init__(self, context: RunContext) -> None:
        del context

    def fit(self, frame: pd.DataFrame, schema: Schema, epsilon: float, delta: float) -> None:
        """Keep the rows."""
        del schema, epsilon, delta
        self._frame = frame

    def sample(self, num_rows: int) -> pd.DataFrame:
        """The first rows."""
        return self._frame.head(num_rows)

    def notes(self) -> dict[str, Any]:
        """Nothing was chosen."""
        return {"private": False}


class ShuffledColumns(RealRows):
    """Every column shuffled by itself: exact margins, no dependence, no privacy."""

    def __init__(self, context: RunContext) -> None:
        self._seed = context.seed

    def sample(self, num_rows: int) -> pd.DataFrame:
        """The first rows after shuffling."""
        rng = np.random.default_rng(self._seed)
        columns = {name: rng.permutation(self._frame[name].to_numpy())[:num_rows] for name in self._frame.columns}
        return pd.DataFrame(columns)


class NoisyMargins:
    """Independent columns from noisy histograms: all a private table can give without any dependence.

    A record adds 1 to one cell of each of the C histograms, so the ℓ2 sensitivity of all of them is √C, and one
    Gaussian mechanism with σ = √C/μ(ε, δ) spends the whole budget. A numeric column is cut into cells of one
    value, or into ``MOST_CELLS`` equal ones (and zero) where it has more values.
    """

    def __init__(self, context: RunContext) -> None:
        self._rng = np.random.default_rng(context.seed)

    def fit(self, frame: pd.DataFrame, schema: Schema, epsilon: float, delta: float) -> None:
        """Count, add noise, project onto shares."""
        self.noise_scale = math.sqrt(len(schema.columns)) / gaussian_mu(epsilon, delta)
        noise, self._schema, self._shares = np.random.default_rng(), schema, {}
        for column in schema.columns:
            counts = np.bincount(cells(frame[column.name], column), minlength=num_cells(column))
            noisy = counts + noise.normal(scale=self.noise_scale, size=len(counts))
            self._shares[column.name] = project_to_simplex(noisy, len(frame))

    def sample(self, num_rows: int) -> pd.DataFrame:
        """Draw every column by itself."""
        drawn = {
            column.name: _values_of_cells(
                self._rng.choice(num_cells(column), size=num_rows, p=self._shares[column.name]), column, self._rng
            )
            for column in self._schema.columns
        }
        return pd.DataFrame(drawn)

    def notes(self) -> dict[str, Any]:
        """The noise."""
        return {"noise_scale_of_counts": self.noise_scale, "most_cells": MOST_CELLS}


def num_cells(column: Column) -> int:
    """How many cells a column's histogram has."""
    return len(column.categories) if column.categories is not None else len(edges_of(column)) - 1


def cells(values: pd.Series, column: Column) -> npt.NDArray[np.intp]:
    """The cell of every value."""
    if column.categories is not None:
        return codes(values, column)
    edges, numbers = edges_of(column), values.to_numpy(float)
    return np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2)


def edges_of(column: Column) -> npt.NDArray[np.float64]:
    """Edges of a numeric column's cells; zero, of which there is often much, is a cell of its own where it can be."""
    low, high = column.number_bounds() or (0.0, 0.0)
    if not column.kind.is_integral:
        return np.linspace(low, high, MOST_CELLS + 1)
    if high - low < MOST_CELLS:
        return np.arange(low, high + 2) - 0.5
    even = np.rint(np.linspace(low, high + 1, MOST_CELLS + 1)) - 0.5
    return np.union1d(even, [-0.5, 0.5]) if low < 0 < high else even


def _values_of_cells(drawn: npt.NDArray[np.intp], column: Column, rng: np.random.Generator) -> npt.NDArray[np.generic]:
    if column.categories is not None:
        return decode_codes(drawn, column)
    edges = edges_of(column)
    return decode_numbers(rng.uniform(edges[drawn], edges[drawn + 1]), column)
