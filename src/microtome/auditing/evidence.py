"""A noisy array of a release, as what it says of every target, in closed form.

All noise is Gaussian, so an adversary who knows the rest of the data knows what the noise must have been if the
target is there and if it is not. With z₁ and z₀ for the noise under either hypothesis, in standard deviations, at
the numbers that the target touches, the log-likelihood ratio of the release is

    ln P(release | there) − ln P(release | not there) = Σ ½(‖z₀‖² − ‖z₁‖²)

over all noisy arrays. The noisy part of a row that was sampled with probability τ is the mixture of z₁ (or z₀) and z
of the null row.

The formula is the best attack if the mechanism is what it says it is. The bound that is drawn from it holds whatever
the mechanism does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from microtome.auditing.audit_data import Places
from microtome.auditing.observation import NOBODY, Observation
from microtome.errors import MicrotomeError

Numbers = NDArray[np.float64]

NOWHERE = -1


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """One noisy array of the file, as the noise that is in it.

    Attributes:
        name: What it is.
        noise: Places × width. The noise that really is there.
        places: Targets × touched places: where in ``noise`` a target leaves a trace; ``-1`` for nowhere.
        there: Targets × touched places × width. The noise at these places if the target is there.
        gone: … if it is not.
        unsampled: … if it is there or was, but not in the sample; ``None`` if nothing is sampled.
        rate: The probability with which a record is sampled.
    """

    name: str
    noise: Numbers
    places: Places
    there: Numbers
    gone: Numbers
    unsampled: Numbers | None = None
    rate: float = 1.0

    @property
    def is_shared(self) -> bool:
        """Whether all targets leave their trace at the same places."""
        return len(self.places) > 1 and bool((self.places == self.places[0]).all())

    def log_ratio(self) -> Numbers:
        """The log-likelihood ratio of every target."""
        there, gone = _log_density(self.there), _log_density(self.gone)
        if self.unsampled is None:
            return there - gone
        null = _log_density(self.unsampled)
        ratio: Numbers = self._mixture(there, null) - self._mixture(gone, null)
        return ratio

    def repeats(self, earlier: Evidence) -> Numbers:
        """How much closer to the noise of an earlier release the noise is if the target is there."""
        known = earlier.noise[self.places] * (self.places != NOWHERE)[..., None]
        return _log_density(self.there - known) - _log_density(self.gone - known)

    def _mixture(self, sampled: Numbers, null: Numbers) -> Numbers:
        mixture: Numbers = np.logaddexp(np.log(self.rate) + sampled, np.log1p(-self.rate) + null)
        return mixture


def _log_density(noise: Numbers) -> Numbers:
    log_density: Numbers = -0.5 * np.einsum("kjw,kjw->k", noise, noise)
    return log_density


def sums_evidence(
    observation: Observation,
    *,
    name: str,
    noise: Numbers,
    there: Places,
    gone: Places,
    adds: Numbers,
    other_adds: Numbers,
) -> Evidence:
    """What is told by sums over records.

    Args:
        observation: The release.
        name: What is summed.
        noise: Places × width. The noise, in standard deviations.
        there: Targets × places: where a target adds something if it is there; ``-1`` for nowhere.
        gone: Where its substitute does, if it has one.
        adds: Targets × places × width. What it adds there, in standard deviations of the noise.
        other_adds: … and its substitute.
    """
    places, shifts = there, np.where((there == NOWHERE)[..., None], 0.0, adds)
    if observation.data.neighbours.symmetric:
        # Where a target and its substitute share a place, one comes as the other goes.
        other = np.where((gone == NOWHERE)[..., None], 0.0, other_adds)
        same = np.expand_dims(there == gone, -1)
        shifts = np.concatenate([np.where(same, shifts - other, shifts), np.where(same, 0.0, -other)], axis=1)
        places = np.concatenate([there, gone], axis=1)
    traced: NDArray[np.bool_] = np.any(shifts != 0.0, axis=-1)
    seen = np.where(traced[..., None], noise[places], 0.0)
    coins = observation.coins[:, None, None]
    return Evidence(
        name=name,
        noise=noise,
        places=np.where(traced, places, NOWHERE),
        there=seen - np.where(coins, 0.0, shifts),
        gone=seen + np.where(coins, shifts, 0.0),
    )


def rows_evidence(
    observation: Observation,
    *,
    rows: Numbers,
    standing: Numbers,
    own: Places,
    there: Numbers,
    gone: Numbers,
    noise_scale: float,
    subsample: float | None,
) -> Evidence:
    """What is told by rows, of which the observer knows whose they are.

    Args:
        observation: The release.
        rows: Noisy rows.
        standing: What they are without noise.
        own: The row of every target.
        there: What a target's row is without noise.
        gone: What its substitute's is, if it has one; a null row otherwise.
        noise_scale: σ.
        subsample: The probability with which a record is sampled, or ``None`` for all.
    """
    if not observation.data.neighbours.symmetric:
        gone = np.zeros_like(there)
    seen = rows[own]
    return Evidence(
        name="rows",
        noise=(rows - standing) / noise_scale,
        places=own[:, None],
        there=((seen - there) / noise_scale)[:, None, :],
        gone=((seen - gone) / noise_scale)[:, None, :],
        unsampled=None if subsample is None else (seen / noise_scale)[:, None, :],
        rate=1.0 if subsample is None else subsample,
    )


def rows_of_targets(observation: Observation, owners: Places, row_classes: Places, target_classes: Places) -> Places:
    """The row of every target: its own, its substitute's, or where neither was sampled, any null row of its class.

    All null rows have the same law, so it does not matter which one is shown.
    """
    coins = observation.coins
    records = np.full(len(coins), NOBODY)
    records[coins] = np.arange(coins.sum())
    if observation.data.neighbours.symmetric:
        records[~coins] = np.arange(coins.sum(), len(coins))
    row_of = np.full(len(observation.present) + 1, NOWHERE)
    standing = np.flatnonzero(owners != NOBODY)
    row_of[owners[standing]] = standing
    rows = np.where(records == NOBODY, NOWHERE, row_of[records])
    for number in np.unique(target_classes[rows == NOWHERE]):
        nulls = np.flatnonzero((owners == NOBODY) & (row_classes == number))
        without = np.flatnonzero((rows == NOWHERE) & (target_classes == number))
        if not len(nulls):
            raise MicrotomeError("the sample filled its padding, so there is no null row to compare with; run it again")
        rows[without] = nulls[np.arange(len(without)) % len(nulls)]
    return rows
