"""Image sets to files: an NPZ archive, a folder of PNG files by class, or one picture with a grid of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from microtome.errors import ParameterError
from microtome.images.extra import pillow
from microtome.images.image_set import ImageSet
from microtome.progress import Progress, silent
from microtome.whole_file import whole_file, whole_folder

_GAP = 1
_WHITE = 255


def write_images(
    path: Path, images: ImageSet, *, low: float = 0.0, high: float = 255.0, progress: Progress = silent
) -> None:
    """Write images, complete or not at all.

    Args:
        path: A name that ends in ``.npz``; one that ends in ``.png``, for a grid with a row for each class; or a name
            without an ending, for a folder with a sub-folder for each class.
        images: What to write.
        low: The value that is black in PNG files. NPZ archives keep the values as they are.
        high: The value that is white.
        progress: Told how many images are written.
    """
    if path.suffix == ".npz":
        arrays: dict[str, Any] = {"images": images.pixels}
        if images.labels is not None:
            arrays["labels"] = images.labels
        with whole_file(path) as file:
            np.savez_compressed(file, **arrays)
    elif path.suffix == ".png":
        picture = pillow().fromarray(_plain(grid(grey(images.pixels, low, high), images.labels)))
        with whole_file(path) as file:
            picture.save(file, format="PNG")
    elif not path.suffix:
        with whole_folder(path) as folder:
            _write_folder(folder, grey(images.pixels, low, high), images.labels, progress)
    else:
        raise ParameterError(f"{path}: images are written to .npz, to a .png grid, or to a folder (no ending)")
    progress("write", len(images), len(images))


def grey(pixels: NDArray[Any], low: float, high: float) -> NDArray[np.uint8]:
    """Pixels between ``low`` and ``high`` as bytes."""
    unit = np.clip((pixels.astype(np.float64) - low) / (high - low), 0.0, 1.0)
    return np.rint(_WHITE * unit).astype(np.uint8)


def grid(pixels: NDArray[np.uint8], labels: NDArray[Any] | None = None, columns: int = 10) -> NDArray[np.uint8]:
    """One picture of many: a row for each class, or all in order, with a white gap between."""
    if labels is None:
        rows = [pixels[first : first + columns] for first in range(0, min(len(pixels), columns**2), columns)]
    else:
        rows = [pixels[labels == label][:columns] for label in np.unique(labels)]
    _, height, width, channels = pixels.shape
    across = max(len(row) for row in rows)
    sheet = np.full((len(rows) * (height + _GAP), across * (width + _GAP), channels), _WHITE, np.uint8)
    for line, row in enumerate(rows):
        for place, picture in enumerate(row):
            top, left = line * (height + _GAP), place * (width + _GAP)
            sheet[top : top + height, left : left + width] = picture
    return sheet[:-_GAP, :-_GAP]


def png(picture: NDArray[np.uint8], scale: int = 1) -> bytes:
    """A picture as the bytes of a PNG file, each pixel drawn as a square of ``scale`` pixels."""
    from io import BytesIO

    buffer = BytesIO()
    large = picture.repeat(scale, axis=0).repeat(scale, axis=1)
    pillow().fromarray(_plain(large)).save(buffer, format="PNG")
    return buffer.getvalue()


def _write_folder(path: Path, pixels: NDArray[np.uint8], labels: NDArray[Any] | None, progress: Progress) -> None:
    image_module = pillow()
    for number, picture in enumerate(pixels):
        folder = path if labels is None else path / str(labels[number])
        folder.mkdir(exist_ok=True)
        image_module.fromarray(_plain(picture)).save(folder / f"{number:06d}.png")
        if number % 1000 == 0:
            progress("write", number, len(pixels))


def _plain(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A picture as Pillow wants it: grey ones have no third axis."""
    return picture[:, :, 0] if picture.shape[2] == 1 else picture
