"""Rows from a trained generator: values drawn column by column given the latent, then written in the user's types.

Conditional sampling is exact in the model: given the latent the columns are independent, so a latent is kept in
proportion to the probability that its columns meet the conditions, the conditioned columns are drawn from what
the conditions leave of them, and all others as always. The latents of a mixture are its components, and all of them
are weighed; those of a network come from a pool of 65,536 a piece of rows, so for conditions that hardly any latent
meets, the same latents are used again.

What is drawn is balanced (``balancing``): tables of many rows scatter less than independent draws would.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from microtome.errors import ModelError
from microtome.generators import ColumnwiseGenerator, Generator, MixtureGenerator
from microtome.schema import Codebook, ColumnCode, stratified
from microtome.synthesis.balancing import BalancedDraws
from microtome.synthesis.conditions import Condition

Floats = NDArray[np.float64]
CHUNK_ROWS = 16_384
_POOL_ROWS = 65_536


@dataclass(frozen=True, kw_only=True, eq=False)
class SyntheticRows:
    """Rows that are drawn from a generator under conditions.

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
        if self.conditions and self._columnwise is None:
            raise ModelError(
                f"{type(self.generator).__name__} gives rows, not distributions: conditions need a generator with "
                "probabilities() and draw(), such as the built-in one"
            )

    @property
    def _columnwise(self) -> ColumnwiseGenerator | None:
        """The generator, if it gives distributions and not only rows."""
        return self.generator if isinstance(self.generator, ColumnwiseGenerator) else None

    def tables(self, num_rows: int) -> Iterator[pa.Table]:
        """The rows in pieces that fit in memory."""
        random = torch.Generator().manual_seed(self.seed)
        rng = np.random.default_rng(self.seed)
        codes = self.codes
        draws = BalancedDraws(codes, num_rows)
        for first in range(0, num_rows, CHUNK_ROWS):
            count = min(CHUNK_ROWS, num_rows - first)
            if self._columnwise is not None:
                drawn = draws(self._distributions(self._columnwise, count, random, rng), rng)
                arrays = [
                    code.draw_values(values, rng) if draws.is_cells(column) else code.draw(values, rng)
                    for column, (code, values) in enumerate(zip(codes, drawn, strict=True))
                ]
            else:
                levels = self._decoded(count, random)
                arrays = [code.draw(levels[:, column], rng) for column, code in enumerate(codes)]
            yield pa.table(arrays, names=[code.column.name for code in codes])

    @property
    def codes(self) -> list[ColumnCode]:
        """The columns' codes, cut to what the conditions allow."""
        cut = {condition.column: condition.code for condition in self.conditions}
        return [cut.get(column, code) for column, code in enumerate(self.codebook.codes)]

    def _decoded(self, count: int, random: torch.Generator) -> NDArray[np.int64]:
        """Levels of rows from a generator that gives rows and no distributions."""
        latent = torch.randn(count, self.generator.latent_dim, generator=random)
        with torch.no_grad():
            return self.codebook.decode(self.generator(latent).double().numpy())

    def _distributions(
        self, generator: ColumnwiseGenerator, count: int, random: torch.Generator, rng: np.random.Generator
    ) -> Floats:
        """The distribution over levels of each column for every row to be drawn, the conditions observed."""
        with torch.no_grad():
            match generator:
                case MixtureGenerator():
                    return self._chosen(generator.components(), generator.weights().numpy(), count, rng)
            if not self.conditions:
                return self._normal(generator.probabilities(torch.randn(count, generator.latent_dim, generator=random)))
            pool = torch.randn(_POOL_ROWS, generator.latent_dim, generator=random)
            return self._chosen(generator.probabilities(pool), np.ones(_POOL_ROWS), count, rng)

    def _chosen(self, distributions: torch.Tensor, weights: Floats, count: int, rng: np.random.Generator) -> Floats:
        """Rows of distributions in proportion to their weights and to the probability that they meet the conditions."""
        found = distributions.double().numpy()
        for condition in self.conditions:
            block = self.codebook.blocks[condition.column]
            found[:, block.start : block.stop] *= condition.met
            weights = weights * found[:, block.start : block.stop].sum(axis=1)
        cumulative = np.cumsum(weights)
        targets = stratified(np.zeros(count, np.int64), rng) * cumulative[-1]
        chosen = np.minimum(np.searchsorted(cumulative, targets, side="right"), np.flatnonzero(weights)[-1])
        return self._normal(torch.from_numpy(found[chosen]))

    def _normal(self, distributions: torch.Tensor) -> Floats:
        """The same with every column's distribution adding up to one."""
        rows: Floats = distributions.double().numpy()
        for block in self.codebook.blocks:
            part = rows[:, block.start : block.stop]
            part /= part.sum(axis=1, keepdims=True)
        return rows
