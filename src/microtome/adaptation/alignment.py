"""How far source features are from the noisy slices of private ones: the smoothed-sliced divergence of a step.

    wasserstein   d · W₂² of one-dimensional slices: a shift of all rows by v counts as ‖v‖², whatever the dimension d
    kernel        the kernel f-divergence (KL) of the slices, Eqs. (5) and (6) of the paper

Both losses compare the source's rows, smoothed by the same noise, with released numbers that are constants here. The
private batch is padded with null rows, so as many null rows join the source's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, assert_never

import torch
from jaxtyping import Float
from torch import Tensor

from microtome.adaptation.network import AdaptationNetwork
from microtome.adaptation.settings import Alignment
from microtome.divergences import KernelFDivergence, Landmarks, SlicedWasserstein, summarise

_LANDMARKS = 32


@dataclass(frozen=True, kw_only=True, eq=False)
class TargetBatch:
    """Slices of one batch of target rows.

    Attributes:
        slices: Their (noisy) projections.
        directions: What they are projected on.
        noise_scale: σ of the noise in them; 0 where nothing is private.
        null_share: Expected share of null rows among them.
    """

    slices: Float[Tensor, "n m k"]
    directions: Float[Tensor, "m d k"]
    noise_scale: float
    null_share: float


class TargetSide(Protocol):
    """Whatever gives batches of the target domain."""

    def batch(self, step: int, network: AdaptationNetwork) -> TargetBatch:
        """Slices of the features that the network has for the target batch of a step."""
        ...


def align(
    rows: Float[Tensor, "b d"], target: TargetBatch, alignment: Alignment, generator: torch.Generator
) -> Float[Tensor, ""]:
    """The divergence of source rows from a target batch, differentiable in the source rows."""
    nulls = round(len(rows) * target.null_share / (1.0 - target.null_share))
    padded = torch.cat([rows, rows.new_zeros(nulls, rows.shape[1])])
    match alignment:
        case Alignment.WASSERSTEIN:
            distance = SlicedWasserstein(
                target.slices, target.directions, noise_scale=target.noise_scale, num_levels=len(padded)
            )
            return rows.shape[1] * distance(padded, generator=generator)
        case Alignment.KERNEL:
            cells = _cells(target.slices, generator)
            return KernelFDivergence(cells, target.directions, noise_scale=target.noise_scale)(padded)
        case _:
            assert_never(alignment)


def _cells(slices: Float[Tensor, "n m k"], generator: torch.Generator) -> Landmarks:
    """Cells that stand for a batch. Numbers need no search for good ones: those of one size, in order, will do."""
    num_rows, num_slices, slice_dim = slices.shape
    if slice_dim > 1 or num_rows <= _LANDMARKS:
        return summarise(slices, _LANDMARKS, generator=generator)
    parts = slices[..., 0].T.double().sort(dim=1).values.tensor_split(_LANDMARKS, dim=1)
    return Landmarks(
        points=torch.stack([part.mean(dim=1) for part in parts], dim=1).unsqueeze(-1),
        weights=torch.tensor([part.shape[1] / num_rows for part in parts]).double().expand(num_slices, -1),
        spreads=torch.stack([part.var(dim=1, correction=0) for part in parts], dim=1),
        num_rows=num_rows,
    )
