"""Rows that know no dependence: the real ones as ceiling, and independent columns with exact and with noisy margins."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from baselines.encoding import codes, decode_codes
from baselines.number_bins import Floats, noisy_bins, num_histograms
from baselines.protocol import RunContext
from microtome.accounting import gaussian_mu
from microtome.schema import Column, Schema, project_to_simplex


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


class ResampledRows(RealRows):
    """As many rows drawn from the real ones with replacement: what a metric gives to a sample of the same people."""

    def __init__(self, context: RunContext) -> None:
        self._seed = context.seed

    def sample(self, num_rows: int) -> pd.DataFrame:
        """The rows that were drawn."""
        return self._frame.sample(num_rows, replace=True, random_state=self._seed)


class ShuffledColumns(ResampledRows):
    """Every column shuffled by itself: exact margins, no dependence, no privacy."""

    def sample(self, num_rows: int) -> pd.DataFrame:
        """The first rows after shuffling."""
        rng = np.random.default_rng(self._seed)
        columns = {name: rng.permutation(self._frame[name].to_numpy())[:num_rows] for name in self._frame.columns}
        return pd.DataFrame(columns)


class NoisyMargins:
    """Independent columns from noisy histograms: all a private table can give without any dependence.

    A record adds 1 to at most one cell of each of H histograms (one a column, and one of how round its numbers are
    where they are), so the ℓ2 sensitivity of all of them is √H, and one Gaussian mechanism with σ = √H/μ(ε, δ) spends
    the whole budget. Numbers are drawn from their histogram by Microtome's own code for columns.
    """

    def __init__(self, context: RunContext) -> None:
        self._rng = np.random.default_rng(context.seed)

    def fit(self, frame: pd.DataFrame, schema: Schema, epsilon: float, delta: float) -> None:
        """Count, add noise, project onto shares."""
        self.measure(frame, schema, gaussian_mu(epsilon, delta))

    def measure(self, frame: pd.DataFrame, schema: Schema, mu: float) -> None:
        """The same for a budget of μ."""
        rng, self._schema = np.random.default_rng(), schema
        numeric = [column for column in schema.columns if column.categories is None]
        histograms = len(schema.columns) - len(numeric) + num_histograms(numeric)
        self.noise_scale = math.sqrt(histograms) / mu

        def noise(size: int) -> Floats:
            return rng.normal(scale=self.noise_scale, size=size)

        self.numbers = noisy_bins(frame, numeric, noise, self.noise_scale)
        self.counts = {
            column.name: np.bincount(codes(frame[column.name], column), minlength=size) + noise(size)
            for column in schema.columns
            if (size := len(column.categories or ()))
        }
        self._shares = {name: project_to_simplex(counts, len(frame)) for name, counts in self.counts.items()}

    def sample(self, num_rows: int) -> pd.DataFrame:
        """Draw every column by itself."""
        return pd.DataFrame({column.name: self._draw(column, num_rows) for column in self._schema.columns})

    def shares(self, column: Column) -> Floats:
        """The share of every category, or of every cell of a number."""
        return self._shares[column.name] if column.categories is not None else self.numbers[column.name].margins

    def _draw(self, column: Column, num_rows: int) -> npt.NDArray[np.generic] | pd.Series:
        shares = self.shares(column)
        drawn = self._rng.choice(len(shares), size=num_rows, p=shares)
        if column.categories is not None:
            return decode_codes(drawn, column)
        return self.numbers[column.name].draw_values(drawn, self._rng).to_pandas()

    def notes(self) -> dict[str, Any]:
        """The noise."""
        return {"noise_scale_of_counts": self.noise_scale}
