"""The divergences between slices that training offers, of tables and of images, by name."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Protocol, assert_never

import torch
from jaxtyping import Float
from torch import Tensor

from microtome.divergences import (
    Divergence,
    FDivergence,
    KernelFDivergence,
    KernelSettings,
    MiniBatchKernelFDivergence,
    SlicedMMD,
    SlicedWasserstein,
)
from microtome.errors import ParameterError


class SlicedKind(StrEnum):
    """A divergence between slices."""

    KERNEL = "kernel"
    ALGORITHM1 = "algorithm1"
    WASSERSTEIN = "wasserstein"
    MMD = "mmd"


class SlicedDivergence(Divergence, Protocol):
    """A divergence that may draw what serves several calls."""

    def forget(self) -> None:
        """Drop what was drawn for later calls."""
        ...


def sliced_divergence(
    kind: SlicedKind,
    slices: Float[Tensor, "n m k"] | Iterable[Float[Tensor, "c m k"]],
    directions: Float[Tensor, "m d k"],
    noise_scale: float,
    generator: torch.Generator,
    *,
    batch_rows: int,
    batch_uses: int = 1,
    f: FDivergence = FDivergence.KL,
) -> SlicedDivergence:
    """The divergence of a kind from released slices, whole or in chunks; ``generator`` draws landmarks."""
    match kind:
        case SlicedKind.KERNEL:
            return KernelFDivergence.from_slices(
                slices, directions, noise_scale=noise_scale, generator=generator, settings=KernelSettings(f=f)
            )
        case SlicedKind.ALGORITHM1:
            rows = slices if isinstance(slices, Tensor) else torch.cat(list(slices))
            settings = KernelSettings(f=f)
            return MiniBatchKernelFDivergence(
                rows, directions, noise_scale=noise_scale, settings=settings, batch_rows=batch_rows, uses=batch_uses
            )
        case SlicedKind.WASSERSTEIN if directions.shape[2] != 1:
            raise ParameterError(f"loss wasserstein needs one-dimensional slices, not {directions.shape[2]}")
        case SlicedKind.WASSERSTEIN:
            return SlicedWasserstein(slices, directions, noise_scale=noise_scale)
        case SlicedKind.MMD:
            return SlicedMMD.from_slices(slices, directions, noise_scale=noise_scale, generator=generator)
        case _:
            assert_never(kind)
