"""A release's moments as training reads them: the code of its rows, and its tables with their noise, for torch."""

from __future__ import annotations

import torch

from microtome.divergences import ReleasedMoments
from microtome.generators import RowLayout
from microtome.release import RecordsRelease, Release
from microtome.release.moments import SliceSums, level_margins, margin_noise, one_hot_moments


def row_layout(release: Release) -> RowLayout:
    """The code of the release's rows, for torch."""
    codebook = release.codebook
    return RowLayout(
        blocks=tuple((block.start, block.stop) for block in codebook.blocks),
        scale=torch.tensor(codebook.scale, dtype=torch.float32),
        offset=torch.tensor(codebook.offset, dtype=torch.float32),
    )


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
