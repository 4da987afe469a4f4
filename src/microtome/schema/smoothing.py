"""Counts of numbers next to each other, averaged as far as the noise asks for it.

Where a cell holds fewer records than the noise has standard deviations, its count says nothing by itself, but those
around it say something together. A cell i of width w_i then gets the density around it,

    ŷ_i = w_i · Σ_j k(x_i − x_j)·y_j / Σ_j k(x_i − x_j)·w_j,    k Gaussian of some width, x the middles of cells.

With y = x + σz and ŷ = Sy the error is known but for chance (Stein's unbiased estimate):

    E‖ŷ − x‖² = E[ ‖y − Sy‖² + 2σ²·tr S − nσ² ].

The width with the least of it is taken, if that halves the error of the counts as they are. Everything here is
post-processing of numbers that are already public.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_WIDTHS = np.geomspace(0.004, 0.25, 10)
"""Widths that are tried, as parts of the whole range."""
_GAIN = 0.5
"""Part of the error that has to be left at most: averages blur what is narrow."""
_HIDDEN = 3.0
"""Variances of the noise above which neighbours differ by more than it, so that nothing is hidden."""
_STANDS_OUT = 4.0
"""Standard deviations of the noise by which a cell exceeds its neighbourhood that has more than that."""


def smoothed(counts: Floats, edges: Floats, noise_scale: float) -> tuple[Floats, float]:
    """The counts of cells with these edges, averaged over neighbours where the noise hides them, and their noise."""
    variance = noise_scale**2
    if len(counts) < 3 or float((np.diff(counts) ** 2).mean()) > 2.0 * _HIDDEN * variance:
        return counts, noise_scale
    best, least, left = counts, _GAIN * len(counts) * variance, 1.0
    for width in _WIDTHS * float(edges[-1] - edges[0]):
        averages, trace = _averaged(counts, edges, float(width))
        error = float(((counts - averages) ** 2).sum()) + variance * (2.0 * trace - len(counts))
        if error < least:
            best, least, left = averages, error, trace / len(counts)
    return np.where(counts - best > _STANDS_OUT * noise_scale, counts, best), noise_scale * float(np.sqrt(left))


def _averaged(counts: Floats, edges: Floats, width: float) -> tuple[Floats, float]:
    """The densities around all cells, in records of each, and how much all cells weigh in their own."""
    middles, widths = (edges[1:] + edges[:-1]) / 2.0, np.diff(edges)
    kernel = np.exp(-0.5 * ((middles[:, None] - middles) / width) ** 2)
    shares = widths / (kernel @ widths)
    return shares * (kernel @ counts), float(shares.sum())
