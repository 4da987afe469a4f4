"""One reservation a release: the whole promise is in the book before the first look, and settled after the write.

    reserved ──► drawn ──► written ──► settled
       │           └─────────┴──► stays in the book and counts
       └──► cancelled: no noise was drawn, so nothing can have been published

Whoever is stopped on the way is told where the book stands, by a note on the error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import Enum, auto
from pathlib import Path

from microtome.accounting import Event, Ledger
from microtome.accounting.ledger_records import OF_PEOPLE
from microtome.settings import PrivacySettings


class _Stage(Enum):
    RESERVED = auto()
    DRAWN = auto()
    WRITTEN = auto()
    SETTLED = auto()


class Reservation:
    """What is set aside for one release. Made by ``reserved`` only."""

    def __init__(self, ledger: Ledger, entry: str, promise: str) -> None:
        self._ledger, self._entry, self._promise = ledger, entry, promise
        self._stage, self._output = _Stage.RESERVED, Path()
        self._before: tuple[int, int] | None = None

    def spend(self, output: Path) -> None:
        """Noise is about to be drawn, and goes to ``output``: from here on the reservation counts, come what may."""
        self._before = _identity(output)
        self._output, self._stage = output, _Stage.DRAWN

    def settle(self, fingerprint: str) -> None:
        """The file is in its place: tie what was spent to it."""
        self._stage = _Stage.WRITTEN
        self._ledger.settle(self._entry, artefact=fingerprint)
        self._stage = _Stage.SETTLED

    def abandon(self) -> str:
        """Take back what was not spent; gives the state of the book in words."""
        match self._stage:
            case _Stage.RESERVED:
                return self._cancelled()
            case _Stage.DRAWN:
                return self._drawn()
            case _Stage.WRITTEN:
                return self._unsettled()
            case _Stage.SETTLED:
                return f"{self._output} is written and whole, and {self._promise} is charged in the ledger."

    def _drawn(self) -> str:
        """Whether the file was put in its place before the work was stopped, the disk knows."""
        try:
            written = _identity(self._output) not in (None, self._before)
        except OSError as error:
            return (
                f"{self._promise} stays charged in the ledger, and whether {self._output} was written cannot be seen: "
                f"{error.strerror or error}"
            )
        if written:
            return self._unsettled()
        return f"No release was written, but its noise was drawn: {self._promise} stays charged in the ledger."

    def _unsettled(self) -> str:
        return (
            f"{self._output} is written and whole, and {self._promise} is charged in the ledger, which could not note "
            "that the release was completed."
        )

    def _cancelled(self) -> str:
        try:
            self._ledger.cancel(self._entry)
        except Exception as error:
            return f"No release was written, but {self._promise} stays charged in the ledger: {error}"
        return "Nothing was spent, and no release was written."


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file is at a place, if there is one."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def reserved(
    ledger: Ledger, dataset: str, events: Sequence[Event], *, settings: PrivacySettings, unit: str | None = None
) -> Iterator[Reservation]:
    """Set the whole promise aside; whatever stops the work before noise is drawn gives it back."""
    purpose = f"release of {settings.kind}" + ("" if unit is None else OF_PEOPLE)
    entry = ledger.reserve(
        dataset, events, purpose=purpose, neighbours=settings.neighbours, accountant=settings.accountant, unit=unit
    )
    promise = f"ε = {settings.epsilon:g} at δ = {settings.delta:g}"
    reservation = Reservation(ledger, entry, promise)
    try:
        yield reservation
    except BaseException as error:
        error.add_note(reservation.abandon())
        raise
