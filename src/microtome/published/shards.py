"""Rows of a release in many files of a folder, as many machines write them.

    town.release/manifest.release           what the one file of other releases has, but for its rows
    town.release/rows-00000.safetensors …   the rows, shard after shard

All that a shard's file holds beside its rows follows from their number, so a checksum of rows is one of the file.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from microtome.errors import ReleaseError, together
from microtome.published.container import digest
from microtome.whole_file import whole_file

_BYTES = 2
_PADDED = 8


def write_shard(place: Path, rows: NDArray[np.int16]) -> str:
    """Write rows to a file, whole or not at all; gives their checksum."""
    data = rows.astype("<i2", copy=False).tobytes()
    with whole_file(place) as file:
        file.write(_header(*rows.shape))
        file.write(data)
    return digest(data)


def shard_name(number: int) -> str:
    """The file of a shard, by its number from 0 on."""
    return f"rows-{number:05d}.safetensors"


@dataclass(frozen=True, kw_only=True)
class Shards:
    """The rows in a folder.

    Attributes:
        folder: Where they are.
        sizes: Rows of each shard.
        width: Numbers a row.
    """

    folder: Path
    sizes: tuple[int, ...]
    width: int

    def check(self) -> None:
        """Refuse shards that are missing or not as long as they should be, all at once; reads no row."""
        with together() as attempts:
            for number, size in enumerate(self.sizes):
                with attempts:
                    self._check_one(number, size)

    def ranges(self) -> Iterator[tuple[int, int]]:
        """First row of each shard, and the first after it."""
        first = 0
        for size in self.sizes:
            yield first, first + size
            first += size

    def read(self, first: int, last: int) -> NDArray[np.int16]:
        """Rows from ``first`` to before ``last``, of whatever shards they are in."""
        rows = np.empty((max(last - first, 0), self.width), np.int16)
        for number, (start, end) in enumerate(self.ranges()):
            begin, stop = max(first, start), min(last, end)
            if begin < stop:
                rows[begin - first : stop - first] = self._read_one(number, begin - start, stop - begin)
        return rows

    def _check_one(self, number: int, size: int) -> None:
        place, header = self.folder / shard_name(number), _header(size, self.width)
        if not place.is_file():
            raise ReleaseError(f"its shard {place.name} is missing; copy the whole folder")
        with place.open("rb") as file:
            found = file.read(len(header))
        if found != header or place.stat().st_size != len(header) + _BYTES * size * self.width:
            raise ReleaseError(f"its shard {place.name} is damaged: it does not hold {size:,} rows of {self.width}")

    def _read_one(self, number: int, first: int, count: int) -> NDArray[np.int16]:
        place, row = self.folder / shard_name(number), _BYTES * self.width
        start = len(_header(self.sizes[number], self.width)) + first * row
        found = np.fromfile(place, "<i2", count * self.width, offset=start)
        if found.size != count * self.width:
            raise ReleaseError(f"its shard {place.name} is shorter than it was; copy the folder again")
        return found.reshape(count, self.width)


def _header(num_rows: int, width: int) -> bytes:
    """The header of a safetensors file that holds these rows and nothing else."""
    entry = {"dtype": "I16", "shape": [num_rows, width], "data_offsets": [0, _BYTES * num_rows * width]}
    body = json.dumps({"rows": entry}).encode()
    body += b" " * (-len(body) % _PADDED)
    return struct.pack("<Q", len(body)) + body
