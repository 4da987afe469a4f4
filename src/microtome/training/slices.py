"""Which slices of a release the sliced losses look at, read in pieces.

The released slices are always there. With whole orthogonal directions any other slice is a valid noisy slice as
well (``encoded_rows``): random ones, ones inside a column, ones of two columns. Drawing them costs no privacy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from microtome.divergences import column_frames, pair_frames, random_frames
from microtome.errors import ParameterError
from microtome.published import RecordsRelease


class SliceChoice(StrEnum):
    """Which slices the sliced losses look at."""

    RELEASED = "released"
    RANDOM = "random"
    COLUMNS = "columns"
    PAIRS = "pairs"

    @property
    def usual_dim(self) -> int:
        """The dimension of slices where nothing else is said."""
        match self:
            case SliceChoice.RANDOM:
                return 3
            case SliceChoice.RELEASED | SliceChoice.COLUMNS | SliceChoice.PAIRS:
                return 2


@dataclass(frozen=True, kw_only=True, eq=False)
class SlicedRows:
    """Slices of some of a release's rows.

    Attributes:
        release: The release.
        first: First row.
        last: Row after the last.
        directions: The directions θ_s.
        noise_scale: σ of each coordinate of a slice.
        fresh: Whether the directions were drawn now rather than released.
    """

    release: RecordsRelease
    first: int
    last: int
    directions: Float[Tensor, "m d k"]
    noise_scale: float
    fresh: bool

    def __iter__(self) -> Iterator[Float[Tensor, "c m k"]]:
        num_slices, dim, slice_dim = self.directions.shape
        stacked = self.directions.double().permute(1, 0, 2).reshape(dim, -1).numpy()
        for start, stop in self.release.chunks(self.first, self.last):
            if self.fresh:
                points = (self.release.encoded_rows(start, stop) @ stacked).reshape(-1, num_slices, slice_dim)
            else:
                points = self.release.slices(start, stop)
            yield torch.from_numpy(points).float()


def released_slices(release: RecordsRelease, first: int, last: int) -> SlicedRows:
    """The slices as they were released."""
    directions = torch.from_numpy(np.ascontiguousarray(release.slice_directions())).float()
    noise = release.noise_scale
    return SlicedRows(release=release, first=first, last=last, directions=directions, noise_scale=noise, fresh=False)


def chosen_slices(
    release: RecordsRelease,
    choice: SliceChoice,
    first: int,
    num_slices: int,
    slice_dim: int,
    generator: torch.Generator,
) -> SlicedRows:
    """Slices of the rows from ``first`` on: as released, or drawn now, of encoded rows under isotropic noise."""
    if choice is not SliceChoice.RELEASED and not release.is_isotropic:
        raise ParameterError(
            f"slices={choice} needs whole orthogonal directions; this release has {SliceChoice.RELEASED}"
        )
    blocks = [(block.start, block.stop) for block in release.codebook.blocks]
    match choice:
        case SliceChoice.RELEASED:
            return released_slices(release, first, release.num_rows)
        case SliceChoice.RANDOM:
            directions = random_frames(num_slices, release.codebook.dim, slice_dim, generator=generator)
        case SliceChoice.COLUMNS:
            directions = column_frames(num_slices, blocks, slice_dim, generator=generator)
        case SliceChoice.PAIRS if slice_dim != 2:
            raise ParameterError(
                f"slices=pairs have one direction in each of two columns; slice_dim is {slice_dim}, not 2"
            )
        case SliceChoice.PAIRS:
            directions = pair_frames(num_slices, blocks, generator=generator)
        case _:
            assert_never(choice)
    noise, last = release.isotropic_noise, release.num_rows
    return SlicedRows(release=release, first=first, last=last, directions=directions, noise_scale=noise, fresh=True)
