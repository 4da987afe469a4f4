"""NPZ archives and HDF5 files: images and labels under one of the names that are in use."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from microtome.errors import TableError
from microtome.images.extra import h5py

_IMAGES = ("images", "image", "data", "x", "pixels")
_LABELS = ("labels", "label", "target", "targets", "y")

Arrays = tuple[NDArray[Any], NDArray[Any] | None]


def read_npz(path: Path, part: str | None = None) -> Arrays:
    """Images and labels of an archive; nothing in it is unpickled."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            images = _named(path, list(archive), _IMAGES, part)
            labels = _find(list(archive), _LABELS, part)
            return archive[images], None if labels is None else archive[labels]
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise TableError(f"{path} cannot be read as NPZ: {error}") from error


def read_hdf5(path: Path, part: str | None = None) -> Arrays:
    """Images and labels of an HDF5 file, or of one of its groups."""
    module = h5py()
    try:
        with module.File(path, "r") as file:
            if part is not None and part in file and isinstance(file[part], module.Group):
                return _hdf5_group(path, file[part], None)
            return _hdf5_group(path, file, part)
    except OSError as error:
        raise TableError(f"{path} cannot be read as HDF5: {error}") from error


def _hdf5_group(path: Path, group: Any, part: str | None) -> Arrays:
    names = [name for name in group if hasattr(group[name], "dtype")]
    if not names:
        raise TableError(f"{path} has its images in groups; say which part: {', '.join(group)}")
    labels = _find(names, _LABELS, part)
    return group[_named(path, names, _IMAGES, part)][()], None if labels is None else group[labels][()]


def _named(path: Path, names: Iterable[str], wanted: tuple[str, ...], part: str | None) -> str:
    names = list(names)
    found = _find(names, wanted, part)
    if found is None:
        hint = "" if part is None else f" of part {part!r}"
        raise TableError(
            f"{path} has no images{hint}: no array named {', '.join(wanted)}, alone or with a part such as 'train'; it "
            f"has {', '.join(names) or 'none'}"
        )
    return found


def _find(names: Iterable[str], wanted: tuple[str, ...], part: str | None) -> str | None:
    """The first array with one of the wanted names, as ``x``, or ``x_train`` or ``train_x`` for a part."""
    lower = {name.lower(): name for name in names}
    for name in wanted:
        for form in (name,) if part is None else (f"{name}_{part.lower()}", f"{part.lower()}_{name}"):
            if form in lower:
                return lower[form]
    return None
