"""Sliced maximum mean discrepancy, with the noise of both sides in closed form.

Per slice and bandwidth, with released cells Q = Σ_l w_l N(z_l, v_l I) and synthetic P = 1/b Σ_j N(x_j, σ²I):

    MMD² = Σ_{ll'} w_l w_l' K̃(z_l, z_l'; v_l + v_l')          released with itself: a constant
         − 2/b Σ_{lj} w_l K̃(z_l, x_j; v_l + σ²)
         + 1/b² Σ_{jj'} K̃(x_j, x_j'; 2σ²)                      both points carry noise

K̃(·,·; a) being the Gaussian kernel averaged over noise of total variance a (`gaussian_kernel`), in the mean
over the bandwidths. As the squared norm of a difference this is never negative. Over batches it exceeds the
squared MMD of the generator by the b terms j = j', of order 1/b; `unbiased` takes the mean over j ≠ j'
instead, which may be negative.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from microtome.divergences.gaussian_kernel import blob_kernel, check_multipliers, squared_distances
from microtome.divergences.landmark_divergence import LandmarkDivergence
from microtome.divergences.landmarks import Landmarks
from microtome.errors import ParameterError


@dataclass(frozen=True, kw_only=True)
class MMDSettings:
    """What the discrepancy is free to choose.

    Attributes:
        bandwidth_multipliers: the bandwidths, in units of each slice's median distance.
        unbiased: leave the pairs j = j' of synthetic rows out.
    """

    bandwidth_multipliers: tuple[float, ...] = (0.5, 1.0, 2.0)
    unbiased: bool = False

    def __post_init__(self) -> None:
        check_multipliers(self.bandwidth_multipliers)


class SlicedMMD(LandmarkDivergence[MMDSettings]):
    """Mean over slices of the squared MMD between smoothed synthetic rows and released ones."""

    defaults = MMDSettings()

    def _precompute(self, landmarks: Landmarks, dtype: torch.dtype) -> None:
        medians = landmarks.median_distances()
        self._spreads = landmarks.spreads.to(dtype)
        self._bandwidths = [(value * medians).to(dtype) for value in self.settings.bandwidth_multipliers]
        self._released = _released_norms(landmarks, self._bandwidths).to(dtype)

    def on_slices(
        self, projected: Float[Tensor, "s b k"], chosen: Int[Tensor, " s"] | None = None
    ) -> Float[Tensor, ""]:
        """The same for rows that are already projected, noiseless, onto the chosen slices (all if None)."""
        every = torch.arange(len(self._points)) if chosen is None else chosen
        b, k = projected.shape[1:]
        cross = squared_distances(self._points[every], projected)
        own = squared_distances(projected, projected)
        carried = (self._spreads[every] + self.noise_scale**2).unsqueeze(-1)
        twice = projected.new_tensor(2.0 * self.noise_scale**2)
        parts = []
        for bandwidths in self._bandwidths:
            width = bandwidths[every]
            mixed = (self._weights[every] * blob_kernel(cross, width, carried, k).mean(-1)).sum(-1)
            parts.append(self._pair_mean(blob_kernel(own, width, twice, k), b) - 2.0 * mixed)
        return (torch.stack(parts).mean(0) + self._released[every]).mean()

    def _pair_mean(self, kernel: Float[Tensor, "s b b"], b: int) -> Float[Tensor, " s"]:
        if not self.settings.unbiased:
            return kernel.mean(dim=(1, 2))
        if b < 2:
            raise ParameterError(f"unbiased=True needs at least 2 rows in a batch, got {b}")
        diagonal = kernel.diagonal(dim1=1, dim2=2).sum(-1)
        return (kernel.sum(dim=(1, 2)) - diagonal) / (b * (b - 1))


def _released_norms(landmarks: Landmarks, bandwidths: list[Tensor]) -> Float[Tensor, " m"]:
    squared = squared_distances(landmarks.points, landmarks.points).clamp_min(0.0)
    spreads = landmarks.spreads[:, :, None] + landmarks.spreads[:, None, :]
    masses = landmarks.weights[:, :, None] * landmarks.weights[:, None, :]
    norms = [
        (masses * blob_kernel(squared, width.double(), spreads, landmarks.slice_dim)).sum(dim=(1, 2))
        for width in bandwidths
    ]
    return torch.stack(norms).mean(dim=0)
