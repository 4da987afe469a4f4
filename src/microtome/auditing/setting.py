"""What is audited: a mechanism setting, the tables it is tried on, and the suite of all settings."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum

from microtome.accounting import Accountant, DirectionKind, Event, FailureEvent, Neighbours
from microtome.auditing.scene import Scene, build_scene
from microtome.errors import ParameterError
from microtome.private import PrivacySettings
from microtome.private.plan import plan_profile
from microtome.private.settings import NO_PIVOT, PROFILE_SHARES
from microtome.release import ReleaseKind
from microtome.schema import Column, Kind, Schema, initial_cells

_LEVELS = 13
"""Values of a column of counted tables: a prime, for the sake of Latin squares."""
_CELLS = 512
"""Values of a column of the profile."""
_LARGEST_ROUNDED = 10**12
"""Largest number of a column that is counted by rounding: of many magnitudes, and so of many classes."""
_MOST_TARGETS = 512
_STANDING_OUT = 4.0
"""Standard deviations of the profile's noise by which each of the crowd's values stands out."""
_SMALLEST_CROWD, _LARGEST_CROWD = 60, 20_000


class AuditKind(StrEnum):
    """What of a release is audited: all of it, of either kind, or its profile alone."""

    RECORDS = "records"
    AGGREGATES = "aggregates"
    PROFILE = "profile"


@dataclass(frozen=True, kw_only=True)
class AuditSetting:
    """One mechanism under one promise.

    Attributes:
        kind: What is audited.
        epsilon: ε of the promise.
        delta: δ of the promise.
        neighbours: The neighbouring relation.
        accountant: By whom the noise is computed.
        directions: Law of the directions.
        num_slices: Number of slices, or ``None`` for the encoded dimension.
        subsample: Sampling rate, or ``None``.
        pivot: For aggregates: a column or ``"none"``; without a schema, one of that name is made.
        schema: The columns; by default ones made for the purpose.
        learnt: Without a schema: whether categories are left to be learnt.
        rounded: Without a schema: whether the columns are counted by rounding as well.
        as_published: Whether only the public function and its file are used, with nothing known of the rows' order.
    """

    kind: AuditKind = AuditKind.RECORDS
    epsilon: float = 1.0
    delta: float = 1e-5
    neighbours: Neighbours = Neighbours.BLANK_ONE
    accountant: Accountant = Accountant.EXACT
    directions: DirectionKind = DirectionKind.ORTHOGONAL
    num_slices: int | None = None
    subsample: float | None = None
    pivot: str = NO_PIVOT
    schema: Schema | None = None
    learnt: bool = False
    rounded: bool = False
    as_published: bool = False

    def __post_init__(self) -> None:
        if self.as_published and self.neighbours is Neighbours.BLANK_ONE:
            raise ParameterError(
                "no table holds the null record of blank-one, so the public function cannot be audited under it; "
                "take add-remove or replace-one, or let the audit look at the order of the rows"
            )
        self.privacy(capacity=2)

    @property
    def name(self) -> str:
        """The setting in a few words."""
        words = [self.kind.value]
        if self.kind is AuditKind.RECORDS:
            words.append(self.directions.value)
            words += [] if self.num_slices is None else [f"{self.num_slices} slices"]
        if self.kind is AuditKind.AGGREGATES:
            words.append("no pivot" if self.pivot == NO_PIVOT else "pivot")
        words += [] if self.subsample is None else [f"subsample {self.subsample:g}"]
        words += ["learnt categories"] if self.learnt else []
        words += ["rounding"] if self.rounded else []
        words += [] if self.accountant is Accountant.EXACT else [self.accountant.value]
        words += ["as published"] if self.as_published else []
        return ", ".join([*words, self.neighbours.value, f"ε = {self.epsilon:g}"])

    def privacy(self, capacity: int) -> PrivacySettings:
        """The settings of the releases."""
        kind = ReleaseKind.AGGREGATES if self.kind is AuditKind.AGGREGATES else ReleaseKind.RECORDS
        padded = kind is ReleaseKind.RECORDS and self.neighbours.protects_count
        return PrivacySettings(
            kind=kind,
            epsilon=self.epsilon,
            delta=self.delta,
            neighbours=self.neighbours,
            accountant=self.accountant,
            directions=self.directions,
            num_slices=self.num_slices,
            subsample=self.subsample,
            pivot=self.pivot,
            capacity=capacity if padded else None,
            profile_share=PROFILE_SHARES[kind],
            allow_large_delta=True,
        )

    def scene(self) -> Scene:
        """The tables to try it on."""
        schema = self.schema or self._own_schema()
        counted = self.kind is AuditKind.AGGREGATES
        spots = _LEVELS if counted else _CELLS
        widest = max(_num_cells(column, spots) for column in schema.columns)
        crowd_spots = spots if counted else 2
        return build_scene(
            schema,
            neighbours=self.neighbours,
            num_targets=min(widest**2, _MOST_TARGETS) if counted else 1 if self.as_published else widest,
            num_spots=spots,
            crowd_spots=crowd_spots,
            crowd_size=self._crowd_size(schema, min(widest, crowd_spots)),
        )

    def claimed_events(self, events: tuple[Event, ...]) -> tuple[Event, ...]:
        """Those of a release's events that are audited: all, or the profile's, which come first."""
        if self.kind is not AuditKind.PROFILE:
            return events
        after = next(index for index, event in enumerate(events) if index and not isinstance(event, FailureEvent))
        return events[:after]

    def _crowd_size(self, schema: Schema, spots: int) -> int:
        """As many records as make every value of the crowd stand out from the profile's noise."""
        budget = plan_profile(self.privacy(capacity=2), schema).budget
        widths = [64 if (cells := initial_cells(column)) is None else len(cells) for column in schema.columns]
        wanted = _STANDING_OUT * spots * max(budget.noise_scales([*widths, 8]))
        return math.ceil(min(max(wanted, _SMALLEST_CROWD), _LARGEST_CROWD))

    def _own_schema(self) -> Schema:
        """Columns on which many targets have cells of their own."""
        if self.kind is AuditKind.AGGREGATES:
            values = tuple(f"value {number:02d}" for number in range(_LEVELS))
            named = {"kind": Kind.CATEGORICAL, "categories": values, "missing": False}
            columns = [Column(name=name, **named) for name in ("first", "second", "third")]  # type: ignore[arg-type]
            if self.pivot == NO_PIVOT:
                return Schema(columns=tuple(columns), target="first")
            group = Column(name=self.pivot, kind=Kind.BOOLEAN, missing=False)
            return Schema(columns=(*columns, group), target=self.pivot)
        if self.learnt:
            return Schema(
                columns=tuple(Column(name=name, kind=Kind.CATEGORICAL, missing=False) for name in ("first", "second"))
            )
        largest = _LARGEST_ROUNDED if self.rounded else _CELLS - 1
        bounded = {"kind": Kind.INTEGER, "bounds": (0, largest), "bins": 4, "missing": False}
        return Schema(columns=tuple(Column(name=name, **bounded) for name in ("first", "second")))  # type: ignore[arg-type]


