"""What a release says of itself."""

from __future__ import annotations

from microtome.accounting import Event
from microtome.private.randomness import Randomness, SystemRandomness
from microtome.private.settings import PrivacySettings
from microtome.release import Promise


def promise(settings: PrivacySettings, randomness: Randomness, events: tuple[Event, ...]) -> Promise:
    """The promise that was asked for, and what keeps it; void unless the noise is the system's own."""
    return Promise(
        epsilon=settings.epsilon,
        delta=settings.delta,
        neighbours=settings.neighbours,
        accountant=settings.accountant,
        private=type(randomness) is SystemRandomness,
        events=events,
    )
