"""What an adapted classifier promises: what is private, to whom, and what the whole training cost."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from microtome.accounting import Accountant, Event, Neighbours, epsilon, verify_promise
from microtome.json_record import JsonRecord
from microtome.published import ImageRelease


class Side(StrEnum):
    """Which of the two image sets."""

    SOURCE = "source"
    TARGET = "target"


@dataclass(frozen=True, kw_only=True)
class AdaptationPromise(JsonRecord):
    """The guarantee of a whole training about one private image set, complete enough to be checked.

    Attributes:
        side: Which set is private.
        epsilon: Total ε of every touch of the private images.
        delta: Total δ.
        neighbours: Which private image sets are hard to tell apart.
        accountant: How the noise was computed.
        private: False if the randomness was injected, as in tests: then nothing is promised.
        events: All that was done to the private images.
        num_images: Private images; a noisy count where their number is private too.
        touches: How often a batch of them was looked at; 1 for a release.
        noise_scale: σ, in units of the radius to which features (or pixels) are clipped.
        beside: The promise about the other set, if that is private as well.
    """

    side: Side = Side.TARGET
    epsilon: float
    delta: float
    neighbours: Neighbours
    accountant: Accountant
    private: bool
    events: tuple[Event, ...]
    num_images: int
    touches: int
    noise_scale: float
    beside: AdaptationPromise | None = None

    @classmethod
    def of_release(
        cls, release: ImageRelease, side: Side, beside: AdaptationPromise | None = None
    ) -> AdaptationPromise:
        """A release's promise, which is that of everything made from it."""
        promise = release.manifest.promise
        return cls(
            side=side,
            epsilon=promise.epsilon,
            delta=promise.delta,
            neighbours=promise.neighbours,
            accountant=promise.accountant,
            private=promise.private,
            events=promise.events,
            num_images=round(release.manifest.contents.num_records),
            touches=1,
            noise_scale=release.noise_scale,
            beside=beside,
        )

    def verify(self) -> None:
        """Refuse a promise that its own events contradict."""
        verify_promise(self.events, stated_epsilon=self.epsilon, stated_delta=self.delta, accountant=self.accountant)
        if self.beside is not None:
            self.beside.verify()

    def exact_epsilon(self) -> float:
        """ε of all events at δ, by the exact accountant."""
        return epsilon(list(self.events), self.delta)

    def __str__(self) -> str:
        """The promise in words."""
        if self.beside is None:
            return self._in_words(alone=True)
        return (
            f"{self.beside._in_words(alone=False)}\n\n{self._in_words(alone=False)}\n\n"
            "Each of the two sets has its own promise. Who has an image in both has the sum of their ε and of their δ."
        )

    def _in_words(self, *, alone: bool) -> str:
        if not self.private:
            return f"NOT PRIVATE: the randomness for the {self.side} was injected, so nothing is promised about it."
        number = "" if self.neighbours.protects_count else "their number, "
        match self.side:
            case Side.SOURCE:
                what, others = "source images and their labels", "the target images"
            case Side.TARGET:
                what, others = "target images", "the source images and their labels"
        public = [f"{number}size and range", *([others] if alone else []), "all settings"]
        how = (
            "They were looked at once, by the release"
            if self.touches == 1
            else f"They were looked at in {self.touches:,} batches, each a Poisson sample padded to a fixed size"
        )
        count = f"about {self.num_images:,}" if self.neighbours.protects_count else f"{self.num_images:,}"
        return (
            f"Private: the {count} {what}. Public: {', '.join(public)}.\n"
            f"{how}; the classifier and everything computed on the way are together "
            f"({self.epsilon:g}, {self.delta:g})-differentially private.\n"
            f"Neighbours ({self.neighbours}): {self.neighbours.describes}\n"
            f"Noise: standard deviation {self.noise_scale:.4g} on every number, for rows of norm at most 1 "
            f"({self.accountant} accountant)."
        )
