"""Whole numbers drawn from the discrete Gaussian, P(k) ∝ exp(−k²/2s²), exactly: by whole numbers alone, no float.

The building block is Canonne, Kamath and Steinke's (2020) Bernoulli(exp(−γ)), 0 ≤ γ ≤ 1: the first K at which a trial
of probability γ/K fails is odd with probability 1 − γ + γ²/2! − … = exp(−γ). Such a trial is a few uniform whole numbers
compared with others, one for each fraction that γ/K is a product of.

Where they start from a discrete Laplace variable, this takes |k| = v·s + u apart, 0 ≤ u < s, as Karney (2016) does for
the continuous normal, so that no number is squared and all fit into 64 bits:

    exp(−k²/2s²) = exp(−v/2) · exp(−v(v−1)/2) · exp(−v·u/s) · exp(−(u/s)²/2).

v is drawn by the first factor, u uniformly, and the pair is kept with the probability of the other three. A sign is
added, one of the two zeros dropped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
_TRIES = 256
"""At least so many pairs are drawn at a time: for few numbers all that takes time is the number of rounds."""


def discrete_gaussian(scales: Integers, stream: np.random.Generator) -> Integers:
    """A number for each of the scales s, all of which are at least 1."""
    drawn, left = np.zeros_like(scales), np.arange(len(scales))
    while left.size:
        tried = np.tile(left, -(-_TRIES // left.size))
        kept, numbers = _keep(scales[tried], stream)
        found, first = np.unique(tried[kept], return_index=True)
        drawn[found] = numbers[first]
        left = np.setdiff1d(left, found, assume_unique=True)
    return drawn


def _keep(scales: Integers, stream: np.random.Generator) -> tuple[Integers, Integers]:
    """A pair (v, u) for each scale: the places of those that are kept, and their numbers."""
    half, places = _Exponential(scales, 0 * scales, 0, 2), np.arange(len(scales))
    wholes = half.count(places, stream)
    places = half.survivors(places, wholes * (wholes - 1), stream)
    rests = stream.integers(0, scales)
    places = _Exponential(scales, rests, 1, 1).survivors(places, wholes, stream)
    places = _Exponential(scales, rests, 2, 2).survivors(places, np.ones_like(wholes), stream)
    numbers = wholes[places] * scales[places] + rests[places]
    negative = stream.integers(0, 2, places.size) == 1
    once = ~(negative & (numbers == 0))
    return places[once], np.where(negative, -numbers, numbers)[once]


@dataclass(frozen=True, slots=True)
class _Exponential:
    """Events of probability exp(−γ), γ = (u/s)^power / divisor ≤ 1, with s and u for each place."""

    scales: Integers
    rests: Integers
    power: int
    divisor: int

    def happens(self, places: Integers, stream: np.random.Generator) -> NDArray[np.bool_]:
        """Whether it happens, at each of the places."""
        odd, left, number = np.ones(places.size, bool), np.arange(places.size), 1
        while left.size:
            left = left[stream.integers(0, number * self.divisor, left.size, dtype=np.uint32) == 0]
            for _ in range(self.power):
                here = places[left]
                left = left[stream.integers(0, self.scales[here]) < self.rests[here]]
            odd[left] ^= True
            number += 1
        return odd

    def survivors(self, places: Integers, times: Integers, stream: np.random.Generator) -> Integers:
        """The places at which it happens as often as asked for, one time after the other."""
        number, survive = 0, np.ones(times.size, bool)
        left = places[times[places] > 0]
        while left.size:
            happens = self.happens(left, stream)
            survive[left[~happens]] = False
            number += 1
            left = left[happens & (times[left] > number)]
        return places[survive[places]]

    def count(self, places: Integers, stream: np.random.Generator) -> Integers:
        """How often it happens until it does not, at each place."""
        counts, left = np.zeros(places.size, np.int64), places
        while left.size:
            left = left[self.happens(left, stream)]
            counts[left] += 1
        return counts
