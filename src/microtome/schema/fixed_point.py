"""Arithmetic that is the same for a record wherever it stands.

A library's matrix product, or sum along a row, may take another order of additions for another number of rows, and
with it other last bits, for all records at once. A comparison that follows (a bin, a clip) then moves many of them
because of one. On a grid of powers of two that does not happen: products of multiples of 2⁻ᵃ and 2⁻ᵇ are multiples of
2⁻ᵃ⁻ᵇ, and as long as their sums stay below 2⁵³ such steps, 64-bit floats hold every partial sum exactly, in whatever
order it is taken. Where numbers cannot be put on a grid, they are added up one coordinate after the other, for all
records alike: single additions are rounded in one way only.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

EXACT_BITS = 53
"""Whole numbers up to two to this power are exact in 64-bit floats."""


def on_grid(values: Floats, bits: int) -> Floats:
    """Values rounded to multiples of 2⁻ᵇⁱᵗˢ."""
    step = math.ldexp(1.0, -bits)
    rounded: Floats = np.rint(values / step) * step
    return rounded


def towards_zero(values: Floats, bits: int) -> Floats:
    """Values cut to multiples of 2⁻ᵇⁱᵗˢ: none becomes larger, no row longer."""
    step = math.ldexp(1.0, -bits)
    cut: Floats = np.trunc(values / step) * step
    return cut


def spare_bits(taken: int, length: int) -> int:
    """Bits that are left for one factor of a scalar product where the other, of norm at most √length, has ``taken``.

    The second factor has norm at most 1, so by Cauchy and Schwarz no partial sum exceeds √length.
    """
    return EXACT_BITS - 1 - taken - math.ceil(math.log2(max(length, 1)) / 2)


def squared_norms(rows: Floats) -> Floats:
    """Squared norm of each row, coordinate after coordinate."""
    total = np.zeros(len(rows))
    for coordinate in rows.T:
        total += coordinate * coordinate
    return total
