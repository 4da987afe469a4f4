"""From a privacy profile δ(ε) to the ε of a wanted δ, rounded so that the promise is never too small.

A profile falls in ε, so the answer is the root of δ(ε) = δ. The root search is followed by steps to the
right until the profile itself confirms the promise.
"""

import math
from collections.abc import Callable

import scipy

Profile = Callable[[float], float]

NUMERICAL_SLACK = 1e-6
"""Relative error that integrals may have; δ(ε) is taken to be this much larger wherever it is compared."""

_LARGEST_EPSILON = 1e15
_SMALLEST_LOG_ARGUMENT = 1e-320


def holds(value: float, delta: float) -> bool:
    """Whether a computed δ(ε) is at most ``delta`` even if it is wrong by the numerical slack."""
    return value * (1.0 + NUMERICAL_SLACK) <= delta


def log_excess(value: float, delta: float) -> float:
    """Logarithm of how far a computed δ(ε) is above ``delta``; negative where the promise holds."""
    return math.log(max(value, _SMALLEST_LOG_ARGUMENT)) + NUMERICAL_SLACK - math.log(delta)


def smallest_epsilon(profile: Profile, delta: float) -> float:
    """Smallest ε ≥ 0 with profile(ε) ≤ ``delta``, from above; ``inf`` where there is none."""
    if delta <= 0:
        return math.inf
    if holds(profile(0.0), delta):
        return 0.0
    low, high = 0.0, 1.0
    while not holds(profile(high), delta):
        low, high = high, 2.0 * high
        if high > _LARGEST_EPSILON:
            return math.inf
    root = float(scipy.optimize.brentq(lambda e: log_excess(profile(e), delta), low, high, xtol=1e-12, rtol=1e-10))
    step = 1e-10 * max(root, 1e-3)
    while not holds(profile(root), delta):
        root, step = root + step, 2.0 * step
    return root
