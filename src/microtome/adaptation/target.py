"""The private images as the trainer sees them: noisy slices, and nothing else.

The only module of this package that holds private images, and it holds them through the private half: what comes
back are noisy numbers as numpy arrays, made into constants here.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from microtome.adaptation.alignment import TargetBatch
from microtome.adaptation.network import AdaptationNetwork
from microtome.private.batches import PaidBatches


class PrivateTarget:
    """Batches of private images, each paid for."""

    def __init__(self, batches: PaidBatches) -> None:
        self._batches = batches

    def batch(self, step: int, network: AdaptationNetwork) -> TargetBatch:
        """Noisy slices of the features of the step's sample."""
        noisy = self._batches.batch(step, network.encode)
        law = self._batches.plan.law
        return TargetBatch(
            slices=_constant(noisy.rows).reshape(-1, law.num_slices, law.slice_dim),
            directions=_constant(noisy.directions).reshape(law.dim, law.num_slices, law.slice_dim).transpose(0, 1),
            noise_scale=noisy.noise_scale,
            null_share=noisy.null_share,
        )


def _constant(values: NDArray[np.float64]) -> torch.Tensor:
    return torch.from_numpy(values.astype(np.float32))
