"""The slicing mechanism: clip to the unit ball, project, add noise, round to the grid.

    M(X) = (U, X·U + V),   V i.i.d. N(0, σ²)

Directions are drawn here, independently of the data, and never taken from a caller.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from microtome.accounting import DirectionKind, Directions
from microtome.errors import MicrotomeError
from microtome.private.randomness import Randomness, add_gaussian_noise, haar_columns
from microtome.schema.fixed_point import on_grid, squared_norms, towards_zero

LARGEST_NORM = 1.0 - 1e-9
"""Rows are clipped to this norm: what is left to 1 covers the rounding of directions and of one addition."""
_ROW_BITS, _HIGH_BITS, _LOW_BITS = 20, 28, 54
"""Rows are cut to this many binary digits. Directions are taken apart into two numbers of fewer digits, so that both
products are exact: 20 + 28 digits leave room for directions of norm 32, and 20 + 54 for 65,536 coordinates, the lower
part being below 2⁻²⁹."""
MOST_COORDINATES = 1 << 16
_LARGEST_DIRECTION = 32.0
_LIMIT = np.iinfo(np.int16).max


def draw_directions(law: Directions, randomness: Randomness, num_coordinates: int | None = None) -> NDArray[np.float64]:
    """U (d × m'): i.i.d. N(0, 1/d), or Haar-orthogonal blocks of which the last may be cut.

    With ``num_coordinates``, the part of U that rows of this length meet, those that follow being zero.
    """
    match law.kind:
        case DirectionKind.FIXED:
            raise MicrotomeError("directions are drawn by the mechanism; it takes none from its caller")
        case DirectionKind.GAUSSIAN:
            gaussian: NDArray[np.float64] = randomness.stream("directions").standard_normal((law.dim, law.count))
            gaussian /= np.sqrt(law.dim)
            return gaussian[:num_coordinates]
        case DirectionKind.ORTHOGONAL:
            widths = [law.dim] * law.full_blocks + [law.cut_columns] * (law.cut_columns > 0)
            streams = (randomness.stream("directions", index) for index in range(len(widths)))
            blocks = [haar_columns(law.dim, width, stream) for width, stream in zip(widths, streams, strict=True)]
            return np.ascontiguousarray(np.concatenate(blocks, axis=1)[:num_coordinates])


@dataclass(frozen=True, kw_only=True)
class SlicingMechanism:
    """Turns encoded private rows into noisy slices.

    Attributes:
        directions: The matrix U.
        noise_scale: The standard deviation σ.
        nonnegative: Whether rows are clipped to non-negative coordinates too, so that two of them are at most
            √2 apart.
        randomness: Where the noise comes from; a block of rows has the stream of its number.
    """

    directions: NDArray[np.float64]
    noise_scale: float
    nonnegative: bool
    randomness: Randomness

    def __call__(self, rows: NDArray[np.float64], block: int) -> NDArray[np.int16]:
        """Noisy slices of the rows of a block, in grid steps."""
        noisy = add_gaussian_noise(self.project(rows), self.noise_scale, self.randomness.stream("noise", block))
        return np.clip(noisy, -_LIMIT, _LIMIT, out=noisy).astype(np.int16)

    def project(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """X·U, each row the same to the last bit whatever rows it is projected with. Never leaves this package."""
        cut = towards_zero(clip_rows(rows, nonnegative=self.nonnegative), _ROW_BITS)
        high, low = self._parts
        projected: NDArray[np.float64] = cut @ high
        projected += cut @ low
        return projected

    @cached_property
    def _parts(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """U as a sum of two matrices, each of few enough digits for exact products."""
        if len(self.directions) > MOST_COORDINATES or squared_norms(self.directions.T).max() > _LARGEST_DIRECTION**2:
            raise MicrotomeError("directions are too long, or too many coordinates, for exact products")
        high = on_grid(self.directions, _HIGH_BITS)
        return high, on_grid(self.directions - high, _LOW_BITS)


def clip_rows(rows: NDArray[np.float64], *, nonnegative: bool) -> NDArray[np.float64]:
    """Rows of norm at most 1, whatever the caller gave; refuses what has no norm."""
    if nonnegative:
        rows = np.maximum(rows, 0.0)
    norms = np.sqrt(squared_norms(rows))
    if not np.isfinite(norms).all():
        raise MicrotomeError("an encoded row is not finite; nothing was released")
    clipped: NDArray[np.float64] = rows * (LARGEST_NORM / np.maximum(norms, LARGEST_NORM))[:, None]
    if len(clipped) and squared_norms(clipped).max() > 1.0:
        raise MicrotomeError("an encoded row is longer than 1 after clipping; nothing was released")
    return clipped
