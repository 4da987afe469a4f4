"""First and second moments of a release's rows, with the noise that is known to be in them.

Records: with directions U (d × m') of full row rank, A = Uᵀ(UUᵀ)⁻¹ turns slices back into rows: Y·A = X + V·A, noise
of covariance σ²N with N = (UUᵀ)⁻¹ (for q orthogonal blocks A = Uᵀ/q, N = I/q). So the sum YᵀY over all rows, taken
once, holds all that second moments can tell:

    E[x xᵀ] ≈ (Aᵀ(YᵀY/N)A − σ²N) / (1 − ν),

ν being the share of null rows, which pad a subsample or a protected count. Its noise is known: an entry's variance is
that of a product of two noisy coordinates over the number of rows. Margins are the profile's, for either kind.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from microtome.errors import ReleaseError
from microtome.published.artefact import Release
from microtome.published.records import RecordsRelease

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class SliceSums:
    """Sums over some of a release's rows.

    Attributes:
        num_rows: How many.
        second: YᵀY.
    """

    num_rows: int
    second: Floats


def level_margins(release: Release) -> Floats:
    """Share of every level, block by block, as the profile knows it."""
    return np.concatenate([code.level_margins for code in release.codebook.codes])


def margin_noise(release: Release) -> Floats:
    """Standard deviation of the profile's level margins: every cell of a level adds its noise."""
    total = release.manifest.contents.num_records
    levels = [
        code.noise_scale / total * np.sqrt(np.bincount(code.levels, minlength=code.num_levels))
        for code in release.codebook.codes
    ]
    return np.concatenate(levels)


def slice_sums(release: RecordsRelease, first: int, last: int) -> SliceSums:
    """Sums over the rows from ``first`` to before ``last``, read once in pieces."""
    width = release.directions.shape[1]
    second = np.zeros((width, width))
    for start, stop in release.chunks(first, last):
        rows = release.rows(start, stop)
        second += rows.T @ rows
    return SliceSums(num_rows=last - first, second=second)


def has_moments(release: RecordsRelease) -> bool:
    """Whether the directions span the rows, so that moments can be had."""
    dim, count = release.directions.shape
    return bool(count >= dim)


def encoded_moments(release: RecordsRelease, sums: SliceSums) -> tuple[Floats, Floats]:
    """E[x xᵀ] of encoded rows off the diagonal, and the standard deviation of the noise of each entry."""
    if not has_moments(release):
        dim, count = release.directions.shape
        raise ReleaseError(
            f"{count} directions do not span {dim} dimensions: no moments; fit it with the sliced losses, such as "
            '{"loss": {"moments": 0, "kernel": 1}} in the settings'
        )
    present = 1.0 - release.null_share
    gram = np.linalg.inv(release.directions @ release.directions.T)
    back = release.directions.T @ gram
    noise = np.asarray(release.noise_scale**2 * gram, dtype=np.float64)
    second = np.asarray(back.T @ (sums.second / sums.num_rows) @ back - noise, dtype=np.float64)
    return second / present, _product_noise(noise, second, sums.num_rows) / present


def one_hot_moments(release: RecordsRelease, sums: SliceSums) -> tuple[Floats, Floats]:
    """The tables of any two columns, as shares of all records, and the standard deviation of each entry's noise.

    In units of one-hot vectors e, with x = scale·(e − offset) and the profile's margins for E[e].
    """
    codebook = release.codebook
    scale = np.where(codebook.scale > 0, codebook.scale, 1.0)
    second, noise = encoded_moments(release, sums)
    margins, offset = level_margins(release), codebook.offset
    table = second / np.outer(scale, scale) + np.outer(offset, margins) + np.outer(margins, offset)
    return table - np.outer(offset, offset), noise / np.outer(scale, scale)


def _product_noise(noise: Floats, second: Floats, num_rows: int) -> Floats:
    """Standard deviation of (x_a + v_a)(x_b + v_b) averaged over the rows."""
    variances = np.diag(noise)
    energies = np.clip(np.diag(second), 0.0, None)
    product = np.outer(variances, variances) + noise**2
    product += np.outer(energies, variances) + np.outer(variances, energies) + 2.0 * second * noise
    deviation: Floats = np.sqrt(np.maximum(product, 0.0) / num_rows)
    return deviation
