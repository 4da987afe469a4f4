"""Files that are there whole or not at all, whoever is killed and whenever.

A file is written under a random name beside its place, flushed to the disk, and only then renamed: whoever looks sees
the old file or the new one. The name is new and exclusive, so nothing that lies there already, a link least of all, is
written through. The writer holds a lock on what it writes: the next one that writes the same file can tell what a
killed run has left behind from what somebody is still writing, and sweeps the former away.
"""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from microtome.errors import OutputError

try:
    import fcntl
except ImportError:  # Windows, which refuses to remove a file that somebody has open
    fcntl = None  # type: ignore[assignment]

STANDARD = Path("-")
"""How a command line calls standard input, and standard output."""
SUFFIX = ".partial"
_TOKEN_BYTES = 8
_TOKEN = "[0-9a-f]" * 2 * _TOKEN_BYTES
"""Random names are told from other people's by their form."""
_IN_PLACE = "is in its place and whole, but may be lost if the power fails"
_LONGEST_NAME = 200
_LIBRARY = ctypes.CDLL(None, use_errno=True) if fcntl is not None else None
_AS_IT_IS = getattr(os, "O_BINARY", 0)
"""On Windows: no line ends are changed on the way to the file."""
_HERE = -100
"""AT_FDCWD: names are as they are given."""
_RENAME_EXCHANGE = 2
_NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EACCES, errno.EPERM)
"""What systems say that cannot sync a directory."""


class WholeFile:
    """A file on its way: open for reading and writing under a temporary name until it is committed or discarded.

    Args:
        path: Where the file is to be. A link is followed: what it points to is replaced, not the link.
        mode: Permissions of a new file, less the process's own mask. One that is replaced keeps those of its own that
            are among them.
    """

    def __init__(self, path: Path, *, mode: int = 0o666) -> None:
        self.path = Path(os.path.realpath(path))
        self._closed = False
        with disk_errors(path):
            sweep(self.path)
            self._partial, self.file = _exclusive(self.path, mode)

    def commit(self) -> None:
        """Put the file in its place. It is on the disk when this returns."""
        with disk_errors(self.path):
            self.file.flush()
            os.fsync(self.file.fileno())
            self._let_go()
            os.replace(self._partial, self.path)
            self._closed = True
            self.file.close()
        with disk_errors(self.path, _IN_PLACE):
            _sync(self.path.parent)

    def discard(self) -> None:
        """Leave nothing behind of a file that was not committed; nothing happens to one that was."""
        if self._closed:
            return
        self._closed = True
        with suppress(OSError):  # what could not be flushed is not wanted any more
            self._let_go()
        self._partial.unlink(missing_ok=True)
        with suppress(OSError):
            self.file.close()

    def _let_go(self) -> None:
        """Close the file before it is renamed or removed, where the system wants that. Elsewhere it stays locked."""
        if fcntl is None:
            self.file.close()


@contextmanager
def whole_file(path: Path, *, mode: int = 0o666) -> Iterator[BinaryIO]:
    """A file to write, committed at the end and discarded on any error."""
    pending = WholeFile(path, mode=mode)
    try:
        with disk_errors(path):
            yield pending.file
        pending.commit()
    finally:
        pending.discard()


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder to fill, put in the place of ``path`` at the end and removed on any error."""
    path = Path(os.path.realpath(path))
    with _exclusive_folder(path) as partial:
        with disk_errors(path):
            yield partial
            _sync_files(partial)
            _exchange(partial, path)
        with disk_errors(path, _IN_PLACE):
            _sync(path.parent)


@contextmanager
def scratch_folder(name: str) -> Iterator[Path]:
    """A folder among the system's temporary files that nobody else can look into, removed at the end.

    What a killed run has left is removed by the next that asks for the same name.
    """
    with _exclusive_folder(Path(tempfile.gettempdir(), name), mode=0o700) as folder:
        yield folder


@contextmanager
def scratch_file(path: Path) -> Iterator[BinaryIO]:
    """A new file in a scratch folder, for its owner alone. It goes with the folder: nothing waits for the disk."""
    with disk_errors(path):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _AS_IT_IS, 0o600)
        with os.fdopen(handle, "w+b") as file:
            yield file


def write_text(path: Path, text: str, *, mode: int = 0o666) -> None:
    """Write a text file, whole or not at all."""
    with whole_file(path, mode=mode) as file:
        file.write(text.encode("utf-8"))


@contextmanager
def disk_errors(path: Path, outcome: str = "cannot be written") -> Iterator[None]:
    """Turn the operating system's errors into ours, with the file's name."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"{path} {outcome}: {error.strerror or error}") from error


