"""Matching first and second moments under the noise they were released with.

Rows are made of blocks, one per column of the table, each a distribution over that column's levels; given the
latent the columns are independent. For a batch P of b such rows the model's moments need no sampling: the
margins are 1/b Σ_j P_j and the two-way table of two columns is the cross block of PᵀP/b. (Blocks on the
diagonal are left out: given the latent a column is one-hot, and its own second moment is its margin.)

With released margins μ and second moments T, both noisy, the target of the cross blocks is the residual
R = T − μμᵀ, what two columns share beyond their margins. It is compared with the second moment *about μ*,

    C = 1/b Σ_j (P_j − μ)(P_j − μ)ᵀ,

which a small shift of the margins changes only in second order: the noise of many pair entries then cannot
pull a wide column's margin away from what the profile already knows. (`centred=False` compares PᵀP/b with
R + μμᵀ instead.) R is denoised block by block by its singular values at the known noise level
(`singular_values`), after the removal of its row and column means, which are pure noise where blocks sum to
one (`simplex`).

    loss = mean_weight · mean_a (P̄_a − μ_a)²/V_a  +  pair_weight · mean_{a,b} ω_ab (C_ab − R_ab)²/V_ab
    V_a  = μ_a/n + s_a² + 1/n²,    V_ab = μ_a μ_b/n + s_ab² + 1/n²

with s the standard deviations of the release's noise, n its rows, ω the weight of the pair of columns, and
1/n² (one record) against division by zero. Both are means over entries, the second one over the entries of
all cross blocks, of squared errors in units of their standard error: 1 is what pure noise leaves, whatever
the number and width of columns.

**Batch bias.** E[(C − R)²] over batches is the wanted square plus Var C, of order 1/b, whose gradient favours
rows that vary little. `half_batches` multiplies the residuals of two independent halves of the batch: its
expectation is exactly the wanted square, at the same cost, but a value may be negative. With b near a
thousand and records noise the bias is far below the noise, so it is off by default.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from microtome.divergences.component_moments import Moments
from microtome.divergences.singular_values import Denoising, denoise
from microtome.divergences.slice_frames import Block, check_blocks
from microtome.errors import ParameterError

Array = Tensor | np.ndarray


@dataclass(frozen=True, kw_only=True)
class MomentSettings:
    """What moment matching is free to choose; see the module's text.

    Attributes:
        denoising: the singular-value rule for cross-column residual blocks.
        simplex: blocks of a row sum to one, so residual blocks have zero row and column sums.
        centred: compare second moments about the released margins.
        half_batches: unbiased products of the residuals of two halves of a batch.
        mean_weight: weight of the first moments.
        pair_weight: weight of the second moments.
    """

    denoising: Denoising = Denoising.OPTIMAL
    simplex: bool = True
    centred: bool = True
    half_batches: bool = False
    mean_weight: float = 1.0
    pair_weight: float = 1.0

    def __post_init__(self) -> None:
        for name in ("mean_weight", "pair_weight"):
            if not 0.0 <= getattr(self, name) < float("inf"):
                raise ParameterError(f"{name}={getattr(self, name)} must be finite and not negative")
        if self.mean_weight == self.pair_weight == 0.0:
            raise ParameterError("mean_weight=0 and pair_weight=0 leave nothing to match")


@dataclass(frozen=True, kw_only=True)
class ReleasedMoments:
    """Noisy first and second moments of rows of per-column one-hot vectors, and how noisy they are.

    Attributes:
        blocks: the columns' (start, stop), tiling 0…d.
        mean: μ, the mean row, of length d.
        second: T, the mean outer product, d×d; only cross blocks are looked at.
        mean_noise: standard deviation of the noise of `mean`, a number or one per entry.
        second_noise: standard deviation of the noise of `second`: a number, one per pair of blocks (C×C), or
            one per entry (d×d). Denoising uses each block's root mean square.
        num_rows: n, the rows averaged over.
    """

    blocks: Sequence[Block]
    mean: Array
    second: Array
    mean_noise: float | Array
    second_noise: float | Array
    num_rows: int

    def __post_init__(self) -> None:
        d = check_blocks(self.blocks)
        if self.num_rows < 1:
            raise ParameterError(f"num_rows={self.num_rows} must be at least 1")
        columns = len(self.blocks)
        _check_array("mean", self.mean, [(d,)])
        _check_array("second", self.second, [(d, d)])
        _check_array("mean_noise", self.mean_noise, [(), (d,)], least=0.0)
        _check_array("second_noise", self.second_noise, [(), (columns, columns), (d, d)], least=0.0)

    def mean_noise_levels(self) -> Float[Tensor, " d"]:
        """Standard deviation of each entry of `mean`."""
        return _double(self.mean_noise).expand(len(self.mean))

    def second_noise_levels(self) -> Float[Tensor, "d d"]:
        """Standard deviation of each entry of `second`."""
        noise, d = _double(self.second_noise), len(self.mean)
        if noise.ndim == 2 and noise.shape != (d, d):
            return spread_over_blocks(noise, self.blocks)
        return noise.expand(d, d)


DEFAULT_SETTINGS = MomentSettings()


class MomentMatching:
    """Squared errors of a batch's margins and two-way tables, in units of their known noise.

    Args:
        moments: what was released.
        settings: denoising and estimator.
        pair_weights: ω, a weight for every pair of columns (symmetric, C×C); ones if None.
        encoding_scale: rows come as this times the shifted one-hot probabilities (the unit-ball encoding), one
            number or one per coordinate.
        encoding_offset: what was taken from the one-hot probabilities before scaling, likewise.
        dtype: precision of a call.
    """

    def __init__(
        self,
        moments: ReleasedMoments,
        *,
        settings: MomentSettings = DEFAULT_SETTINGS,
        pair_weights: Float[Tensor, "C C"] | None = None,
        encoding_scale: float | Float[Tensor, " d"] = 1.0,
        encoding_offset: float | Float[Tensor, " d"] = 0.0,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.settings, self.blocks = settings, tuple(moments.blocks)
        d = len(moments.mean)
        _check_array("encoding_scale", encoding_scale, [(), (d,)], least=0.0, strictly=True)
        _check_array("encoding_offset", encoding_offset, [(), (d,)])
        mean, n = _double(moments.mean), moments.num_rows
        noise = moments.second_noise_levels()
        residual = residual_blocks(moments, settings)
        margins = mean.clamp_min(0.0)
        variance = torch.outer(margins, margins) / n + noise.square() + 1.0 / n**2
        weights = _pair_weights(pair_weights, self.blocks) / variance
        cross = spread_over_blocks(~torch.eye(len(self.blocks), dtype=torch.bool), self.blocks)
        mean_variance = margins / n + moments.mean_noise_levels().square() + 1.0 / n**2
        self._scale = _double(encoding_scale).to(dtype)
        self._offset = _double(encoding_offset).to(dtype)
        self._mean = mean.to(dtype)
        self._centre = self._mean if settings.centred else torch.zeros_like(self._mean)
        target = residual if settings.centred else residual + torch.outer(mean, mean)
        self._target = torch.where(cross, target, 0.0).to(dtype)
        self.num_entries = max(int(cross.sum()), 1)
        self._pair_precision = (torch.where(cross, weights, 0.0) / max(int(cross.sum()), 1)).to(dtype)
        self._mean_precision = (1.0 / (mean_variance * d)).to(dtype)

    def __call__(
        self,
        encoded: Float[Tensor, "b d"],
        *,
        generator: torch.Generator | None = None,
        num_slices: int | None = None,
    ) -> Float[Tensor, ""]:
        """Returns the loss of a batch of rows; draws nothing and has no slices, so ignores both options."""
        del generator, num_slices
        mean_loss, pair_loss = self.parts(encoded)
        return self.settings.mean_weight * mean_loss + self.settings.pair_weight * pair_loss

    def parts(self, encoded: Float[Tensor, "b d"]) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Returns the loss of the first and of the second moments, before weighting."""
        if encoded.ndim != 2 or encoded.shape[1] != len(self._mean):
            raise ParameterError(f"encoded has shape {tuple(encoded.shape)}, expected (rows, {len(self._mean)})")
        if len(encoded) < (2 if self.settings.half_batches else 1):
            raise ParameterError(f"encoded has {len(encoded)} rows, too few to take moments of")
        rows = self.decoded(encoded)
        first = [half.mean(dim=0) - self._mean for half in self._halves(rows)]
        return (self._mean_precision * first[0] * first[-1]).sum(), self.pair_loss(rows)

    def decoded(self, encoded: Float[Tensor, "b d"]) -> Float[Tensor, "b d"]:
        """Returns the distributions that encoded rows stand for."""
        return encoded / self._scale + self._offset

    def pair_loss(self, rows: Float[Tensor, "b d"], weights: Float[Tensor, " b"] | None = None) -> Float[Tensor, ""]:
        """Returns the loss of the second moments of distributions, before weighting; rows may weigh differently."""
        if weights is None:
            second = [self._pair_error(half) for half in self._halves(rows)]
        else:
            weighted = zip(self._halves(rows), self._halves(weights), strict=True)
            second = [self._pair_error(half, one[:, None]) for half, one in weighted]
        return (self._pair_precision * second[0] * second[-1]).sum()

    def moment_losses(self, found: Moments) -> tuple[Float[Tensor, ""], Float[Tensor, ""]]:
        """Returns both losses of distributions whose moments are known, before weighting."""
        mean_loss = (self._mean_precision * (found.mean - self._mean).square()).sum()
        moved = torch.outer(found.mean - 0.5 * found.total * self._centre, self._centre)
        error = found.second - moved - moved.T - self._target
        return mean_loss, (self._pair_precision * error.square()).sum()

    def _halves(self, rows: Tensor) -> tuple[Tensor, ...]:
        return rows.tensor_split(2) if self.settings.half_batches else (rows,)

    def signal(self, of: "MomentMatching | None" = None) -> float:
        """The loss that independent columns would have in the second moments if those were as targeted (by `of`)."""
        return float((self._pair_precision * (of or self)._target.square()).sum())

    def signal_error(self, of: "MomentMatching | None" = None) -> float:
        """Standard error, by this one's noise, of the drop in loss from independent columns to targets as in `of`.

        The drop is Σ ω/V·(2CT − C²) with C the target and T the noisy moments; every pair of entries counts twice.
        """
        return math.sqrt(8.0 * self.signal(of) / self.num_entries)

    def _pair_error(self, rows: Float[Tensor, "b d"], weights: float | Float[Tensor, "b 1"] = 1.0) -> Tensor:
        centred = rows - self._centre
        return torch.addmm(self._target, (weights * centred).T, centred, beta=-1.0, alpha=1.0 / len(rows))


