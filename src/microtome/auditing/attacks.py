"""Ways to tell whether a target is there, each a score for every target of a release: high where it seems to be.

The likelihood ratio is the best attack on a mechanism that is what it says. The others look for what it should not
be: a part with less noise than it states, noise that repeats itself, facts in the file that follow the table, an order
of rows that betrays them. Attacks may learn from releases they have seen; each release is scored before it is learnt
from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple, assert_never

import numpy as np
from scipy.special import logsumexp

from microtome.accounting import Neighbours
from microtome.auditing.audit_data import Coins
from microtome.auditing.evidence import Evidence, Numbers
from microtome.auditing.image_evidence import (
    image_profile_evidence,
    image_row_means,
    image_rows_evidence,
    moment_evidence,
)
from microtome.auditing.observation import AnyObservation, ImageObservation, LinkedObservation, TableObservation
from microtome.auditing.setting import AuditKind
from microtome.auditing.table_evidence import (
    linked_evidence,
    people_evidence,
    profile_evidence,
    row_means,
    table_evidence,
    table_rows_evidence,
)
from microtome.errors import MicrotomeError
from microtome.published import ImageRowsRelease, RecordsRelease
from microtome.schema import CategoryCells, NumberCells

Scores = dict[str, Numbers]

_LIKELIHOOD = "likelihood ratio"


class Attacker:
    """Scores releases of one data, and remembers them.

    Args:
        kind: What of a release to look at.
    """

    def __init__(self, kind: AuditKind) -> None:
        self._kind = kind
        self._earlier: dict[str, Evidence] = {}
        self._seen: dict[str, tuple[Counter[float], Counter[float]]] = {}

    def scores(self, observation: AnyObservation) -> Scores:
        """Every attack's score of every target; the observation is learnt from afterwards."""
        evidence = self._evidence(observation)
        ratio = sum((piece.log_ratio() for piece in evidence), np.zeros(len(observation.coins)))
        scores: Scores = {_LIKELIHOOD: ratio}
        own = [piece for piece in evidence if not piece.is_shared]
        # Noise that all targets share makes all of a release's verdicts err together.
        scores[f"{_LIKELIHOOD}, what targets do not share"] = sum(
            (piece.log_ratio() for piece in own), np.zeros(len(observation.coins))
        )
        scores |= {f"{_LIKELIHOOD}, {piece.name}": piece.log_ratio() for piece in evidence}
        if self._kind.is_of_rows and observation.owners is None:
            scores |= _unobserved(observation, ratio)
        scores |= self._repeated_noise(evidence)
        facts = _facts(observation)
        scores |= self._telling_facts(facts)
        self._learn(evidence, facts, observation.coins)
        return scores

    def _evidence(self, observation: AnyObservation) -> list[Evidence]:
        match observation:
            case ImageObservation():
                return self._image_evidence(observation)
            case TableObservation():
                return self._table_evidence(observation)
            case LinkedObservation():
                return list(linked_evidence(observation))

    def _table_evidence(self, observation: TableObservation) -> list[Evidence]:
        profile = list(profile_evidence(observation))
        match self._kind:
            case AuditKind.PROFILE:
                return profile
            case AuditKind.AGGREGATES if observation.data.schema.unit is not None:
                return list(people_evidence(observation))
            case AuditKind.AGGREGATES:
                return [*profile, *table_evidence(observation)]
            case AuditKind.RECORDS:
                return profile if observation.owners is None else [*profile, table_rows_evidence(observation)]
            case AuditKind.MEANS | AuditKind.SECOND_MOMENTS | AuditKind.SPREADS:
                raise MicrotomeError(f"the release of a table has no {self._kind}")

    def _image_evidence(self, observation: ImageObservation) -> list[Evidence]:
        match self._kind:
            case AuditKind.MEANS | AuditKind.SECOND_MOMENTS | AuditKind.SPREADS:
                return [piece for piece in moment_evidence(observation) if piece.name == self._kind]
            case AuditKind.PROFILE:
                return list(image_profile_evidence(observation))
            case AuditKind.AGGREGATES:
                return [*image_profile_evidence(observation), *moment_evidence(observation)]
            case AuditKind.RECORDS:
                profile = list(image_profile_evidence(observation))
                return profile if observation.owners is None else [*profile, image_rows_evidence(observation)]

    def _repeated_noise(self, evidence: list[Evidence]) -> Scores:
        """Whether the noise is that of the release before."""
        scores = {}
        for piece in evidence:
            earlier = self._earlier.get(piece.name)
            known = earlier is not None and earlier.noise.shape == piece.noise.shape
            scores[f"repeated noise, {piece.name}"] = (
                piece.repeats(earlier) if known and earlier is not None else np.zeros(len(piece.places))
            )
        return scores

    def _telling_facts(self, facts: Mapping[str, Numbers]) -> Scores:
        """How much more often a fact was seen with the target than without it."""
        scores = {}
        for name, values in facts.items():
            there, gone = self._seen.get(name, (Counter(), Counter()))
            different, which = np.unique(values, return_inverse=True)
            odds = [np.log((there[value] + 1.0) / (gone[value] + 1.0)) for value in different.tolist()]
            scores[f"fact, {name}"] = np.array(odds)[which]
        return scores

    def _learn(self, evidence: list[Evidence], facts: Mapping[str, Numbers], coins: Coins) -> None:
        self._earlier |= {piece.name: piece for piece in evidence}
        for name, values in facts.items():
            counters = self._seen.setdefault(name, (Counter(), Counter()))
            counters[0].update(values[coins].tolist())
            counters[1].update(values[~coins].tolist())


