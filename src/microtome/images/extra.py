"""The two libraries that only image files need, asked for when they are."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from microtome.errors import ParameterError


def pillow() -> Any:
    """Pillow's ``Image`` module, which reads and writes PNG."""
    return _needed("PIL.Image", "pillow", "PNG files")


def h5py() -> Any:
    """The module h5py."""
    return _needed("h5py", "h5py", "HDF5 files")


def _needed(module: str, package: str, what: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise ParameterError(f"{what} need {package}: pip install 'microtome[images]'") from None
