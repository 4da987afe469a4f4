"""Rows from a trained generator: values drawn column by column given the latent, then written in the user's types.

Conditional sampling is exact in the model: given the latent the columns are independent, so a latent is kept in
proportion to the probability that its columns meet the conditions, the conditioned columns are drawn from what
the conditions leave of them, and all others as always. The latents of a mixture are its components, and all of them
are weighed; those of a network come from a pool of 65,536 a piece of rows, so for conditions that hardly any latent
meets, the same latents are used again.

What is drawn is balanced (``balancing``): tables of many rows scatter less than independent draws would. Numbers that
go together do so inside of their bins too (``within_bins``).

Rows are drawn in pieces of a fixed size and handed on in tables of many pieces, so that neither the memory that is used
nor the rows depend on how they are handed on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray

from microtome.errors import ModelError
from microtome.generators import ColumnwiseGenerator, Generator, MixtureGenerator
from microtome.schema import Codebook, ColumnCode
from microtome.synthesis.balancing import BalancedDraws
from microtome.synthesis.conditions import Condition
from microtome.synthesis.pool import Pool, Units, units_of
from microtome.synthesis.within_bins import WithinBins, columns_with_bins

Floats = NDArray[np.float64]
PIECE_ROWS = 16_384
"""Rows that are drawn at once."""
CHUNK_PIECES = 4
"""Pieces that are handed on at once."""
_POOL_ROWS = 65_536
_PILOT_SEED = 0


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

    def tables(self, num_rows: int, *, seed: int | None = None) -> Iterator[pa.Table]:
        """The rows in tables that fit in memory, or others under another seed."""
        pieces = self._pieces(num_rows, self.seed if seed is None else seed)
        while chunk := list(islice(pieces, CHUNK_PIECES)):
            yield pa.concat_tables(chunk)

    def _pieces(self, num_rows: int, seed: int) -> Iterator[pa.Table]:
        rng, random = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
        names = [code.column.name for code in self.codes]
        draws = BalancedDraws(self._units, num_rows)
        for first in range(0, num_rows, PIECE_ROWS):
            drawn = self._units_drawn(draws, min(PIECE_ROWS, num_rows - first), rng, random)
            arrays = [
                code.draw_values(values, rng) if units.are_cells else code.draw(values, rng)
                for code, units, values in zip(self.codes, self._units, drawn, strict=True)
            ]
            yield pa.table(self._within_bins.dealt(arrays, self._levels(drawn), rng), names=names)

    def _units_drawn(
        self, draws: BalancedDraws, count: int, rng: np.random.Generator, random: torch.Generator
    ) -> list[NDArray[np.int64]]:
        """What is drawn of every column, as its units have it."""
        if self._columnwise is None:
            return list(self._decoded(count, random).T)
        return draws(self._pool(self._columnwise, count, random), count, rng)

    def _levels(self, drawn: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
        """The levels of what was drawn."""
        return [
            code.levels[values] if units.are_cells else values
            for code, units, values in zip(self.codes, self._units, drawn, strict=True)
        ]

    @cached_property
    def _within_bins(self) -> WithinBins:
        """What rows of the model say of numbers inside of bins; the same whatever rows are drawn after them."""
        rng, random = np.random.default_rng(_PILOT_SEED), torch.Generator().manual_seed(_PILOT_SEED)
        draws = BalancedDraws(self._units, PIECE_ROWS, columns=columns_with_bins(self.codes))
        return WithinBins(self.codes, self._levels(self._units_drawn(draws, PIECE_ROWS, rng, random)), rng)

    @cached_property
    def codes(self) -> list[ColumnCode]:
        """The columns' codes, cut to what the conditions allow."""
        cut = {condition.column: condition.code for condition in self.conditions}
        return [cut.get(column, code) for column, code in enumerate(self.codebook.codes)]

    @cached_property
    def _units(self) -> list[Units]:
        return units_of(self.codes, by_cell=self._columnwise is not None)

    def _decoded(self, count: int, random: torch.Generator) -> NDArray[np.int64]:
        """Levels of rows from a generator that gives rows and no distributions."""
        latent = torch.randn(count, self.generator.latent_dim, generator=random)
        with torch.no_grad():
            return self.codebook.decode(self.generator(latent).double().numpy())

    def _pool(self, generator: ColumnwiseGenerator, count: int, random: torch.Generator) -> Pool:
        """What to draw a piece of rows from: all components of a mixture, or latents of a network."""
        if self._components is not None:
            return self._components
        size = _POOL_ROWS if self.conditions else count
        with torch.no_grad():
            latents = torch.randn(size, generator.latent_dim, generator=random)
            return self._conditioned(generator.probabilities(latents), np.ones(size))

    @cached_property
    def _components(self) -> Pool | None:
        """All components of a mixture, the same for every piece."""
        match self.generator:
            case MixtureGenerator() as mixture:
                with torch.no_grad():
                    return self._conditioned(mixture.components(), mixture.weights().numpy())
            case _:
                return None

    def _conditioned(self, distributions: torch.Tensor, weights: Floats) -> Pool:
        """Members with weights in proportion to the probability that they meet the conditions, and what these leave."""
        levels = distributions.double().numpy()
        for condition in self.conditions:
            block = self.codebook.blocks[condition.column]
            levels[:, block.start : block.stop] *= condition.met
            weights = weights * levels[:, block.start : block.stop].sum(axis=1)
        levels, weights = levels[weights > 0], weights[weights > 0]
        for block in self.codebook.blocks:
            part = levels[:, block.start : block.stop]
            part /= part.sum(axis=1, keepdims=True)
        return Pool(levels=levels, weights=weights, units=self._units)
