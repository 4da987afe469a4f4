"""How long work tells how far it is, whoever watches."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Told how far a stage is."""

    def __call__(self, stage: str, done: int, total: int | None, note: str = "") -> None:
        """``done`` of ``total`` units (``None`` if that is not known) of a stage are done; ``note`` says how well."""
        ...


def silent(stage: str, done: int, total: int | None, note: str = "") -> None:
    """Progress that nobody watches."""
