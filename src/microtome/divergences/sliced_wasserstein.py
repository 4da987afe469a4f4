"""Sliced Wasserstein distance on one-dimensional slices: the paper's SliceWass baseline on our release.

In one dimension W₂² = ∫₀¹ (F⁻¹(u) − G⁻¹(u))² du: sort and compare. The synthetic quantile function of b
points is constant, x_(j), on each level interval of length 1/b, so against a released quantile function Q

    W₂² = 1/b Σ_j [ (x_(j) − q̄_j)² + var_j ],

with q̄_j and var_j the mean and variance of Q over the j-th interval. Both come from prefix integrals of Q
and Q² over all n released rows, kept at `num_levels` levels, so a call does not grow with n. Noise is drawn
for the synthetic rows in every call, as Rakotomamonjy and Ralaivola (2021) do.

The distance of two finite samples of one distribution is not zero but of order 1/b.
"""

from collections.abc import Iterable

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from microtome.divergences.gaussian_kernel import check_noise_scale
from microtome.divergences.slice_frames import add_noise, check_directions, choose_slices, project
from microtome.errors import ParameterError


class SlicedWasserstein:
    """Mean over slices of W₂² between noisy synthetic rows and the released ones (k = 1).

    Args:
        slices: the released points, whole or in chunks of rows; all rows are held while sorting.
        directions: the released directions.
        noise_scale: σ of the release, drawn for synthetic rows.
        num_levels: how finely the released quantile function is kept. Batches of a size that divides it
            get the exact W₂²; others an error of order 1/num_levels.
        dtype: precision of a call.
    """

    def __init__(
        self,
        slices: Float[Tensor, "n m 1"] | Iterable[Float[Tensor, "c m 1"]],
        directions: Float[Tensor, "m d 1"],
        *,
        noise_scale: float,
        num_levels: int = 2048,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        check_noise_scale(noise_scale)
        if num_levels < 1:
            raise ParameterError(f"num_levels={num_levels} must be at least 1")
        rows = slices if isinstance(slices, Tensor) else torch.cat(list(slices))
        if rows.ndim != 3 or rows.shape[2] != 1 or len(rows) == 0:
            raise ParameterError(f"slices has shape {tuple(rows.shape)}, expected (rows, slices, 1)")
        check_directions(directions, num_slices=rows.shape[1], slice_dim=1)
        self.directions, self.noise_scale = directions.to(dtype), noise_scale
        self._first, self._second = _prefix_integrals(rows[..., 0].T, num_levels)
        self._kept: tuple[Float[Tensor, "m b"], Float[Tensor, " m"]] | None = None

    def __call__(
        self,
        encoded: Float[Tensor, "b d"],
        *,
        generator: torch.Generator | None = None,
        num_slices: int | None = None,
    ) -> Float[Tensor, ""]:
        """Returns the distance of a batch of synthetic rows; needs a generator for the noise."""
        chosen = choose_slices(len(self.directions), num_slices, generator)
        directions = self.directions if chosen is None else self.directions[chosen]
        return self.on_slices(add_noise(project(encoded, directions), self.noise_scale, generator), chosen)

    def forget(self) -> None:
        """Nothing is drawn for more than one call."""

    def on_slices(self, noisy: Float[Tensor, "s b 1"], chosen: Int[Tensor, " s"] | None = None) -> Float[Tensor, ""]:
        """The same for synthetic points that are already projected and noisy."""
        points = noisy[..., 0]
        means, variances = self._of_intervals(points.shape[1])
        if chosen is not None:
            means, variances = means[chosen], variances[chosen]
        partners = torch.empty_like(points).scatter_(-1, _order(points), means.to(points.dtype))
        return (points - partners).square().mean() + variances.mean().to(points.dtype)

    def _of_intervals(self, b: int) -> tuple[Float[Tensor, "m b"], Float[Tensor, " m"]]:
        """Of the released quantile function over b equal level intervals: its means, and its mean variance.

        Kept for the next call, which most often has as many rows.
        """
        if self._kept is None or self._kept[0].shape[1] != b:
            first, second = (_interpolate(table, b).diff(dim=-1) * b for table in (self._first, self._second))
            self._kept = first, (second - first.square()).clamp_min(0.0).mean(dim=-1)
        return self._kept


def _prefix_integrals(rows: Float[Tensor, "m n"], num_levels: int) -> tuple[Float[Tensor, "m g"], Float[Tensor, "m g"]]:
    """∫₀ᵘ Q and ∫₀ᵘ Q² at u = 0, 1/G, …, 1, exact for the empirical quantile function of the rows."""
    ordered = rows.double().sort(dim=-1).values
    tables = []
    for values in (ordered, ordered.square()):
        sums = torch.nn.functional.pad(values.cumsum(dim=-1), (1, 0)) / values.shape[-1]
        tables.append(_interpolate(sums, num_levels))
    return tables[0], tables[1]


def _order(points: Float[Tensor, "s b"]) -> Int[Tensor, "s b"]:
    """Where the points stand in order, slice by slice: numpy's sort is vectorised, torch's is several times slower."""
    return torch.from_numpy(np.argsort(points.detach().numpy(), axis=-1))


def _interpolate(table: Float[Tensor, "s g"], intervals: int) -> Float[Tensor, "s levels"]:
    """A function given at equally spaced levels of [0, 1], read off linearly at `intervals` + 1 of them."""
    last = table.shape[-1] - 1
    position = torch.arange(intervals + 1, dtype=torch.float64) * last / intervals
    left = position.floor().long().clamp_max(max(last - 1, 0))
    return torch.lerp(table[:, left], table[:, left + 1], position - left)
