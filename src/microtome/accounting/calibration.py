"""The smallest noise that keeps a promise (ε, δ).

σ is the root of δ(ε; σ) = δ for the exact accountant and of ε(δ; σ) = ε for the others. It is rounded up, and
the promise is checked once more at the rounded value (``docs/privacy.md``, section 3).
"""

import math
from collections.abc import Callable, Sequence

import scipy

from microtome.accounting.accountant import Accountant
from microtome.accounting.accountant import delta as delta_of
from microtome.accounting.accountant import epsilon as epsilon_of
from microtome.accounting.events import Event
from microtome.accounting.inversion import log_excess
from microtome.accounting.ranges import require_positive, require_probability
from microtome.errors import CalibrationError

_ROUNDING_UP = 1e-6
_SMALLEST_LOG_SIGMA = math.log(1e-6)
_LARGEST_LOG_SIGMA = math.log(1e7)
_LARGEST_EXCESS = 1e3


def calibrate_noise(
    build: Callable[[float], Sequence[Event]],
    *,
    epsilon: float,
    delta: float,
    accountant: Accountant = Accountant.EXACT,
) -> float:
    """Smallest σ, rounded up by a millionth, at which ``build(σ)`` is (ε, δ)-private.

    Args:
        build: all that will be done to the data when the noise scale is σ.
        epsilon: ε of the promise.
        delta: δ of the promise.
        accountant: who checks it.

    Raises:
        CalibrationError: what does not depend on σ breaks the promise by itself, or no noise is needed.

    Example:
        >>> from microtome.accounting import GaussianEvent, calibrate_noise, epsilon
        >>> sigma = calibrate_noise(lambda scale: [GaussianEvent(mu=1 / scale)], epsilon=1.0, delta=1e-6)
        >>> round(sigma, 3), round(epsilon([GaussianEvent(mu=1 / sigma)], 1e-6), 4)
        (4.225, 1.0)
    """
    require_positive("epsilon", epsilon)
    require_probability("delta", delta)

    def excess(log_sigma: float) -> float:
        events = build(math.exp(log_sigma))
        if accountant.is_exact:
            return log_excess(delta_of(events, epsilon), delta)
        return min(epsilon_of(events, delta, accountant) - epsilon, _LARGEST_EXCESS)

    low, high = _bracket(excess, epsilon, delta)
    root = float(scipy.optimize.brentq(excess, low, high, xtol=_ROUNDING_UP / 4))
    step = _ROUNDING_UP / 2
    while excess(root + step) > 0:
        step *= 2
    return math.exp(root + step)


def _bracket(excess: Callable[[float], float], epsilon: float, delta: float) -> tuple[float, float]:
    """Two values of ln σ, the promise broken at the first and kept at the second."""
    low = high = 0.0
    stride = 0.5
    if excess(0.0) > 0:
        while excess(high) > 0:
            if high >= _LARGEST_LOG_SIGMA:
                raise CalibrationError(
                    f"no noise on the slices gives epsilon={epsilon:g} at delta={delta:g}: what does not depend "
                    "on it uses up the promise; raise epsilon or delta, or spend less on the rest"
                )
            low, high = high, min(high + stride, _LARGEST_LOG_SIGMA)
            stride *= 2
        return low, high
    while excess(low) <= 0:
        if low <= _SMALLEST_LOG_SIGMA:
            raise CalibrationError(
                f"epsilon={epsilon:g} at delta={delta:g} would be kept without any noise, so it protects nobody; "
                "lower delta below the sampling rate"
            )
        low, high = max(low - stride, _SMALLEST_LOG_SIGMA), low
        stride *= 2
    return low, high
