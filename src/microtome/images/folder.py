"""Folders of PNG files: one sub-folder a class, or all in one folder without labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from microtome.errors import TableError
from microtome.images.extra import pillow

SUFFIXES = (".png", ".bmp", ".pgm", ".ppm", ".tif", ".tiff", ".jpg", ".jpeg")
_MODES = {"1": "L", "L": "L", "P": "RGB", "RGB": "RGB", "RGBA": "RGBA", "LA": "RGBA"}


def class_folders(path: Path) -> list[Path]:
    """The sub-folders that stand for classes, by name; numbers in the order of numbers."""
    folders = [child for child in path.iterdir() if child.is_dir() and not child.name.startswith(".")]
    numbered = all(folder.name.isdecimal() for folder in folders)
    return sorted(folders, key=lambda folder: (int(folder.name), folder.name) if numbered else (0, folder.name))


def read_folder(path: Path) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Images and, where there are sub-folders, their names as labels."""
    folders = class_folders(path)
    if not folders:
        files = _image_files(path)
        if not files:
            raise TableError(f"{path} holds no images ({', '.join(SUFFIXES)})")
        return np.stack(_read_files(files)), None
    pixels: list[NDArray[Any]] = []
    labels: list[str] = []
    for folder in folders:
        found = _read_files(_image_files(folder), like=pixels[0] if pixels else None)
        pixels += found
        labels += [folder.name] * len(found)
    if not pixels:
        raise TableError(f"{path} and its sub-folders hold no images ({', '.join(SUFFIXES)})")
    named = np.array(labels)
    return np.stack(pixels), named.astype(np.int64) if all(map(_is_number, set(labels))) else named


def _is_number(name: str) -> bool:
    """Whether a folder's name is a number written as numbers are: ``007`` is a name."""
    return name.isdecimal() and str(int(name)) == name


def _image_files(folder: Path) -> list[Path]:
    """Images of a folder. A class may be empty: refusing that would tell it."""
    return sorted(file for file in folder.iterdir() if file.suffix.lower() in SUFFIXES)


def _read_files(files: list[Path], like: NDArray[Any] | None = None) -> list[NDArray[Any]]:
    pixels: list[NDArray[Any]] = []
    for file in files:
        picture = _read_file(file)
        wanted = like if like is not None else picture
        if (picture.shape, picture.dtype) != (wanted.shape, wanted.dtype):
            raise TableError(
                f"{file} is {_size(picture)}, others are {_size(wanted)}; bring all images to one size and mode"
            )
        like = wanted
        pixels.append(picture)
    return pixels


def _read_file(file: Path) -> NDArray[Any]:
    image_module = pillow()
    try:
        with image_module.open(file) as opened:
            if opened.mode.startswith("I"):
                return np.asarray(opened).astype(np.uint16)[:, :, None]
            if opened.mode not in _MODES:
                raise TableError(f"{file}: images of mode {opened.mode} are not read; convert them to grey or RGB")
            array = np.asarray(opened.convert(_MODES[opened.mode]))
    except (OSError, SyntaxError) as error:
        raise TableError(f"{file} cannot be read as an image: {error}") from error
    return array.reshape(*array.shape[:2], -1)


def _size(picture: NDArray[Any]) -> str:
    height, width, channels = picture.shape
    return f"{height} × {width} with {channels} channel{'s' if channels > 1 else ''} of {picture.dtype}"
