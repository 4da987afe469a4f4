"""The libraries that only image files need, loaded when they are asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from microtome.errors import ParameterError
from microtome.extras import how_to_install


def pillow() -> Any:
    """Pillow's ``Image`` module, which reads and writes PNG."""
    return import_module("PIL.Image")


def h5py() -> Any:
    """The module h5py."""
    try:
        return import_module("h5py")
    except ImportError:
        raise ParameterError(f"HDF5 files need h5py: {how_to_install('h5py')}") from None
