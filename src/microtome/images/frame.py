"""Where what an image shows stands in it: its pose, and the image with the pose taken away.

A class of images is nearer to a Gaussian once its images are put in one place, upright and at one size. So an *aligned*
image is encoded as it looks in a frame of its own, and five numbers say where that frame is: the centre of what is
bright, its slant, its width and its height. Generators draw both and put them together again.

Of light p ≥ 0 at places (x, y) between −1 and 1, with mean (cx, cy) and covariance S:

    slant k = Sxy/(Syy + τ),   height sy = √(Syy + τ)/s₀,   width sx = √(Sxx − Sxy²/(Syy + τ) + τ)/s₀
    place in the image = (cx + sx·u + k·sy·v, cy + sy·v)   of the point (u, v) of the frame

The five numbers are an image's own: its moments are exact products on grids of powers of two, and everything after is
done pixel by pixel with operations that are rounded in one way only (``microtome.schema.fixed_point``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from microtome.schema.fixed_point import on_grid, spare_bits

Floats = NDArray[np.float64]
POSE_DIM = 5
PIXEL_BITS = 20
"""Pixels are told apart to a millionth of their range, and poses to a millionth of an image's size."""
STILL = np.array([0.0, 0.0, 0.0, 1.0, 1.0])
"""The pose that leaves an image as it is."""
POSE_WEIGHTS = np.array([0.18, 0.18, 0.06, 0.09, 0.09])
"""Weight of each number in an encoded image, as a share of √pixels: of objects as they vary in sets of small images,
each then has a hundredth or so of the variance. A pose is at most 1 from that which leaves images as they are."""
SMALLEST_SIZE = 0.25
_FLOOR = 0.02
_USUAL_SIZE = 0.42
_FAINTEST = 1e-4
"""Light a pixel that is added to all, so that black images have a pose."""
_AT_ONCE = 1024


class Frame:
    """Poses of images of one size."""

    def __init__(self, height: int, width: int) -> None:
        self.height, self.width = height, width

    @cached_property
    def _places(self) -> tuple[Floats, Floats]:
        """The place (x, y) of every pixel, flat."""
        x, y = (2.0 * (np.arange(size) + 0.5) / size - 1.0 for size in (self.width, self.height))
        return np.tile(x, self.height), np.repeat(y, self.width)

    def poses(self, light: Floats) -> Floats:
        """Poses (n × 5) of images, from the light of their pixels (n × pixels, 0 to 1, on the grid of pixels)."""
        x, y = self._places
        pixels = len(x)
        monomials = np.stack([np.ones(pixels), x, y, x * x, x * y, y * y]) / sqrt(pixels)
        sums = light @ on_grid(monomials, spare_bits(PIXEL_BITS, pixels)).T
        mass = sums[:, 0] + _FAINTEST * sqrt(pixels)
        cx, cy, xx, xy, yy = (sums[:, place] / mass for place in range(1, 6))
        xx, xy, yy = xx - cx * cx, xy - cx * cy, np.maximum(yy - cy * cy, 0.0) + _FLOOR
        wide = np.sqrt(np.maximum(xx - xy * xy / yy, 0.0) + _FLOOR) / _USUAL_SIZE
        found = np.stack([cx, cy, xy / yy, wide, np.sqrt(yy) / _USUAL_SIZE], axis=1)
        return on_grid(bounded(found), PIXEL_BITS)

    def upright(self, planes: Floats, poses: Floats) -> Floats:
        """Images (n × channels × height × width) as they look in their frames."""
        u, v = self._places

        def in_image(poses: Floats) -> tuple[Floats, Floats]:
            cx, cy, slant, wide, high = (poses[:, place, None] for place in range(POSE_DIM))
            return cx + wide * u + slant * (high * v), cy + high * v

        return self._looked_up(planes, poses, in_image)

    def placed(self, planes: Floats, poses: Floats) -> Floats:
        """The inverse: what frames show, put where they are."""
        x, y = self._places

        def in_frame(poses: Floats) -> tuple[Floats, Floats]:
            cx, cy, slant, wide, high = (poses[:, place, None] for place in range(POSE_DIM))
            return ((x - cx) - slant * (y - cy)) / wide, (y - cy) / high

        return self._looked_up(planes, poses, in_frame)

    def _looked_up(self, planes: Floats, poses: Floats, places: Callable[[Floats], tuple[Floats, Floats]]) -> Floats:
        """Images at the places that poses give, a few at a time."""
        seen = np.empty_like(planes)
        for first in range(0, len(planes), _AT_ONCE):
            part = slice(first, first + _AT_ONCE)
            seen[part] = self._seen(planes[part], *places(poses[part]))
        return seen

    def _seen(self, planes: Floats, x: Floats, y: Floats) -> Floats:
        """Images at the places (x, y), between pixels by straight lines; beyond the edge is what is on it."""
        left, right, across = _between(x, self.width)
        above, below, down = _between(y, self.height)
        seen = np.empty_like(planes)
        for channel in range(planes.shape[1]):
            flat = planes[:, channel].reshape(len(planes), -1)
            corners = [
                np.take_along_axis(flat, row * self.width + column, axis=1)
                for row in (above, below)
                for column in (left, right)
            ]
            upper = corners[0] + across * (corners[1] - corners[0])
            lower = corners[2] + across * (corners[3] - corners[2])
            seen[:, channel] = (upper + down * (lower - upper)).reshape(-1, self.height, self.width)
        return seen


def bounded(poses: Floats) -> Floats:
    """Poses no further than 1 from that which leaves images as they are, and of some size."""
    low = STILL - 1.0
    low[3:] = SMALLEST_SIZE
    return np.clip(poses, low, STILL + 1.0)


def _between(places: Floats, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """The pixels before and after places between −1 and 1, and how far on the way they are."""
    at = np.clip(((places + 1.0) * size - 1.0) / 2.0, 0.0, size - 1.0)
    before = np.floor(at)
    first = before.astype(np.int64)
    return first, np.minimum(first + 1, size - 1), at - before
