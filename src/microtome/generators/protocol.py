"""What the trainer asks of a generator: any ``torch.nn.Module`` that turns noise into encoded rows will do."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor


@runtime_checkable
class Generator(Protocol):
    """Latent noise in, encoded rows out. The module's own parameters are what is trained."""

    latent_dim: int

    def __call__(self, latent: Float[Tensor, "b z"]) -> Float[Tensor, "b d"]:
        """Encoded rows, one for each row of standard Gaussian noise."""
        ...


@runtime_checkable
class ColumnwiseGenerator(Generator, Protocol):
    """A generator that gives every column a distribution, independent of the others given the latent.

    Called as a ``Generator`` it returns the mean of the encoded row.
    """

    def probabilities(self, latent: Float[Tensor, "b z"]) -> Float[Tensor, "b d"]:
        """The distribution over levels of each column, block by block."""
        ...

    def draw(self, latent: Float[Tensor, "b z"], generator: torch.Generator) -> Float[Tensor, "b d"]:
        """Encoded rows with levels drawn, through which gradients pass straight to the probabilities."""
        ...


@runtime_checkable
class BuiltInGenerator(ColumnwiseGenerator, Protocol):
    """A generator that starts at the profile's margins, and has them in the end."""

    def leave_start(self, generator: torch.Generator) -> None:
        """Break what makes independent columns a place from which nothing can be learnt, if anything does."""
        ...

    def match_margins(self, margins: Float[Tensor, "v d"], generator: torch.Generator) -> None:
        """Shift every level's logit until the margins of each class are these."""
        ...