def residual_blocks(moments: ReleasedMoments, settings: MomentSettings) -> Float[Tensor, "d d"]:
    """R: what pairs of columns share beyond their margins, denoised; zero in the diagonal blocks."""
    mean, second = _double(moments.mean), _double(moments.second)
    residual = second - torch.outer(mean, mean)
    if settings.simplex:
        residual -= _block_means(residual, moments.blocks)
        residual -= _block_means(residual.T, moments.blocks).T
    if not settings.denoising.shrinks:
        for start, stop in moments.blocks:
            residual[start:stop, start:stop] = 0.0
        return residual
    noise = moments.second_noise_levels()
    result = torch.zeros_like(second)
    lost = int(settings.simplex)
    for (a, b), (c, e) in combinations(moments.blocks, 2):
        level = float(noise[a:b, c:e].square().mean().sqrt())
        block = denoise(residual[a:b, c:e], level, settings.denoising, freedom=(b - a - lost, e - c - lost))
        result[a:b, c:e], result[c:e, a:b] = block, block.T
    return result


def _block_means(matrix: Float[Tensor, "d d"], blocks: Sequence[Block]) -> Float[Tensor, "d d"]:
    """The mean of each block's rows, in the place of each of them."""
    widths = torch.tensor([stop - start for start, stop in blocks])
    means = torch.stack([matrix[start:stop].mean(dim=0) for start, stop in blocks])
    return means.repeat_interleave(widths, dim=0)


