"""Moments of a release of records as training reads them: from slices, with their noise, for torch."""

from __future__ import annotations

from microtome.divergences import ReleasedMoments
from microtome.published import RecordsRelease
from microtome.published.second_moments import SliceSums, level_margins, margin_noise, one_hot_moments


def released_moments(release: RecordsRelease, sums: SliceSums) -> ReleasedMoments:
    """Margins from the profile, two-way tables from the slices, and the noise of both."""
    table, noise = one_hot_moments(release, sums)
    return ReleasedMoments(
        blocks=[(block.start, block.stop) for block in release.codebook.blocks],
        mean=level_margins(release),
        second=table,
        mean_noise=margin_noise(release),
        second_noise=noise,
        num_rows=max(round(sums.num_rows * (1.0 - release.null_share)), 1),
    )
