"""What search and profile may spend, and how their histograms share it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from microtome.accounting import Neighbours
from microtome.private.randomness import noise_quantile
from microtome.private.weighting import ONE_ROW, Weighting

_ROUNDED_DOWN = 1.0 - 1e-12


@dataclass(frozen=True, kw_only=True)
class ProfileBudget:
    """What search and profile may spend.

    Attributes:
        mu: Gaussian privacy parameter of all that is left to be counted.
        threshold_delta: Probability, in all, that a category or number of one record alone shows.
        neighbours: The relation under which both hold.
        num_chances: How often a category or number of one record alone may show, all columns together.
        weight: Weights of all histograms that are left, among which μ² is shared.
        weighting: What one person's rows count for.
    """

    mu: float
    threshold_delta: float
    neighbours: Neighbours
    num_chances: int = 1
    weight: float = 1.0
    weighting: Weighting = ONE_ROW

    def noise_of(self, weight: float) -> float:
        """Noise of a histogram that gets so much of the whole weight."""
        return math.sqrt(self.neighbours.cells_changed * self.weight / weight) / self.mu

    def less(self, weight: float) -> ProfileBudget:
        """What histograms of this weight leave. Whatever they were, this and they cost the same together."""
        left = self.weight - weight
        return replace(self, mu=self.mu * math.sqrt(left / self.weight) * _ROUNDED_DOWN, weight=left)

    def noise_scales(self, widths: Sequence[int]) -> list[float]:
        """Noise of each histogram where those of the given numbers of cells share all that is left."""
        return self.noise_by_weight(histogram_weights(widths))

    def noise_by_weight(self, weights: NDArray[np.float64]) -> list[float]:
        """Noise of each histogram where those of the given weights share all that is left."""
        shares = weights / weights.sum()
        return [float(np.sqrt(self.neighbours.cells_changed / share) / self.mu) for share in shares]

    def threshold(self, noise_scale: float) -> float:
        """The noisy count T below which an undeclared category, or a common number, is not shown.

        A category with one record passes if its noise exceeds T − 1. At most one such category a histogram tells
        neighbours apart, two where a record is replaced; of a person with several rows as many as there are rows.
        """
        told_apart = self.neighbours.cells_changed * self.weighting.most_rows
        tail = self.threshold_delta / (self.num_chances * told_apart)
        return 1.0 + noise_quantile(noise_scale, tail)


def histogram_weights(widths: Sequence[int]) -> NDArray[np.float64]:
    """K^⅔ of each number of cells."""
    weights: NDArray[np.float64] = np.array(widths, dtype=float) ** (2.0 / 3.0)
    return weights
