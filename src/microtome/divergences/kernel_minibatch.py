"""The paper's estimator as Algorithm 1 uses it, all slices and bandwidths at once: the reference's numbers, sooner.

A call takes a batch of released rows and draws the noise of the synthetic ones. What hangs on the released rows alone
(their bandwidths, and the Gram matrices of Eq. (6), with their Cholesky factors) needs no gradient: only the kernel
sums of Eq. (5) are differentiated. Most of the time is the released side's, so a batch may serve several steps
(`uses`), each with rows and noise of its own; with `uses=1` every step draws its own batch, as printed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from scipy.linalg import lapack
from torch import Tensor

from microtome.divergences.algorithm1 import ReferenceKernelFDivergence
from microtome.divergences.batch_pool import BatchPool
from microtome.divergences.gaussian_kernel import KernelSettings, squared_distances
from microtome.divergences.kernel_ladder import KernelLadder
from microtome.divergences.slice_frames import add_noise, choose_slices, project
from microtome.errors import ParameterError

KEPT_BATCHES = 8


class MiniBatchKernelFDivergence(ReferenceKernelFDivergence):
    """Eqs. (5) and (6) on mini-batches, batched over slices and bandwidths.

    Args:
        slices: as for the reference; they must not require a gradient, which the factors do not pass on.
        directions: as for the reference.
        noise_scale: as for the reference.
        settings: as for the reference.
        batch_rows: as for the reference.
        uses: for how many calls a batch of released rows serves on average, with its slices where a call draws some.
    """

    def __init__(
        self,
        slices: Float[Tensor, "n m k"],
        directions: Float[Tensor, "m d k"],
        *,
        noise_scale: float,
        settings: KernelSettings,
        batch_rows: int | None = None,
        uses: int = 1,
    ) -> None:
        super().__init__(slices, directions, noise_scale=noise_scale, settings=settings, batch_rows=batch_rows)
        if slices.requires_grad:
            raise ParameterError(
                "slices require a gradient, which this estimator does not pass on; detach them, or take "
                "ReferenceKernelFDivergence"
            )
        self._pool: BatchPool[_ReleasedBatch] = BatchPool(uses=uses, size=1 if uses == 1 else KEPT_BATCHES)
        self._num_slices: int | None = None

    def __call__(
        self,
        encoded: Float[Tensor, "b d"],
        *,
        generator: torch.Generator | None = None,
        num_slices: int | None = None,
    ) -> Float[Tensor, ""]:
        """Returns L of Eq. (5) for a batch of synthetic rows; see `Divergence`."""
        if num_slices != self._num_slices:
            self.forget()
            self._num_slices = num_slices
        batch = self._pool.next(lambda: self._draw_batch(generator, num_slices), generator)
        synthetic = add_noise(project(encoded, batch.directions), self.noise_scale, generator)
        return self.settings.f(batch.density_ratios(synthetic).clamp_min(0.0)).mean()

    def forget(self) -> None:
        """Draw new batches of released rows from now on."""
        self._pool.forget()

    def _draw_batch(self, generator: torch.Generator | None, num_slices: int | None) -> "_ReleasedBatch":
        chosen = choose_slices(len(self.directions), num_slices, generator)
        released, directions = self._draw_rows(generator).transpose(0, 1), self.directions
        if chosen is not None:
            released, directions = released[chosen], directions[chosen]
        return _ReleasedBatch.of(released.contiguous(), directions, self.settings)


@dataclass(frozen=True, kw_only=True, eq=False)
class _ReleasedBatch:
    """Released points of some slices, and all that follows from them.

    Attributes:
        points: o_{i,s}.
        directions: θ_s.
        ladder: the kernels of all bandwidths.
        widest: −1/(2σ_g²) of the widest bandwidth of every slice.
        factors: for each bandwidth the lower triangles L with LLᵀ = K_s + τI; what is above them means nothing.
    """

    points: Float[Tensor, "s b k"]
    directions: Float[Tensor, "s d k"]
    ladder: KernelLadder
    widest: Float[Tensor, " s"]
    factors: tuple[Float[Tensor, "s b b"], ...]

    @classmethod
    def of(
        cls, points: Float[Tensor, "s b k"], directions: Float[Tensor, "s d k"], settings: KernelSettings
    ) -> "_ReleasedBatch":
        """Bandwidths, Gram matrices and their factors."""
        b = points.shape[1]
        squared = squared_distances(points, points).clamp_min(0.0)
        squared.diagonal(dim1=-2, dim2=-1).zero_()
        ladder = KernelLadder(settings.bandwidth_multipliers)
        widest = -0.5 / (max(settings.bandwidth_multipliers) ** 2 * _median_squares(squared))
        grams = ladder.grams(squared, widest)
        for gram in grams:
            gram.diagonal(dim1=-2, dim2=-1).add_(settings.ridge * b)
            _factor(gram, settings.ridge)
        return cls(points=points, directions=directions, ladder=ladder, widest=widest, factors=grams)

    def density_ratios(self, synthetic: Float[Tensor, "s c k"]) -> Float[Tensor, "s b"]:
        """Estimates dP/dQ at the released points of every slice, before clipping, averaged over the bandwidths."""
        means = self.ladder.means(synthetic, self.points, self.widest)
        sums = (means * self.points.shape[1]).unsqueeze(-1).unbind(1)
        ratios = [_Solve.apply(factor, right) for factor, right in zip(self.factors, sums, strict=True)]  # type: ignore[no-untyped-call]
        return torch.stack(ratios).mean(dim=0).squeeze(-1)


def _median_squares(squared: Float[Tensor, "s b b"]) -> Float[Tensor, " s"]:
    """The median over pairs of different points: every pair stands twice in the matrix, beside b zeros."""
    b = squared.shape[1]
    middle = b + 2 * ((b * (b - 1) // 2 - 1) // 2)
    return torch.from_numpy(np.partition(squared.flatten(1).numpy(), middle, axis=-1)[:, middle])


def _factor(grams: Float[Tensor, "s b b"], ridge: float) -> None:
    """Cholesky factors in place; read by columns, as LAPACK reads them, their upper triangles are our lower ones."""
    potrf = lapack.spotrf if grams.dtype == torch.float32 else lapack.dpotrf
    for gram in grams.numpy():
        _, info = potrf(gram.T, lower=0, overwrite_a=1, clean=0)
        if info:
            raise ParameterError(f"ridge={ridge} is too small for Gram matrices in {grams.dtype}; take a larger one")


class _Solve(torch.autograd.Function):
    """(LLᵀ)⁻¹ times a vector of every slice. The matrix is symmetric, so the gradient is solved for in the same way.

    Left to autograd, the factors would be copied for the gradient in every step.
    """

    @staticmethod
    def forward(ctx: Any, factors: Float[Tensor, "s b b"], right: Float[Tensor, "s b 1"]) -> Float[Tensor, "s b 1"]:
        ctx.save_for_backward(factors)
        return _solved(factors, right)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, upstream: Float[Tensor, "s b 1"]) -> tuple[None, Float[Tensor, "s b 1"]]:
        (factors,) = ctx.saved_tensors
        return None, _solved(factors, upstream)


def _solved(factors: Float[Tensor, "s b b"], right: Float[Tensor, "s b 1"]) -> Float[Tensor, "s b 1"]:
    halfway = torch.linalg.solve_triangular(factors, right, upper=False)
    solved: Tensor = torch.linalg.solve_triangular(factors.mT, halfway, upper=True)
    return solved
