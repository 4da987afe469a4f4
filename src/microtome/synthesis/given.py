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

    def scores(self, known: Mapping[int, Ints], count: int) -> Singles:
        """The logarithm of what each component is worth for each of so many rows, given their known levels."""
        scores = np.tile(np.log(self.weights + _LEAST), (count, 1))
        for column, levels in known.items():
            scores += self.told(column, levels)
        return scores

    def told(self, column: int, levels: Ints) -> Singles:
        """What the levels of a column add to the scores."""
        return self._logs[self.codebook.blocks[column].start + levels]

    def shares(self, weights: Singles, column: int) -> Singles:
        """The distribution of a column in rows whose components have these weights."""
        block = self.codebook.blocks[column]
        return weights @ self.levels[:, block.start : block.stop]

    @cached_property
    def _logs(self) -> Singles:
        """Logarithms of all distributions, a row for every level."""
        return np.ascontiguousarray(np.log(self.levels + _LEAST).T)


def weights_of(scores: Singles) -> Singles:
    """The weights of components, which sum to one in every row."""
    weights: Singles = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def drawn(shares: Singles, rng: np.random.Generator) -> Ints:
    """A place in every row, in proportion to the shares there."""
    ends = np.cumsum(shares, axis=1, dtype=np.float32)
    targets = rng.random(len(ends), dtype=np.float32)[:, None] * ends[:, -1:]
    places: Ints = np.minimum((ends <= targets).sum(axis=1), shares.shape[1] - 1)
    return places
