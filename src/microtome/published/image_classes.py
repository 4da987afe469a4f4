"""What published counts and means of images say about scale and centres. Only published numbers enter.

The private half uses it between its passes, to aim the next one, and whoever fits a release can repeat it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from microtome.images import ImageSchema

Floats = NDArray[np.float64]

CONTRAST_BINS = 32
_STANDS_OUT = 2.0
"""Counts of contrasts below this many standard deviations of their noise are taken as zero."""
_CLIPPED_SHARE = 0.5
"""Share of images that are clipped to the radius. Half: a smaller radius means less noise, and clipping takes contrast
away but no shape."""
_RESIDUAL_SHARE = 0.7
_SPREAD_REACH = 3.0
_LEAST_SPREAD = 0.05
_NEIGHBOURS = 2
"""Components on either side that are taken to be of nearly the same frequency."""


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """What the histogram of norms says.

    Attributes:
        radius: The norm to which images are clipped, the unit of everything that follows.
        brightness: Mean norm before clipping over that after it: what clipped means are to be multiplied by.
        energy: Mean squared norm before clipping, in units of the radius.
    """

    radius: float
    brightness: float
    energy: float


def contrast(counts: Floats, noise: float, largest: float) -> Contrast:
    """Scale of the images, from a noisy histogram of their norms between 0 and ``largest``."""
    kept = np.where(counts > _STANDS_OUT * noise, counts, 0.0)
    if not kept.any():
        kept = np.ones(CONTRAST_BINS)
    shares = kept / kept.sum()
    middles = (np.arange(CONTRAST_BINS) + 0.5) / CONTRAST_BINS * largest
    below = np.concatenate([[0.0], np.cumsum(shares)])
    edges = np.linspace(0.0, largest, CONTRAST_BINS + 1)
    radius = max(float(np.interp(1.0 - _CLIPPED_SHARE, below, edges)), float(middles[0]))
    return Contrast(
        radius=radius,
        brightness=float(shares @ middles / (shares @ np.minimum(middles, radius))),
        energy=float(shares @ (middles / radius) ** 2),
    )


def class_centres(
    sums: Floats, counts: Floats, noise: float | Floats, brightness: float, schema: ImageSchema
) -> Floats:
    """A centre for each class: its noisy mean, drawn towards the mean of all as far as its noise demands.

    Empirical Bayes, frequency by frequency: where classes differ by a variance A from the mean of all and the noise of
    a class is s, its difference is multiplied by A/(A + s²). A is what is left of the differences' squares, averaged
    over classes and over components of nearly the same frequency, after s² is taken off.
    """
    present = np.maximum(counts, 1.0)
    means = sums / present[:, None]
    common = sums.sum(axis=0) / present.sum()
    apart = means - common
    variances = np.broadcast_to(np.square(noise / present), counts.shape)
    signal = over_frequencies((apart**2 - variances[:, None]).mean(axis=0), schema)
    signal = np.maximum(signal, 1e-12)
    kept = signal / (signal + variances[:, None])
    centres: Floats = brightness * (common + kept * apart)
    return centres


def over_frequencies(values: Floats, schema: ImageSchema) -> Floats:
    """Values of components averaged over neighbours in frequency, channel by channel; those of poses as they are."""
    window = np.ones(2 * _NEIGHBOURS + 1)
    planes = values[: schema.num_components * schema.channels].reshape(schema.channels, -1)
    weights = np.convolve(np.ones(planes.shape[1]), window, mode="full")[_NEIGHBOURS : _NEIGHBOURS + planes.shape[1]]
    smooth = [np.convolve(plane, window, mode="full")[_NEIGHBOURS : _NEIGHBOURS + len(plane)] for plane in planes]
    return np.concatenate([(np.stack(smooth) / weights).ravel(), values[planes.size :]])


def residual_radii(centres: Floats, counts: Floats, energy: float) -> tuple[float, float]:
    """Norms to which residuals and spreads are clipped, from how far images are from their centres on average."""
    present = np.maximum(counts, 0.0)
    between = float(present @ (centres**2).sum(axis=1) / max(present.sum(), 1.0))
    spread = float(np.sqrt(max(energy - between, _LEAST_SPREAD)))
    return _RESIDUAL_SHARE * spread, _SPREAD_REACH * spread
