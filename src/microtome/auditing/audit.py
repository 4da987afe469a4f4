"""The audit of a setting: release again and again, learn which test tells most, then count how well it does.

The first releases are for choosing: of all attacks, thresholds and δ′, those that promise the bound closest to (or
farthest above) the claim. The others are for counting, with one test for the whole curve and one for the stated δ.
The two bounds share the error probability, most of it for the first, so both hold together at the stated confidence.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from microtome.accounting import Event
from microtome.accounting import epsilon as epsilon_of
from microtome.auditing.attacks import Attacker, Scores
from microtome.auditing.audit_data import Coins
from microtome.auditing.claim import Claim, Point
from microtome.auditing.lower_bound import Verdicts, count_verdicts, expected_bounds, is_refused, lower_bound
from microtome.auditing.observation import AnyObservation, observe_release, publish_release
from microtome.auditing.setting import AuditSetting
from microtome.progress import Progress, silent

_TRAINING_SHARE, _LARGEST_TRAINING_SHARE = 0.2, 0.35
_ERROR_SHARES = (0.9, 0.1)
"""Of the error probability: for the bound on the curve, and for the one at the stated δ."""
_LEAST_TRAINING, _LEAST_COUNTING = 30, 30
_GOOD_TRAINING, _MOST_TRAINING = 150, 1500
_QUANTILES = np.concatenate([[0.0, 0.001, 0.003, 0.01, 0.02], np.linspace(0.04, 0.96, 24), [0.98, 0.99, 0.997, 0.999]])
"""Of an attack's scores: the thresholds that are tried."""


def _memory() -> str | None:
    """A folder in memory where the system has one: thousands of files are written, synced and thrown away."""
    shared = Path("/dev/shm")
    return str(shared) if shared.is_dir() and os.access(shared, os.W_OK) else None


