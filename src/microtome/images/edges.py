"""Edges of an image: how much light changes, in which direction, and about where.

Low frequencies say where light is; whether it ends in an outline or fades they leave open. Of light p ≥ 0:

    a, b = p(x+1, y) − p(x−1, y), p(x, y+1) − p(x, y−1)
    change in direction φ = max(a·cos φ + b·sin φ − 0.7·√(a² + b²), 0)      φ = 0°, 45° … 315°
    edge = √(Σ weight·change + 10⁻⁴) − √10⁻⁴                                4 × 4 places, weights fall in straight lines

The root makes faint edges count: of outlines it matters more whether they are there than how dark they are.

Edges are an image's own: changes are computed pixel by pixel with operations that are rounded in one way only, and
summed by a product on grids of powers of two, which is exact (``microtome.schema.fixed_point``).
"""

from __future__ import annotations

from functools import cached_property
from math import cos, pi, sin, sqrt

import numpy as np
from numpy.typing import NDArray

from microtome.images.frame import PIXEL_BITS
from microtome.schema.fixed_point import on_grid, spare_bits

Floats = NDArray[np.float64]
PLACES, DIRECTIONS = 4, 8
"""Places along a side, and directions of light's change."""
EDGE_DIM = PLACES * PLACES * DIRECTIONS
EDGE_WEIGHT = 0.6
"""Weight of an edge in an encoded image, as a share of √pixels: of drawn strokes, edges vary about as much as
components then do."""
SMALLEST_SIDE = 8
"""Pixels of a side that are needed for places to be told apart."""
NARROW, FAINT = 0.7, 1e-4
TURNS = tuple(
    (cos(2.0 * pi * number / DIRECTIONS), sin(2.0 * pi * number / DIRECTIONS)) for number in range(DIRECTIONS)
)
"""Cosine and sine of each direction."""
_AT_ONCE = 1024


class Edges:
    """Edges of images of one size."""

    def __init__(self, height: int, width: int) -> None:
        self.height, self.width = height, width

    @cached_property
    def pooling(self) -> Floats:
        """How much each pixel counts for each place (places × pixels)."""
        weights: Floats = np.kron(nearness(self.height), nearness(self.width)).astype(np.float64)
        return on_grid(weights, spare_bits(PIXEL_BITS, weights.shape[1]))

    def of(self, light: Floats) -> Floats:
        """Edges (n × places·directions) of images, from the light of their pixels (n × height × width, on the grid)."""
        parts = [self._of_some(light[first : first + _AT_ONCE]) for first in range(0, len(light), _AT_ONCE)]
        return np.concatenate(parts) if parts else np.empty((0, EDGE_DIM))

    def _of_some(self, light: Floats) -> Floats:
        across, down = np.zeros_like(light), np.zeros_like(light)
        across[:, :, 1:-1] = light[:, :, 2:] - light[:, :, :-2]
        down[:, 1:-1] = light[:, 2:] - light[:, :-2]
        length = NARROW * np.sqrt(across * across + down * down)
        pooled = np.empty((len(light), PLACES * PLACES, DIRECTIONS))
        for number, (cosine, sine) in enumerate(TURNS):
            change = np.maximum(cosine * across + sine * down - length, 0.0)
            pooled[:, :, number] = on_grid(change, PIXEL_BITS).reshape(len(light), -1) @ self.pooling.T
        return (np.sqrt(pooled + FAINT) - sqrt(FAINT)).reshape(len(light), EDGE_DIM)


def nearness(size: int) -> Floats:
    """How much each pixel of a line counts for each place (places × size); a place's weights sum to about one."""
    step = size / PLACES
    middles = (np.arange(PLACES) + 0.5) * step - 0.5
    return np.maximum(1.0 - np.abs(np.arange(size) - middles[:, None]) / step, 0.0) / step
