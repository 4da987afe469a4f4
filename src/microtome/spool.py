"""Tables that can be read only once, from standard input or a pipe: kept in a file of their own while they are read.

A release reads a table more than once. What it cannot read again is copied, as bytes, to a file that only its owner can
read, in a folder that only its owner can enter, and both are gone when the work ends, by Ctrl-C and SIGTERM too.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from microtome.errors import MicrotomeError, TableError
from microtome.whole_file import scratch_folder, whole_file

STANDARD = Path("-")
"""How a command line calls standard input, and standard output."""
_FOLDER = "microtome-input"
_ENDINGS = {
    b"PAR1": ".parquet",
    b"\x1f\x8b": ".csv.gz",
    b"BZh": ".csv.bz2",
    b"\x28\xb5\x2f\xfd": ".csv.zst",
    b"PK\x03\x04": ".xlsx",
}
"""What first bytes say of a table; anything else is CSV."""
_LONGEST_MAGIC = max(map(len, _ENDINGS))


def is_read_once(path: Path) -> bool:
    """Whether a table is standard input, or a pipe or device, which gives every byte once."""
    return path == STANDARD or (path.exists() and not path.is_file() and not path.is_dir())


@contextmanager
def read_again(path: Path) -> Iterator[Path]:
    """A path that can be read as often as needed: the same one, or that of a copy of what can be read only once."""
    if not is_read_once(path):
        yield path
        return
    called = "standard input" if path == STANDARD else str(path)
    with scratch_folder(_FOLDER) as folder:
        with _opened(path) as source:
            copy = _copied(source, folder)
        try:
            yield copy
        except MicrotomeError as error:
            error.args = (str(error).replace(str(copy), called),)
            raise


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    if path != STANDARD:
        with path.open("rb") as file:
            yield file
    elif sys.stdin.isatty():
        raise TableError("standard input is a terminal; pipe a table into it, as in 'zcat people.csv.gz | microtome …'")
    else:
        yield sys.stdin.buffer


def _copied(source: BinaryIO, folder: Path) -> Path:
    start = source.read(_LONGEST_MAGIC)
    ending = next((ending for magic, ending in _ENDINGS.items() if start.startswith(magic)), ".csv")
    copy = folder / f"table{ending}"
    with whole_file(copy, mode=0o600) as file:
        file.write(start)
        shutil.copyfileobj(source, file)
    return copy
