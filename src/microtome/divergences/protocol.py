"""What a trainer may ask of a divergence: one number for a batch of encoded rows, with a gradient."""

from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor


@runtime_checkable
class Divergence(Protocol):
    """How far a batch of synthetic rows is from what was released."""

    def __call__(
        self,
        encoded: Float[Tensor, "b d"],
        *,
        generator: torch.Generator | None = None,
        num_slices: int | None = None,
    ) -> Float[Tensor, ""]:
        """Returns a differentiable scalar, small where the batch fits the release.

        Args:
            encoded: synthetic rows in the space that was sliced.
            generator: source of every random choice of this call; the same state gives the same value.
            num_slices: how many slices to draw for this call; all of them if None. Divergences that do
                not slice ignore it.
        """
        ...
