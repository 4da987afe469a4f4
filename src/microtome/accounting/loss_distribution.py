"""Composition of anything with anything: discretised privacy loss distributions that err upwards.

A pair P, Q with the convex curve h(γ) = H_γ(P‖Q) is replaced by the discrete pair whose curve joins the points
(e^ε_i, h(e^ε_i)) of some ε_i by chords: "connect the dots" (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022). The
chords lie above h, so the discrete pair dominates. Its privacy loss has the masses

    p_i = (h_{i+1} − h_i)/(e^(ε_{i+1}−ε_i) − 1) − (h_i − h_{i−1})/(1 − e^(ε_{i−1}−ε_i))

at the dots and h at the last dot as mass at infinity. The dots are points of an even grid: all of them near 0, and
fewer and fewer beyond, in proportion to the loss. Losses of a composition add, so masses convolve:

    δ(ε) = p_∞ + Σ_{l > ε} p(l) (1 − e^(ε−l)).

A plain fast Fourier transform loses all masses below 1e-16 to rounding. The masses are therefore tilted by
e^(θl) before the transform, with θ such that the tilted loss has its mean at ε, and tilted back after it.

The sum of T losses is spread over a range of order √T, far narrower than T times the range of one. With
K(t) = Σ ln E[e^(tl)] the tilted loss leaves [a, b] upwards with probability at most e^(K(θ+t) − K(θ) − tb) for any
t > 0 (Chernoff), and alike downwards; the transform is taken on the range where both are below 1e-15 only. It is
circular: what leaves the range comes in again at its other end, where it can only add to δ, and what left upwards is
added to δ by its bound.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import NDArray

from microtome.accounting.divergence import Pair
from microtome.accounting.gaussian import FloatArray

IntArray = NDArray[np.int64]

_TAIL = 1e-18
_TILTED_TAIL = 1e-15
_PILOT_POINTS = 512
_EVERY_DOT = 256
_POINTS_PER_PART = 8192
_FEWEST_POINTS = 1 << 15
_POINTS_PER_ROOT = 2300
_CACHED = 128
_SUPPORT_GRID = 2.0 ** np.arange(-14, 30, 0.125)
_LARGEST_TILT = 1e6
_LOG_TILTS = (math.log(1e-4), math.log(1e5))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Losses:
    """Masses at some points of the grid, numbered from 0 in the middle, and at infinity, taken ``count`` times."""

    points: IntArray
    log_masses: FloatArray
    infinity: float
    count: int

    def losses(self, step: float) -> FloatArray:
        """The losses at the points."""
        return step * self.points.astype(np.float64)

    def dense(self, log_masses: FloatArray) -> FloatArray:
        """Masses on all points of the grid between the first and the last."""
        masses = np.zeros(int(self.points[-1] - self.points[0]) + 1)
        masses[self.points - self.points[0]] = np.exp(log_masses)
        return masses


class LossDistribution:
    """The privacy loss of a composition of pairs, discretised pessimistically."""

    def __init__(self, parts: Sequence[tuple[Pair, int]]) -> None:
        """Compose each pair as many times as the number beside it says."""
        supports = [_support(pair) for pair, _ in parts]
        self._step = _power_of_two(_spread(parts, supports) / _num_points(sum(count for _, count in parts)))
        self._parts = [
            _discretise(pair, support, self._step, count)
            for support, (pair, count) in zip(supports, parts, strict=True)
        ]
        survived = sum(part.count * math.log1p(-min(part.infinity, 1 - 1e-16)) for part in self._parts)
        self._infinity = -math.expm1(survived)

    def delta(self, epsilon: float) -> float:
        """Upper bound of δ(ε), rounded by less than 1e-3 in ε."""
        masses = [(part.log_masses, part.losses(self._step), part.count) for part in self._parts]
        _, last = _ends(masses)
        if epsilon >= last:
            return self._infinity
        tilt = self._tilt(epsilon)
        low, high = _likely_range(masses, tilt, _TILTED_TAIL)
        begin, end = math.floor(low / self._step), math.ceil(high / self._step)
        size = scipy.fft.next_fast_len(end - begin + 1, real=True)
        spectrum = np.ones(1, dtype=np.complex128)
        log_scale = 0.0
        for part in self._parts:
            exponents = part.log_masses + tilt * part.losses(self._step)
            log_sum = float(scipy.special.logsumexp(exponents))
            spectrum = spectrum * scipy.fft.rfft(_wrapped(part.dense(exponents - log_sum), size), size) ** part.count
            log_scale += part.count * log_sum
        offset = begin - sum(part.count * int(part.points[0]) for part in self._parts)
        tilted = np.maximum(np.roll(scipy.fft.irfft(spectrum, size), -offset), 0.0)
        sums = self._step * np.arange(begin, begin + size)
        above = sums > epsilon
        kept = -np.expm1(epsilon - sums[above]) * tilted[above]
        finite = float(kept @ np.exp(np.minimum(log_scale - tilt * sums[above], 700.0)))
        beyond = 0.0 if sums[-1] >= last else _TILTED_TAIL * math.exp(min(log_scale - tilt * sums[-1], 0.0))
        return min(1.0, self._infinity + finite + beyond)

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
        return float(scipy.optimize.brentq(excess, 0.0, high, rtol=1e-3))


def _tilted_mean(part: _Losses, tilt: float, step: float) -> float:
    losses = part.losses(step)
    masses = scipy.special.softmax(part.log_masses + tilt * losses)
    return float(masses @ losses)


def _num_points(num_losses: int) -> int:
    """Points for the range of the sum: as many as keep the step at a hundredth of the spread of one loss."""
    return min(_POINTS_PER_PART * num_losses, max(_FEWEST_POINTS, int(_POINTS_PER_ROOT * math.sqrt(num_losses))))


Masses = tuple[FloatArray, FloatArray, int]
"""Logarithms of masses, the losses they are at, and how often the loss is taken."""


def _spread(parts: Sequence[tuple[Pair, int]], supports: Sequence[tuple[float, float]]) -> float:
    """Width of the range that the sum leaves with a probability of at most the tail, by a coarse look at it."""
    pilots: list[Masses] = []
    for (low, high), (pair, count) in zip(supports, parts, strict=True):
        step = (high - low) / _PILOT_POINTS
        pilot = _discretise(pair, (low, high), step, count)
        pilots.append((pilot.log_masses, pilot.losses(step), count))
    low, high = _likely_range(pilots, 0.0, _TAIL)
    return high - low


def _ends(masses: Sequence[Masses]) -> tuple[float, float]:
    """Smallest and largest value of the sum."""
    low = sum(count * float(losses[0]) for _, losses, count in masses)
    return low, sum(count * float(losses[-1]) for _, losses, count in masses)


def _likely_range(masses: Sequence[Masses], tilt: float, tail: float) -> tuple[float, float]:
    """What the tilted sum leaves upwards, and downwards, with a probability of at most ``tail`` each."""

    def cumulant(t: float) -> float:
        return sum(count * float(scipy.special.logsumexp(logs + t * losses)) for logs, losses, count in masses)

    base, room = cumulant(tilt), -math.log(tail)

    def reach(log_t: float, sign: float) -> float:
        t = math.exp(log_t)
        return (cumulant(tilt + sign * t) - base + room) / t

    least, most = _ends(masses)
    least_of = scipy.optimize.minimize_scalar
    up, down = (
        float(least_of(reach, args=(sign,), bounds=_LOG_TILTS, method="bounded", options={"xatol": 0.05}).fun)
        for sign in (1.0, -1.0)
    )
    return max(least, -down), min(most, up)


def _wrapped(masses: FloatArray, size: int) -> FloatArray:
    """Masses on a circle of ``size`` points."""
    if masses.size <= size:
        return masses
    padded = np.pad(masses, (0, -masses.size % size))
    total: FloatArray = padded.reshape(-1, size).sum(axis=0)
    return total


def _power_of_two(step: float) -> float:
    """The step rounded down, so that nearly equal compositions have the same and share what is discretised."""
    return math.ldexp(1.0, math.floor(math.log2(step)))


@lru_cache(maxsize=_CACHED)
def _support(pair: Pair) -> tuple[float, float]:
    """Losses beyond which the divergence, in either order, is below the tail that counts as δ."""
    return -_reach(pair.backward(_SUPPORT_GRID)), _reach(pair.forward(_SUPPORT_GRID))


def _reach(divergences: FloatArray) -> float:
    small = np.flatnonzero(divergences <= _TAIL)
    return float(_SUPPORT_GRID[small[0] if small.size else -1])


@lru_cache(maxsize=2 * _CACHED)
def _discretise(pair: Pair, support: tuple[float, float], step: float, count: int) -> _Losses:
    points = _dots(min(math.floor(support[0] / step), -1), max(math.ceil(support[1] / step), 1))
    zero = int(np.searchsorted(points, 0))
    epsilon = step * points.astype(np.float64)
    rise, fall = np.expm1(np.diff(epsilon)), -np.expm1(-np.diff(epsilon))
    # A part of h that is linear in e^ε has no mass, so left of 0 the small h − (1 − e^ε) stands for h.
    left = pair.excess(epsilon)
    right = left - np.expm1(np.minimum(epsilon, 0.0))
    masses = np.empty_like(left)
    masses[0] = (left[1] - left[0]) / rise[0] - left[0]
    masses[1:zero] = np.diff(left[1 : zero + 1]) / rise[1:zero] - np.diff(left[:zero]) / fall[: zero - 1]
    masses[zero:-1] = np.diff(right[zero:]) / rise[zero:] - np.diff(right[zero - 1 : -1]) / fall[zero - 1 : -1]
    masses[-1] = -(right[-1] - right[-2]) / fall[-1]
    log_masses = np.log(np.maximum(masses, 1e-300))
    return _Losses(points=points, log_masses=log_masses, infinity=float(right[-1]), count=count)


def _dots(first: int, last: int) -> IntArray:
    """Points from ``first`` < 0 to ``last`` > 0: all near 0, then one in so many as are in proportion to the loss."""

    def outwards(end: int) -> IntArray:
        near = np.arange(min(end, _EVERY_DOT) + 1)
        far = np.geomspace(_EVERY_DOT, max(end, _EVERY_DOT), 1 + math.ceil(_EVERY_DOT * math.log(max(end, 1))))
        return np.unique(np.append(near, np.rint(far[far < end]).astype(np.int64)).clip(0, end))

    right, left = np.append(outwards(last), last), np.append(outwards(-first), -first)
    return np.unique(np.concatenate([-left, right]))
