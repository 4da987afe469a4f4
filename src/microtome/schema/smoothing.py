"""Counts of numbers next to each other, averaged as far as the noise asks for it.

Where a cell holds fewer records than the noise has standard deviations, its count says nothing by itself, but those
around it say something together. With y = x + σz and ŷ = Sy, S a Gaussian average of some width, the error is known but
for chance (Stein's unbiased estimate):

    E‖ŷ − x‖² = E[ ‖y − Sy‖² + 2σ²·tr S − nσ² ].

The width with the least of it is taken, if that halves the error of the counts as they are. Everything here is
post-processing of numbers that are already public.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_WIDTHS = 16
"""Widths that are tried, from half a cell to a third of all."""
_GAIN = 0.5
"""Part of the error that has to be left at most: averages blur what is narrow."""


def smoothed(counts: Floats, noise_scale: float) -> Floats:
    """The counts of cells of equal width, averaged over neighbours where the noise hides them."""
    size, best = len(counts), counts
    least = _GAIN * size * noise_scale**2
    for width in np.geomspace(0.5, max(size / 3.0, 0.5), _WIDTHS):
        averages, trace = _averaged(counts, float(width))
        error = float(((counts - averages) ** 2).sum()) + noise_scale**2 * (2.0 * trace - size)
        if error < least:
            least, best = error, averages
    return best


def _averaged(counts: Floats, width: float) -> tuple[Floats, float]:
    """Weighted means of neighbours, and how much all cells weigh in their own; ends have neighbours on one side."""
    reach = min(int(4.0 * width) + 1, len(counts) - 1)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    weights = np.convolve(np.ones(len(counts)), kernel)[reach : reach + len(counts)]
    averages: Floats = np.convolve(counts, kernel)[reach : reach + len(counts)] / weights
    return averages, float((1.0 / weights).sum())
