"""A plain Gaussian copula: noisy margins, and one noisy correlation matrix of all columns' normal scores.

Half of the budget in μ² goes to histograms of all columns, as ``margins`` has them, and half to correlations. A value
becomes the normal quantile of the middle of its cell under the noisy margins, categories in their declared order, so a
score follows from the record and from what is published. A record's scores z, shortened to a norm of R = √(2C) for C
columns, add z_i² to every column and √2·z_i·z_j to every pair: a vector of norm |z|², so that the ℓ2 sensitivity under
`blank-one` is R². Correlations are products over squares, which makes up for most of the shortening, and are made
positive definite by their eigenvalues. (DPCopula of Li, Xiong and Jiang 2014 does the same with Kendall's τ and Laplace
noise.)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import norm

from baselines.encoding import codes, decode_codes
from baselines.margins import NoisyMargins
from baselines.number_bins import Floats, cells_of
from baselines.protocol import RunContext
from microtome.accounting import gaussian_mu
from microtome.schema import Column, Schema

_LEAST_EIGENVALUE = 1e-3
_LEAST_SQUARE = 0.1
"""What the mean square of a column's scores, one without noise, is taken for at least."""


class GaussianCopula:
    """Margins of ``NoisyMargins`` under the dependence of a normal distribution."""

    def __init__(self, context: RunContext) -> None:
        self._margins = NoisyMargins(context)
        self._rng = np.random.default_rng(context.seed)

    def fit(self, frame: pd.DataFrame, schema: Schema, epsilon: float, delta: float) -> None:
        """Margins, then correlations of what they make of the rows."""
        self._schema, mu = schema, gaussian_mu(epsilon, delta) / math.sqrt(2)
        self._margins.measure(frame, schema, mu)
        scores = np.stack([self._scores(frame[column.name], column) for column in schema.columns], axis=1)
        length = math.sqrt(2 * len(schema.columns))
        scores *= np.minimum(1.0, length / np.maximum(np.linalg.norm(scores, axis=1, keepdims=True), 1e-12))
        self.noise_scale = length**2 / mu
        upper = np.triu(np.random.default_rng().normal(scale=self.noise_scale, size=(scores.shape[1],) * 2))
        noise = (upper + upper.T) / math.sqrt(2)  # of a pair σ/√2; of a column's square √2·σ, more than it needs
        self.correlation = _correlation((scores.T @ scores + noise) / len(frame))

    def sample(self, num_rows: int) -> pd.DataFrame:
        """Draw normal rows, and read every column's value off its margin."""
        normal = self._rng.multivariate_normal(np.zeros(len(self.correlation)), self.correlation, size=num_rows)
        drawn = {
            column.name: self._values(norm.cdf(normal[:, place]), column)
            for place, column in enumerate(self._schema.columns)
        }
        return pd.DataFrame(drawn)

    def notes(self) -> dict[str, Any]:
        """The noise."""
        return {**self._margins.notes(), "noise_scale_of_products": self.noise_scale}

    def _scores(self, values: pd.Series, column: Column) -> Floats:
        shares = self._margins.shares(column)
        places = (
            codes(values, column) if column.categories is not None else cells_of(column).locate(values.to_numpy(float))
        )
        middles = np.cumsum(shares) - shares / 2
        return norm.ppf(np.clip(middles, 1e-4, 1 - 1e-4))[places]

    def _values(self, quantiles: Floats, column: Column) -> Any:
        ends = np.cumsum(self._margins.shares(column))
        places = np.minimum(np.searchsorted(ends, quantiles, side="right"), len(ends) - 1)
        if column.categories is not None:
            return decode_codes(places, column)
        return self._margins.numbers[column.name].draw_values(places, self._rng).to_pandas()


def _correlation(products: Floats) -> Floats:
    """Products over squares, made positive definite by eigenvalues, with a diagonal of one."""
    sizes = np.sqrt(np.maximum(np.diag(products), _LEAST_SQUARE))
    found = np.clip(products / np.outer(sizes, sizes), -1.0, 1.0)
    np.fill_diagonal(found, 1.0)
    values, vectors = np.linalg.eigh(found)
    positive = (vectors * np.maximum(values, _LEAST_EIGENVALUE)) @ vectors.T
    scale = np.sqrt(np.diag(positive))
    return positive / np.outer(scale, scale)
