"""What somebody who holds the release may find out about one person, whatever else they know.

They want to tell the table from its neighbour. By the exact profile δ(ε) of everything that is done to the data,
whoever accuses the innocent with probability α catches the others with probability

    at most   min over ε ≥ 0 of   e^ε·α + δ(ε),

and whoever finds both equally likely beforehand guesses right with probability at most (1 + δ(0))/2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from microtome.accounting import Event, delta

FALSE_ALARMS = 0.05
_LARGEST_EPSILON = 40.0
_STEPS = 200


@dataclass(frozen=True, kw_only=True)
class Attacker:
    """What the best attack can reach.

    Attributes:
        best_guess: Probability of guessing right whether one person's record is in the table, at even odds: 0.5 is a
            toss of a coin.
        caught: Share of those in the table who are found out by whoever wrongly accuses 5 % of all others.
    """

    best_guess: float
    caught: float


def strongest_attacker(events: Sequence[Event]) -> Attacker:
    """Bounds that no attack exceeds."""
    epsilons = np.linspace(0.0, _LARGEST_EPSILON, _STEPS + 1) ** 2 / _LARGEST_EPSILON
    bounds = [math.exp(epsilon) * FALSE_ALARMS + delta(events, float(epsilon)) for epsilon in epsilons]
    return Attacker(best_guess=(1.0 + delta(events, 0.0)) / 2.0, caught=min(1.0, *bounds))