def spread_over_blocks(values: Shaped[Tensor, "C C"], blocks: Sequence[Block]) -> Shaped[Tensor, "d d"]:
    """One number per pair of columns, repeated over the entries of their block."""
    widths = torch.tensor([stop - start for start, stop in blocks])
    return values.repeat_interleave(widths, dim=0).repeat_interleave(widths, dim=1)


def _pair_weights(weights: Tensor | None, blocks: tuple[Block, ...]) -> Tensor:
    if weights is None:
        return torch.ones((), dtype=torch.float64)
    _check_array("pair_weights", weights, [(len(blocks), len(blocks))], least=0.0)
    if not torch.equal(weights, weights.T):
        raise ParameterError("pair_weights must be symmetric: entry (i, j) weighs the same pair as (j, i)")
    return spread_over_blocks(_double(weights), blocks)


def _double(value: float | Array) -> Tensor:
    return torch.as_tensor(value, dtype=torch.float64)


def _check_array(
    name: str,
    value: float | Array,
    shapes: list[tuple[int, ...]],
    *,
    least: float = float("-inf"),
    strictly: bool = False,
) -> None:
    tensor = _double(value)
    if tuple(tensor.shape) not in shapes:
        raise ParameterError(f"{name} has shape {tuple(tensor.shape)}, expected {' or '.join(map(str, shapes))}")
    if not bool(torch.isfinite(tensor).all()):
        raise ParameterError(f"{name} has a value that is not finite")
    low = float(tensor.min())
    if low < least or (strictly and low <= least):
        raise ParameterError(f"{name} has the value {low}, which must be {'above' if strictly else 'at least'} {least}")
