"""How long work tells how far it is, whoever watches."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Told how far a stage is."""

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """``done`` of ``total`` units (``None`` if that is not known) of a stage are done."""
        ...


def silent(stage: str, done: int, total: int | None) -> None:
    """Progress that nobody watches."""
