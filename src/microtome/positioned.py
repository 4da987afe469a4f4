"""Reading and writing at a place in an open file, by several threads at once.

Where the system has no calls for that (Windows), the place is sought and used under a lock.
"""

from __future__ import annotations

import os
import threading

_SEEKING = threading.Lock()


def write_at(file: int, data: bytes | memoryview, place: int) -> None:
    """Write all of some bytes from a place on."""
    view = memoryview(data)
    while view:
        written = _write(file, view, place)
        view, place = view[written:], place + written


def read_at(file: int, buffer: memoryview, place: int) -> int:
    """Fill a buffer with what stands from a place on; how many bytes there were."""
    if hasattr(os, "preadv"):
        return os.preadv(file, [buffer], place)
    with _SEEKING:
        os.lseek(file, place, os.SEEK_SET)
        found = os.read(file, len(buffer))
    buffer[: len(found)] = found
    return len(found)


def _write(file: int, data: memoryview, place: int) -> int:
    if hasattr(os, "pwrite"):
        return os.pwrite(file, data, place)
    with _SEEKING:
        os.lseek(file, place, os.SEEK_SET)
        return os.write(file, data)
