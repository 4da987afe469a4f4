"""The file of a release: one safetensors file, written row by row, with its manifest in the header.

Layout (``FORMAT.md`` is the full description): the header's metadata holds the manifest as canonical JSON and
the manifest's SHA-256; the manifest holds the SHA-256 of every tensor, that of ``rows`` bin by bin. Any tool
that reads safetensors can read the numbers; nothing in the file is ever executed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import struct
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from microtome.errors import OutputError, ReleaseError
from microtome.positioned import read_at, write_at
from microtome.whole_file import WholeFile, disk_errors

_DTYPES = {"int16": "I16", "int64": "I64", "float64": "F64"}
DIGEST = "0" * 64
MANIFEST = "manifest.release"
"""Of a release that is a folder, the file that has all but its rows."""
_SHARD = re.compile(r"rows-\d{5,}\.safetensors")
METADATA = frozenset({"microtome", "microtome_sha256", "microtome_signature", "microtome_public_key"})
"""All that the header's metadata may hold."""
_LONGEST_HEADER = 100 << 20


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal values give equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(data: bytes | memoryview) -> str:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def container_of(path: Path) -> Path:
    """The file with the manifest of a release: the one that it is, or that of its folder."""
    return path / MANIFEST if path.is_dir() else path


def check_output(path: Path, *, force: bool, folder: bool = False) -> None:
    """Refuse, before anything is spent, an output that exists or cannot be created.

    ``folder`` is for releases that are folders: only one of these is ever replaced by another.
    """
    if str(path) == "-":
        raise OutputError("this is not written to standard output, as rows of 'microtome sample' are; give a name")
    if path.is_dir() and not folder:
        raise OutputError(f"{path} is a directory; give the name of a file")
    if folder and path.exists() and not (path / MANIFEST).is_file():
        raise OutputError(f"{path} exists and is no release in a folder, which is to be written; choose another name")
    if folder and path.exists():
        _check_nothing_else(path)
    if path.exists() and not force:
        raise OutputError(f"{path} exists; choose another name, or say --force to replace it")
    if not path.parent.is_dir():
        raise OutputError(f"{path.parent} is not a directory; create it first")
    if not os.access(path.parent, os.W_OK):
        raise OutputError(f"{path.parent} is not writable")


def _check_nothing_else(folder: Path) -> None:
    """Refuse to replace a folder that holds more than a release: a ledger or a key would go with it."""
    own = {one for one in folder.iterdir() if one.is_file() and (one.name == MANIFEST or _SHARD.fullmatch(one.name))}
    others = sorted(one.name for one in folder.iterdir() if one not in own)
    if others:
        raise OutputError(
            f"{folder} holds {others[0]!r}, which is no part of a release and would be deleted; move it elsewhere, or "
            "choose another name"
        )


def check_space(directory: Path, size: int) -> None:
    """Refuse a disk that has no room for ``size`` more bytes."""
    if shutil.disk_usage(directory).free < size:
        raise OutputError(f"{directory} has less than the {size / 2**20:,.1f} MiB free that may be needed")


def check_header(path: Path) -> None:
    """Refuse a header that says something twice, or anything that no manifest covers: readers might differ on it."""
    with path.open("rb") as file:
        start = file.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if not 0 < length <= _LONGEST_HEADER:
            return  # not of ours: what reads it says so
        try:
            header = json.loads(file.read(length), object_pairs_hook=_without_repeats)
        except (ValueError, RecursionError):
            return  # likewise
    if not isinstance(header, dict) or not isinstance(header.get("__metadata__", {}), dict):
        return
    unknown = sorted(set(header.get("__metadata__", {})) - METADATA)
    if unknown:
        raise ReleaseError(f"its header has an entry {unknown[0]!r} that no checksum covers")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ReleaseError("its header says something twice")
    return found


class ContainerWriter:
    """Writes a container piece by piece; the file is in its place when it is complete, and not before.

    Args:
        path: Where the file is to be.
        arrays: Small tensors, written at once.
        rows_shape: Shape of the int16 tensor ``rows``, written piece by piece, if there is one.
        manifest: The manifest with placeholders of final length where digests will be.
    """

    def __init__(
        self,
        path: Path,
        arrays: Mapping[str, NDArray[Any]],
        rows_shape: tuple[int, int] | None,
        manifest: dict[str, Any],
    ) -> None:
        self._path = path
        self._num_rows, self._width = rows_shape or (0, 0)
        small = sum(array.nbytes for array in arrays.values())
        self._entries = _entries(arrays, rows_shape)
        header = self._header(manifest)
        self._rows_at = len(header) + small
        self._size = self._rows_at + 2 * self._num_rows * self._width
        check_space(path.parent, self._size)
        self._pending = WholeFile(path)
        self._file = self._pending.file.fileno()
        try:
            body = b"".join(np.ascontiguousarray(arrays[name]).tobytes() for name in sorted(arrays))
            self._write_at(0, header + body)
        except BaseException:
            self.discard()
            raise

    def __enter__(self) -> ContainerWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.discard()

    def write_rows(self, first: int, rows: NDArray[np.int16]) -> None:
        """Write rows from row number ``first`` on."""
        self._write_at(self._rows_at + 2 * first * self._width, np.ascontiguousarray(rows).data.cast("B"))

    def read_rows(self, first: int, count: int) -> NDArray[np.int16]:
        """Read rows back."""
        rows = np.empty((count, self._width), np.int16)
        found = read_at(self._file, rows.data.cast("B"), self._rows_at + 2 * first * self._width)
        if found != rows.nbytes:
            raise OutputError(f"{self._path}: rows that were written cannot be read back")
        return rows

    def finish(self, manifest: dict[str, Any]) -> None:
        """Write the final manifest and move the file into place."""
        self._write_at(0, self._header(manifest))
        with disk_errors(self._path):
            os.ftruncate(self._file, self._size)
        self._pending.commit()

    def discard(self) -> None:
        """Leave nothing behind of an unfinished file."""
        self._pending.discard()

    def _header(self, manifest: dict[str, Any]) -> bytes:
        text = canonical_json(manifest)
        metadata = {"microtome": text, "microtome_sha256": digest(text.encode())}
        body = json.dumps({"__metadata__": metadata, **self._entries}, ensure_ascii=False).encode()
        body += b" " * (-len(body) % 8)
        return struct.pack("<Q", len(body)) + body

    def _write_at(self, place: int, data: bytes | memoryview) -> None:
        with disk_errors(self._path):
            write_at(self._file, data, place)


def _entries(arrays: Mapping[str, NDArray[Any]], rows_shape: tuple[int, int] | None) -> dict[str, Any]:
    """The header's entries: small tensors in order of name, then ``rows`` if there are any."""
    entries: dict[str, Any] = {}
    place = 0
    for name in sorted(arrays):
        array = arrays[name]
        entries[name] = {
            "dtype": _DTYPES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [place, place + array.nbytes],
        }
        place += array.nbytes
    if rows_shape is not None:
        size = 2 * rows_shape[0] * rows_shape[1]
        entries["rows"] = {"dtype": "I16", "shape": list(rows_shape), "data_offsets": [place, place + size]}
    return entries
