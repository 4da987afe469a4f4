"""Gaussians of classes under the noise that a release of aggregates would have, for trying codes that it has not yet.

Noise comes from a seeded generator, and how long vectors are is taken as known: for choosing among ideas on data that
may be looked at, never for a release.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from microtome.private.plan import unit_noise
from microtome.settings import PrivacySettings
from microtome.training.image_moments import alike

Floats = NDArray[np.float64]
MEAN_SHARE, MOMENT_SHARE = 0.2, 0.75
_CLIPPED = 0.7
_RIDGE = 0.3


@dataclass(frozen=True, kw_only=True)
class Gaussians:
    """Mean and covariance of each class (classes × d, classes × d × d)."""

    means: Floats
    covariances: Floats

    def draw(self, number: int, rng: np.random.Generator, width: float = 1.0) -> tuple[Floats, NDArray[np.int64]]:
        """So many rows of each class, of ``width`` times the variance, and their classes."""
        rows = []
        for mean, covariance in zip(self.means, self.covariances, strict=True):
            values, vectors = np.linalg.eigh(width * covariance)
            noise = rng.standard_normal((number, len(mean)))
            rows.append(mean + noise * np.sqrt(np.maximum(values, 0.0)) @ vectors.T)
        return np.concatenate(rows), np.repeat(np.arange(len(self.means)), number)

    def judge(self, rows: Floats) -> NDArray[np.int64]:
        """The class under which a row is likeliest, small variances raised."""
        scores = []
        for mean, covariance in zip(self.means, self.covariances, strict=True):
            values, vectors = np.linalg.eigh(covariance)
            raised = np.maximum(values, 0.0) + _RIDGE * values.mean()
            scores.append(-(np.square((rows - mean) @ vectors) / raised).sum(axis=1) - np.log(raised).sum())
        return np.stack(scores).argmax(axis=0)


def noisy_gaussians(
    rows: Floats, classes: NDArray[np.int64], epsilon: float, delta: float, rng: np.random.Generator
) -> Gaussians:
    """Moments as a release would have them, the covariance of a class drawn towards that of all."""
    mu = 1.0 / unit_noise(PrivacySettings(epsilon=epsilon, delta=delta), [])
    counts = np.bincount(classes).astype(np.float64)
    means = _noisy_means(rows, classes, counts, 1.0 / (mu * np.sqrt(MEAN_SHARE)), rng)
    residuals = rows - means[classes]
    norms = np.linalg.norm(residuals, axis=1, keepdims=True)
    spread = float(np.square(norms).mean())
    radius = _CLIPPED * np.sqrt(spread)
    clipped = residuals / np.maximum(norms / radius, 1.0)
    stretch = spread / float(np.square(clipped).sum(axis=1).mean())
    noise = stretch * radius**2 / (mu * np.sqrt(MOMENT_SHARE)) / counts
    second = np.stack(
        [
            stretch * clipped[classes == number].T @ clipped[classes == number] / count
            + _symmetric_noise(rows.shape[1], noise[number], rng)
            for number, count in enumerate(counts)
        ]
    )
    traces = np.full(len(counts), spread)
    return Gaussians(means=means, covariances=alike(second, noise, traces, counts / counts.sum()))


def _noisy_means(
    rows: Floats, classes: NDArray[np.int64], counts: Floats, noise: float, rng: np.random.Generator
) -> Floats:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    radius = np.median(norms)
    clipped = rows / np.maximum(norms / radius, 1.0)
    sums = np.stack([clipped[classes == number].sum(axis=0) for number in range(len(counts))])
    sums += radius * noise * rng.standard_normal(sums.shape)
    brightness = norms.mean() / np.minimum(norms, radius).mean()
    return brightness * sums / counts[:, None]


def _symmetric_noise(dim: int, noise: float, rng: np.random.Generator) -> Floats:
    """Noise of a symmetric matrix, √½ of it off the diagonal."""
    above = np.triu(rng.standard_normal((dim, dim)), 1) / np.sqrt(2.0)
    return noise * (above + above.T + np.diag(rng.standard_normal(dim)))
