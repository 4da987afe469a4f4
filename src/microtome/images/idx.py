"""IDX, the format of MNIST: a magic number, the sizes, then the numbers, big-endian; gzipped or not.

The magic number is two zero bytes, a code of the type, and the number of dimensions.
"""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from microtome.errors import TableError

_TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_GZIP = b"\x1f\x8b"


def is_idx(path: Path) -> bool:
    """Whether a file starts like an IDX file, perhaps a gzipped one."""
    try:
        start = _read(path, 4)
    except (OSError, EOFError, zlib.error):
        return False
    return len(start) == 4 and start[:2] == b"\0\0" and start[2] in _TYPES and 1 <= start[3] <= 4


def read_idx(path: Path) -> NDArray[Any]:
    """The array of an IDX file."""
    try:
        data = _read(path)
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(f"{path} cannot be read: {error}") from error
    if len(data) < 4 or data[:2] != b"\0\0" or data[2] not in _TYPES:
        raise TableError(f"{path} is not an IDX file")
    dtype, dims = np.dtype(_TYPES[data[2]]), data[3]
    start = 4 + 4 * dims
    if len(data) < start:
        raise TableError(f"{path}: the file ends within its header")
    shape = struct.unpack(f">{dims}I", data[4:start])
    wanted = math.prod(shape) * dtype.itemsize
    if len(data) - start != wanted:
        raise TableError(f"{path}: {len(data) - start:,} bytes of data where sizes {shape} need {wanted:,}")
    return np.frombuffer(data, dtype, offset=start).reshape(shape).astype(dtype.newbyteorder("="))


def labels_beside(path: Path) -> Path | None:
    """The label file that goes with an image file by MNIST's way of naming them, if it is there."""
    if "images" not in path.name:
        return None
    name = path.name.replace("images", "labels").replace("idx3", "idx1")
    for candidate in (name, f"{name}.gz", name.removesuffix(".gz")):
        if path.with_name(candidate).is_file():
            return path.with_name(candidate)
    return None


def _read(path: Path, size: int = -1) -> bytes:
    with path.open("rb") as plain:
        zipped = plain.read(2) == _GZIP
    opener: Any = gzip.open if zipped else open
    with opener(path, "rb") as file:
        return bytes(file.read(size))
