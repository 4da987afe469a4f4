"""First and second moments of components, with the least arithmetic.

All that is fitted of a mixture's tables follows from Σ_k w_kg P_k P_kᵀ, the P_k being the components' distributions and
w_kg how much each counts in group g. Such a matrix is symmetric, and so is the gradient H that comes back for it: half
of its blocks are multiplied forwards, and one product P·(H + Hᵀ) is the gradient both of the distributions and, summed
along P, of the weights. Automatic differentiation would take four times as many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

import torch
from jaxtyping import Float
from torch import Tensor

_BLOCK = 64
"""Columns of a block of the product, at least."""
_BLOCKS = 6


@dataclass(frozen=True, kw_only=True, eq=False)
class Moments:
    """Moments of distributions of levels.

    Attributes:
        total: The weight of all of them.
        mean: The weighted sum of the distributions.
        second: The weighted sum of their outer products.
    """

    total: Float[Tensor, ""]
    mean: Float[Tensor, " d"]
    second: Float[Tensor, "d d"]

    @classmethod
    def together(cls, parts: Sequence[Moments]) -> Self:
        """Those of all groups together."""
        return cls(
            total=torch.stack([part.total for part in parts]).sum(),
            mean=torch.stack([part.mean for part in parts]).sum(dim=0),
            second=torch.stack([part.second for part in parts]).sum(dim=0) if len(parts) > 1 else parts[0].second,
        )

    def divided(self, size: Float[Tensor, ""]) -> Moments:
        """The same for weights that are divided by a number."""
        return Moments(total=self.total / size, mean=self.mean / size, second=self.second / size)

    def of_scores(self, scores: Float[Tensor, "d q"]) -> Moments:
        """The moments of linear functions of the distributions."""
        return Moments(total=self.total, mean=self.mean @ scores, second=scores.T @ self.second @ scores)


def component_moments(rows: Float[Tensor, "k d"], weights: Float[Tensor, "k g"]) -> list[Moments]:
    """The moments of components that are as frequent as each other, group by group."""
    share = weights / len(rows)
    second = cast(Tensor, _SecondMoments.apply(rows, share))  # type: ignore[no-untyped-call]
    found = zip(share.sum(dim=0), share.T @ rows, second, strict=True)
    return [Moments(total=total, mean=mean, second=one) for total, mean, one in found]


class _SecondMoments(torch.autograd.Function):
    """Σ_k w_kg P_k P_kᵀ for every g."""

    @staticmethod
    def forward(ctx: Any, rows: Float[Tensor, "k d"], weights: Float[Tensor, "k g"]) -> Float[Tensor, "g d d"]:
        ctx.save_for_backward(rows, weights)
        dim = rows.shape[1]
        found = rows.new_empty(weights.shape[1], dim, dim)
        for weight, second in zip(weights.T, found, strict=True):
            weighted = rows * weight[:, None]
            step = max(-(-dim // _BLOCKS), _BLOCK)
            for start in range(0, dim, step):
                stop = min(start + step, dim)
                torch.mm(weighted[:, start:stop].T, rows[:, start:], out=second[start:stop, start:])
                second[stop:, start:stop] = second[start:stop, stop:].T
        return found

    @staticmethod
    def backward(ctx: Any, gradient: Float[Tensor, "g d d"]) -> tuple[Tensor, Tensor]:
        rows, weights = ctx.saved_tensors
        of_rows, of_weights = torch.zeros_like(rows), torch.empty_like(weights)
        for group, one in enumerate(gradient):
            product = rows @ (one + one.T)
            of_weights[:, group] = torch.linalg.vecdot(rows, product) / 2
            of_rows.addcmul_(product, weights[:, group, None])
        return of_rows, of_weights
