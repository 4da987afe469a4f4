"""Accounting that goes through Rényi divergences: the accountant ``renyi``, and what those of the paper share.

With t = α(α−1)Δ²/(2σ²), per event (``docs/privacy.md``, section 3):

    Gaussian mechanism             RDP(α) = αμ²/2
    slices, exact                  RDP(α) = ln E_W[exp(t W/Δ²)] / (α−1), which is
      gaussian directions            −m'/(2(α−1)) ln(1 − 2t/d), for 2t < d
      full orthogonal, fixed         αΔ²q/(2σ²), αΔ²m/(2σ²)
      a cut last block               (q t + ln ₁F₁(r/2; d/2; t)) / (α−1)

They add over events. ``renyi`` turns the sum into ε = RDP + ln(1 − 1/α) − ln(δα)/(α−1) (Canonne, Kamath and
Steinke 2020), minimised over real α > 1; any α gives a valid ε, so the search need not be perfect.

Subsampled slices are amplified by the paper's Lemma 1, ε' = ln(1 + τ(e^ε − 1)) and δ' = τδ, and added to
the rest by basic composition with equal shares of δ.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import scipy

from microtome.accounting.directions import DirectionKind
from microtome.accounting.events import Event, SliceEvent, SubsampledEvent, compose
from microtome.accounting.gaussian import FloatArray
from microtome.errors import ParameterError

Slices = Sequence[tuple[SliceEvent, int]]
Curve = Callable[[SliceEvent, FloatArray], FloatArray]
Conversion = Callable[[FloatArray, FloatArray, float], FloatArray]

_ORDERS = np.logspace(-5, 8, 157)
_LONGEST_SERIES = 1e4


def renyi_epsilon(events: Sequence[Event], delta: float) -> float:
    """ε from the exact Rényi divergence and the tighter conversion."""
    return least_epsilon(events, delta, exact_rdp, tighter_conversion)


def exact_rdp(event: SliceEvent, alpha: FloatArray) -> FloatArray:
    """RDP(α) of slices; infinite where it does not exist."""
    directions = event.directions
    t = alpha * (alpha - 1) * event.ratio**2 / 2
    if directions.constant_energy is not None:
        return alpha * (event.ratio**2 * directions.constant_energy / 2)
    match directions.kind:
        case DirectionKind.GAUSSIAN:
            with np.errstate(divide="ignore"):
                logs = np.log1p(-np.minimum(2 * t / directions.dim, 1.0))
            return -directions.count / (2 * (alpha - 1)) * logs
        case DirectionKind.ORTHOGONAL:
            a, b = directions.cut_columns / 2, directions.dim / 2
            moments: FloatArray = np.array([_log_beta_moment(a, b, float(value)) for value in t])
            return (directions.full_blocks * t + moments) / (alpha - 1)
        case DirectionKind.FIXED:
            raise ParameterError("the energy of fixed directions has a largest value, and there is none")


def _log_beta_moment(a: float, b: float, t: float) -> float:
    """Logarithm of E[e^(tB)] = ₁F₁(a; b; t), B ~ Beta(a, b − a), by its positive series; at most t."""
    if t > _LONGEST_SERIES:
        return t  # an upper bound, as B ≤ 1
    n = np.arange(math.ceil(2 * t) + 100)
    logs = scipy.special.gammaln(a + n) - scipy.special.gammaln(b + n) - scipy.special.gammaln(n + 1)
    logs += scipy.special.xlogy(n, t) + scipy.special.gammaln(b) - scipy.special.gammaln(a)
    # From the last term on each is less than half of the one before.
    return min(t, float(np.logaddexp(scipy.special.logsumexp(logs), logs[-1])))


def tighter_conversion(rdp: FloatArray, alpha: FloatArray, delta: float) -> FloatArray:
    """ε = RDP + ln(1 − 1/α) − ln(δα)/(α−1)."""
    return rdp + np.log1p(-1 / alpha) - np.log(delta * alpha) / (alpha - 1)


def least_epsilon(events: Sequence[Event], delta: float, curve: Curve, convert: Conversion) -> float:
    """ε of all events, where slices have the given RDP(α), minimised over α."""
    parts = compose(events)
    delta -= parts.failure
    if delta <= 0:
        return math.inf
    plain = bool(parts.mu_squared or parts.slices)
    share = delta / max(1, sum(count for _, count in parts.subsampled) + plain)
    total = sum(count * _amplified(event, share, curve, convert) for event, count in parts.subsampled)
    return total + (_minimised(parts.mu_squared, parts.slices, share, curve, convert) if plain else 0.0)


def _amplified(event: SubsampledEvent, delta: float, curve: Curve, convert: Conversion) -> float:
    """Lemma 1; a sample that holds the record with probability below δ needs nothing more."""
    if delta >= event.rate:
        return 0.0
    epsilon = _minimised(0.0, [(event.event, 1)], delta / event.rate, curve, convert)
    if epsilon > 1.0:
        return epsilon + math.log(event.rate - (event.rate - 1) * math.exp(-epsilon))
    return math.log1p(event.rate * math.expm1(epsilon))


def _minimised(mu_squared: float, slices: Slices, delta: float, curve: Curve, convert: Conversion) -> float:
    """The least ε of Gaussian mechanisms of Σμ² together and of slices."""

    def bound(log_order: FloatArray) -> FloatArray:
        alpha = 1 + np.exp(log_order)
        rdp = alpha * mu_squared / 2
        for event, count in slices:
            rdp = rdp + count * curve(event, alpha)
        return convert(rdp, alpha, delta)

    orders = _log_orders(slices)
    values = bound(orders)
    best = int(np.argmin(values))
    if not math.isfinite(values[best]):
        return math.inf
    around = (orders[max(best - 1, 0)], orders[min(best + 1, orders.size - 1)])
    refined = scipy.optimize.minimize_scalar(
        lambda x: float(bound(np.array([x]))[0]), bounds=around, method="bounded", options={"xatol": 1e-9}
    )
    return max(0.0, min(float(values[best]), float(refined.fun)))


def _log_orders(slices: Slices) -> FloatArray:
    """A grid of ln(α−1) that is dense near the largest α at which every divergence exists."""
    largest = math.inf
    for event, _ in slices:
        if event.directions.kind.is_independent:
            product = event.directions.dim / event.ratio**2
            largest = min(largest, product / (0.5 + math.sqrt(0.25 + product)))
    if math.isinf(largest):
        return np.log(_ORDERS)
    shares = np.concatenate([np.logspace(-6, -0.5, 80), 1 - np.logspace(-0.25, -9, 40)])
    return np.log(np.sort(shares) * largest)
