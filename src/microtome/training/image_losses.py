"""What an image generator is fitted to: the moments of each class, or its noisy rows slice by slice.

A step looks at one class. Losses see encoded images in units of the release's radius.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from microtome.divergences import Divergence
from microtome.errors import ParameterError
from microtome.published import ImageRelease, ImageRowsRelease
from microtome.training.image_moments import ClassMoments
from microtome.training.image_settings import ImageLossKind
from microtome.training.sliced_divergence import SlicedKind, sliced_divergence

_NOISY_PAIRS = 128
"""Released rows that a step of the paper's Algorithm 1 looks at."""


class ImageLoss(Protocol):
    """The loss of a batch of one class's encoded images."""

    def __call__(self, rows: Float[Tensor, "b d"], number: int, generator: torch.Generator) -> Tensor:
        """A differentiable scalar."""
        ...


class MomentLoss:
    """Squared error of mean and covariance of each class, relative to their size.

    The expected squared error of a batch's own sampling is taken off nowhere: it does not depend on the parameters
    enough to matter at these batch sizes.
    """

    def __init__(self, moments: ClassMoments) -> None:
        self._means = torch.tensor(moments.means, dtype=torch.float32)
        self._covariances = torch.tensor(moments.covariances, dtype=torch.float32)

    def __call__(self, rows: Float[Tensor, "b d"], number: int, generator: torch.Generator) -> Tensor:
        """The loss of a batch."""
        del generator
        mean, covariance = rows.mean(dim=0), torch.cov(rows.T)
        target, spread = self._means[number], self._covariances[number]
        of_mean = (mean - target).square().sum() / spread.trace().clamp_min(1e-6)
        of_spread = (covariance - spread).square().sum() / spread.square().sum().clamp_min(1e-6)
        return of_mean + of_spread


class SlicedLoss:
    """A divergence between a class's noisy rows and synthetic ones under the same noise, null rows included."""

    def __init__(
        self, release: ImageRowsRelease, kind: ImageLossKind, num_slices: int | None, generator: torch.Generator
    ) -> None:
        self._divergences = [_divergence(release, kind, number, generator) for number in range(len(release.counts))]
        sizes = np.array(release.mechanism.class_rows, dtype=np.float64)
        present = np.array([release.present(number) for number in range(len(sizes))])
        self._null_shares = (1.0 - present / sizes).tolist()
        self._num_slices = num_slices

    def __call__(self, rows: Float[Tensor, "b d"], number: int, generator: torch.Generator) -> Tensor:
        """The loss of a batch."""
        rows = rows / rows.norm(dim=1, keepdim=True).clamp_min(1.0)
        present = torch.rand(len(rows), 1, generator=generator) >= self._null_shares[number]
        return self._divergences[number](rows * present, generator=generator, num_slices=self._num_slices)


def image_loss(
    release: ImageRelease, kind: ImageLossKind, moments: ClassMoments | None, num_slices: int | None, seed: int
) -> ImageLoss:
    """The loss of a kind for a release."""
    match kind, release:
        case ImageLossKind.MOMENTS, _:
            assert moments is not None
            return MomentLoss(moments)
        case _, ImageRowsRelease() as rows:
            return SlicedLoss(rows, kind, num_slices, torch.Generator().manual_seed(seed))
        case _:
            raise ParameterError(f"loss {kind} looks at noisy rows; a release of aggregates has moments only")


def _divergence(release: ImageRowsRelease, kind: ImageLossKind, number: int, generator: torch.Generator) -> Divergence:
    rows = torch.tensor(release.slices(number), dtype=torch.float32)
    directions = torch.tensor(np.ascontiguousarray(release.slice_directions()), dtype=torch.float32)
    batch = min(_NOISY_PAIRS, len(rows))
    return sliced_divergence(SlicedKind(kind), rows, directions, release.noise_scale, generator, batch_rows=batch)
