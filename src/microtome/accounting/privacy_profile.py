"""The exact privacy profile δ(ε) of everything that was done to a table.

Gaussian mechanisms, and slices whose energy W is the same for every draw of U, add in μ² (``docs/privacy.md``,
section 4). What is left decides how the rest is integrated:

    nothing              δ_G(ε; μ₀)
    one random W         E_W[δ_G(ε; √(μ₀² + W/σ²))]
    one subsampled part  E_l[H(ε − l)], l ~ N(μ₀²/2, μ₀²) the privacy loss of the Gaussians and H the
                         divergence of the part; the larger of both orders
    anything more        convolution of discretised losses, from above

Probabilities of failure add to δ.
"""

import math
from collections.abc import Sequence

import numpy as np
import scipy

from microtome.accounting.divergence import (
    Pair,
    event_pair,
    gaussian_pair,
    slice_hockey_stick,
    subsampled_pair,
)
from microtome.accounting.events import Composition, Event, compose
from microtome.accounting.gaussian import FloatArray, gaussian_delta
from microtome.accounting.inversion import Profile
from microtome.accounting.loss_distribution import LossDistribution
from microtome.accounting.merging import merged
from microtome.accounting.projection_law import panel_nodes

_LOWEST_DEVIATE, _HIGHEST_DEVIATE = -8.5, 10.0
_PANEL_WIDTH = 0.75
_NODES_PER_PANEL = 16
_GRADING = np.array([0.0, 0.001, 0.005, 0.02, 0.06, 0.15, 0.35])


def _settled(parts: Composition) -> Composition:
    """The same with samples that hold all records as what they are, and slices of a constant W as Gaussians."""
    sliced = [*parts.slices, *((part.event, count) for part, count in parts.subsampled if part.rate == 1)]
    constant = [count * mu**2 for event, count in sliced if (mu := event.constant_mu) is not None]
    return Composition(
        mu_squared=math.fsum([parts.mu_squared, *constant]),
        slices=tuple((event, count) for event, count in sliced if event.constant_mu is None),
        subsampled=tuple((part, count) for part, count in parts.subsampled if part.rate != 1),
        failure=parts.failure,
    )


def exact_profile(events: Sequence[Event]) -> Profile:
    """The function ε ↦ δ(ε), ε ≥ 0, of all ``events`` together."""
    parts = _settled(compose(events))
    without_failure = _profile(parts)
    return lambda epsilon: min(1.0, parts.failure + without_failure(epsilon))


def _profile(parts: Composition) -> Profile:
    if not parts.slices and not parts.subsampled:
        return lambda epsilon: gaussian_delta(epsilon, parts.mu)
    if not parts.subsampled and _total(parts.slices) == 1:
        stick = slice_hockey_stick(parts.slices[0][0], parts.mu)
        return lambda epsilon: float(stick(np.array([epsilon]))[0])
    if not parts.slices and _total(parts.subsampled) == 1:
        return _subsampled_profile(subsampled_pair(parts.subsampled[0][0]), parts.mu)
    return _convolved_profile(parts)


def _total(parts: Sequence[tuple[object, int]]) -> int:
    return sum(count for _, count in parts)


def _subsampled_profile(pair: Pair, mu: float) -> Profile:
    orders = [pair] if pair.symmetric else [pair, pair.reversed]
    return lambda epsilon: max(_after_gaussian(order, mu, epsilon) for order in orders)


def _after_gaussian(pair: Pair, mu: float, epsilon: float) -> float:
    """E_l[H(ε − l)] with l ~ N(μ²/2, μ²); what is left of the tails counts upwards."""
    if mu == 0:
        return float(pair.divergence(np.array([epsilon]))[0])
    deviates, weights = panel_nodes(_deviate_edges((epsilon - mu**2 / 2) / mu), _NODES_PER_PANEL)
    weights = weights * np.exp(-0.5 * deviates**2) / math.sqrt(2 * math.pi)
    deviates = np.append(_LOWEST_DEVIATE, deviates)
    weights = np.append(scipy.special.ndtr(_LOWEST_DEVIATE), weights)
    divergences = pair.divergence(epsilon - mu**2 / 2 - mu * deviates)
    return min(1.0, float(weights @ divergences + scipy.special.ndtr(-_HIGHEST_DEVIATE)))


def _deviate_edges(kink: float) -> FloatArray:
    """Panels for the standardised loss, finer around ``kink``, where the divergence of the part bends."""
    even = np.arange(_LOWEST_DEVIATE, _HIGHEST_DEVIATE, _PANEL_WIDTH)
    edges = np.concatenate([even, [_HIGHEST_DEVIATE], kink + _GRADING, kink - _GRADING])
    return np.unique(np.clip(edges, _LOWEST_DEVIATE, _HIGHEST_DEVIATE))


def _convolved_profile(parts: Composition) -> Profile:
    pairs = [(event_pair(event), count) for event, count in merged([*parts.slices, *parts.subsampled])]
    if parts.mu > 0:
        pairs.append((gaussian_pair(parts.mu), 1))
    orders = [LossDistribution(pairs)]
    if not all(pair.symmetric for pair, _ in pairs):
        orders.append(LossDistribution([(pair.reversed, count) for pair, count in pairs]))
    return lambda epsilon: max(losses.delta(epsilon) for losses in orders)
