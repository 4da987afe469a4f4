"""What is audited: a mechanism setting, the tables it is tried on, and the suite of all settings."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import takewhile
from typing import Literal

from microtome.accounting import Accountant, DirectionKind, Event, FailureEvent, GaussianEvent, Neighbours, events_of
from microtome.auditing.audit_images import ImageAuditData, build_alike_images, build_audit_images
from microtome.auditing.audit_linked import LINKED_COLUMNS, LinkedAuditData, build_linked_audit
from microtome.auditing.audit_table import TableAuditData, build_audit_table
from microtome.errors import ParameterError
from microtome.images import ImageSchema
from microtome.private.plan import plan_profile
from microtome.published import Artefact, ImageMomentsRelease, ReleaseKind, narrowed
from microtome.schema import Column, Kind, Schema, initial_cells
from microtome.schema.unit import Unit
from microtome.settings import NO_PIVOT, PrivacySettings

_LEVELS = 13
"""Values of a column of counted tables: a prime, for the sake of Latin squares."""
_LINKED_LEVELS = 23
"""The same in linked tables, which take longer to bring together than to release: more people at stake in each."""
_CELLS = 512
"""Values of a column of the profile."""
_LARGEST_ROUNDED = 10**12
"""Largest number of a column that is counted by rounding: of many magnitudes, and so of many classes."""
_FEW_LEVELS, _LARGE_CROWD = 5, 8_000
"""For a second round: tables that so many records show through the noise, at an ε of 5."""
_MOST_TARGETS = 512
_STANDING_OUT = 4.0
"""Standard deviations of the profile's noise by which each of the crowd's values stands out."""
_SMALLEST_CROWD, _LARGEST_CROWD = 60, 20_000
_OWN_IMAGES = ImageSchema(height=4, width=4, low=0.0, high=1.0, mean=(0.5,), classes=tuple(range(16)), components=16)
"""Images whose components' signs are orthogonal and of full contrast: nothing is lost, and targets share no noise."""
_MANY_CLASSES = ImageSchema(height=2, width=2, low=0.0, high=1.0, mean=(0.5,), classes=tuple(range(64)), components=4)
"""For what is one number a class: many classes, so that few targets share one."""
_FAINTEST = 0.25
"""Where contrasts are audited, the least contrast of a target: from here on, substitutes are in other bins."""
_MOST_IMAGES = 256
_MOST_TRACES = 2**21
"""Numbers that all targets together may touch: what is held of them for large images."""
_CROWD_PER_IMAGE = 16
"""Images of the crowd for each target: so many that targets stay beyond what the spread of all images reaches."""
_ALIKE_IMAGES = ImageSchema(height=28, width=28, low=0.0, high=1.0, components=20)


