"""Where a ledger really is, and how one writer at a time is let in.

A book may be reached by many names, through links to it or to a folder above it. It is always the real file that is
read, locked and replaced, so that all names lead to one book. A link that leads nowhere is an error and not an empty
book. A book with a second hard link is refused: replacing it would leave the old state under the other name, where the
budget could be spent again.

Writers hold a lock on ``NAME.lock`` beside the real file: the system's own (``flock``), which ends with its process.
Where the file system has none (ENOSYS, EOPNOTSUPP, always the same there) the lock is a marker file ``NAME.lock.held``
instead. Where it has locks and cannot give one now (ENOLCK), the writer is refused: a marker would not keep out
somebody who holds the system's lock.
"""

import errno
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import BaseFileLock, FileLock, SoftFileLock, Timeout

from microtome.errors import BudgetError, OutputError
from microtome.positioned import write_at

_WITHOUT_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP)
_OWN_FILES = 0o600
_MARKER = ".held"


def anchored(path: str | Path) -> Path:
    """The path from the root, so that it names the same book wherever the process goes afterwards."""
    try:
        return Path(path).absolute()
    except OSError as error:
        raise BudgetError(f"cannot find the ledger {path}: the working directory is gone; give a full path") from error


def ledger_beside(table: str | Path) -> Path:
    """Where a table's ledger is kept unless told otherwise: beside the table, by whatever link that is reached."""
    place = Path(os.path.realpath(table))
    return place.with_name(f"{place.name}.ledger.json")


def real_path(path: Path) -> Path:
    """Where the book that an anchored ``path`` names is, or will be.

    Raises:
        BudgetError: a link on the way leads nowhere or in a circle, or a folder cannot be looked into.
    """
    try:
        return _resolved(path)
    except OSError as error:
        raise BudgetError(f"cannot find the ledger {path}: {error.strerror}; give another path") from error
    except ValueError as error:
        raise BudgetError(f"{str(path)!r} cannot be the path of a ledger: {error}") from error


def _resolved(path: Path) -> Path:
    try:
        return Path(os.path.realpath(path, strict=True))
    except FileNotFoundError:
        _refuse_dangling(path)
        return Path(os.path.realpath(path))


def _refuse_dangling(path: Path) -> None:
    """Of a path that is not all there, the part that is must not end in a link: that one leads nowhere."""
    there = next((part for part in (path, *path.parents) if os.path.lexists(part)), None)
    if there is not None and there.is_symlink() and not there.exists():
        raise BudgetError(
            f"the ledger {path} cannot be reached: {there} is a link to {os.readlink(there)}, which does not exist; "
            "mend or remove the link (what was spent is in the book that it pointed to)"
        )


def require_one_name(path: Path) -> None:
    """Refuse what is no regular file, and a file that has a second name.

    Raises:
        FileNotFoundError: there is no file at all.
        BudgetError: it cannot be a book.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise BudgetError(f"cannot read the ledger {path}: it is not a regular file; give another path")
    if status.st_nlink > 1:
        raise BudgetError(
            f"the ledger {path} has {status.st_nlink} names (hard links), and only one of them would be kept up to "
            "date; remove the others, or replace them by copies if they are backups"
        )


@contextmanager
def locked(path: Path, *, patience: float) -> Iterator[None]:
    """Keep all other writers of the book at the real ``path`` out, in this process and in others.

    Ctrl-C can come before the lock is given back. The same thread, which then takes back what it wrote, finds the
    same lock, already held, instead of waiting for itself; and gives it back for good.

    Args:
        path: as ``real_path`` gives it.
        patience: seconds to wait for another writer.

    Raises:
        OutputError: the lock cannot be had.
    """
    lock = path.with_name(path.name + ".lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        held = _acquired(lock, patience)
    except Timeout as timeout:
        raise OutputError(_still_locked(path, Path(timeout.lock_file), patience)) from timeout
    except OSError as error:
        raise OutputError(
            f"cannot lock the ledger {path} by {lock}: {error.strerror or error}; the book is as it was. Try again, or "
            "keep the ledger on a disk where this user can lock and write files"
        ) from error
    try:
        yield
    finally:
        with suppress(OSError):  # the book is written by now; the lock ends with the process at the latest
            held.release(force=True)


def _acquired(lock: Path, patience: float) -> BaseFileLock:
    try:
        held: BaseFileLock = FileLock(
            lock, mode=_OWN_FILES, fallback_to_soft=False, on_acquired=_sign, is_singleton=True
        )
        held.acquire(timeout=patience)
    except Timeout:
        raise
    except OSError as error:
        if error.errno not in _WITHOUT_LOCKS:
            raise
        held = SoftFileLock(lock.with_name(lock.name + _MARKER), mode=_OWN_FILES, is_singleton=True)
        held.acquire(timeout=patience)
    return held


def _sign(descriptor: int) -> None:
    """Write into the lock who holds it, for the message of whoever waits."""
    with suppress(OSError):  # the lock holds without it
        os.ftruncate(descriptor, 0)
        write_at(descriptor, f"{os.getpid()}\n{socket.gethostname()}\n".encode(), 0)


def _still_locked(path: Path, lock: Path, patience: float) -> str:
    advice = "the book is as it was; wait for it to end and try again"
    if lock.name.endswith(_MARKER):
        advice += f" (if it was killed on another machine, remove {lock})"
    return f"the ledger {path} has been locked for {patience:g} seconds by {_holder(lock)}; {advice}"


def _holder(lock: Path) -> str:
    """Who holds a lock, from what the holder wrote into it."""
    try:
        process, host = lock.read_text(encoding="utf-8").splitlines()[:2]
    except (OSError, ValueError):
        return "another process"
    return f"process {process} on {host}"
