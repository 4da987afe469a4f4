"""What every maker of a release does alike: debit before noise, state the promise, close the book."""

from __future__ import annotations

from dataclasses import dataclass

from microtome.accounting import Event, Ledger
from microtome.private.randomness import Randomness, SystemRandomness
from microtome.private.settings import PrivacySettings, RunSettings
from microtome.release import Promise


@dataclass(frozen=True, kw_only=True)
class Publisher:
    """Makes one release of one private data set.

    Attributes:
        settings: The promise.
        run: How the work is done.
        ledger: The book that is debited.
        dataset: The data's name in the book.
        randomness: The source of all noise; anything but ``SystemRandomness`` marks the release as not private.
    """

    settings: PrivacySettings
    run: RunSettings
    ledger: Ledger
    dataset: str
    randomness: Randomness

    def _debit(self, purpose: str, events: tuple[Event, ...]) -> str:
        """Write down what is about to be done; gives the ledger's entry."""
        return self.ledger.reserve(
            self.dataset,
            events,
            purpose=purpose,
            neighbours=self.settings.neighbours,
            accountant=self.settings.accountant,
        )

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

    def _forget_noise(self) -> None:
        """Drop the secret key once the file is written."""
        if isinstance(self.randomness, SystemRandomness):
            self.randomness.forget()

    def _complete(self, entries: list[str], fingerprint: str) -> None:
        """Tie what was spent to the file that it was spent on."""
        for entry in entries:
            self.ledger.settle(entry, artefact=fingerprint)
