"""The Gaussian mechanism: its privacy profile δ_G and both inverses.

Two unit Gaussians a distance μ apart have the hockey-stick divergence

    δ_G(ε; μ) = Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2)

(``docs/privacy.md``, section 3; Balle and Wang 2018). Both terms may be astronomically small or nearly
equal, so for a = ε/μ − μ/2 and b = a + μ they are written with the Mills ratio R(x) = (1 − Φ(x))/φ(x),

    Φ(−a) = φ(a) R(a),    e^ε Φ(−b) = φ(a) R(b),

in which nothing overflows and the small factor φ(a) is common.
"""

import math

import numpy as np
import numpy.typing as npt
import scipy

from microtome.accounting.inversion import log_excess, smallest_epsilon
from microtome.accounting.ranges import require_nonnegative, require_positive, require_probability
from microtome.errors import ParameterError

FloatArray = npt.NDArray[np.float64]

_ROUNDING_DOWN = 1e-9


def gaussian_hockey_stick(epsilon: FloatArray, mu: FloatArray) -> FloatArray:
    """δ_G(ε; μ) for arrays that broadcast, ε ≥ 0 and μ ≥ 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        ratio = np.where(mu > 0, epsilon / mu, np.inf)
        a = ratio - mu / 2
        mills_b = _mills(ratio + mu / 2)
        density = np.exp(-0.5 * a * a) / math.sqrt(2 * math.pi)
        upper = density * (_mills(np.maximum(a, 0.0)) - mills_b)
        lower = scipy.special.ndtr(-a) - density * mills_b
        return np.maximum(np.where(a >= 0, upper, lower), 0.0)


def _mills(x: FloatArray) -> FloatArray:
    return np.asarray(scipy.special.erfcx(x / math.sqrt(2)) * math.sqrt(math.pi / 2))


def gaussian_delta(epsilon: float, mu: float) -> float:
    """δ_G(ε; μ) for any real ε; for ε < 0 by the symmetry δ(ε) = 1 − e^ε + e^ε δ(−ε)."""
    require_nonnegative("mu", mu)
    if math.isnan(epsilon):
        raise ParameterError(f"epsilon must be a number, got {epsilon!r}")
    value = float(gaussian_hockey_stick(np.array(abs(epsilon)), np.array(mu)))
    return value if epsilon >= 0 else -math.expm1(epsilon) + math.exp(epsilon) * value


def gaussian_epsilon(delta: float, mu: float) -> float:
    """Smallest ε ≥ 0 with δ_G(ε; μ) ≤ ``delta``, rounded up."""
    require_probability("delta", delta)
    require_nonnegative("mu", mu)
    return smallest_epsilon(lambda epsilon: gaussian_delta(epsilon, mu), delta)


def mu_of_pure(epsilon: float) -> float:
    """The μ of a Gaussian mechanism that reveals at least what any ε-DP mechanism does.

    Trade-off functions: that of ε-DP goes in straight lines from (0, 1) over its kink at α = 1/(1 + e^ε), where both
    errors are α, to (1, 0). That of a Gaussian is convex, so it lies below both lines if it meets the kink:
    Φ(Φ⁻¹(1 − α) − μ) = α.
    """
    require_positive("epsilon", epsilon)
    return float(-2.0 * scipy.special.ndtri(scipy.special.expit(-epsilon))) * (1.0 + _ROUNDING_DOWN)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Largest μ with δ_G(ε; μ) ≤ ``delta``, rounded down."""
    require_positive("epsilon", epsilon)
    require_probability("delta", delta)

    def excess(log_mu: float) -> float:
        return log_excess(gaussian_delta(epsilon, math.exp(log_mu)), delta)

    low = high = 0.0
    while excess(low) > 0:
        low -= 1.0
    while excess(high) <= 0:
        high += 1.0
    return math.exp(float(scipy.optimize.brentq(excess, low, high, xtol=_ROUNDING_DOWN / 10)) - _ROUNDING_DOWN)
