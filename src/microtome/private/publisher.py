"""What every maker of a release does alike: reserve before the first look, state the promise, close the book."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from microtome.accounting import Event, Ledger
from microtome.private.randomness import Randomness, SystemRandomness
from microtome.private.reservation import Reservation, reserved
from microtome.private.settings import PrivacySettings, RunSettings
from microtome.release import Promise


@dataclass(frozen=True, kw_only=True)
class Publisher:
    """Makes one release of one private data set.

    Attributes:
        settings: The promise.
        run: How the work is done.
        ledger: The book in which the promise is reserved.
        dataset: The data's name in the book.
        randomness: The source of all noise; anything but ``SystemRandomness`` marks the release as not private.
    """

    settings: PrivacySettings
    run: RunSettings
    ledger: Ledger
    dataset: str
    randomness: Randomness

    @contextmanager
    def _reserved(self, events: Sequence[Event]) -> Iterator[Reservation]:
        """Set the whole promise aside, and drop the key of its noise at the end, however it comes."""
        purpose = f"release of {self.settings.kind}"
        try:
            with reserved(self.ledger, self.dataset, events, purpose=purpose, settings=self.settings) as reservation:
                yield reservation
        finally:
            if isinstance(self.randomness, SystemRandomness):
                self.randomness.forget()

    def _promise(self, events: tuple[Event, ...]) -> Promise:
        """The promise that was asked for, and what keeps it; void unless the noise is the system's own."""
        return Promise(
            epsilon=self.settings.epsilon,
            delta=self.settings.delta,
            neighbours=self.settings.neighbours,
            accountant=self.settings.accountant,
            private=type(self.randomness) is SystemRandomness,
            events=events,
        )
