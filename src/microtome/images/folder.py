"""Pictures in a folder, or packed as a ZIP archive: one sub-folder a class, or all in one folder without labels."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from microtome.errors import TableError
from microtome.images.extra import pillow

SUFFIXES = (".png", ".bmp", ".pgm", ".ppm", ".tif", ".tiff", ".jpg", ".jpeg")
_BY_ARCHIVERS = "__MACOSX"
"""A folder that macOS packs beside what it was asked to."""
_MODES = {"1": "L", "L": "L", "P": "RGB", "RGB": "RGB", "RGBA": "RGBA", "LA": "RGBA"}

Folder = Path | zipfile.Path
"""A folder or a file, on the disk or in an archive."""


def read_archive(path: Path) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """The same of a ZIP archive; nothing is unpacked to the disk. A folder around everything stands for no class."""
    try:
        with zipfile.ZipFile(path) as archive:
            root: Folder = zipfile.Path(archive)
            while len(folders := class_folders(root)) == 1 and not _image_files(root):
                root = folders[0]
            return read_folder(root)
    except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:  # of passwords, of odd methods
        raise TableError(f"{path} cannot be read as a ZIP archive: {error}") from error


def class_folders(path: Folder) -> list[Folder]:
    """The sub-folders that stand for classes, by name; numbers in the order of numbers."""
    folders: list[Folder] = [
        child for child in path.iterdir() if child.is_dir() and not child.name.startswith((".", _BY_ARCHIVERS))
    ]
    numbered = all(folder.name.isdecimal() for folder in folders)
    return sorted(folders, key=lambda folder: (int(folder.name), folder.name) if numbered else (0, folder.name))


def read_folder(path: Folder) -> tuple[NDArray[Any], NDArray[Any] | None]:
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


def _image_files(folder: Folder) -> list[Folder]:
    """Images of a folder. A class may be empty: refusing that would tell it."""
    files: list[Folder] = [file for file in folder.iterdir() if file.name.lower().endswith(SUFFIXES)]
    return sorted(files, key=lambda file: file.name)


def _read_files(files: list[Folder], like: NDArray[Any] | None = None) -> list[NDArray[Any]]:
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


def _read_file(file: Folder) -> NDArray[Any]:
    image_module = pillow()
    try:
        with file.open("rb") as stored, image_module.open(stored) as opened:
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
