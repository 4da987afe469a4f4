"""Pairs of output distributions, known by their hockey-stick divergences.

H_γ(P‖Q) = sup_S P(S) − γ Q(S), with γ = e^ε, is δ(ε) of the pair in that order. For ε < 0, which composition
needs, both orders together suffice: H_γ(P‖Q) = 1 − γ + γ H_{1/γ}(Q‖P).

    slices       H(ε) = E_W[δ_G(ε; √W/σ)] in both orders                           (section 3)
    subsampled   P = (1−τ)P₀ + τP₁ against P₀, with c = 1 − e^ε(1−τ)               (section 5)
                 add     H(P‖P₀)(ε) = τ δ(ln(1 + (e^ε − 1)/τ))
                 remove  H(P₀‖P)(ε) = c δ(ε + ln(τ/c)), and 0 where c ≤ 0

For ``replace-one`` both tables hold a record: P = (1−τ)P₀ + τP₁ against Q = (1−τ)P₀ + τP₂. By the advanced
joint convexity of Balle, Barthe and Gaboardi (2018) H_γ(P‖Q) = τ H_γ'(P₁‖(1−β)P₀ + βP₂) with
γ' = 1 + (γ−1)/τ and some β in [0, 1], at most the larger of τ H_γ'(P₁‖P₀) and τ H_γ'(P₁‖P₂). Each of these
rows is within the replace distance Δ, δ rises with the distance, so τ δ_Δ(ln(1 + (e^ε − 1)/τ)) bounds both
orders. The bound is the divergence of a pair (convex in γ, also across γ = 1), hence it composes.

References to sections are to ``docs/privacy.md``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from microtome.accounting.events import SliceEvent, SubsampledEvent
from microtome.accounting.gaussian import FloatArray, gaussian_hockey_stick
from microtome.accounting.projection_law import projection_law

HockeyStick = Callable[[FloatArray], FloatArray]

_CHUNK = 1 << 14
_CACHED = 64
"""Pairs that are kept: a search for a budget composes the same ones again and again."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Pair:
    """Two distributions P, Q by δ(ε) for ε ≥ 0 in the orders P‖Q (``forward``) and Q‖P (``backward``)."""

    forward: HockeyStick
    backward: HockeyStick

    @property
    def symmetric(self) -> bool:
        """Whether both orders are the same, so that one of them tells all."""
        return self.forward is self.backward

    @cached_property
    def reversed(self) -> "Pair":
        """The pair Q, P."""
        return Pair(forward=self.backward, backward=self.forward)

    def excess(self, epsilon: FloatArray) -> FloatArray:
        """H(ε) − max(0, 1 − e^ε), without cancellation where it is small."""
        result = np.empty_like(epsilon)
        right = epsilon >= 0
        if right.any():
            result[right] = self.forward(epsilon[right])
        if not right.all():
            left = epsilon[~right]
            result[~right] = np.exp(left) * self.backward(-left)
        return result

    def divergence(self, epsilon: FloatArray) -> FloatArray:
        """H(ε) for any real ε."""
        return self.excess(epsilon) - np.expm1(np.minimum(epsilon, 0.0))


def gaussian_pair(mu: float) -> Pair:
    """Two unit Gaussians a distance ``mu`` apart."""

    def stick(epsilon: FloatArray) -> FloatArray:
        return gaussian_hockey_stick(epsilon, np.array(mu))

    return Pair(forward=stick, backward=stick)


def slice_hockey_stick(event: SliceEvent, base_mu: float = 0.0) -> HockeyStick:
    """ε ↦ E_W[δ_G(ε; √(μ₀² + W/σ²))], with μ₀ = ``base_mu`` for Gaussian mechanisms composed with it.

    The sums are einsum's and not BLAS's, whose threads cost more than they save on chunks of this size.
    """
    law = projection_law(event.directions, event.ratio)
    mu = np.sqrt(base_mu**2 + event.ratio**2 * law.energies)
    rows = max(1, _CHUNK // mu.size)

    def stick(epsilon: FloatArray) -> FloatArray:
        flat = np.atleast_1d(epsilon).ravel()
        parts = [
            np.einsum("ij,j->i", gaussian_hockey_stick(flat[start : start + rows, None], mu), law.weights) + law.tail
            for start in range(0, flat.size, rows)
        ]
        averages: FloatArray = np.concatenate(parts)
        return np.minimum(averages, 1.0).reshape(np.shape(epsilon))

    return stick


def event_pair(event: SliceEvent | SubsampledEvent) -> Pair:
    """The outputs of two neighbouring tables."""
    match event:
        case SliceEvent():
            return slice_pair(event)
        case SubsampledEvent():
            return subsampled_pair(event)


@lru_cache(maxsize=_CACHED)
def slice_pair(event: SliceEvent) -> Pair:
    """The slices of two neighbouring tables."""
    stick = slice_hockey_stick(event)
    return Pair(forward=stick, backward=stick)


@lru_cache(maxsize=_CACHED)
def subsampled_pair(event: SubsampledEvent) -> Pair:
    """The slices of padded Poisson samples of two neighbouring tables, the larger table first."""
    return amplify(slice_hockey_stick(event.event), event.rate, symmetric=event.symmetric)


def amplify(stick: HockeyStick, rate: float, *, symmetric: bool) -> Pair:
    """The pair that subsampling at ``rate`` makes of one with the same ``stick`` in both orders."""

    def add(epsilon: FloatArray) -> FloatArray:
        return rate * stick(unamplified(epsilon, rate))

    def remove(epsilon: FloatArray) -> FloatArray:
        inside = epsilon < -math.log1p(-rate) if rate < 1 else np.ones(np.shape(epsilon), dtype=bool)
        share = np.where(inside, rate - (1 - rate) * np.expm1(np.where(inside, epsilon, 0.0)), rate)
        share = np.maximum(share, np.finfo(np.float64).tiny)
        return np.where(inside, share * stick(np.maximum(epsilon + np.log(rate / share), 0.0)), 0.0)

    return Pair(forward=add, backward=add if symmetric else remove)


def unamplified(epsilon: FloatArray, rate: float) -> FloatArray:
    """ln(1 + (e^ε − 1)/τ) for ε ≥ 0, without overflow."""
    small = np.log1p(np.expm1(np.minimum(epsilon, 1.0)) / rate)
    large = epsilon - math.log(rate) + np.log1p(-(1 - rate) * np.exp(-epsilon))
    return np.where(epsilon < 1.0, small, large)
