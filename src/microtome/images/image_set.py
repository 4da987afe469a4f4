"""Images in memory, all of one shape, with a label each or none."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from microtome.errors import TableError

_CHANNELS = (1, 3, 4)
"""Last axes that are taken as channels: grey, colour, colour with transparency."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ImageSet:
    """Images of one shape.

    Attributes:
        pixels: n × height × width × channels, in the type of the file (whole numbers, or floats).
        labels: A whole number or a name for each image, or ``None``.
        origin: Where they come from, for messages.
        files: What they were read from, the images first; none for images from memory.
    """

    pixels: NDArray[Any]
    labels: NDArray[Any] | None
    origin: str = "the images"
    files: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        if self.pixels.ndim != 4 or self.pixels.dtype.kind not in "buif":
            raise TableError(
                f"{self.origin}: pixels are {self.pixels.dtype} of shape {self.pixels.shape}; they must be numbers, "
                "images × height × width × channels"
            )
        if self.pixels.dtype.kind == "f" and not np.isfinite(self.pixels).all():
            raise TableError(f"{self.origin}: some pixels are not finite; replace them first")
        if self.labels is None:
            return
        if self.labels.dtype.kind not in "iuU":
            raise TableError(
                f"{self.origin}: labels are {self.labels.dtype}; they must be whole numbers or names, one for each "
                "image"
            )
        if self.labels.shape != (len(self.pixels),):
            raise TableError(
                f"{self.origin} has {len(self.pixels):,} images and labels of shape {self.labels.shape}; there must be "
                "one label for each image"
            )

    def __len__(self) -> int:
        return len(self.pixels)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels."""
        _, height, width, channels = self.pixels.shape
        return height, width, channels

    @classmethod
    def from_arrays(
        cls,
        pixels: Any,
        labels: Any = None,
        *,
        shape: tuple[int, int, int] | None = None,
        origin: str = "the images",
        files: tuple[Path, ...] = (),
    ) -> ImageSet:
        """Images from arrays of the usual layouts.

        Args:
            pixels: n × height × width × channels, n × height × width, or flat rows. Without ``shape``, flat rows of
                a square number of pixels are taken as square grey images.
            labels: One for each image.
            shape: Height, width and channels of flat rows.
            origin: Where they come from, for messages.
            files: What they were read from, the images first.
        """
        array = np.asarray(pixels)
        if array.dtype.kind not in "buif" or array.ndim < 2:
            raise TableError(
                f"{origin}: pixels are {array.dtype} of shape {array.shape}; they must be numbers, by image"
            )
        wanted = shape or _shape_of(array, origin)
        if math.prod(wanted) != math.prod(array.shape[1:]):
            raise TableError(f"{origin}: images are of shape {array.shape[1:]}, which is not {wanted}")
        return cls(
            pixels=array.reshape(len(array), *wanted),
            labels=None if labels is None else _labels(labels, origin),
            origin=origin,
            files=files,
        )


def _shape_of(array: NDArray[Any], origin: str) -> tuple[int, int, int]:
    """Height, width and channels by the array's layout, which is public; no pixel is looked at."""
    if array.ndim == 4 and array.shape[3] in _CHANNELS:
        return array.shape[1], array.shape[2], array.shape[3]
    if array.ndim == 4 and array.shape[1] in _CHANNELS:
        raise TableError(f"{origin}: channels come first in {array.shape}; put them last")
    if array.ndim == 3:
        return array.shape[1], array.shape[2], 1
    side = math.isqrt(array.shape[1]) if array.ndim == 2 else 0
    if array.ndim == 2 and side * side == array.shape[1] and side > 0:
        return side, side, 1
    raise TableError(f"{origin}: cannot tell height, width and channels from shape {array.shape}; give the shape")


def _labels(labels: Any, origin: str) -> NDArray[Any]:
    """Labels in one row, as whole numbers or text."""
    array = np.asarray(labels)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.dtype.kind in "SO":
        try:
            array = np.array([one.decode() if isinstance(one, bytes) else one for one in array.tolist()])
        except (AttributeError, UnicodeDecodeError):
            raise TableError(f"{origin}: labels cannot be read as numbers or names") from None
    if array.dtype.kind == "f" and np.isfinite(array).all() and (array == np.rint(array)).all():
        array = array.astype(np.int64)
    return array.astype(np.int64) if array.dtype.kind in "bui" else array
