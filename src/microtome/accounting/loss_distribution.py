"""Composition of anything with anything: discretised privacy loss distributions that err upwards.

A pair P, Q with the convex curve h(γ) = H_γ(P‖Q) is replaced by the discrete pair whose curve joins the points
(e^ε_i, h(e^ε_i)) of an even grid ε_i = i·s by chords: "connect the dots" (Doroshenko, Ghazi, Kamath, Kumar,
Manurangsi 2022). The chords lie above h, so the discrete pair dominates. Its privacy loss has the masses

    p_i = (h_{i+1} − h_i)/(e^s − 1) − (h_i − h_{i−1})/(1 − e^−s)

on the grid and h at the last point as mass at infinity. Losses of a composition add, so masses convolve:

    δ(ε) = p_∞ + Σ_{l > ε} p(l) (1 − e^(ε−l)).

A plain fast Fourier transform loses all masses below 1e-16 to rounding. The masses are therefore tilted by
e^(θl) before the transform, with θ such that the tilted loss has its mean at ε, and tilted back after it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import fft, special
from scipy.optimize import brentq

from microtome.accounting.divergence import Pair
from microtome.accounting.gaussian import FloatArray

_TAIL = 1e-18
_POINTS_PER_PART = 8192
_MOST_POINTS = 1 << 17
_SUPPORT_GRID = 2.0 ** np.arange(-14, 30, 0.125)
_LARGEST_TILT = 1e6


@dataclass(frozen=True, kw_only=True, eq=False)
class _Losses:
    """Masses on the grid points ``first``, ``first + 1``, …, and at infinity, taken ``count`` times."""

    first: int
    log_masses: FloatArray
    infinity: float
    count: int

    def losses(self, step: float) -> FloatArray:
        return step * np.arange(self.first, self.first + self.log_masses.size, dtype=np.float64)


class LossDistribution:
    """The privacy loss of a composition of pairs, discretised pessimistically."""

    def __init__(self, parts: Sequence[tuple[Pair, int]]) -> None:
        """Compose each pair as many times as the number beside it says."""
        supports = [_support(pair) for pair, _ in parts]
        total = sum(count * (high - low) for (low, high), (_, count) in zip(supports, parts, strict=True))
        points = min(_POINTS_PER_PART * sum(count for _, count in parts), _MOST_POINTS)
        self._step = total / points
        self._parts = [
            _discretise(pair, support, self._step, count)
            for support, (pair, count) in zip(supports, parts, strict=True)
        ]
        self._first = sum(part.count * part.first for part in self._parts)
        self._length = 1 + sum(part.count * (part.log_masses.size - 1) for part in self._parts)
        survived = sum(part.count * math.log1p(-min(part.infinity, 1 - 1e-16)) for part in self._parts)
        self._infinity = -math.expm1(survived)

    def delta(self, epsilon: float) -> float:
        """Upper bound of δ(ε), rounded by less than 1e-3 in ε."""
        losses = self._step * np.arange(self._first, self._first + self._length)
        if epsilon >= losses[-1]:
            return self._infinity
        tilt = self._tilt(epsilon)
        spectrum = np.ones(1, dtype=np.complex128)
        size = fft.next_fast_len(self._length, real=True)
        log_scale = 0.0
        for part in self._parts:
            exponents = part.log_masses + tilt * part.losses(self._step)
            log_sum = float(special.logsumexp(exponents))
            spectrum = spectrum * fft.rfft(np.exp(exponents - log_sum), size) ** part.count
            log_scale += part.count * log_sum
        tilted = np.maximum(fft.irfft(spectrum, size)[: self._length], 0.0)
        above = losses > epsilon
        kept = -np.expm1(epsilon - losses[above]) * tilted[above]
        finite = float(kept @ np.exp(np.minimum(log_scale - tilt * losses[above], 700.0)))
        return min(1.0, self._infinity + finite)

    def _tilt(self, epsilon: float) -> float:
        """The θ ≥ 0 at which the tilted loss has mean ``epsilon``, or 0 if its mean is beyond already."""

        def excess(tilt: float) -> float:
            return sum(part.count * _tilted_mean(part, tilt, self._step) for part in self._parts) - epsilon

        if excess(0.0) >= 0:
            return 0.0
        high = 1.0
        while excess(high) < 0 and high < _LARGEST_TILT:
            high *= 2.0
        if excess(high) < 0:
            return high
        return float(brentq(excess, 0.0, high, rtol=1e-3))


def _tilted_mean(part: _Losses, tilt: float, step: float) -> float:
    losses = part.losses(step)
    masses = special.softmax(part.log_masses + tilt * losses)
    return float(masses @ losses)


def _support(pair: Pair) -> tuple[float, float]:
    """Losses beyond which the divergence, in either order, is below the tail that counts as δ."""
    return -_reach(pair.backward(_SUPPORT_GRID)), _reach(pair.forward(_SUPPORT_GRID))


def _reach(divergences: FloatArray) -> float:
    small = np.flatnonzero(divergences <= _TAIL)
    return float(_SUPPORT_GRID[small[0] if small.size else -1])


def _discretise(pair: Pair, support: tuple[float, float], step: float, count: int) -> _Losses:
    first = min(math.floor(support[0] / step), -1)
    last = max(math.ceil(support[1] / step), 1)
    epsilon = step * np.arange(first, last + 1, dtype=np.float64)
    zero, rise, fall = -first, math.expm1(step), -math.expm1(-step)
    # A part of h that is linear in e^ε has no mass, so left of 0 the small h − (1 − e^ε) stands for h.
    left = pair.excess(epsilon)
    right = left - np.expm1(np.minimum(epsilon, 0.0))
    masses = np.empty_like(left)
    masses[0] = (left[1] - left[0]) / rise - left[0]
    masses[1:zero] = np.diff(left[1 : zero + 1]) / rise - np.diff(left[:zero]) / fall
    masses[zero:-1] = np.diff(right[zero:]) / rise - np.diff(right[zero - 1 : -1]) / fall
    masses[-1] = -(right[-1] - right[-2]) / fall
    log_masses = np.log(np.maximum(masses, 1e-300))
    return _Losses(first=first, log_masses=log_masses, infinity=float(right[-1]), count=count)
