"""An exception between any two lines of our own code: Ctrl-C and a lack of memory come wherever they like."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import microtome

_PACKAGE = f"{Path(microtome.__file__).parent}/"
EXCEPTIONS = {"KeyboardInterrupt": KeyboardInterrupt, "MemoryError": MemoryError}


@dataclass(frozen=True, kw_only=True)
class LineFault:
    """What is raised before which line.

    Attributes:
        number: The number of the line among all that the main thread runs in ``files``; negative to count them.
        raises: A name of ``EXCEPTIONS``.
        files: Beginnings of paths inside the package; all of it by default.
    """

    number: int = -1
    raises: str = "KeyboardInterrupt"
    files: tuple[str, ...] = ("",)


class Lines:
    """Counts lines from ``arm`` on."""

    def __init__(self, fault: LineFault, fired: Callable[[], None]) -> None:
        self.count = 0
        self._fault, self._fired = fault, fired
        self._watched = tuple(_PACKAGE + name for name in fault.files)

    def arm(self) -> None:
        """Watch the main thread."""
        sys.settrace(self._trace)

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._line if frame.f_code.co_filename.startswith(self._watched) else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event != "line":
            return self._line
        self.count += 1
        if self.count - 1 == self._fault.number:
            self._fired()
            raise EXCEPTIONS[self._fault.raises]
        return self._line
