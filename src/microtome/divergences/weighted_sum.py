"""A weighted sum of divergences: one loss for the trainer, its parts for the log."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from microtome.divergences.protocol import Divergence
from microtome.errors import ParameterError


@dataclass(frozen=True, kw_only=True)
class Term:
    """One divergence and its weight in the sum."""

    divergence: Divergence
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.weight < float("inf"):
            raise ParameterError(f"weight={self.weight} must be finite and not negative")


class WeightedSum:
    """Σ weight · divergence over named terms; itself a divergence.

    Args:
        terms: the terms by the name under which the log shows them. Terms of weight 0 are not computed.
    """

    def __init__(self, terms: Mapping[str, Term]) -> None:
        if not any(term.weight > 0.0 for term in terms.values()):
            raise ParameterError(f"terms={list(terms)} must hold at least one with a positive weight")
        self.terms = dict(terms)

    def __call__(
        self,
        encoded: Float[Tensor, "b d"],
        *,
        generator: torch.Generator | None = None,
        num_slices: int | None = None,
    ) -> Float[Tensor, ""]:
        """Returns the weighted sum; see `Divergence`."""
        return self.total(self.parts(encoded, generator=generator, num_slices=num_slices))

    def parts(
        self,
        encoded: Float[Tensor, "b d"],
        *,
        generator: torch.Generator | None = None,
        num_slices: int | None = None,
    ) -> dict[str, Float[Tensor, ""]]:
        """Returns each divergence before weighting, in the order of the terms, which share the generator."""
        return {
            name: term.divergence(encoded, generator=generator, num_slices=num_slices)
            for name, term in self.terms.items()
            if term.weight > 0.0
        }

    def total(self, parts: Mapping[str, Float[Tensor, ""]]) -> Float[Tensor, ""]:
        """Weighs and adds the parts of one call."""
        return torch.stack([self.terms[name].weight * value for name, value in parts.items()]).sum()
