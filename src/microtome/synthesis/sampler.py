"""Rows from a trained generator: levels drawn column by column given the latent, then values of the user's types.

Conditional sampling is exact in the model: given the latent the columns are independent, so a latent is kept in
proportion to the probability that its columns meet the conditions, the conditioned columns are drawn from what
the conditions leave of them, and all others as always. Latents come from a pool of 65,536 a piece of rows, so for
conditions that hardly any latent meets, the same latents are used again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from microtome.errors import ModelError
from microtome.generators import ColumnwiseGenerator, Generator
from microtome.schema import Codebook, stratified
from microtome.synthesis.conditions import Condition

CHUNK_ROWS = 16_384
_POOL_ROWS = 65_536


@dataclass(frozen=True, kw_only=True, eq=False)
class Sampler:
    """Draws rows.

    Attributes:
        generator: The trained generator.
        codebook: The code between its rows and the table.
        conditions: What the rows have to meet.
        seed: Seed of the draws.
    """

    generator: Generator
    codebook: Codebook
    conditions: Sequence[Condition]
    seed: int

    def __post_init__(self) -> None:
        if self.conditions and not isinstance(self.generator, ColumnwiseGenerator):
            raise ModelError(
                f"{type(self.generator).__name__} gives rows, not distributions: conditions need a generator with "
                "probabilities() and draw(), such as the built-in one"
            )

    def tables(self, num_rows: int) -> Iterator[pa.Table]:
        """The rows in pieces that fit in memory."""
        random = torch.Generator().manual_seed(self.seed)
        rng = np.random.default_rng(self.seed)
        codes = {condition.column: condition.code for condition in self.conditions}
        for first in range(0, num_rows, CHUNK_ROWS):
            levels = self._levels(self._latents(min(CHUNK_ROWS, num_rows - first), random), rng)
            arrays = [
                codes.get(index, code).draw(levels[:, index], rng) for index, code in enumerate(self.codebook.codes)
            ]
            yield pa.table(arrays, names=[code.column.name for code in self.codebook.codes])

    def _latents(self, count: int, random: torch.Generator) -> Float[Tensor, "b z"]:
        """Latent noise, in proportion to the probability that its columns meet the conditions."""
        if not self.conditions:
            return torch.randn(count, self.generator.latent_dim, generator=random)
        pool = torch.randn(_POOL_ROWS, self.generator.latent_dim, generator=random)
        probabilities = self._probabilities(pool)
        weights = torch.zeros(_POOL_ROWS, dtype=torch.float64)
        for condition in self.conditions:
            block = self.codebook.blocks[condition.column]
            weights += (probabilities[:, block.start : block.stop] @ torch.from_numpy(condition.met)).log()
        chosen = torch.multinomial((weights - weights.max()).exp(), count, replacement=True, generator=random)
        return pool[chosen]

    def _levels(self, latent: Float[Tensor, "b z"], rng: np.random.Generator) -> NDArray[np.int64]:
        """A level of every column for each latent."""
        if not isinstance(self.generator, ColumnwiseGenerator):
            with torch.no_grad():
                return self.codebook.decode(self.generator(latent).double().numpy())
        probabilities = self._probabilities(latent)
        for condition in self.conditions:
            block = self.codebook.blocks[condition.column]
            probabilities[:, block.start : block.stop] *= torch.from_numpy(condition.met)
        drawn = [_draw(probabilities[:, block.start : block.stop].numpy(), rng) for block in self.codebook.blocks]
        return np.stack(drawn, axis=1)

    def _probabilities(self, latent: Float[Tensor, "b z"]) -> Float[Tensor, "b d"]:
        assert isinstance(self.generator, ColumnwiseGenerator)
        with torch.no_grad():
            return self.generator.probabilities(latent).double()


def _draw(weights: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """A level a row in proportion to its weights, by numbers that spread evenly over the rows."""
    cumulative = np.cumsum(weights, axis=1)
    targets = stratified(np.zeros(len(weights), np.int64), rng) * cumulative[:, -1]
    drawn: NDArray[np.int64] = (cumulative <= targets[:, None]).sum(axis=1)
    last: NDArray[np.int64] = weights.shape[1] - 1 - np.argmax(weights[:, ::-1] > 0, axis=1)
    return np.minimum(drawn, last)
