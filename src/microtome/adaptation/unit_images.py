"""Images of any layout to one kind of array: n × channels × height × width in [0, 1], checked.

Everything here treats images one by one, by rules that are public: the declared range, the wanted size. Nothing is
read off the images themselves, such as their largest value, so the same code may be used on private ones. Its
refusals depend on the images and are for their holder's eyes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from microtome.errors import ParameterError, TableError
from microtome.images import ImageSet

UnitImages = NDArray[np.float32]
_RANGES = {"b": (0.0, 1.0), "f": (0.0, 1.0)}
_AT_ONCE = 4096


def unit_images(
    images: Any,
    *,
    origin: str,
    value_range: tuple[float, float] | None = None,
    image_size: tuple[int, int] | None = None,
) -> UnitImages:
    """Images as n × channels × height × width in [0, 1].

    Args:
        images: An ``ImageSet``, or an array of any layout that it takes.
        origin: What to call them in messages.
        value_range: Their smallest and largest possible value; by default that of their type: 0 to 255 for bytes, 0
            to 1 for floats.
        image_size: Height and width to bring them to, by bilinear interpolation.
    """
    match images:
        case ImageSet():
            found = images
        case _:
            found = _image_set(images, origin)
    if len(found) == 0:
        raise TableError(f"{origin}: there are no images")
    low, high = _range(found.pixels.dtype, value_range, origin)
    values = found.pixels.astype(np.float32)
    outside = (values < low) | (values > high)
    if outside.any():
        value = values.ravel()[int(np.argmax(outside))]
        raise TableError(
            f"{origin}: a pixel of {value:g} is outside the range {low:g} to {high:g}; declare the true range, or "
            "rescale the images"
        )
    scaled = (values - np.float32(low)) / np.float32(high - low)
    ordered = np.ascontiguousarray(scaled.transpose(0, 3, 1, 2))
    return ordered if image_size is None else _resized(ordered, image_size)


def class_numbers(labels: Any, num_images: int, classes: Sequence[Any] | None) -> tuple[NDArray[np.int64], list[Any]]:
    """Labels as numbers of classes, and the classes: as declared, or else all labels in order."""
    marks = np.asarray(labels)
    if marks.shape != (num_images,):
        raise TableError(f"there are {num_images:,} source images and labels of shape {marks.shape}; give one for each")
    if marks.dtype.kind not in "iuUb":
        raise TableError(f"source labels are {marks.dtype}; they must be whole numbers or names")
    known = np.unique(marks) if classes is None else np.asarray(list(classes))
    if len(known) < 2 or len(np.unique(known)) != len(known):
        raise TableError(f"there must be at least two different classes, not {known.tolist()}")
    numbers = np.full(num_images, -1)
    for number, name in enumerate(known):
        numbers[marks == name] = number
    if (numbers < 0).any():
        raise TableError(
            f"source label {marks[int(np.argmax(numbers < 0))].item()!r} is not among the declared classes"
        )
    empty = sorted(set(range(len(known))) - set(numbers.tolist()))
    if empty:
        raise TableError(
            f"class {known[empty[0]].item()!r} is declared, but no source image has it; add some or leave it out"
        )
    return numbers, known.tolist()


def require_one_shape(source_shape: tuple[int, ...], target_shape: tuple[int, ...]) -> None:
    """Refuse domains of different channels, height or width."""
    if tuple(source_shape) != tuple(target_shape):
        raise TableError(
            f"source images are {_in_words(source_shape)}, target images {_in_words(target_shape)}; bring both to "
            "one size with image_size=(height, width), and to the same channels"
        )


def _image_set(images: Any, origin: str) -> ImageSet:
    try:
        array = np.asarray(images)
    except ValueError:
        raise TableError(f"{origin}: images have different sizes; bring them all to one") from None
    return ImageSet.from_arrays(array, origin=origin)


def _range(dtype: np.dtype[Any], given: tuple[float, float] | None, origin: str) -> tuple[float, float]:
    if given is not None:
        low, high = given
        if not (np.isfinite([low, high]).all() and low < high):
            raise ParameterError(f"{origin}: value_range is {given}; it must be a smaller and a larger number")
        return float(low), float(high)
    if dtype == np.uint8:
        return 0.0, 255.0
    if dtype.kind not in _RANGES:
        raise ParameterError(f"{origin}: pixels are {dtype}; declare their range, such as (0, 255)")
    return _RANGES[dtype.kind]


def _resized(images: UnitImages, size: tuple[int, int]) -> UnitImages:
    """Each image by itself, so that a piece of them is as good as all."""
    if len(size) != 2 or min(size) < 4:
        raise ParameterError(f"image_size is {size}; it must be a height and a width of at least 4")
    if images.shape[2:] == tuple(size):
        return images
    resized = np.empty((*images.shape[:2], *size), np.float32)
    for start in range(0, len(images), _AT_ONCE):
        part = torch.from_numpy(images[start : start + _AT_ONCE])
        bigger = functional.interpolate(part, size=size, mode="bilinear", align_corners=False, antialias=True)
        resized[start : start + _AT_ONCE] = bigger.clamp(0.0, 1.0).numpy()
    return resized


def _in_words(shape: Sequence[int]) -> str:
    channels, height, width = shape
    return f"{height} × {width} with {channels} channel{'s' if channels > 1 else ''}"
