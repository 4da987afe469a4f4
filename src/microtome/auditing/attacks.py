"""Ways to tell whether a target is there, each a score for every target of a release: high where it seems to be.

The likelihood ratio is the best attack on a mechanism that is what it says. The others look for what it should not
be: noise that repeats itself, facts in the file that follow the table, an order of rows that betrays them. Attacks
may learn from releases they have seen; each release is scored before it is learnt from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple, assert_never

import numpy as np
from scipy.special import logsumexp

from microtome.accounting import Neighbours
from microtome.auditing.image_readings import (
    image_profile_readings,
    image_row_means,
    image_rows_reading,
    moment_readings,
)
from microtome.auditing.reading import Numbers, Reading
from microtome.auditing.scene import Coins
from microtome.auditing.setting import AuditKind
from microtome.auditing.table_readings import profile_readings, row_means, table_readings, table_rows_reading
from microtome.auditing.witness import AnySighting, ImageSighting, TableSighting
from microtome.errors import MicrotomeError
from microtome.published import ImageRowsRelease, RecordsRelease
from microtome.schema import CategoryCells, NumberCells

Scores = dict[str, Numbers]

_LIKELIHOOD = "likelihood ratio"


class Attacker:
    """Scores releases of one scene, and remembers them.

    Args:
        kind: What of a release to look at.
    """

    def __init__(self, kind: AuditKind) -> None:
        self._kind = kind
        self._earlier: dict[str, Reading] = {}
        self._seen: dict[str, tuple[Counter[float], Counter[float]]] = {}

    def scores(self, sighting: AnySighting) -> Scores:
        """Every attack's score of every target; the sighting is learnt from afterwards."""
        readings = self._readings(sighting)
        ratio = sum((reading.log_ratio() for reading in readings), np.zeros(len(sighting.coins)))
        scores: Scores = {_LIKELIHOOD: ratio}
        if self._kind.is_of_rows and sighting.owners is None:
            scores |= _unwitnessed(sighting, ratio)
        scores |= self._repeated_noise(readings)
        facts = _facts(sighting)
        scores |= self._telling_facts(facts)
        self._learn(readings, facts, sighting.coins)
        return scores

    def _readings(self, sighting: AnySighting) -> list[Reading]:
        match sighting:
            case ImageSighting():
                return self._image_readings(sighting)
            case TableSighting():
                return self._table_readings(sighting)

    def _table_readings(self, sighting: TableSighting) -> list[Reading]:
        profile = list(profile_readings(sighting))
        match self._kind:
            case AuditKind.PROFILE:
                return profile
            case AuditKind.AGGREGATES:
                return [*profile, *table_readings(sighting)]
            case AuditKind.RECORDS:
                return profile if sighting.owners is None else [*profile, table_rows_reading(sighting)]
            case AuditKind.MEANS | AuditKind.SECOND_MOMENTS | AuditKind.SPREADS:
                raise MicrotomeError(f"the release of a table has no {self._kind}")

    def _image_readings(self, sighting: ImageSighting) -> list[Reading]:
        match self._kind:
            case AuditKind.MEANS | AuditKind.SECOND_MOMENTS | AuditKind.SPREADS:
                return [reading for reading in moment_readings(sighting) if reading.name == self._kind]
            case AuditKind.PROFILE:
                return list(image_profile_readings(sighting))
            case AuditKind.AGGREGATES:
                return [*image_profile_readings(sighting), *moment_readings(sighting)]
            case AuditKind.RECORDS:
                profile = list(image_profile_readings(sighting))
                return profile if sighting.owners is None else [*profile, image_rows_reading(sighting)]

    def _repeated_noise(self, readings: list[Reading]) -> Scores:
        """Whether the noise is that of the release before."""
        scores = {}
        for reading in readings:
            earlier = self._earlier.get(reading.name)
            known = earlier is not None and earlier.noise.shape == reading.noise.shape
            scores[f"repeated noise, {reading.name}"] = (
                reading.repeats(earlier) if known and earlier is not None else np.zeros(len(reading.places))
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

    def _learn(self, readings: list[Reading], facts: Mapping[str, Numbers], coins: Coins) -> None:
        self._earlier |= {reading.name: reading for reading in readings}
        for name, values in facts.items():
            counters = self._seen.setdefault(name, (Counter(), Counter()))
            counters[0].update(values[coins].tolist())
            counters[1].update(values[~coins].tolist())


def _facts(sighting: AnySighting) -> dict[str, Numbers]:
    """What the file says without noise, for every target: less what the other records account for."""
    scene, contents = sighting.scene, sighting.release.manifest.contents
    match scene.neighbours:
        case Neighbours.ADD_REMOVE:
            others = len(sighting.present) - sighting.coins.astype(np.float64)
        case Neighbours.BLANK_ONE | Neighbours.REPLACE_ONE:
            others = np.full(len(sighting.coins), scene.most_records - 1.0)
    facts = {
        "number of rows beyond the other records": contents.num_rows - others,
        "number of records beyond the others": np.round(contents.num_records - others, 6),
    }
    match sighting:
        case TableSighting():
            if any(column.kind.is_categorical and not column.is_declared for column in sighting.scene.schema.columns):
                facts["categories of its own that are shown"] = _own_categories_shown(sighting)
        case ImageSighting():
            pass  # classes are declared
        case _:
            assert_never(sighting)
    return facts


def _own_categories_shown(sighting: TableSighting) -> Numbers:
    """In how many columns whose categories are learnt the target's category is published."""
    shown = np.zeros(len(sighting.coins))
    for index, code in enumerate(sighting.release.codebook.codes):
        match code.cells:
            case CategoryCells(categories=published) if code.column.categories is None:
                values = sighting.scene.spots[index].take(sighting.scene.targets.places[:, index]).to_pylist()
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


def _unknown_rows(sighting: AnySighting) -> _UnknownRows:
    match sighting:
        case TableSighting(scene=scene, release=RecordsRelease() as release):
            target, other, crowd = (
                row_means(release, scene, group) for group in (scene.targets, scene.substitutes, scene.crowd)
            )
            return _UnknownRows(release.rows(), (target, other, crowd), release.noise_scale)
        case ImageSighting(release=ImageRowsRelease() as images):
            return _unknown_rows_of_class(sighting, images)
        case _:
            raise MicrotomeError(f"{sighting.release.holds} have no rows that could be taken for another's")


def _unknown_rows_of_class(sighting: ImageSighting, release: ImageRowsRelease) -> _UnknownRows:
    """The rows of the targets' class, of which there has to be one only."""
    scene = sighting.scene
    (number,) = np.unique(scene.targets.classes)
    members = scene.crowd[scene.crowd.classes == number]
    target, other, crowd = (
        image_row_means(release, scene.encoded(group)) for group in (scene.targets, scene.substitutes, members)
    )
    return _UnknownRows(release.rows(int(number)), (target, other, crowd), release.noise_scale)


def _unwitnessed(sighting: AnySighting, profile: Numbers) -> Scores:
    """The rows of a file whose order nobody knows, for a single target, added to what the profile says."""
    rows, (target, other, crowd), sigma = _unknown_rows(sighting)
    replaced = sighting.scene.neighbours.symmetric
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