def sweep(path: Path) -> None:
    """Remove what killed runs have left of ``path``."""
    if fcntl is None:
        return
    for left in path.parent.glob(f"{_escaped(_prefix(path))}{_TOKEN}{SUFFIX}"):
        with suppress(OSError):  # somebody else's, or gone meanwhile
            _remove_if_abandoned(left)


def _remove_if_abandoned(left: Path) -> None:
    folder = left.is_dir()
    handle = os.open(left, (os.O_RDONLY if folder else os.O_RDWR) | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(left) if folder else left.unlink()
    finally:
        os.close(handle)


def _exclusive(path: Path, mode: int) -> tuple[Path, BinaryIO]:
    while True:
        partial = path.with_name(f"{_prefix(path)}{secrets.token_hex(_TOKEN_BYTES)}{SUFFIX}")
        handle = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL | _AS_IT_IS, mode)
        if fcntl is not None:
            with suppress(OSError):  # no locks here: then nothing is swept here either
                fcntl.flock(handle, fcntl.LOCK_EX)
        try:
            swept = os.fstat(handle).st_nlink == 0
            if path.is_file():
                os.chmod(partial if fcntl is None else handle, path.stat().st_mode & mode)
        except OSError:
            partial.unlink(missing_ok=True)
            os.close(handle)
            raise
        if not swept:
            return partial, os.fdopen(handle, "w+b")
        os.close(handle)  # swept between its making and its lock


@contextmanager
def _exclusive_folder(path: Path, *, mode: int = 0o777) -> Iterator[Path]:
    """A new folder beside ``path``, locked where folders can be, and removed at the end if it is still there."""
    with disk_errors(path):
        sweep(path)
        partial = path.with_name(f"{_prefix(path)}{secrets.token_hex(_TOKEN_BYTES)}{SUFFIX}")
        partial.mkdir(mode)
    lock = None
    try:
        with disk_errors(path):
            lock = None if fcntl is None else _locked(partial)
        yield partial
    finally:
        _remove_folder(partial)
        if lock is not None:
            os.close(lock)


def _locked(folder: Path) -> int:
    """The handle that holds the lock of a folder."""
    handle = os.open(folder, os.O_RDONLY)
    with suppress(OSError):  # no locks here
        fcntl.flock(handle, fcntl.LOCK_EX)
    return handle


def _exchange(partial: Path, path: Path) -> None:
    """Put a folder in its place. One that is there already changes places with it, at one stroke where the system can.

    Where it cannot, the old one is moved aside and moved back if its place cannot be filled; only a kill between two
    renames leaves the place empty, and both folders beside it.
    """
    if not path.is_dir():
        os.replace(partial, path)
        return
    if _swapped(partial, path):
        return
    aside = path.with_name(f"{_prefix(path)}{secrets.token_hex(_TOKEN_BYTES)}.old")
    os.replace(path, aside)
    try:
        os.replace(partial, path)
    except BaseException:
        os.replace(aside, path)
        raise
    _remove_folder(aside)


def _swapped(first: Path, second: Path) -> bool:
    """Exchange two names at one stroke; whether the system can do that."""
    rename = getattr(_LIBRARY, "renameat2", None)
    if rename is None:
        return False
    if rename(_HERE, os.fsencode(first), _HERE, os.fsencode(second), _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    raise OSError(number, os.strerror(number))


def _remove_folder(folder: Path) -> None:
    """Remove a folder as far as it goes; what stays is swept by the next run."""
    with suppress(OSError):
        shutil.rmtree(folder, ignore_errors=True)


def _sync_files(folder: Path) -> None:
    """Put a folder and all below it on the disk: its new name must not come to lead to empty files."""
    for place in (folder, *folder.rglob("*")):
        _sync(place)


def _prefix(path: Path) -> str:
    return f".{path.name.encode()[:_LONGEST_NAME].decode(errors='ignore')}."


def _escaped(text: str) -> str:
    """The text as a pattern that matches nothing but itself."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in text)


def _sync(place: Path) -> None:
    """Put a file, or the names in a directory, on the disk, so that they survive a power cut, where the system can."""
    try:
        handle = os.open(place, os.O_RDONLY if fcntl is not None else os.O_RDWR)  # Windows flushes what may be written
    except OSError as error:
        if error.errno in _NO_SYNC:
            return
        raise
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise
    finally:
        os.close(handle)
