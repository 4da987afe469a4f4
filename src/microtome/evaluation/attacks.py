"""What an attacker learns from a synthetic table about the rows it was made from, against rows it was not made from.

Closeness by itself says little: a synthetic row may be near a real one because both are common. So everything is
compared with held-out real rows, of the same population but not used: what holds for these cannot be memory.

* *Distance to closest record* of rows used and rows held out, and the ratio of nearest to second-nearest distance.
* *Closer to used*: of synthetic rows, how many are nearer to a used than to a held-out row; half, if nothing is kept.
* *Membership*: guess that a row was used, by how near the closest synthetic row is, and by that relative to how near
  the closest of some reference rows is. A release bounds what any such guess can do (``most_members_found``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score, roc_curve

from microtome.accounting import Event
from microtome.accounting.privacy_profile import exact_profile
from microtome.evaluation.comparable_table import ComparableTable, sampled
from microtome.evaluation.detector import chance_deviation
from microtome.evaluation.nearest_rows import Embedding, Points, nearest

Floats = NDArray[np.float64]
_QUERIES = 2_000
_REFERENCES = 20_000
_LEAST_ROWS = 40
FALSE_ALARMS = (0.01, 0.05)
"""The rates of wrong accusations at which memberships found are counted."""
_EPSILONS = np.concatenate([[0.0], np.geomspace(1e-3, 200.0, 240)])


@dataclass(frozen=True, kw_only=True)
class Closeness:
    """Distances of some real rows to the closest synthetic rows.

    Attributes:
        copies: Share that occur among the synthetic rows as they are.
        low: The fifth percentile of the distance to the closest.
        median: Its median.
        ratio: Median of nearest over second-nearest distance.
    """

    copies: float
    low: float
    median: float
    ratio: float


@dataclass(frozen=True, kw_only=True)
class Membership:
    """A guess whether rows were used.

    Attributes:
        auc: Area under its ROC curve.
        found: Share of members found at each rate of wrong accusations.
    """

    auc: float
    found: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Attacks:
    """All of the above.

    Attributes:
        used: Of rows that the synthetic table was made from.
        held_out: Of rows that it was not made from; ``None`` if none were given.
        closer_to_used: Share of synthetic rows that are nearer to a used row.
        closer_chance: Standard deviation of that share by chance alone.
        membership: By kind of guess.
        membership_chance: Standard deviation of an area by chance alone.
        rows: Rows of each side that were attacked.
        synthetic_rows: Synthetic rows that were searched.
    """

    used: Closeness
    held_out: Closeness | None
    closer_to_used: float | None
    closer_chance: float | None
    membership: dict[str, Membership]
    membership_chance: float | None
    rows: int
    synthetic_rows: int


def attack(
    real: ComparableTable, synthetic: ComparableTable, holdout: ComparableTable | None, rng: np.random.Generator
) -> Attacks | str:
    """Attack a synthetic table; a sentence where rows are too few."""
    if min(real.num_rows, synthetic.num_rows, _LEAST_ROWS if holdout is None else holdout.num_rows) < _LEAST_ROWS:
        return f"Fewer than {_LEAST_ROWS} rows in one of the tables: too few to tell anything."
    embedding = Embedding.fit(real)
    searched = sampled(synthetic, _REFERENCES, rng)
    made = embedding.points(searched)
    rows = min(real.num_rows, _QUERIES if holdout is None else min(_QUERIES, holdout.num_rows // 2))
    members = embedding.points(sampled(real, rows, rng))
    near = nearest(members, made, 2)
    if holdout is None:
        return Attacks(
            used=_closeness(near), held_out=None, closer_to_used=None, closer_chance=None, membership={},
            membership_chance=None, rows=rows, synthetic_rows=searched.num_rows,
        )  # fmt: skip
    order = rng.permutation(holdout.num_rows)
    strangers = embedding.points(holdout.take(order[:rows]))
    references = embedding.points(holdout.take(order[rows : rows + _REFERENCES]))
    far = nearest(strangers, made, 2)
    closer, of = _closer(real, holdout, made, embedding, rng)
    return Attacks(
        used=_closeness(near),
        held_out=_closeness(far),
        closer_to_used=closer,
        closer_chance=float(np.sqrt(0.25 / of)),
        membership={
            "distance": _membership(-near[:, 0], -far[:, 0]),
            "distance, against reference rows": _membership(
                *(_relative(points, found, references) for points, found in ((members, near), (strangers, far)))
            ),
        },
        membership_chance=chance_deviation(rows, rows),
        rows=rows,
        synthetic_rows=searched.num_rows,
    )


def most_members_found(events: Sequence[Event]) -> tuple[float, ...]:
    """The largest share of members that any guess finds after these events, at each rate of wrong accusations.

    Who accuses a share f of the innocent and finds a share p of the members satisfies, for every ε of the exact
    privacy profile δ(ε) and by the same in the other direction,

        p ≤ e^ε f + δ(ε)   and   1 − f ≤ e^ε (1 − p) + δ(ε),

    so the smallest of all these bounds holds. Any ε gives one, so a grid of them errs upwards. The stated pair (ε, δ)
    alone would give only f·e^ε + δ, which from ε = 5 on says nothing.
    """
    profile = exact_profile(events)
    deltas = np.array([profile(float(epsilon)) for epsilon in _EPSILONS])
    with np.errstate(over="ignore"):
        grown, shrunk = np.exp(_EPSILONS), np.exp(-_EPSILONS)
        return tuple(
            float(min((grown * rate + deltas).min(), (1.0 - shrunk * (1.0 - deltas - rate)).min(), 1.0))
            for rate in FALSE_ALARMS
        )


def _closeness(near: Floats) -> Closeness:
    ratios = np.where(near[:, 1] > 0, near[:, 0] / np.maximum(near[:, 1], 1e-12), 1.0)
    return Closeness(
        copies=float((near[:, 0] == 0).mean()),
        low=float(np.quantile(near[:, 0], 0.05)),
        median=float(np.median(near[:, 0])),
        ratio=float(np.median(ratios)),
    )


def _closer(
    real: ComparableTable, holdout: ComparableTable, made: Points, embedding: Embedding, rng: np.random.Generator
) -> tuple[float, int]:
    """Of some synthetic rows, the share nearer to one of equally many used than held-out rows; ties count half."""
    size = min(real.num_rows, holdout.num_rows, _REFERENCES)
    some = made[rng.permutation(len(made))[:_QUERIES]]
    to_used, to_held_out = (
        nearest(some, embedding.points(sampled(table, size, rng)))[:, 0] for table in (real, holdout)
    )
    share = (to_used < to_held_out).mean() + 0.5 * (to_used == to_held_out).mean()
    return float(share), len(some)


def _relative(points: Points, found: Floats, references: Points) -> Floats:
    """How much nearer the closest synthetic row is than the closest reference row."""
    score: Floats = nearest(points, references)[:, 0] - found[:, 0]
    return score


def _membership(members: Floats, strangers: Floats) -> Membership:
    truth = np.repeat([1, 0], [len(members), len(strangers)])
    scores = np.concatenate([members, strangers])
    false, true, _ = roc_curve(truth, scores)
    return Membership(
        auc=float(roc_auc_score(truth, scores)),
        found=tuple(float(true[false <= rate].max(initial=0.0)) for rate in FALSE_ALARMS),
    )
