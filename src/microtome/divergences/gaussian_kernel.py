"""The Gaussian kernel between points and between Gaussian blobs, in closed form.

For K(x, y) = exp(−‖x − y‖²/(2s²)) in k dimensions and independent x ~ N(x̄, aI), y ~ N(ȳ, bI):

    E K(x, y) = (s²/(s² + a + b))^{k/2} · exp(−‖x̄ − ȳ‖²/(2(s² + a + b)))

so the noise of a slice never needs drawing on the synthetic side, and a cluster of released points can
stand for itself by its mean and spread.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from microtome.divergences.f_functions import ConvexFunction, FDivergence
from microtome.errors import ParameterError


@dataclass(frozen=True, kw_only=True)
class KernelSettings:
    """What the kernel estimators of Eqs. (5) and (6) are free to choose.

    Attributes:
        f: the convex function of the divergence.
        bandwidth_multipliers: the ensemble of σ_g, in units of each slice's median distance.
        ridge: λ, the ridge per unit of released mass. Eq. (5)'s τ on b released points is τ = λ·b: with
            that scaling the estimator has a limit as b grows, and does not depend on how many points
            stand for the released side.
    """

    f: ConvexFunction = FDivergence.KL
    bandwidth_multipliers: tuple[float, ...] = (0.5, 1.0, 2.0)
    ridge: float = 1e-3

    def __post_init__(self) -> None:
        check_multipliers(self.bandwidth_multipliers)
        if not 1e-12 <= self.ridge < float("inf"):
            raise ParameterError(f"ridge={self.ridge} must be finite and at least 1e-12")


def check_multipliers(multipliers: tuple[float, ...]) -> None:
    """Raises unless there is at least one bandwidth multiplier and all are positive and finite."""
    if not multipliers or not all(0.0 < value < float("inf") for value in multipliers):
        raise ParameterError(f"bandwidth_multipliers={multipliers} must be positive numbers, at least one")


def check_noise_scale(noise_scale: float) -> None:
    """Raises unless the noise scale of the release is a finite number, zero or more."""
    if not 0.0 <= noise_scale < float("inf"):
        raise ParameterError(f"noise_scale={noise_scale} must be finite and not negative")


def squared_distances(x: Float[Tensor, "s p k"], y: Float[Tensor, "s q k"]) -> Float[Tensor, "s p q"]:
    """‖x_i − y_j‖² in each slice by one batched product; may be negative by a rounding error."""
    left = torch.cat([x, x.square().sum(-1, keepdim=True), torch.ones_like(x[..., :1])], dim=-1)
    right = torch.cat([-2.0 * y, torch.ones_like(y[..., :1]), y.square().sum(-1, keepdim=True)], dim=-1)
    return torch.bmm(left, right.transpose(-1, -2))


def blob_kernel(
    squared: Float[Tensor, "s p q"],
    bandwidth: Float[Tensor, " s"],
    variance: Float[Tensor, "s p q"] | Float[Tensor, "s p 1"] | Float[Tensor, ""],
    slice_dim: int,
) -> Float[Tensor, "s p q"]:
    """E K between blobs at these squared distances, their variances per coordinate totalling `variance`."""
    s2 = bandwidth.square()[:, None, None]
    total = s2 + variance
    return (s2 / total) ** (slice_dim / 2) * torch.exp(squared * (-0.5 / total))


def kernel_means(
    x: Float[Tensor, "s b k"], points: Float[Tensor, "s l k"], precisions: Float[Tensor, "s B l"]
) -> Float[Tensor, "s B l"]:
    """1/b Σ_j exp(c_{βl}‖z_l − x_j‖²) for every bandwidth β and point l."""
    means: Tensor = _KernelMeans.apply(x, points, precisions)  # type: ignore[no-untyped-call]
    return means


class _KernelMeans(torch.autograd.Function):
    """Written out because autograd would pass over the s·B·l·b numbers four times more.

    Here the gradients are sums over the kernel matrix that the forward pass leaves behind.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Float[Tensor, "s b k"],
        points: Float[Tensor, "s l k"],
        precisions: Float[Tensor, "s B l"],
    ) -> Float[Tensor, "s B l"]:
        squared = squared_distances(points, x)
        kernel = (squared.unsqueeze(1) * precisions.unsqueeze(-1)).exp_()
        ctx.save_for_backward(x, points, precisions, kernel)
        return kernel.mean(dim=-1)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(
        ctx: Any, upstream: Float[Tensor, "s B l"]
    ) -> tuple[Float[Tensor, "s b k"], Float[Tensor, "s l k"] | None, Float[Tensor, "s B l"] | None]:
        x, points, precisions, kernel = ctx.saved_tensors
        factors = (upstream * precisions * (2.0 / x.shape[1])).unsqueeze(-1)
        pull = factors[:, 0] * kernel[:, 0]
        for which in range(1, kernel.shape[1]):
            pull.addcmul_(factors[:, which], kernel[:, which])
        of_points = pulled(pull.transpose(1, 2), points, x) if ctx.needs_input_grad[1] else None
        of_precisions = None
        if ctx.needs_input_grad[2]:
            of_precisions = upstream * (kernel * squared_distances(points, x).unsqueeze(1)).mean(dim=-1)
        return pulled(pull, x, points), of_points, of_precisions


def pulled(
    pull: Float[Tensor, "s l b"], x: Float[Tensor, "s b k"], points: Float[Tensor, "s l k"]
) -> Float[Tensor, "s b k"]:
    """Σ_l pull_{lj}(x_j − z_l) for every x_j."""
    ends = torch.cat([torch.ones_like(points[..., :1]), points], dim=-1)
    # The narrow side first: the other way round the product takes many times as long.
    sums = torch.bmm(ends.transpose(1, 2).contiguous(), pull).transpose(1, 2)
    return x * sums[..., :1] - sums[..., 1:]
