"""How long work tells how far it is, and what to expect of it, whoever watches; in a notebook, by bars."""

from __future__ import annotations

import inspect
import sys
import time
import warnings
from collections.abc import Sequence
from html import escape
from importlib import import_module
from typing import Any, Protocol

from microtome.errors import PoorReleaseWarning

_SECONDS_BETWEEN = 0.2


class Progress(Protocol):
    """Told how far a stage is."""

    def __call__(self, stage: str, done: int, total: int | None, note: str = "") -> None:
        """``done`` of ``total`` units (``None`` if that is not known) of a stage are done; ``note`` says how well."""
        ...


def silent(stage: str, done: int, total: int | None, note: str = "") -> None:
    """Progress that nobody watches."""


def usual_progress() -> Progress:
    """Bars in a notebook, which shows nothing else while it waits; silence elsewhere."""
    return NotebookBars() if _in_notebook() else silent


class NotebookBars:
    """A bar a stage, drawn by the notebook itself: no widgets and no scripts are needed."""

    def __init__(self) -> None:
        self._shown: dict[str, Any] = {}
        self._last: dict[str, float] = {}

    def __call__(self, stage: str, done: int, total: int | None, note: str = "") -> None:
        """Draw the bar, a few times a second at most."""
        now = time.monotonic()
        finished = total is not None and done >= total
        if not finished and now - self._last.get(stage, -1.0) < _SECONDS_BETWEEN:
            return
        self._last[stage] = now
        notebook = import_module("IPython.display")
        bar = notebook.HTML(_bar(stage, done, total, note))
        if stage in self._shown:
            self._shown[stage].update(bar)
        else:
            self._shown[stage] = notebook.display(bar, display_id=True)


def _in_notebook() -> bool:
    """Whether this runs in a kernel that displays HTML, and not on a terminal."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def _bar(stage: str, done: int, total: int | None, note: str) -> str:
    state = f'value="{done}" max="{total}"' if total else ""
    whole = "" if total is None else f" of {total:,}"
    words = f"{stage}: {done:,}{whole}{note and f', {note}'}"
    return f"<div><progress {state}></progress> {escape(words)}</div>"


class Tell(Protocol):
    """Told beforehand what a release will be worth."""

    def __call__(self, expected: str, cautions: Sequence[str]) -> None:
        """``expected`` in a sentence, and what the holder should know before anything is spent."""
        ...


def untold(expected: str, cautions: Sequence[str]) -> None:
    """For whom it makes no difference what a release is worth."""


def warn(expected: str, cautions: Sequence[str]) -> None:
    """Cautions as a warning of Python's; what is as it should be needs none."""
    del expected
    if cautions:
        warnings.warn("\n".join(cautions), PoorReleaseWarning, stacklevel=_levels_to_the_caller())


def _levels_to_the_caller() -> int:
    """How far up whoever called this package is."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    return level - 1