@dataclass(frozen=True, kw_only=True)
class Bound:
    """A lower bound on ε, beside the claim.

    Attributes:
        delta: The δ it is for.
        claimed: The ε claimed at this δ.
        audited: The lower bound.
        attack: By which test.
        is_violation: Whether the claim is refuted, at the confidence that verdicts need; a bound above the claim that
            is not yet a verdict asks for a longer audit.
    """

    delta: float
    claimed: float
    audited: float
    attack: str
    is_violation: bool


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What the audit of a setting found.

    Attributes:
        setting: The setting, in words.
        epsilon: The claimed ε.
        delta: The claimed δ.
        confidence: With which the bounds of this setting hold.
        curve: The bound at that δ′ at which most can be seen.
        promise: The bound at the stated δ itself.
        equivalent: The bound of ``curve`` at the stated δ, translated by the shape of the claimed curve; ``None`` if
            no noise at all would be that bad.
        events_keep_promise: Whether the events that the files state add up to the promise.
        releases: Releases counted.
        training_releases: Releases on which the tests were chosen.
        targets: Records at stake in each of them.
        seconds: How long it took.
    """

    setting: str
    epsilon: float
    delta: float
    confidence: float
    curve: Bound
    promise: Bound
    equivalent: float | None
    events_keep_promise: bool
    releases: int
    training_releases: int
    targets: int
    seconds: float

    @property
    def is_violation(self) -> bool:
        """Whether the promise is refuted."""
        return self.curve.is_violation or self.promise.is_violation or not self.events_keep_promise

    @property
    def is_doubtful(self) -> bool:
        """Whether a bound is above its claim, by chance or not: a longer audit would tell."""
        return not self.is_violation and any(bound.audited > bound.claimed for bound in (self.curve, self.promise))

    def to_dict(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return {**asdict(self), "violation": self.is_violation, "doubtful": self.is_doubtful}


@dataclass(frozen=True, kw_only=True)
class _Test:
    """An attack with a threshold; ``reverse`` swaps the roles of the two tables."""

    attack: str
    threshold: float
    reverse: bool

    def says(self, scores: Scores) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = scores[self.attack] > self.threshold
        return ~found if self.reverse else found

    @property
    def words(self) -> str:
        return f"{self.attack} {'at most' if self.reverse else 'above'} {self.threshold:.3g}"


@dataclass(kw_only=True)
class _Count:
    """Verdicts of one test, release by release."""

    test: _Test
    delta: float
    training: Verdicts
    rows: list[tuple[float, float, float]] = field(default_factory=list)

    def add(self, looks: Sequence[Scores], coins: Coins) -> None:
        # Seen the other way round, the table without the target is the first of the two.
        says = np.stack([self.test.says(scores) for scores in looks])
        there, gone, luck = count_verdicts(says, ~coins if self.test.reverse else coins)
        self.rows.append((float(there.mean()), float(gone.mean()), float(luck)))

    def bound(self, claimed: float, *, error: float, verdict_error: float) -> Bound:
        there, gone, luck = np.array(self.rows).reshape(-1, 3).T
        verdicts = Verdicts(found_there=there, found_gone=gone, luck=luck)
        return Bound(
            delta=self.delta,
            claimed=claimed,
            audited=lower_bound(self.training, verdicts, self.delta, error=error),
            attack=self.test.words,
            is_violation=is_refused(self.training, verdicts, claimed, self.delta, verdict_error),
        )


class AuditRun:
    """The audit of one setting, release by release, so that it can be ended at any time.

    Args:
        setting: What is audited.
        error: The probability with which the bounds may be wrong.
        verdict_error: The probability with which a promise that is kept may be refuted; by default the same.
        seed: Of the coins; noise is never seeded.
    """

    def __init__(
        self, setting: AuditSetting, *, error: float, verdict_error: float | None = None, seed: int | None = None
    ) -> None:
        self.setting, self._error = setting, error
        self._verdict_error = error if verdict_error is None else verdict_error
        self._data = setting.data()
        self._privacy = setting.privacy(capacity=self._data.most_records)
        self._attacker = Attacker(setting.kind)
        self._coins = np.random.default_rng(seed)
        self._claims: dict[tuple[Event, ...], Claim] = {}
        self._training: list[tuple[list[Scores], Coins]] = []
        self._counts: list[_Count] = []
        self._seconds = 0.0
        self.interrupted = False

    def run(self, *, seconds: float | None = None, releases: int | None = None, progress: Progress = silent) -> Finding:
        """Release until the time is over, or the given number of times; what was found so far on Ctrl-C.

        How many releases fit in the time has nothing to do with what is in them, so the bound stays valid.

        Raises:
            KeyboardInterrupt: before anything was counted.
        """
        started = time.monotonic()

        def share_done() -> float:
            self._seconds = time.monotonic() - started
            done = self._each * (self._counted + len(self._training))
            self._tell(progress, done, seconds, releases)
            return max(self._seconds / seconds if seconds else 0.0, done / releases if releases else 0.0)

        try:
            with TemporaryDirectory(prefix="microtome-audit-", dir=_memory()) as folder:
                output = Path(folder) / "audit.release"
                while len(self._training) < _LEAST_TRAINING or share_done() < self._training_share(seconds):
                    self._training.append(self._releases(output))
                rest = len(self._training) * (1.0 / max(share_done(), 1e-3) - 1.0)
                self._choose(max(round(rest), _LEAST_COUNTING))
                while self._counted < _LEAST_COUNTING or share_done() < 1.0:
                    looks, coins = self._releases(output)
                    for count in self._counts:
                        count.add(looks, coins)
            total = math.ceil(seconds) if seconds else releases or 0
            progress(
                self.setting.name, total, total, f"{self._each * (self._counted + len(self._training)):,} releases"
            )
        except KeyboardInterrupt:
            if not self._counted:
                raise
            self.interrupted = True
        return self.finding()

    def finding(self) -> Finding:
        """What was found so far."""
        claims = list(self._claims.values())
        curve, promise = (
            count.bound(
                max(self._claimed(claim, count.delta) for claim in claims),
                error=share * self._error,
                verdict_error=share * self._verdict_error,
            )
            for count, share in zip(self._counts, _ERROR_SHARES, strict=True)
        )
        main = claims[0]
        return Finding(
            setting=self.setting.name,
            epsilon=main.epsilon,
            delta=main.delta,
            confidence=1.0 - self._error,
            curve=curve,
            promise=promise,
            equivalent=main.equivalent(curve.delta, curve.audited),
            events_keep_promise=all(claim.is_kept_by_events for claim in claims),
            releases=self._each * self._counted,
            training_releases=self._each * len(self._training),
            targets=len(self._data.targets),
            seconds=self._seconds,
        )

    @property
    def _counted(self) -> int:
        return len(self._counts[0].rows) if self._counts else 0

    @property
    def _each(self) -> int:
        """Releases of the same coins."""
        return 1 if self.setting.as_published else self._data.releases_each

    def _releases(self, output: Path) -> tuple[list[Scores], Coins]:
        """New coins, one release of the data by them or several, and what every attack says of each.

        Several are one draw by the coins: what their verdicts come to is averaged before anything is staked on it.
        """
        coins: Coins = self._coins.random(len(self._data.targets)) < 0.5
        if self.setting.as_published:
            return [self._scores(publish_release(self._data, self._privacy, coins, output))], coins
        source = self._data.opened(coins)
        looks = (observe_release(self._data, self._privacy, coins, output, source) for _ in range(self._each))
        return [self._scores(one) for one in looks], coins

    def _scores(self, observation: AnyObservation) -> Scores:
        """What every attack says of a release, whose claim is noted."""
        events = self.setting.claimed_events(observation.release)
        if events not in self._claims:
            part = self.setting.kind.is_part
            claimed = epsilon_of(events, self.setting.delta) if part else self.setting.epsilon
            self._claims[events] = Claim(epsilon=claimed, delta=self.setting.delta, events=events)
        return self._attacker.scores(observation)

    def _training_share(self, seconds: float | None) -> float:
        """The share of the budget after which enough was seen to choose by: more if the time has brought little."""
        if len(self._training) >= _MOST_TRAINING:
            return 0.0
        few = seconds is not None and len(self._training) < _GOOD_TRAINING
        return _LARGEST_TRAINING_SHARE if few else _TRAINING_SHARE

    def _choose(self, num_releases: int) -> None:
        """Settle the tests: the one whose bound is largest against the claimed curve, and the one for the stated δ."""
        tests, verdicts = self._candidates()
        claim = next(iter(self._claims.values()))
        stated = Point(delta=claim.delta, claimed=claim.epsilon, slope=claim.epsilon)
        for points, share in zip((claim.curve(), [stated]), _ERROR_SHARES, strict=True):
            best = (-np.inf, 0, claim.delta)
            for point in points:
                expected = expected_bounds(verdicts, point.delta, num_releases=num_releases, error=share * self._error)
                merits = point.merit(expected)
                place = int(np.argmax(merits))
                best = max(best, (float(merits[place]), place, point.delta))
            _, place, delta = best
            training = Verdicts(
                found_there=verdicts.found_there[place],
                found_gone=verdicts.found_gone[place],
                luck=verdicts.luck[place],
            )
            self._counts.append(_Count(test=tests[place], delta=delta, training=training))

    def _candidates(self) -> tuple[list[_Test], Verdicts]:
        """All tests, and their verdicts on the training releases."""
        coins = np.stack([coins for _, coins in self._training])[:, None]
        tests: list[_Test] = []
        there, gone, luck = [], [], []
        for attack in self._training[0][0][0]:
            scores = np.stack([[scores[attack] for scores in looks] for looks, _ in self._training])
            for threshold in np.unique(np.quantile(scores, _QUANTILES)):
                for reverse in (False, True):
                    test = _Test(attack=attack, threshold=float(threshold), reverse=reverse)
                    counted = count_verdicts(test.says({attack: scores}), ~coins if reverse else coins)
                    tests.append(test)
                    there.append(counted[0].mean(axis=1))
                    gone.append(counted[1].mean(axis=1))
                    luck.append(counted[2][:, 0])
        return tests, Verdicts(found_there=np.stack(there), found_gone=np.stack(gone), luck=np.stack(luck))

    def _claimed(self, claim: Claim, delta: float) -> float:
        return claim.epsilon if delta == claim.delta else claim.at(delta)

    def _tell(self, progress: Progress, done: int, seconds: float | None, releases: int | None) -> None:
        """Say how far it is, in seconds if the time decides; the last unit only when all is done."""
        note = f"{done:,} releases" if self._counts else "choosing the attack"
        total = math.ceil(seconds) if seconds else releases or 0
        units = int(self._seconds) if seconds else done
        progress(self.setting.name, min(units, total - 1), total, note)