def _facts(observation: AnyObservation) -> dict[str, Numbers]:
    """What the file says without noise, for every target: less what the other records account for."""
    data, contents = observation.data, observation.release.manifest.contents
    match data.neighbours:
        case Neighbours.ADD_REMOVE:
            others = len(observation.present) - observation.coins.astype(np.float64)
        case Neighbours.BLANK_ONE | Neighbours.REPLACE_ONE:
            others = np.full(len(observation.coins), data.most_records - 1.0)
    facts = {
        "number of rows beyond the other records": contents.num_rows - others,
        "number of records beyond the others": np.round(contents.num_records - others, 6),
    }
    match observation:
        case TableObservation():
            if any(column.kind.is_categorical and not column.is_declared for column in observation.data.schema.columns):
                facts["categories of its own that are shown"] = _own_categories_shown(observation)
        case ImageObservation() | LinkedObservation():
            pass  # classes and categories are declared
        case _:
            assert_never(observation)
    return facts


def _own_categories_shown(observation: TableObservation) -> Numbers:
    """In how many columns whose categories are learnt the target's category is published."""
    shown = np.zeros(len(observation.coins))
    for index, code in enumerate(observation.release.codebook.codes):
        match code.cells:
            case CategoryCells(categories=published) if code.column.categories is None:
                values = observation.data.spots[index].take(observation.data.targets.places[:, index]).to_pylist()
                shown += [value in published for value in values]
            case CategoryCells() | NumberCells():
                pass  # nothing is shown that nobody declared
            case _:
                assert_never(code.cells)
    return shown


class _UnknownRows(NamedTuple):
    """Rows among which a target's may be, and what the rows of target, substitute and crowd are without noise."""

    rows: Numbers
    means: tuple[Numbers, Numbers, Numbers]
    noise_scale: float


def _unknown_rows(observation: AnyObservation) -> _UnknownRows:
    match observation:
        case TableObservation(data=data, release=RecordsRelease() as release):
            target, other, crowd = (
                row_means(release, data, group) for group in (data.targets, data.substitutes, data.crowd)
            )
            return _UnknownRows(release.rows(), (target, other, crowd), release.noise_scale)
        case ImageObservation(release=ImageRowsRelease() as images):
            return _unknown_rows_of_class(observation, images)
        case _:
            raise MicrotomeError(f"{observation.release.holds} have no rows that could be taken for another's")


def _unknown_rows_of_class(observation: ImageObservation, release: ImageRowsRelease) -> _UnknownRows:
    """The rows of the targets' class, of which there has to be one only."""
    data = observation.data
    (number,) = np.unique(data.targets.classes)
    members = data.crowd[data.crowd.classes == number]
    target, other, crowd = (
        image_row_means(release, data.encoded(group)) for group in (data.targets, data.substitutes, members)
    )
    return _UnknownRows(release.rows(int(number)), (target, other, crowd), release.noise_scale)


def _unobserved(observation: AnyObservation, profile: Numbers) -> Scores:
    """The rows of a file whose order nobody knows, for a single target, added to what the profile says."""
    rows, (target, other, crowd), sigma = _unknown_rows(observation)
    replaced = observation.data.neighbours.symmetric
    other = other if replaced else np.zeros_like(target)
    # Any row may be the target's: the mean of the likelihood ratios of all rows.
    ratios = _log_ratio(rows[None], target[:, None], other[:, None], sigma)
    hidden = profile + logsumexp(ratios, axis=1) - np.log(len(rows))
    # Were the rows in the data's order, everybody behind a missing record would have moved up.
    ordered = np.zeros(len(target))
    for index in range(len(target)):
        there = _padded([target[index : index + 1], crowd], len(rows))
        gone = _padded([other[index : index + 1], crowd] if replaced else [crowd], len(rows))
        ordered[index] = _log_ratio(rows, there, gone, sigma).sum()
    return {"likelihood ratio, any row": hidden, "order of the file": ordered}


def _padded(groups: list[Numbers], num_rows: int) -> Numbers:
    rows = np.concatenate(groups)[:num_rows]
    return np.concatenate([rows, np.zeros((num_rows - len(rows), rows.shape[1]))])


def _log_ratio(rows: Numbers, there: Numbers, gone: Numbers, sigma: float) -> Numbers:
    squares = ((rows - gone) ** 2).sum(axis=-1) - ((rows - there) ** 2).sum(axis=-1)
    result: Numbers = squares / (2 * sigma**2)
    return result