def _num_cells(column: Column, most: int) -> int:
    cells = initial_cells(column)
    return most if cells is None else min(len(cells), most)


def suite(*, delta: float = 1e-5) -> list[AuditSetting]:
    """All mechanisms, all relations, and the range of ε for which noise is usually bought."""
    records = AuditSetting(delta=delta)
    aggregates = AuditSetting(kind=AuditKind.AGGREGATES, delta=delta)
    pivoted = replace(aggregates, pivot="group")
    profile = AuditSetting(kind=AuditKind.PROFILE, delta=delta)
    add_remove, replace_one = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
    return [
        *(replace(records, epsilon=epsilon) for epsilon in (0.5, 1.0, 2.0, 5.0)),
        replace(records, neighbours=add_remove),
        replace(records, neighbours=replace_one),
        *(replace(records, directions=DirectionKind.GAUSSIAN, epsilon=epsilon) for epsilon in (0.5, 1.0, 5.0)),
        replace(records, directions=DirectionKind.GAUSSIAN, neighbours=replace_one),
        replace(records, num_slices=3),
        replace(records, directions=DirectionKind.GAUSSIAN, accountant=Accountant.THEOREM1),
        replace(records, subsample=0.25),
        replace(records, subsample=0.25, neighbours=add_remove),
        replace(records, subsample=0.25, neighbours=replace_one),
        *(replace(aggregates, epsilon=epsilon) for epsilon in (0.5, 1.0, 5.0)),
        *(replace(pivoted, epsilon=epsilon) for epsilon in (0.5, 1.0, 5.0)),
        replace(pivoted, neighbours=add_remove, as_published=True),
        replace(pivoted, neighbours=replace_one, as_published=True),
        *(replace(profile, neighbours=relation, epsilon=5.0) for relation in Neighbours),
        replace(profile, rounded=True, epsilon=5.0),
        replace(profile, learnt=True, epsilon=5.0, delta=0.05),
        replace(records, neighbours=add_remove, epsilon=5.0, as_published=True),
        replace(records, neighbours=replace_one, epsilon=5.0, as_published=True),
        replace(records, neighbours=add_remove, epsilon=5.0, subsample=0.25, as_published=True),
    ]
