"""What an adapted classifier promises: what is private, to whom, and what the whole training cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from microtome.accounting import Accountant, Event, Neighbours, epsilon, event_from_dict


@dataclass(frozen=True, kw_only=True)
class AdaptationPromise:
    """The guarantee of a whole training, complete enough to be checked.

    Attributes:
        epsilon: Total ε of every touch of the private images.
        delta: Total δ.
        neighbours: Which private image sets are hard to tell apart.
        accountant: How the noise was computed.
        private: False if the randomness was injected, as in tests: then nothing is promised.
        events: All that was done to the private images.
        num_images: Private images, which is public.
        touches: How often a batch of them was looked at; 1 for a release.
        noise_scale: σ, in units of the radius to which features (or pixels) are clipped.
    """

    epsilon: float
    delta: float
    neighbours: Neighbours
    accountant: Accountant
    private: bool
    events: tuple[Event, ...]
    num_images: int
    touches: int
    noise_scale: float

    def exact_epsilon(self) -> float:
        """ε of all events at δ, by the exact accountant."""
        return epsilon(list(self.events), self.delta)

    def __str__(self) -> str:
        """The promise in words."""
        if not self.private:
            return "NOT PRIVATE: the randomness was injected, so nothing is promised."
        how = (
            "They were looked at once, by the release"
            if self.touches == 1
            else f"They were looked at in {self.touches:,} batches, each a Poisson sample padded to a fixed size"
        )
        return (
            f"Private: the {self.num_images:,} target images. Public: their number, size and range, the source images "
            f"and their labels, all settings.\n"
            f"{how}; the classifier and everything computed on the way are together "
            f"({self.epsilon:g}, {self.delta:g})-differentially private.\n"
            f"Neighbours ({self.neighbours}): {self.neighbours.describes}\n"
            f"Noise: standard deviation {self.noise_scale:.4g} on every number, for rows of norm at most 1 "
            f"({self.accountant} accountant)."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbours": str(self.neighbours),
            "accountant": str(self.accountant),
            "private": self.private,
            "events": [event.to_dict() for event in self.events],
            "num_images": self.num_images,
            "touches": self.touches,
            "noise_scale": self.noise_scale,
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> AdaptationPromise:
        """The inverse of ``to_dict``."""
        return cls(
            **{
                **document,
                "neighbours": Neighbours(document["neighbours"]),
                "accountant": Accountant(document["accountant"]),
                "events": tuple(event_from_dict(event) for event in document["events"]),
            }
        )
