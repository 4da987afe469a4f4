"""What a release claims, as a curve: ε for every δ, not only for the one that is stated.

The noise of a mechanism fixes its whole privacy profile. At the stated δ of 10⁻⁵ no affordable number of releases
can tell much: events that rare are not seen. At a larger δ′ the same noise has a smaller ε, which the accountant
knows exactly, and there an audit can come close. Too little noise shows at every δ′.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from microtome.accounting import (
    Event,
    FailureEvent,
    GaussianEvent,
    RepeatedEvent,
    SliceEvent,
    SubsampledEvent,
    delta,
    epsilon,
)

FloatArray = NDArray[np.float64]

_DELTAS = (1e-4, 3e-4, 1e-3, 3e-3, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4)
_LEAST_EPSILON = 0.01
_STEP = 0.05
_WORTHLESS = 100.0
_LEAST_NOISE = 1e3


@dataclass(frozen=True, kw_only=True)
class Point:
    """A point of the claimed curve.

    Attributes:
        delta: δ.
        claimed: ε at this δ.
        slope: By how much ε falls where the noise grows, per relative change of the noise.
    """

    delta: float
    claimed: float
    slope: float

    def merit(self, bound: FloatArray) -> FloatArray:
        """How close to the claimed noise bounds on ε at this δ come, nearly: 1 where they meet the claim.

        What is no bound at all is worth less than any.
        """
        return np.where(bound > 0, 1.0 + (bound - self.claimed) / self.slope, bound - _WORTHLESS)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """The promise of a release and the events it rests on.

    Attributes:
        epsilon: The stated ε (for a part of a release, the ε of its events at δ).
        delta: The stated δ.
        events: What was done to the data, as the file says.
    """

    epsilon: float
    delta: float
    events: tuple[Event, ...]

    def at(self, other_delta: float) -> float:
        """ε at another δ, exact."""
        return epsilon(self.events, other_delta)

    def curve(self) -> list[Point]:
        """The claim at those larger δ at which an audit can see something."""
        points = []
        for other_delta in _DELTAS:
            claimed = self.at(other_delta) if other_delta > self.delta else 0.0
            if claimed >= _LEAST_EPSILON:
                with_more_noise = epsilon(_scaled(self.events, 1.0 - _STEP), other_delta)
                slope = max((claimed - with_more_noise) / _STEP, claimed)
                points.append(Point(delta=other_delta, claimed=claimed, slope=slope))
        return points or [Point(delta=self.delta, claimed=self.epsilon, slope=self.epsilon)]

    @property
    def is_kept_by_events(self) -> bool:
        """Whether the events, if they are as stated, keep the promise."""
        return delta(self.events, self.epsilon) <= self.delta * (1.0 + 1e-6)

    def equivalent(self, other_delta: float, bound: float) -> float | None:
        """The ε at the stated δ of the same mechanism with so much more noise that it has ε = ``bound`` at another δ.

        ``None`` if even a thousandth of the noise would not do. This translates a bound at one δ into one at another
        by the shape of the claimed curve. It is as good as that shape, whereas the bound itself assumes nothing.
        """

        def excess(share: float) -> float:
            return epsilon(_scaled(self.events, share), other_delta) - bound

        if bound <= 0:
            return 0.0
        high = 2.0
        while excess(high) < 0:
            high *= 2.0
            if high > _LEAST_NOISE:
                return None
        share = float(brentq(excess, 1e-3, high, xtol=1e-5))
        found = epsilon(_scaled(self.events, share), self.delta)
        return found if math.isfinite(found) else None


def _scaled(events: Sequence[Event], share: float) -> list[Event]:
    """The same events with all noise divided by ``share``; failures stay what they are."""
    return [_with_noise_divided(event, share) for event in events]


def _with_noise_divided(event: Event, share: float) -> Event:
    match event:
        case GaussianEvent(mu=mu):
            return GaussianEvent(mu=mu * share)
        case SliceEvent():
            return replace(event, noise_scale=event.noise_scale / share)
        case SubsampledEvent(event=inner):
            return replace(event, event=replace(inner, noise_scale=inner.noise_scale / share))
        case RepeatedEvent(event=inner):
            return replace(event, event=_with_noise_divided(inner, share))  # type: ignore[arg-type]
        case FailureEvent():
            return event
