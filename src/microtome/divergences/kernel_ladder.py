"""Gaussian kernels of several bandwidths by one exponential, where bandwidths differ by powers of √2.

exp(2c·s) = exp(c·s)²: with precisions c·2^j all kernels are squares of squares of the widest one.
"""

import math
from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from microtome.divergences.gaussian_kernel import kernel_means, pulled, squared_distances


class KernelLadder:
    """The kernels of an ensemble of bandwidths.

    Args:
        multipliers: the bandwidths, in units that slices have of their own.
    """

    def __init__(self, multipliers: tuple[float, ...]) -> None:
        ratios = [(max(multipliers) / value) ** 2 for value in multipliers]
        doublings = tuple(round(math.log2(ratio)) for ratio in ratios)
        is_ladder = len(set(doublings)) == len(ratios) and ratios == [2.0**doubling for doubling in doublings]
        self._ratios, self._doublings = tuple(ratios), doublings if is_ladder else None

    def grams(self, squared: Float[Tensor, "s p q"], widest: Float[Tensor, " s"]) -> tuple[Float[Tensor, "s p q"], ...]:
        """exp(c·squared) for every bandwidth, `widest` being c of the widest one."""
        if self._doublings is None:
            return tuple((squared * (ratio * widest)[:, None, None]).exp_() for ratio in self._ratios)
        kernel = (squared * widest[:, None, None]).exp_()
        powers = {doubling: power.clone() for doubling, power in _rungs(kernel, self._doublings)}
        return tuple(powers[doubling] for doubling in self._doublings)

    def means(
        self, x: Float[Tensor, "s b k"], points: Float[Tensor, "s l k"], widest: Float[Tensor, " s"]
    ) -> Float[Tensor, "s B l"]:
        """`kernel_means` of every bandwidth at every point, differentiable in x and points."""
        if self._doublings is None:
            precisions = widest[:, None] * widest.new_tensor(self._ratios)
            return kernel_means(x, points, precisions[:, :, None].expand(-1, -1, points.shape[1]))
        means: Tensor = _LadderMeans.apply(x, points, widest, self._doublings)  # type: ignore[no-untyped-call]
        return means


class _LadderMeans(torch.autograd.Function):
    """Keeps the widest kernel alone: the others are made again when the gradient is asked for, for less than memory."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Float[Tensor, "s b k"],
        points: Float[Tensor, "s l k"],
        widest: Float[Tensor, " s"],
        doublings: tuple[int, ...],
    ) -> Float[Tensor, "s B l"]:
        kernel = squared_distances(points, x).mul_(widest[:, None, None]).exp_()
        ctx.save_for_backward(x, points, widest, kernel)
        ctx.doublings = doublings
        means = {doubling: power.mean(dim=-1) for doubling, power in _rungs(kernel, doublings)}
        return torch.stack([means[doubling] for doubling in doublings], dim=1)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(
        ctx: Any, upstream: Float[Tensor, "s B l"]
    ) -> tuple[Float[Tensor, "s b k"], Float[Tensor, "s l k"] | None, None, None]:
        x, points, widest, kernel = ctx.saved_tensors
        factors = upstream * (widest[:, None, None] * (2.0 / x.shape[1]))
        pull = torch.zeros_like(kernel)
        for doubling, power in _rungs(kernel, ctx.doublings):
            weight = 2.0**doubling * factors[:, ctx.doublings.index(doubling), :, None]
            pull.addcmul_(weight, power)
        of_points = pulled(pull.transpose(1, 2), points, x) if ctx.needs_input_grad[1] else None
        return pulled(pull, x, points), of_points, None, None


def _rungs(kernel: Float[Tensor, "s l b"], doublings: tuple[int, ...]) -> Iterator[tuple[int, Float[Tensor, "s l b"]]]:
    """The powers of a kernel one after the other, in one place: each is gone when the next is asked for."""
    power = kernel
    for doubling in range(max(doublings) + 1):
        if doubling:
            power = power.square() if power is kernel else power.square_()
        if doubling in doublings:
            yield doubling, power
