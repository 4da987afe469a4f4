"""Whole numbers drawn from the discrete Gaussian, P(k) ∝ exp(−k²/2s²), exactly: by whole numbers alone, no float.

A number is taken apart by cells of a width w that goes 16 times into s: |k| = v·w + u, 0 ≤ u < w, and

    exp(−k²/2s²) = exp(−v²/512) · exp(−γ),   γ = u/w · (2vw + u)/(512w).

- v is drawn by the first factor: the binary digits of a uniform number are held against those of v's distribution
  function, 64 at a time until they differ.
- u is uniform, and the pair is kept with probability exp(−γ), as Canonne, Kamath and Steinke (2020) draw it: the first
  K at which a trial of probability γ/K fails is odd with probability 1 − γ + γ²/2! − … Such a trial is a uniform whole
  number compared with another, for each of the fractions that γ/K is a product of.
- A sign is added, and one of the two zeros dropped.

What is dropped is drawn anew, one in forty.
"""

from __future__ import annotations

from bisect import bisect_right
from decimal import Decimal, localcontext
from functools import cache
from itertools import accumulate
from math import isqrt

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
CELLS = 16
"""Cells a standard deviation."""
_FAR = CELLS**2
_GUARD_DIGITS = 40


def discrete_gaussian(widths: Integers, stream: np.random.Generator) -> Integers:
    """A number of scale s = ``CELLS``·w for each of the widths w; these are between 1 and 2⁵²."""
    drawn, left = np.zeros_like(widths), np.arange(len(widths))
    while left.size:
        kept, numbers = _candidates(widths[left], stream)
        drawn[left[kept]] = numbers[kept]
        left = left[~kept]
    return drawn


def _candidates(widths: Integers, stream: np.random.Generator) -> tuple[NDArray[np.bool_], Integers]:
    """Which numbers are kept, and the numbers."""
    cells, rests = _draw_cells(len(widths), stream), stream.integers(0, widths)
    numbers, negative = cells * widths + rests, stream.integers(0, 2, len(widths)) == 1
    kept = ~(negative & (numbers == 0))
    parts = 1 + int(cells.max()) // _FAR  # γ is above 1 nowhere but 16 standard deviations away: then in equal parts
    for _ in range(parts):
        kept &= _happens(rests, widths, numbers + cells * widths, 2 * _FAR * parts * widths, stream)
    return kept, np.where(negative, -numbers, numbers)


def _happens(
    first: Integers, of_first: Integers, second: Integers, of_second: Integers, stream: np.random.Generator
) -> NDArray[np.bool_]:
    """Events of probability exp(−γ), γ being the product of two fractions, both at most 1."""
    odd, left, number = np.ones(len(first), bool), np.arange(len(first)), 1
    while left.size:
        left = left[stream.integers(0, number, left.size) == 0]
        left = left[stream.integers(0, of_second[left]) < second[left]]
        left = left[stream.integers(0, of_first[left]) < first[left]]
        odd[left] ^= True
        number += 1
    return odd


def _draw_cells(count: int, stream: np.random.Generator) -> Integers:
    """Numbers v ≥ 0, P(v) ∝ exp(−v²/512)."""
    words, table = stream.integers(0, 1 << 64, count, dtype=np.uint64), np.array(_cumulative(1), np.uint64)
    cells = np.searchsorted(table, words, side="right").astype(np.int64)
    for place in np.flatnonzero(table[cells - 1] == words):
        cells[place] = _decide(int(words[place]), stream)
    return cells


def _decide(digits: int, stream: np.random.Generator) -> int:
    """The cell of a uniform number whose first digits are those of a value of the distribution function."""
    words = 1
    while digits in _cumulative(words):
        digits, words = digits << 64 | int(stream.integers(0, 1 << 64, dtype=np.uint64)), words + 1
    return bisect_right(_cumulative(words), digits)


@cache
def _cumulative(words: int) -> list[int]:
    """The first 64·words binary digits of P(v ≤ j), for every j."""
    with localcontext(prec=20 * words + _GUARD_DIGITS) as context:
        last = isqrt(6 * _FAR * context.prec)  # whose weight is below the last digit
        sums = list(accumulate((Decimal(-v * v) / (2 * _FAR)).exp() for v in range(last)))
        found = [int(2 ** (64 * words) * value / sums[-1]) for value in sums]
    return [value for value in found if value < 2 ** (64 * words)]
