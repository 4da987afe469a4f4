"""A lower bound on ε that holds whatever the mechanism does.

Take a test that says of every target whether it seems to be there. If the mechanism is (ε, δ)-private, a target that
is there is found with at most e^ε times the probability with which one that is not there is found, plus δ. With fair
coins, a release in which the test says φ_k of target k gives

    A = mean_k 2·[there]·φ_k,   B = mean_k 2·[not there]·φ_k,   C = mean_k ([there] − [not there]),

E[C] = 0, and (ε, δ)-privacy says E[A − e^ε·B − c·C] ≤ δ for every c. (With c = E[A] + e^ε·E[B] the luck of the coins
cancels; with c = e^ε the largest loss is least. Whichever promises more is taken.) The
targets of a release share its randomness, so nothing is assumed of how they depend on each other: a release counts
as one draw, and its A, B and C are bounded. Against the claim somebody bets one unit; after every release the stake
is multiplied by 1 + λ·(A − e^ε·B − c·C − δ), which no λ from 0 to the reciprocal of the largest loss makes negative.
If the claim is true the stake does not grow in expectation, so it ever reaches 1/α with probability at most α
(Ville's inequality). Where it does, the claim is refused at confidence 1 − α. The bound is the least ε that is not
refused. This is a finite-sample statement: no normal approximation, no assumption on the shape of the noise.

Reference: Waudby-Smith and Ramdas, *Estimating means of bounded random variables by betting* (2024). The test, c and
λ are fixed on releases that are not used for the bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from microtome.auditing.audit_data import Coins

Numbers = NDArray[np.float64]

_LARGEST_EPSILON = 30.0
_PRECISION = 1e-4
_GRID = np.concatenate([np.arange(0.0, 1.0, 0.002), np.arange(1.0, 10.0, 0.01), np.arange(10.0, _LARGEST_EPSILON, 0.1)])
_ALL_BUT_RUIN = 0.999


@dataclass(frozen=True, kw_only=True)
class Verdicts:
    """A, B and C of some releases, for one test (arrays over releases) or for many (tests × releases)."""

    found_there: Numbers
    found_gone: Numbers
    luck: Numbers

    def __len__(self) -> int:
        return int(self.luck.shape[-1])


def count_verdicts(says_there: NDArray[np.bool_], coins: Coins) -> tuple[Numbers, Numbers, Numbers]:
    """A, B and C of every release (or test), the targets along the last axis."""
    there: Numbers = 2.0 * (says_there & coins).mean(axis=-1)
    gone: Numbers = 2.0 * (says_there & ~coins).mean(axis=-1)
    return there, gone, np.asarray(2.0 * coins.mean(axis=-1) - 1.0)


def expected_bounds(verdicts: Verdicts, delta: float, *, num_releases: int, error: float) -> Numbers:
    """What each of many tests may be expected to give on ``num_releases`` new releases.

    From means and variances, with a margin for their own error; used to choose a test, never as a bound. Below zero
    where nothing is expected: how far from it.
    """
    stacked = np.stack(
        [verdicts.found_there, verdicts.found_gone, np.broadcast_to(verdicts.luck, verdicts.found_there.shape)]
    )
    means = stacked.mean(axis=-1)
    centred = stacked - means[..., None]
    covariance = np.einsum("itr,jtr->tij", centred, centred) / max(len(verdicts) - 1, 1)
    stakes = math.log(1.0 / error)
    spread = 2.0 * stakes * (1.0 / num_releases + 1.0 / len(verdicts))

    def surplus(epsilon: Numbers) -> Numbers:
        growth = np.exp(epsilon)
        margins = []
        for control in (means[0] + growth * means[1], growth):
            weights = np.stack([np.ones_like(growth), -growth, -control])
            variance = np.maximum(np.einsum("it,tij,jt->t", weights, covariance, weights), 0.0)
            margins.append(np.sqrt(spread * variance) + _largest_loss(growth, control, delta) * stakes / num_releases)
        result: Numbers = means[0] - growth * means[1] - delta - np.minimum(*margins)
        return result

    low, high = np.zeros(means.shape[1]), np.full(means.shape[1], _LARGEST_EPSILON)
    hope = surplus(low)
    while (high - low).max() > _PRECISION:
        middle = (low + high) / 2
        proven = surplus(middle) > 0
        low, high = np.where(proven, middle, low), np.where(proven, high, middle)
    return np.where(hope > 0, low, hope)


def lower_bound(training: Verdicts, verdicts: Verdicts, delta: float, *, error: float) -> float:
    """An ε up to which the verdicts refuse every (ε, ``delta``) at confidence 1 − ``error``; 0 if they refuse none.

    Whoever is (ε, δ)-private is so with every larger ε, so refusing all of a fixed grid up to the bound is wrong only
    if its first value from the true ε on is refused, which has probability at most α.

    Args:
        training: What the same test gave on other releases; c and λ are taken from these.
        verdicts: What it gave on the releases of the bound.
        delta: δ.
        error: α.
    """
    refused = 0.0
    for epsilon in _GRID.tolist():
        if not is_refused(training, verdicts, epsilon, delta, error):
            break
        refused = epsilon
    return refused


def is_refused(training: Verdicts, verdicts: Verdicts, epsilon: float, delta: float, error: float) -> bool:
    """Whether betting against (ε, δ) made 1/α of one unit, so that it is refused at confidence 1 − ``error``."""
    if not len(verdicts):
        return False
    growth, stakes = math.exp(epsilon), math.log(1.0 / error)
    plans = []
    for control in (float(training.found_there.mean() + growth * training.found_gone.mean()), growth):
        variance = float(_gains(training, growth, control, delta).var())
        loss = float(_largest_loss(growth, control, delta))
        fraction = math.sqrt(2.0 * stakes / (len(verdicts) * variance)) if variance > 0 else math.inf
        margin = math.sqrt(2.0 * stakes * variance / len(verdicts)) + loss * stakes / len(verdicts)
        plans.append((margin, control, min(fraction, _ALL_BUT_RUIN / loss)))
    _, control, fraction = min(plans)
    return float(np.log1p(fraction * _gains(verdicts, growth, control, delta)).sum()) >= stakes


def _largest_loss(growth: Any, control: Any, delta: float) -> Any:
    """How far A − e^ε·B − c·C − δ can fall below zero: all found that are not there, or none that are."""
    return np.maximum(control, 2.0 * growth - control) + delta


def _gains(verdicts: Verdicts, growth: float, control: float, delta: float) -> Numbers:
    gains: Numbers = verdicts.found_there - growth * verdicts.found_gone - control * verdicts.luck - delta
    return gains
