"""Which interval a number is in, without a search for every number: its leading bits say nearly all of it.

The bits of a positive float, read as a whole number, grow with it. Their leading ones are its *slot*. How many edges
are in lower slots is looked up, and those in the same slot are compared with the number itself: the interval is exact,
and a number's own. Only where a slot has many edges these are searched.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_BITS_OF_FRACTIONS = 52
_FEW = 2
"""Edges in a slot that are compared one after the other."""
_MOST_KEPT = 20
_MOST_SLOTS = 1 << 13
_ZERO = np.finfo(float).tiny
"""Smaller magnitudes are in the slot of zero."""


class EdgeGuide:
    """Finds the last of some sorted edges that is not above a number.

    Args:
        edges: The edges, strictly increasing.
    """

    def __init__(self, edges: Floats) -> None:
        self._edges = edges
        magnitudes = np.abs(edges[np.abs(edges) >= _ZERO])
        self._least = float(magnitudes.min()) if len(magnitudes) else 1.0
        for kept in range(_MOST_KEPT + 1):
            counts = self._counts(_BITS_OF_FRACTIONS - kept)
            if counts.max() <= _FEW or 2 * len(counts) > _MOST_SLOTS:
                break
        self._before = np.cumsum(counts) - counts - 1
        self._near = [np.full(len(counts), np.inf) for _ in range(min(int(counts.max()), _FEW))]
        for place, near in enumerate(self._near):
            has = counts > place
            near[has] = edges[(self._before + 1 + place)[has]]
        self._crowded = counts > _FEW if (counts > _FEW).any() else None

    def __call__(self, numbers: Floats) -> Ints:
        """The place of the last edge that is not above each number; that of the first for numbers below it."""
        within = np.clip(numbers, self._edges[0], self._edges[-1])
        slots = self._slot(within)
        found: Ints = self._before[slots]
        for near in self._near:
            found += within >= near[slots]
        if self._crowded is not None:
            crowded = np.flatnonzero(self._crowded[slots])
            found[crowded] = np.searchsorted(self._edges, within[crowded], side="right") - 1
        return found

    def _counts(self, shift: int) -> Ints:
        """How many edges are in each slot, if so many bits do not count."""
        self._shift, self._first, self._lowest = shift, 0, 0
        self._first = int(self._bits(np.array([self._least]))[0]) - 1
        self._lowest = int(self._signed(self._edges[:1])[0])
        return np.bincount(self._slot(self._edges))

    def _slot(self, numbers: Floats) -> Ints:
        return self._signed(numbers) - self._lowest

    def _signed(self, numbers: Floats) -> Ints:
        """Slots that grow with the numbers: those of magnitudes, on both sides of zero."""
        slots = np.maximum(self._bits(np.abs(numbers)) - self._first, 0)
        return slots if self._edges[0] >= 0.0 else np.where(numbers < 0.0, -slots, slots)

    def _bits(self, magnitudes: Floats) -> Ints:
        bits: Ints = magnitudes.view(np.int64) >> self._shift
        return bits
