"""Exact sums over a private image set, class by class, and their publication under noise.

Vectors are clipped to the unit ball and then cut to multiples of 2⁻¹⁵, towards zero. Their products are multiples of
2⁻³⁰, so that sums over up to 2²³ images are exact in 64-bit floats, in whatever order they are taken, and whole numbers
of steps of the lattice that their noise is on. What is compared or cut on the way (a norm, a
spread, a coordinate) is computed for each image by itself (``microtome.schema.fixed_point``), so that one image more
or less changes the sums by its own contribution and by nothing else.
"""

from __future__ import annotations

from threading import Lock

import numpy as np
from numpy.typing import NDArray

from microtome.errors import TableError
from microtome.private.image_rows import ImageBlock
from microtome.private.randomness import Randomness, noisy_counts
from microtome.private.slicing import clip_rows
from microtome.published.image_classes import CONTRAST_BINS
from microtome.schema.fixed_point import squared_norms, towards_zero

Floats = NDArray[np.float64]
_BITS = 15
MOST_IMAGES = 2**23


class ImageCounts:
    """The profile: how many images each class has, and each step of contrast."""

    def __init__(self, num_classes: int, largest: float) -> None:
        self._largest, self._lock = largest, Lock()
        self.classes, self.contrasts = np.zeros(num_classes), np.zeros(CONTRAST_BINS)

    def add(self, block: ImageBlock) -> None:
        """Count a block."""
        rows, classes = block.rows, block.classes
        norms = np.sqrt(squared_norms(rows)) / self._largest
        bins = np.minimum((norms * CONTRAST_BINS).astype(np.int64), CONTRAST_BINS - 1)
        with self._lock:
            self.classes += np.bincount(classes, minlength=len(self.classes))
            self.contrasts += np.bincount(bins, minlength=CONTRAST_BINS)

    def merge(self, other: ImageCounts) -> None:
        """Add what another has counted."""
        self.classes += other.classes
        self.contrasts += other.contrasts

    def publish(self, noise: float, randomness: Randomness) -> tuple[Floats, Floats]:
        """Both histograms under noise."""
        return (
            noisy_counts(self.classes, noise, randomness.stream("classes")),
            noisy_counts(self.contrasts, noise, randomness.stream("contrasts")),
        )


class MeanSums:
    """Sums of the images of each class, each clipped to the unit ball of a radius."""

    def __init__(self, num_classes: int, dim: int, radius: float) -> None:
        self._radius, self._lock = radius, Lock()
        self.sums = np.zeros((num_classes, dim))

    def add(self, block: ImageBlock) -> None:
        """Add a block."""
        rows, classes = block.rows, block.classes
        clipped = quantised(rows / self._radius)
        for number in np.unique(classes):
            part = clipped[classes == number].sum(axis=0)
            with self._lock:
                self.sums[number] += part

    def merge(self, other: MeanSums) -> None:
        """Add what another has summed."""
        self.sums += other.sums

    def publish(self, noise: float, randomness: Randomness) -> Floats:
        """The sums under noise."""
        return noisy_counts(self.sums, noise, randomness.stream("means"), digits=_BITS)


class MomentSums:
    """Sums of r·rᵀ and of spreads, r being an image's residual from the published centre of its class.

    Args:
        centres: The centre of each class, in units of ``radius``; public.
        radius: The unit of images.
        residual_radius: Residuals are clipped to this norm, in units of ``radius``, and become the unit ball.
        spread_radius: A spread is the squared norm of a residual over this one's square, at most 1.
    """

    def __init__(self, centres: Floats, radius: float, residual_radius: float, spread_radius: float) -> None:
        self._centres, self._radius, self._lock = centres, radius, Lock()
        self._residual_radius, self._spread_radius = residual_radius, spread_radius
        classes, dim = centres.shape
        self.second, self.spreads = np.zeros((classes, dim, dim)), np.zeros(classes)

    def add(self, block: ImageBlock) -> None:
        """Add a block."""
        rows, classes = block.rows, block.classes
        residuals = rows / self._radius - self._centres[classes]
        spreads = towards_zero(np.minimum(squared_norms(residuals) / self._spread_radius**2, 1.0), _BITS)
        clipped = quantised(residuals / self._residual_radius)
        for number in np.unique(classes):
            mine = classes == number
            second, spread = clipped[mine].T @ clipped[mine], spreads[mine].sum()
            with self._lock:
                self.second[number] += second
                self.spreads[number] += spread

    def merge(self, other: MomentSums) -> None:
        """Add what another of the same centres has summed."""
        self.second += other.second
        self.spreads += other.spreads

    def publish(self, second_noise: float, spread_noise: float, randomness: Randomness) -> tuple[Floats, Floats]:
        """Second moments, each entry noised once and those off the diagonal with √½ of the noise, and spreads."""
        dim = self.second.shape[1]
        above = np.triu_indices(dim, 1)
        exact = np.diagonal(self.second, axis1=1, axis2=2)
        diagonal = noisy_counts(exact, second_noise, randomness.stream("moments", 0), digits=2 * _BITS)
        exact, crossed_noise = self.second[:, above[0], above[1]], second_noise / np.sqrt(2.0)
        crossed = noisy_counts(exact, crossed_noise, randomness.stream("moments", 1), digits=2 * _BITS)
        noisy = np.zeros_like(self.second)
        noisy[:, above[0], above[1]] = crossed
        noisy += noisy.transpose(0, 2, 1)
        noisy[:, np.arange(dim), np.arange(dim)] = diagonal
        return noisy, noisy_counts(self.spreads, spread_noise, randomness.stream("spreads"), digits=_BITS)


def quantised(rows: Floats) -> Floats:
    """Rows clipped to the unit ball and cut to the grid, towards zero, which makes none of them longer."""
    return towards_zero(clip_rows(rows, nonnegative=False), _BITS)


def check_count(num_images: int, origin: str) -> None:
    """Refuse more images than can be summed exactly."""
    if num_images > MOST_IMAGES:
        raise TableError(f"{origin}: at most {MOST_IMAGES:,} images can be summed exactly; release them in parts")
