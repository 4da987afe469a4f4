"""A private image set, checked against its schema and read in blocks of encoded images."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from microtome.errors import TableError
from microtome.images import ImageCode, ImageSchema, ImageSet, read_images

Floats = NDArray[np.float64]
_CHECKED_ENTRIES = 1 << 22
"""Pixels that are looked at together."""


@dataclass(frozen=True)
class ImageBlock:
    """Encoded images, of any norm, and their classes."""

    rows: Floats
    classes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rows)


def open_images(source: Any) -> ImageSet:
    """An image set from a path or from memory."""
    match source:
        case ImageSet():
            return source
        case str() | Path():
            return read_images(source)
        case _:
            raise TableError(
                f"cannot read images from {type(source).__name__}; give a path, or ImageSet.from_arrays(…)"
            )


class PrivateImages:
    """Images that agree with their schema. What does not is refused before anything is spent.

    A declared class may be empty: that is a fact about the images, and refusing it would tell it.
    """

    def __init__(self, images: ImageSet, schema: ImageSchema) -> None:
        self.origin, self.schema, self._code = images.origin, schema, ImageCode(schema)
        if images.shape != schema.shape:
            raise TableError(f"{images.origin}: images are {images.shape}, the schema says {schema.shape}")
        self._pixels = images.pixels
        self._classes = _class_indices(images, schema)
        step = max(64, _CHECKED_ENTRIES // int(np.prod(schema.shape)))
        for first in range(0, len(images), step):
            block = images.pixels[first : first + step]
            if block.min() < schema.low or block.max() > schema.high:
                raise TableError(
                    f"{images.origin}: some pixels are outside the declared range [{schema.low:g}, {schema.high:g}]; "
                    "correct the range in the schema, or the images"
                )

    def __len__(self) -> int:
        return len(self._pixels)

    def blocks(self, num_images: int) -> Iterator[ImageBlock]:
        """All images, in order, in blocks of so many."""
        for first in range(0, len(self), num_images):
            part = slice(first, first + num_images)
            yield ImageBlock(self._code.encode(self._pixels[part]), self._classes[part])


def _class_indices(images: ImageSet, schema: ImageSchema) -> NDArray[np.int64]:
    if schema.classes is None:
        return np.zeros(len(images), np.int64)
    if images.labels is None:
        raise TableError(f"{images.origin} has no labels, but the schema declares classes; give the labels")
    named = images.labels.dtype.kind == "U"
    if named != isinstance(schema.classes[0], str):
        words = ("names", "numbers") if named else ("numbers", "names")
        raise TableError(f"{images.origin}: labels are {words[0]}, the declared classes are {words[1]}")
    indices = schema.class_indices(images.labels)
    if (indices < 0).any():
        raise TableError(
            f"{images.origin}: some labels are not among the {schema.num_classes} declared classes; declare all that "
            "can occur"
        )
    return indices
