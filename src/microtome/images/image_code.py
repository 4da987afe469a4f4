"""The code between images and vectors: low-frequency cosine components of the pixels.

Natural images have most of their energy in low frequencies, whatever they show. So a few of the components of the
orthonormal two-dimensional cosine transform (DCT-II), those of lowest frequency, hold nearly all there is to see, and
noise need not be spent on the rest. The basis is a formula: it is public and learnt from nobody's data.

    z = B·(p − mean)/(high − low),   B orthonormal rows (d × pixels)

An image's *contrast* ‖z‖/√pixels lies between 0 and 1. Of aligned images the components are those of what their frames
show, and five more say where these are (``microtome.images.frame``).

Pixels and basis are on grids of powers of two, so that the product is exact and an image has the same components
whatever images it is encoded with (``microtome.schema.fixed_point``).
"""

from __future__ import annotations

from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from microtome.images.frame import PIXEL_BITS, POSE_DIM, POSE_WEIGHTS, STILL, Frame, bounded
from microtome.images.image_schema import ImageSchema
from microtome.schema.fixed_point import on_grid, spare_bits

Floats = NDArray[np.float64]


class ImageCode:
    """Encodes and decodes the images of a schema."""

    def __init__(self, schema: ImageSchema) -> None:
        self.schema = schema

    @cached_property
    def plane(self) -> Floats:
        """The basis of one channel (components × height·width), lowest frequencies first."""
        schema = self.schema
        rows, columns = cosines(schema.height), cosines(schema.width)
        order = _by_frequency(schema.height, schema.width)[: schema.num_components]
        basis = np.stack([np.outer(rows[u], columns[v]).ravel() for u, v in order])
        return on_grid(basis, spare_bits(PIXEL_BITS, basis.shape[1]))

    @property
    def largest(self) -> float:
        """The largest norm that an encoded image can have."""
        low, high = self.schema.low, self.schema.high
        mean = np.array(self.schema.mean or (low,))
        reach = float(np.maximum(high - mean, mean - low).max()) / (high - low)
        pixels = self.schema.height * self.schema.width
        posed = float(np.square(self.pose_weights).sum()) if self.schema.aligned else 0.0
        return sqrt(reach**2 * pixels * self.schema.channels + posed)

    @property
    def pose_weights(self) -> Floats:
        """What the numbers of a pose are multiplied by in an encoded image."""
        return on_grid(POSE_WEIGHTS * sqrt(self.schema.height * self.schema.width), 4)

    @cached_property
    def frame(self) -> Frame:
        """Where images of this size stand."""
        return Frame(self.schema.height, self.schema.width)

    @property
    def offset(self) -> Floats:
        """The public mean of each channel, in units of the range above its low end."""
        low, high = self.schema.low, self.schema.high
        mean = np.broadcast_to(np.array(self.schema.mean or (low,)), (self.schema.channels,))
        return (mean - low) / (high - low)

    def encode(self, pixels: NDArray[Any]) -> Floats:
        """Components of images (n × height × width × channels)."""
        low, high = self.schema.low, self.schema.high
        unit = (pixels.astype(np.float64) - low) / (high - low)
        if not self.schema.aligned:
            return self._components((unit - self.offset).transpose(0, 3, 1, 2))
        planes = on_grid(unit, PIXEL_BITS).transpose(0, 3, 1, 2)
        poses = self.frame.poses(self._light(unit).reshape(len(planes), -1))
        seen = self.frame.upright(planes, poses) - self.offset[:, None, None]
        return np.concatenate([self._components(seen), (poses - STILL) * self.pose_weights], axis=1)

    def _light(self, unit: Floats) -> Floats:
        """Light of every pixel (n × height × width), on the grid: channels are added up one after the other."""
        planes = on_grid(unit, PIXEL_BITS)
        total = planes[..., 0]
        for number in range(1, self.schema.channels):
            total = total + planes[..., number]
        return on_grid(total / self.schema.channels, PIXEL_BITS)

    def _components(self, planes: Floats) -> Floats:
        exact = on_grid(planes, PIXEL_BITS).reshape(len(planes) * self.schema.channels, -1)
        return (exact @ self.plane.T).reshape(len(planes), -1)

    def decode(self, components: Floats) -> Floats:
        """Images in units of the range, 0 to 1 where nothing is beyond it (n × height × width × channels)."""
        schema = self.schema
        shown = components[:, : schema.num_components * schema.channels]
        flat = shown.reshape(-1, schema.num_components) @ self.plane
        planes = flat.reshape(-1, schema.channels, schema.height, schema.width) + self.offset[:, None, None]
        if schema.aligned:
            poses = components[:, -POSE_DIM:] / self.pose_weights + STILL
            planes = self.frame.placed(planes, bounded(poses))
        return planes.transpose(0, 2, 3, 1)


def cosines(size: int) -> Floats:
    """The orthonormal cosine basis of a line of pixels, one frequency a row."""
    frequency, place = np.arange(size)[:, None], np.arange(size)[None, :]
    basis = np.cos(np.pi * frequency * (2 * place + 1) / (2 * size)) * sqrt(2.0 / size)
    basis[0] /= sqrt(2.0)
    return np.asarray(basis, dtype=np.float64)


def _by_frequency(height: int, width: int) -> list[tuple[int, int]]:
    """Pairs of frequencies, from the lowest to the highest in cycles a pixel, ties by row."""
    pairs = [(u, v) for u in range(height) for v in range(width)]
    return sorted(pairs, key=lambda pair: ((pair[0] * width) ** 2 + (pair[1] * height) ** 2, pair))
