"""Mean and covariance of each class's images, from either kind of release, denoised at the known noise level.

The noise of a symmetric d × d matrix with entries of standard deviation t (√2·t on the diagonal) has its eigenvalues
within ±2t√d, and moves an eigenvalue λ > t√d of what is under it to l = λ + d·t²/λ. So eigenvalues l within the noise
are dropped, and the others set back to

    λ = (l + √(l² − 4·d·t²))/2.

What is dropped is not lost: how far images are from their class's mean in all is known to a few per cent, and the
directions that are left are stretched until they make up for it. A classifier trained on such images meets as much
variation as real ones have.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from microtome.errors import ReleaseError
from microtome.published import ImageMomentsRelease, ImageRelease, ImageRowsRelease, unknown_release
from microtome.published.image_classes import class_centres, over_frequencies

Floats = NDArray[np.float64]
_FEWEST_DIRECTIONS = 2
"""A class with fewer directions above the noise takes those that all classes share; where these are too few as well,
only the variance of each frequency is taken, which is an average over many entries."""

_SPREADS_DIFFER = 0.4
"""By how much, as a share, the spreads of classes are expected to differ, where noise hides how much they do."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassMoments:
    """What a release knows of each class, in units of its radius.

    Attributes:
        shares: Share of each class among the images.
        means: Mean image (classes × d).
        covariances: Covariance about it, positive semi-definite (classes × d × d).
        ranks: Directions of each class that stood out from the noise.
    """

    shares: Floats
    means: Floats
    covariances: Floats
    ranks: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Noisy:
    """Noisy second moments about the mean with their noise, and what their traces ought to be."""

    means: Floats
    second: Floats
    noise: Floats
    traces: Floats


def class_moments(release: ImageRelease) -> ClassMoments:
    """Denoised moments of every class."""
    match release:
        case ImageMomentsRelease():
            noisy = _of_moments(release)
        case ImageRowsRelease():
            noisy = _of_rows(release)
        case _:
            raise unknown_release(release)
    weights = release.class_shares
    common = np.tensordot(weights, noisy.second, axes=1)
    common_noise = float(np.sqrt((weights**2) @ noisy.noise**2))
    shared, rank = denoised(common, common_noise)
    if rank < _FEWEST_DIRECTIONS:
        spectrum = over_frequencies(np.diag(common).copy(), release.schema)
        shared = np.diag(np.maximum(spectrum, 0.0))
    covariances, ranks = [], []
    for second, noise, trace in zip(noisy.second, noisy.noise, noisy.traces, strict=True):
        kept, rank = denoised(second, float(noise))
        covariances.append(stretched(kept if rank >= _FEWEST_DIRECTIONS else shared, float(trace)))
        ranks.append(rank)
    return ClassMoments(shares=weights, means=noisy.means, covariances=np.stack(covariances), ranks=tuple(ranks))


def denoised(matrix: Floats, noise: float) -> tuple[Floats, int]:
    """The part of a symmetric matrix that stands out from noise of this size on its diagonal, and its rank."""
    values, vectors = np.linalg.eigh(matrix)
    edge = 2.0 * noise / np.sqrt(2.0) * np.sqrt(len(matrix))
    above = values > edge
    kept = np.where(above, (values + np.sqrt(np.maximum(values**2 - edge**2, 0.0))) / 2.0, 0.0)
    cleaned: Floats = (vectors * kept) @ vectors.T
    return cleaned, int(above.sum())


def stretched(matrix: Floats, trace: float) -> Floats:
    """A matrix of the same shape with the trace it ought to have."""
    found = float(np.trace(matrix))
    return matrix * (trace / found) if found > 0 and trace > 0 else matrix


def _of_moments(release: ImageMomentsRelease) -> _Noisy:
    mechanism, counts = release.mechanism, np.maximum(release.counts, 1.0)
    squared = mechanism.residual_radius**2
    return _Noisy(
        means=release.centres,
        second=squared * release.second / counts[:, None, None],
        noise=squared * mechanism.second_noise / counts,
        traces=np.clip(release.spreads / counts, 0.0, 1.0) * mechanism.spread_radius**2,
    )


def _of_rows(release: ImageRowsRelease) -> _Noisy:
    """Moments from noisy rows Y = X·U + V: with A = Uᵀ(UUᵀ)⁻¹, Y·A = X + V·A."""
    dim, count = release.directions.shape
    if count < dim:
        raise ReleaseError(
            f"{count} directions do not span {dim} dimensions: no moments; use a sliced loss from random"
        )
    gram = np.linalg.inv(release.directions @ release.directions.T)
    back = release.directions.T @ gram
    variance = release.noise_scale**2 * float(np.trace(gram)) / dim
    present = np.array([release.present(number) for number in range(release.schema.num_classes)])
    sizes = np.array(release.mechanism.class_rows, dtype=np.float64)
    sums, second = [], []
    for number in range(release.schema.num_classes):
        rows = release.rows(number) @ back
        mean = rows.sum(axis=0) / present[number]
        of_noise = sizes[number] * release.noise_scale**2 * gram
        sums.append(rows.sum(axis=0))
        second.append((rows.T @ rows - of_noise) / present[number] - np.outer(mean, mean))
    scale = release.contrast
    noises = np.sqrt(sizes * variance)
    means = class_centres(np.stack(sums), present, noises, scale.brightness, release.schema)
    between = float(release.class_shares @ (means**2).sum(axis=1))
    noise = np.sqrt(2.0 * sizes) * variance / present
    found = np.trace(np.stack(second), axis1=1, axis2=2)
    return _Noisy(
        means=means,
        second=np.stack(second),
        noise=noise,
        traces=max(scale.energy - between, 0.0) * _relative(found, np.sqrt(dim) * noise, release.class_shares),
    )


def _relative(found: Floats, noise: Floats, shares: Floats) -> Floats:
    """Spread of each class relative to all, as far as it stands out from its noise."""
    common = max(float(shares @ found), 1e-9)
    trust = _SPREADS_DIFFER**2 / (_SPREADS_DIFFER**2 + (noise / common) ** 2)
    return np.clip(1.0 + trust * (found / common - 1.0), 0.2, 5.0)
