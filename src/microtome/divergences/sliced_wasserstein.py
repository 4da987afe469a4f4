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

import torch
from jaxtyping import Float, Int
from torch import Tensor

from microtome.divergences.directions import check_directions, choose_slices, project
from microtome.divergences.gaussian_kernel import check_noise_scale
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
        projected = project(encoded, directions)
        if self.noise_scale > 0.0:
            if generator is None:
                raise ParameterError(f"generator is needed to draw noise of noise_scale={self.noise_scale}")
            noise = torch.randn(projected.shape, generator=generator, dtype=projected.dtype)
            projected = projected + self.noise_scale * noise
        return self.on_slices(projected, chosen)

    def on_slices(self, noisy: Float[Tensor, "s b 1"], chosen: Int[Tensor, " s"] | None = None) -> Float[Tensor, ""]:
        """The same for synthetic points that are already projected and noisy."""
        means, variances = self._interval_moments(noisy.shape[1], chosen)
        ordered = noisy[..., 0].sort(dim=-1).values
        return (ordered - means.to(noisy.dtype)).square().mean() + variances.mean().to(noisy.dtype)

    def _interval_moments(
        self, b: int, chosen: Int[Tensor, " s"] | None
    ) -> tuple[Float[Tensor, "s b"], Float[Tensor, "s b"]]:
        """Mean and variance of the released quantile function over each of b equal level intervals."""
        first, second = (
            _interpolate(table if chosen is None else table[chosen], b).diff(dim=-1) * b
            for table in (self._first, self._second)
        )
        return first, (second - first.square()).clamp_min(0.0)


def _prefix_integrals(rows: Float[Tensor, "m n"], num_levels: int) -> tuple[Float[Tensor, "m g"], Float[Tensor, "m g"]]:
    """∫₀ᵘ Q and ∫₀ᵘ Q² at u = 0, 1/G, …, 1, exact for the empirical quantile function of the rows."""
    ordered = rows.double().sort(dim=-1).values
    tables = []
    for values in (ordered, ordered.square()):
        sums = torch.nn.functional.pad(values.cumsum(dim=-1), (1, 0)) / values.shape[-1]
        tables.append(_interpolate(sums, num_levels))
    return tables[0], tables[1]


def _interpolate(table: Float[Tensor, "s g"], intervals: int) -> Float[Tensor, "s levels"]:
    """A function given at equally spaced levels of [0, 1], read off linearly at `intervals` + 1 of them."""
    last = table.shape[-1] - 1
    position = torch.arange(intervals + 1, dtype=torch.float64) * last / intervals
    left = position.floor().long().clamp_max(max(last - 1, 0))
    return torch.lerp(table[:, left], table[:, left + 1], position - left)
