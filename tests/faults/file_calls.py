"""Every call by which a process touches files, counted; and one of them made to fail, or the last thing it does.

Python's own calls are wrapped, and files that are opened for writing are wrapped as well, so that what pyarrow, numpy
and Pillow write through them is seen. What C code writes by itself is met by limits and by a full disk
(``test_resources.py``).
"""

from __future__ import annotations

import builtins
import errno
import fcntl
import io
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from microtome import whole_file

ERRORS = {
    "open": errno.EMFILE,
    "create": errno.ENOSPC,
    "write": errno.ENOSPC,
    "read": errno.EIO,
    "fsync": errno.EIO,
    "rename": errno.EXDEV,
    "unlink": errno.EACCES,
    "mkdir": errno.ENOSPC,
    "rmdir": errno.EACCES,
    "truncate": errno.EIO,
    "stat": errno.EIO,
    "lock": errno.ENOLCK,
}
"""What the system says where each kind of call fails."""
CHANGING = frozenset(ERRORS) - {"open", "read", "stat"}
"""Kinds that change something; to be killed at any other is the same as at the next of these."""


@dataclass(frozen=True, kw_only=True)
class CallFault:
    """What happens at one call.

    Attributes:
        number: The number of the call among all of the run.
        what: ``kill-before``, ``kill-after``, ``torn`` (half of a write, then killed), ``error``, ``lasting`` (an error
            of this call and of all later ones of its kind) or ``nothing``, to count.
    """

    number: int = -1
    what: str = "nothing"


def faults_at(calls: list[str]) -> list[CallFault]:
    """Every fault at every call of a run."""
    found = []
    for number, kind in enumerate(calls):
        what = ["error"]
        if kind in CHANGING:
            what += ["kill-before", "kill-after", "lasting"]
        if kind == "write":
            what += ["torn"]
        found += [CallFault(number=number, what=one) for one in what]
    return found


class FileCalls:
    """Stands between the process and its files from ``arm`` on."""

    def __init__(self, fault: CallFault, fired: Callable[[], None]) -> None:
        self.seen: list[str] = []
        self._fault, self._fired = fault, fired
        self._lasting: str | None = None

    def arm(self) -> None:
        """Wrap every call."""
        open_file = os.open
        os.open = lambda path, flags, *rest, **more: self(  # type: ignore[assignment]
            "create" if flags & os.O_CREAT else "open", open_file, path, flags, *rest, **more
        )
        for kind, module, names in (
            ("write", os, ("write", "pwrite")),
            ("read", os, ("read", "preadv")),
            ("fsync", os, ("fsync",)),
            ("rename", os, ("replace", "rename")),
            ("unlink", os, ("unlink", "remove")),
            ("mkdir", os, ("mkdir",)),
            ("rmdir", os, ("rmdir",)),
            ("truncate", os, ("ftruncate",)),
            ("stat", os, ("fstat", "stat")),
            ("lock", fcntl, ("flock",)),
        ):
            for name in names:
                setattr(module, name, self._wrapped(kind, getattr(module, name)))
        whole_file._swapped = self._wrapped("rename", whole_file._swapped)  # by a call of the system's own library
        builtins.open = io.open = self._open(io.open)  # type: ignore[assignment]

    def disarm(self) -> None:
        """From now on nothing happens to any call."""
        self._fault, self._lasting = CallFault(), None

    def __call__(self, kind: str, call: Callable[..., Any], *given: Any, **more: Any) -> Any:
        """One call, with what happens to it."""
        number = len(self.seen)
        self.seen.append(kind)
        if kind == self._lasting:
            self._fail(kind)
        if number != self._fault.number:
            return call(*given, **more)
        match self._fault.what:
            case "kill-before":
                self._die()
            case "kill-after":
                call(*given, **more)
                self._die()
            case "torn":
                self._tear(call, *given)
                self._die()
            case "lasting":
                self._lasting = kind
        return self._fail(kind)

    def _wrapped(self, kind: str, call: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given, **more: self(kind, call, *given, **more)

    def _open(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """The built-in ``open``, whose files tell of every write."""
        calls = self

        class Watched(io.FileIO):
            def write(self, data: Any) -> int:
                return calls("write", super().write, data)

        def opened(
            file: Any, mode: str = "r", buffering: int = -1, encoding: Any = None, errors: Any = None,
            newline: Any = None, closefd: bool = True, opener: Any = None,
        ) -> Any:  # fmt: skip
            writes = set(mode) & set("wax+")
            if not isinstance(file, int):
                calls("create" if writes else "open", lambda: None)
            if not writes:
                return call(file, mode, buffering, encoding, errors, newline, closefd, opener)
            raw = Watched(file, mode.replace("b", "").replace("t", ""), closefd, opener)
            buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
            return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline)

        return opened

    def _fail(self, kind: str) -> NoReturn:
        self._fired()
        raise OSError(ERRORS[kind], os.strerror(ERRORS[kind]))

    def _die(self) -> None:
        self._fired()
        os.kill(os.getpid(), signal.SIGKILL)

    def _tear(self, call: Callable[..., Any], *given: Any) -> None:
        """Half of a write: the data are the last argument, or the second of three."""
        place = 0 if len(given) == 1 else 1
        data = memoryview(given[place]).cast("B")
        call(*given[:place], data[: len(data) // 2], *given[place + 1 :])
