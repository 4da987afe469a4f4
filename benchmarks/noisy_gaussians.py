"""Gaussians of classes under the noise that a release of aggregates would have, for trying codes that it has not yet.

Noise comes from a seeded generator, and how long vectors are is taken as known: for choosing among ideas on data that
may be looked at, never for a release.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter

from microtome.private.plan import unit_noise
from microtome.settings import PrivacySettings
from microtome.training.image_moments import stretched

Floats = NDArray[np.float64]
MEAN_SHARE, MOMENT_SHARE = 0.2, 0.75
_CLIPPED = 0.7
_RIDGE = 0.3
_ALIKE = 9
"""Directions, in the order of their variance, over which classes are taken to differ alike."""
_LEAST = 0.05
"""The least variance of a class in a direction, as a share of that of all."""


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


def alike(second: Floats, noise: Floats, traces: Floats, weights: Floats) -> Floats:
    """Covariances of classes that are taken to differ little from that of all, as far as noise hides by how much.

    In the directions of the common covariance, each scaled to a variance of one, classes differ from it by matrices
    whose entries vary alike over neighbouring directions. Empirical Bayes: an entry of variance A under noise of
    variance s² is multiplied by A/(A + s²).
    """
    present = weights > 0
    stretch = float(weights @ traces) / max(float(weights @ np.trace(second, axis1=1, axis2=2)), 1e-12)
    second, noise, spread = stretch * second, stretch * noise, float(weights @ traces)
    dim = second.shape[1]
    values, vectors = np.linalg.eigh(np.tensordot(weights, second, axes=1))
    edge = np.sqrt(2.0 * dim) * float(np.sqrt(weights**2 @ noise**2))
    above = values > edge
    kept = np.where(above, (values + np.sqrt(np.maximum(values**2 - edge**2, 0.0))) / 2.0, 0.0)
    rest = max(spread - kept.sum(), 0.0) / max(int((~above).sum()), 1)
    kept = np.where(above, kept, max(min(rest, edge / 2.0), 1e-9 * spread))
    scale = np.sqrt(np.outer(kept, kept))
    apart = np.stack([vectors.T @ matrix @ vectors / scale for matrix in second]) - np.eye(dim)
    variances = np.square(noise)[:, None, None] / (2.0 * scale**2) * (1.0 + np.eye(dim))
    found = (apart[present] ** 2 - variances[present]).mean(axis=0)
    signal = np.maximum(uniform_filter(found, size=_ALIKE, mode="nearest"), 0.0)
    covariances = []
    for difference, variance, trace in zip(apart, variances, traces, strict=True):
        lengths, axes = np.linalg.eigh(np.eye(dim) + difference * signal / (signal + variance + 1e-12))
        matrix = vectors @ ((axes * np.maximum(lengths, _LEAST)) @ axes.T * scale) @ vectors.T
        covariances.append(stretched(matrix, float(trace)))
    return np.stack(covariances)
