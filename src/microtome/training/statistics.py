"""First and second moments of the encoded rows, from a release's noisy slices.

With directions U (d × m') of full row rank, A = Uᵀ(UUᵀ)⁻¹ turns slices back into rows: Y·A = X + V·A, noise of
covariance σ²N with N = (UUᵀ)⁻¹ (for q orthogonal blocks A = Uᵀ/q, N = I/q). So the sums Yᵀ1 and YᵀY over all
rows, taken once, hold all that first and second moments can tell:

    E[x xᵀ] ≈ (Aᵀ(YᵀY/N)A − σ²N) / (1 − ν),

ν being the share of null rows, which pad a subsample or a protected count. In units of one-hot vectors,
x = scale·(e − offset), that is the table of any two columns. Its noise is known: an entry's variance is that of
a product of two noisy coordinates over the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from microtome.divergences import ReleasedMoments
from microtome.errors import ReleaseError
from microtome.generators import RowLayout
from microtome.release import RecordsRelease, Release

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


def row_layout(release: Release) -> RowLayout:
    """The code of the release's rows, for torch."""
    codebook = release.codebook
    return RowLayout(
        blocks=tuple((block.start, block.stop) for block in codebook.blocks),
        scale=torch.tensor(codebook.scale, dtype=torch.float32),
        offset=torch.tensor(codebook.offset, dtype=torch.float32),
    )


def level_margins(release: Release) -> Floats:
    """Share of every level, block by block, as the profile knows it."""
    return np.concatenate([code.level_margins for code in release.codebook.codes])


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


def released_moments(release: RecordsRelease, sums: SliceSums) -> ReleasedMoments:
    """Margins from the profile, two-way tables from the slices, and the noise of both."""
    codebook = release.codebook
    scale = np.where(codebook.scale > 0, codebook.scale, 1.0)
    second, noise = encoded_moments(release, sums)
    margins, offset = level_margins(release), codebook.offset
    table = second / np.outer(scale, scale) + np.outer(offset, margins) + np.outer(margins, offset)
    return ReleasedMoments(
        blocks=[(block.start, block.stop) for block in codebook.blocks],
        mean=margins,
        second=table - np.outer(offset, offset),
        mean_noise=margin_noise(release),
        second_noise=noise / np.outer(scale, scale),
        num_rows=max(round(sums.num_rows * (1.0 - release.null_share)), 1),
    )


def margin_noise(release: Release) -> Floats:
    """Standard deviation of the profile's level margins: every cell of a level adds its noise."""
    total = release.manifest.contents.num_records
    levels = [
        code.noise_scale / total * np.sqrt(np.bincount(code.levels, minlength=code.num_levels))
        for code in release.codebook.codes
    ]
    return np.concatenate(levels)


def _product_noise(noise: Floats, second: Floats, num_rows: int) -> Floats:
    """Standard deviation of (x_a + v_a)(x_b + v_b) averaged over the rows."""
    variances = np.diag(noise)
    energies = np.clip(np.diag(second), 0.0, None)
    product = np.outer(variances, variances) + noise**2
    product += np.outer(energies, variances) + np.outer(variances, energies) + 2.0 * second * noise
    deviation: Floats = np.sqrt(np.maximum(product, 0.0) / num_rows)
    return deviation