class AuditKind(StrEnum):
    """What of a release is audited: all of it, of either kind, or one part alone, against what that part claims."""

    RECORDS = "records"
    AGGREGATES = "aggregates"
    PROFILE = "profile"
    MEANS = "means"
    SECOND_MOMENTS = "second-moments"
    SPREADS = "spreads"

    @property
    def is_of_moments(self) -> bool:
        """Whether it is a part of aggregates of images."""
        match self:
            case AuditKind.MEANS | AuditKind.SECOND_MOMENTS | AuditKind.SPREADS:
                return True
            case AuditKind.RECORDS | AuditKind.AGGREGATES | AuditKind.PROFILE:
                return False

    @property
    def is_part(self) -> bool:
        """Whether it is less than a whole release."""
        match self:
            case AuditKind.PROFILE | AuditKind.MEANS | AuditKind.SECOND_MOMENTS | AuditKind.SPREADS:
                return True
            case AuditKind.RECORDS | AuditKind.AGGREGATES:
                return False

    @property
    def is_of_rows(self) -> bool:
        """Whether noisy rows are looked at."""
        return not (self.is_part or self.release_kind.is_of_sums)

    @property
    def is_of_tables(self) -> bool:
        """Whether all sums are looked at."""
        return self.release_kind.is_of_sums and not self.is_part

    @property
    def release_kind(self) -> ReleaseKind:
        """The kind of release it is in."""
        match self:
            case AuditKind.AGGREGATES | AuditKind.MEANS | AuditKind.SECOND_MOMENTS | AuditKind.SPREADS:
                return ReleaseKind.AGGREGATES
            case AuditKind.RECORDS | AuditKind.PROFILE:
                return ReleaseKind.RECORDS


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
        images: Whether image sets are released, rather than tables.
        schema: The columns, or the images; by default ones made for the purpose.
        learnt: Without a schema: whether categories are left to be learnt.
        rounded: Without a schema: whether the columns are counted by rounding as well.
        second_round: Without a schema: whether there are records enough for tables of three columns to be chosen.
        alike: With images: whether everybody is the same picture, on the edge of a bin.
        rows: Rows of a person: all of them come and go together, as the unit of a schema says.
        linked: Whether there are several tables, each with so many rows of every row that they hang on.
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
    images: bool = False
    schema: Schema | ImageSchema | None = None
    learnt: bool = False
    rounded: bool = False
    second_round: bool = False
    alike: bool = False
    rows: int = 1
    linked: bool = False
    as_published: bool = False

    def __post_init__(self) -> None:
        self._check_subject()
        if self.as_published and self.neighbours is Neighbours.BLANK_ONE:
            raise ParameterError(
                "no table holds the null record of blank-one, so the public function cannot be audited under it; "
                "take add-remove or replace-one, or let the audit look at the order of the rows"
            )
        several = self.rows > 1 or self.linked
        if self.rows < 1 or (several and (self.as_published or not self.kind.is_of_tables)):
            raise ParameterError(
                "people with several rows, or tables, are audited in aggregates, with the door open: rows and linked "
                "are for these"
            )
        if self.linked and (self.schema is not None or self.pivot != NO_PIVOT):
            raise ParameterError("linked tables are audited on tables of their own, without a pivot")
        self.privacy(capacity=2)

    def _check_subject(self) -> None:
        """Refuse what is for tables if images are audited, and the other way round."""
        match self.schema, self.images:
            case Schema(), True:
                raise ParameterError("the schema is of a table, but releases of images are to be audited")
            case ImageSchema(), False:
                raise ParameterError("the schema is of images, but releases of a table are to be audited")
        only_tables = {
            "pivot": self.pivot != NO_PIVOT,
            "learnt": self.learnt,
            "rounded": self.rounded,
            "second_round": self.second_round,
            "rows": self.rows != 1,
            "linked": self.linked,
        }
        given = [name for name, is_given in only_tables.items() if is_given]
        if self.images and given:
            raise ParameterError(f"{given[0]} is for tables; images are counted apart by their classes always")
        if not self.images and (self.kind.is_of_moments or self.alike):
            what = self.kind.value if self.kind.is_of_moments else "alike"
            raise ParameterError(f"{what} is for images: say --images, or give a schema of images")

    @property
    def name(self) -> str:
        """The setting in a few words."""
        words = ["images"] if self.images else []
        words.append(self.kind.value)
        if self.kind.is_of_rows:
            words.append(self.directions.value)
            words += [] if self.num_slices is None else [f"{self.num_slices} slices"]
        if self.kind.is_of_tables and not self.images:
            words.append("no pivot" if self.pivot == NO_PIVOT else "pivot")
        words += [] if self.subsample is None else [f"subsample {self.subsample:g}"]
        words += ["learnt categories"] if self.learnt else []
        words += ["rounding"] if self.rounded else []
        words += ["second round"] if self.second_round else []
        words += ["all alike"] if self.alike else []
        words += ["linked tables"] if self.linked else []
        words += [f"people of {self.rows} rows"] if self.rows > 1 else []
        words += [] if self.accountant.is_exact else [self.accountant.value]
        words += ["as published"] if self.as_published else []
        return ", ".join([*words, self.neighbours.value, f"ε = {self.epsilon:g}"])

    def privacy(self, capacity: int) -> PrivacySettings:
        """The settings of the releases."""
        kind = self.kind.release_kind
        padded = not kind.is_of_sums and self.neighbours.protects_count
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
            allow_large_delta=True,
        )

    def data(self) -> TableAuditData | ImageAuditData | LinkedAuditData:
        """The tables or images to try it on."""
        if self.linked:
            return self._linked_data()
        match self.schema or (self._own_images() if self.images else self._own_schema()):
            case ImageSchema() as schema:
                return self._image_data(schema)
            case Schema() as schema:
                return self._table_data(schema)

    def _table_data(self, schema: Schema) -> TableAuditData:
        if self.rows > 1:
            schema = replace(schema, unit=Unit(key="person", max_rows=self.rows))
        counted = self.kind.is_of_tables
        spots = _LEVELS if counted else _CELLS
        widest = max(_num_cells(column, spots) for column in schema.columns)
        crowd_spots = spots if counted else 2
        return build_audit_table(
            schema,
            neighbours=self.neighbours,
            num_targets=min(widest**2, _MOST_TARGETS) if counted else 1 if self.as_published else widest,
            num_spots=spots,
            crowd_spots=crowd_spots,
            crowd_size=self._crowd_size(schema, min(widest, crowd_spots)),
        )

    def _linked_data(self) -> LinkedAuditData:
        values = [f"value {number:02d}" for number in range(_LINKED_LEVELS)]
        columns = [
            Column(name=f"column {place}", kind=Kind.CATEGORICAL, categories=tuple(values))
            for place in range(LINKED_COLUMNS)
        ]
        return build_linked_audit(
            values,
            neighbours=self.neighbours,
            rows=self.rows,
            num_targets=min(_LINKED_LEVELS**2, _MOST_TARGETS),
            crowd_size=self._crowd_size(Schema(columns=tuple(columns)), _LINKED_LEVELS),
        )

    def _image_data(self, schema: ImageSchema) -> ImageAuditData:
        if self.alike:
            return build_alike_images(schema, neighbours=self.neighbours)
        summed = self.kind.release_kind.is_of_sums
        width = schema.dim * (schema.dim + 1) // 2 if summed else schema.dim
        most = min(schema.num_classes * schema.num_components, _MOST_IMAGES, max(_MOST_TRACES // width, 1))
        return build_audit_images(
            schema,
            neighbours=self.neighbours,
            num_targets=1 if self.as_published and not summed else most,
            crowd_size=_CROWD_PER_IMAGE * most,
            opposite=self.kind in (AuditKind.RECORDS, AuditKind.MEANS),
            faintest=_FAINTEST if self.kind is AuditKind.PROFILE else 1.0,
        )

    def _own_images(self) -> ImageSchema:
        if self.alike:
            return _ALIKE_IMAGES
        return _MANY_CLASSES if self.kind in (AuditKind.PROFILE, AuditKind.SPREADS) else _OWN_IMAGES

    def claimed_events(self, release: Artefact) -> tuple[Event, ...]:
        """What is audited of a release as events: all, or those of the part."""
        events = release.manifest.promise.events
        match self.kind:
            case AuditKind.RECORDS | AuditKind.AGGREGATES:
                return events
            case AuditKind.PROFILE:
                first, *rest = events
                return first, *takewhile(lambda event: event.kind == FailureEvent.kind, rest)
            case AuditKind.MEANS | AuditKind.SECOND_MOMENTS | AuditKind.SPREADS as part:
                return _moment_event(part, narrowed(release, ImageMomentsRelease)), *events_of(FailureEvent, events)

    def _crowd_size(self, schema: Schema, spots: int) -> int:
        """As many records as make every value of the crowd stand out from the profile's noise."""
        budget = plan_profile(self.privacy(capacity=2), schema).budget
        widths = [128 if (cells := initial_cells(column)) is None else len(cells) for column in schema.columns]
        if self.second_round:
            return _LARGE_CROWD
        wanted = _STANDING_OUT * spots * max(budget.noise_scales([*widths, 8]))
        return math.ceil(min(max(wanted, _SMALLEST_CROWD), _LARGEST_CROWD))

    def _own_schema(self) -> Schema:
        """Columns on which many targets have cells of their own."""
        if self.kind.is_of_tables:
            levels = _FEW_LEVELS if self.second_round else _LEVELS
            values = tuple(f"value {number:02d}" for number in range(levels))
            named = {"kind": Kind.CATEGORICAL, "categories": values, "missing": False}
            names = ("first", "second", "third", "fourth")[: 4 if self.second_round else 3]
            columns = [Column(name=name, **named) for name in names]  # type: ignore[arg-type]
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


def _moment_event(
    part: Literal[AuditKind.MEANS, AuditKind.SECOND_MOMENTS, AuditKind.SPREADS], release: ImageMomentsRelease
) -> GaussianEvent:
    """What a part of the sums over images is by itself.

    Second moments and spreads are one event. A neighbour moves both alike, so that the noise says the shares.
    """
    _, means, moments = events_of(GaussianEvent, release.manifest.promise.events)
    seconds, spreads = release.mechanism.second_noise**-2, release.mechanism.spread_noise**-2
    match part:
        case AuditKind.MEANS:
            return means
        case AuditKind.SECOND_MOMENTS:
            return GaussianEvent(mu=moments.mu * math.sqrt(seconds / (seconds + spreads)))
        case AuditKind.SPREADS:
            return GaussianEvent(mu=moments.mu * math.sqrt(spreads / (seconds + spreads)))


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
        replace(aggregates, rows=3),
        *(replace(aggregates, linked=True, rows=2, neighbours=relation) for relation in Neighbours),
        *(replace(aggregates, second_round=True, epsilon=5.0, neighbours=relation) for relation in Neighbours),
        *(replace(pivoted, epsilon=epsilon) for epsilon in (0.5, 1.0, 5.0)),
        replace(pivoted, neighbours=add_remove, as_published=True),
        replace(pivoted, neighbours=replace_one, as_published=True),
        *(replace(profile, neighbours=relation, epsilon=5.0) for relation in Neighbours),
        replace(profile, rounded=True, epsilon=5.0),
        replace(profile, learnt=True, epsilon=5.0, delta=0.05),
        replace(records, neighbours=add_remove, epsilon=5.0, as_published=True),
        replace(records, neighbours=replace_one, epsilon=5.0, as_published=True),
        replace(records, neighbours=add_remove, epsilon=5.0, subsample=0.25, as_published=True),
        *_image_suite(delta),
    ]


def _image_suite(delta: float) -> list[AuditSetting]:
    """The same of images: both kinds, every part, all relations."""
    records = AuditSetting(images=True, delta=delta)
    aggregates = replace(records, kind=AuditKind.AGGREGATES)
    profile = replace(records, kind=AuditKind.PROFILE, epsilon=5.0)
    add_remove, replace_one = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
    return [
        *(replace(records, neighbours=relation, epsilon=5.0) for relation in Neighbours),
        *(replace(records, neighbours=relation, epsilon=5.0, subsample=0.25) for relation in Neighbours),
        replace(records, directions=DirectionKind.GAUSSIAN, epsilon=5.0),
        replace(records, neighbours=add_remove, epsilon=5.0, as_published=True),
        *(replace(aggregates, epsilon=epsilon) for epsilon in (1.0, 5.0)),
        replace(aggregates, neighbours=add_remove, epsilon=5.0, as_published=True),
        replace(aggregates, neighbours=replace_one, epsilon=5.0, as_published=True),
        *(replace(profile, neighbours=relation) for relation in Neighbours),
        *(replace(profile, kind=kind) for kind in AuditKind if kind.is_of_moments),
        replace(aggregates, neighbours=add_remove, epsilon=5.0, alike=True, as_published=True),
        replace(profile, neighbours=add_remove, alike=True),
    ]
