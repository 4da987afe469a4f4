"""A mixture given what is known of a row: components by how well they explain that, and the other columns from them.

    P(component | known) ∝ weight · Π P(known level | component)

Given the component the columns are independent, so this is exact in the model. Columns of a row are drawn one after the
other, each given those before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from microtome.generators import MixtureGenerator
from microtome.schema import Codebook

Ints = NDArray[np.int64]
Singles = NDArray[np.float32]
_LEAST = np.float32(1e-12)
_CHUNK = 256
"""Rows that are weighed at once: their weights stay near the processor."""


@dataclass(frozen=True, eq=False)
class GivenMixture:
    """Distributions of columns given levels of others.

    Attributes:
        levels: The distribution of every column in each component, column after column (K × d).
        weights: The weight of each component.
        codebook: The columns.
    """

    levels: Singles
    weights: Singles
    codebook: Codebook

    @classmethod
    def of(cls, mixture: MixtureGenerator, codebook: Codebook) -> GivenMixture:
        """The mixture as it was trained."""
        levels = mixture.components().detach().numpy().astype(np.float32)
        return cls(levels, mixture.weights().numpy().astype(np.float32), codebook)

    def weights_given(self, known: Mapping[int, Ints], count: int) -> Singles:
        """What each component is worth for each of so many rows, given their known levels (rows × K).

        Only ratios within a row count.
        """
        return self.told(np.tile(self.weights + _LEAST, (count, 1)), known)

    def told(self, weights: Singles, known: Mapping[int, Ints]) -> Singles:
        """The same weights, once these levels are known too."""
        for column, levels in known.items():
            self.tell(weights, column, levels)
        return weights

    def tell(self, weights: Singles, column: int, levels: Ints) -> None:
        """Weigh components, in place, by the levels of a column; the best of every row then weighs 1."""
        rows = self.codebook.blocks[column].start + levels
        for start in range(0, len(weights), _CHUNK):
            part = weights[start : start + _CHUNK]
            part *= self._likelihoods[rows[start : start + _CHUNK]]
            part /= part.max(axis=1, keepdims=True)

    def shares(self, weights: Singles, column: int) -> Singles:
        """The distribution of a column in rows whose components have these weights, up to a factor for each row."""
        block = self.codebook.blocks[column]
        return weights @ self.levels[:, block.start : block.stop]

    @cached_property
    def _likelihoods(self) -> Singles:
        """All distributions, a row for every level."""
        return np.ascontiguousarray((self.levels + _LEAST).T)
