"""How long work tells how far it is, and what to expect of it, whoever watches."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Sequence
from typing import Protocol

from microtome.errors import PoorReleaseWarning


class Progress(Protocol):
    """Told how far a stage is."""

    def __call__(self, stage: str, done: int, total: int | None, note: str = "") -> None:
        """``done`` of ``total`` units (``None`` if that is not known) of a stage are done; ``note`` says how well."""
        ...


def silent(stage: str, done: int, total: int | None, note: str = "") -> None:
    """Progress that nobody watches."""


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
