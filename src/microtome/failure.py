"""Whatever stops the work, in words: what it was, and where the book stands. Nobody is shown a traceback."""

from __future__ import annotations

from pathlib import Path
from traceback import extract_tb

import microtome
from microtome.errors import MicrotomeError
from microtome.extras import explained

_NO_MEMORY = ("allocate memory", "bad_alloc", "start new thread", "launch worker thread", "failed to map segment")
"""What torch, C++, threads and the loader of libraries say where memory ends, in errors that are no ``MemoryError``."""
_PACKAGE = Path(microtome.__file__).parent


def in_words(error: BaseException) -> str:
    """What to tell of an error, with the notes that were made on its way."""
    return "\n".join([_said(error), *notes(error)])


def notes(error: BaseException) -> list[str]:
    """The notes on an error and on those that led to it: Typer turns Ctrl-C into an exit of its own."""
    found: list[str] = []
    seen: BaseException | None = error
    while seen is not None:
        found += getattr(seen, "__notes__", ())
        seen = seen.__cause__ or seen.__context__
    return list(dict.fromkeys(found))


def _said(error: BaseException) -> str:
    match error:
        case MicrotomeError():
            return str(error)
        case ModuleNotFoundError() if (words := explained(error)) is not error:
            return str(words)
        case _ if isinstance(error, MemoryError) or any(words in str(error) for words in _NO_MEMORY):
            return "memory ran out; end other programs, or use a machine with more"
        case OSError():
            where = f"{error.filename}: " if error.filename is not None else ""
            return f"{where}the system refused: {error.strerror or error}"
        case _:
            return f"this should not have happened, please report it: {type(error).__name__}: {error}{_place(error)}"


def _place(error: BaseException) -> str:
    """The last line of ours on the way to an error."""
    ours = [frame for frame in extract_tb(error.__traceback__) if Path(frame.filename).is_relative_to(_PACKAGE)]
    return f" ({Path(ours[-1].filename).relative_to(_PACKAGE)}, line {ours[-1].lineno})" if ours else ""
