"""The convex functions f that turn a density ratio into a divergence.

The convention of the paper (Section 2.2): D_f(P‖Q) = E_Q[f(dP/dQ)], with f convex and f(1) = 0. Here P is
the synthetic side, Q the released one, and r = dP/dQ.

Adding c·(r − 1) to f changes no divergence between probability measures, but it does change what an
*estimated* ratio, whose mean under Q is only nearly one, is charged for. We take for each divergence the
representative with f'(1) = 0: it is non-negative everywhere and least at r = 1, so no estimate can be
negative and rescaling the ratio is never rewarded.

| member | f(r) | D_f |
|---|---|---|
| KL | r ln r − r + 1 | KL(P‖Q) |
| REVERSE_KL | −ln r + r − 1 | KL(Q‖P) |
| JENSEN_SHANNON | ½[r ln r − (1 + r) ln((1 + r)/2)] | ½KL(P‖M) + ½KL(Q‖M), M = (P+Q)/2, at most ln 2 |
| CHI_SQUARED | (r − 1)² | ∫(p − q)²/q |
| SQUARED_HELLINGER | (√r − 1)² | ∫(√p − √q)², at most 2 |
| TOTAL_VARIATION | ½|r − 1| | ½∫|p − q|, at most 1 |

**The floor.** Several of these have an infinite slope, reverse KL also an infinite value, at r = 0, where
the clipped estimator of Eq. (5) puts many of its points. Below `RATIO_FLOOR` every f is continued by its
tangent there: still convex, once differentiable, finite with finite slope at 0, and changed by at most
`RATIO_FLOOR` for all but reverse KL (which becomes −ln RATIO_FLOOR at 0) and squared Hellinger (changed by
at most √RATIO_FLOOR).
"""

import math
from enum import Enum
from typing import Protocol

import torch
from jaxtyping import Float
from torch import Tensor

RATIO_FLOOR = 1e-4


class ConvexFunction(Protocol):
    """A convex function of the density ratio, zero at one, applied to each entry."""

    def __call__(self, ratio: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """Returns f of every entry of `ratio`; must be finite with finite gradient at 0."""
        ...


class FDivergence(Enum):
    """The f-divergences of the paper; each member is its own f."""

    KL = "kl"
    REVERSE_KL = "reverse-kl"
    JENSEN_SHANNON = "jensen-shannon"
    CHI_SQUARED = "chi-squared"
    SQUARED_HELLINGER = "squared-hellinger"
    TOTAL_VARIATION = "total-variation"

    def __call__(self, ratio: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        """Returns f of every entry, continued by its tangent below `RATIO_FLOOR`."""
        floored = ratio.clamp_min(RATIO_FLOOR)
        return _value(self, floored) + _slope(self, RATIO_FLOOR) * (ratio - floored)


def _value(f: FDivergence, r: Tensor) -> Tensor:
    match f:
        case FDivergence.KL:
            return r * r.log() - r + 1.0
        case FDivergence.REVERSE_KL:
            return r - 1.0 - r.log()
        case FDivergence.JENSEN_SHANNON:
            return 0.5 * (r * r.log() - (1.0 + r) * ((1.0 + r) / 2.0).log())
        case FDivergence.CHI_SQUARED:
            return (r - 1.0).square()
        case FDivergence.SQUARED_HELLINGER:
            return (r.sqrt() - 1.0).square()
        case FDivergence.TOTAL_VARIATION:
            return 0.5 * torch.abs(r - 1.0)


def _slope(f: FDivergence, r: float) -> float:
    match f:
        case FDivergence.KL:
            return math.log(r)
        case FDivergence.REVERSE_KL:
            return 1.0 - 1.0 / r
        case FDivergence.JENSEN_SHANNON:
            return 0.5 * math.log(2.0 * r / (1.0 + r))
        case FDivergence.CHI_SQUARED:
            return 2.0 * (r - 1.0)
        case FDivergence.SQUARED_HELLINGER:
            return 1.0 - 1.0 / math.sqrt(r)
        case FDivergence.TOTAL_VARIATION:
            return -0.5
