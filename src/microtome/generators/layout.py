"""How an encoded row is made of columns: blocks of levels, each shifted and stretched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from microtome.errors import ModelError
from microtome.schema import Codebook


@dataclass(frozen=True, kw_only=True, eq=False)
class RowLayout:
    """The public code of a row, ``encoded = scale · (one-hot − offset)``, column by column.

    Attributes:
        blocks: (start, stop) of every column.
        scale: The stretch of each coordinate; zero where a column has one level only.
        offset: The shift of each coordinate.
    """

    blocks: tuple[tuple[int, int], ...]
    scale: Float[Tensor, " d"]
    offset: Float[Tensor, " d"]

    def __post_init__(self) -> None:
        if not len(self.scale) == len(self.offset) == self.dim:
            raise ModelError(f"scale and offset have {len(self.scale)} and {len(self.offset)} entries, not {self.dim}")

    @classmethod
    def of(cls, codebook: Codebook) -> Self:
        """The code of a release's or a model's rows, for torch."""
        return cls(
            blocks=tuple((block.start, block.stop) for block in codebook.blocks),
            scale=torch.tensor(codebook.scale, dtype=torch.float32),
            offset=torch.tensor(codebook.offset, dtype=torch.float32),
        )

    @property
    def dim(self) -> int:
        """Length of a row."""
        return self.blocks[-1][1]

    def encode(self, one_hot: Float[Tensor, "b d"]) -> Float[Tensor, "b d"]:
        """One-hot rows, or distributions over levels, as vectors in the unit ball."""
        return (one_hot - self.offset) * self.scale

    def softmax(self, logits: Float[Tensor, "b d"]) -> Float[Tensor, "b d"]:
        """A distribution over the levels of every column."""
        # The gradient of a split is one copy; that of as many slices would be as many matrices of zeros.
        parts = torch.split(logits, [stop - start for start, stop in self.blocks], dim=1)
        return torch.cat([part.softmax(dim=1) for part in parts], dim=1)

    def draw_levels(self, probabilities: Float[Tensor, "b d"], generator: torch.Generator) -> Int[Tensor, "b C"]:
        """A level of every column: the first at which the running sum of its distribution passes a random number.

        All columns by one search; a call of `torch.multinomial` a column takes several times as long.
        """
        blocks = torch.tensor(self.blocks)
        firsts, lasts = blocks[:, 0], blocks[:, 1] - 1
        sums = probabilities.double().cumsum(dim=1)
        ends = sums[:, lasts]
        starts = F.pad(ends[:, :-1], (1, 0))
        shares = torch.rand(ends.shape, generator=generator, dtype=sums.dtype)
        drawn = torch.searchsorted(sums, torch.lerp(starts, ends, shares), right=True)
        return drawn.minimum(lasts) - firsts

    def draw_encoded(self, probabilities: Float[Tensor, "b d"], generator: torch.Generator) -> Float[Tensor, "b d"]:
        """Encoded rows with levels drawn, through which gradients pass straight to the probabilities."""
        levels = self.draw_levels(probabilities.detach(), generator)
        return self.encode(self.one_hot(levels) + probabilities - probabilities.detach())

    def one_hot(self, levels: Int[Tensor, "b C"]) -> Float[Tensor, "b d"]:
        """One-hot rows of the given levels."""
        starts = torch.tensor([start for start, _ in self.blocks])
        rows = torch.zeros(len(levels), self.dim)
        return rows.scatter_(1, levels + starts, 1.0)
