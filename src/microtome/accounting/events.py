"""What a mechanism did to the data, as small frozen records that the accountants interpret.

Mechanisms return these; ledgers and releases store them as JSON. An accountant refuses what it does not
know, so a record of an unknown kind is an error and never free of charge.
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar, assert_never

from microtome.accounting.directions import Directions
from microtome.accounting.ranges import require_count, require_nonnegative, require_positive
from microtome.errors import ParameterError
from microtome.json_record import Json, TaggedRecord, record_of_kind


@dataclass(frozen=True, kw_only=True)
class GaussianEvent(TaggedRecord):
    """A Gaussian mechanism whose sensitivity is ``mu`` standard deviations of its noise."""

    kind: ClassVar[str] = "gaussian"
    mu: float

    def __post_init__(self) -> None:
        require_nonnegative("mu", self.mu)


@dataclass(frozen=True, kw_only=True)
class SliceEvent(TaggedRecord):
    """Noisy slices of every row: (U, XU + V), V i.i.d. N(0, ``noise_scale``²).

    Attributes:
        directions: U.
        row_distance: Δ, the largest distance between two neighbouring rows.
        noise_scale: σ.
    """

    kind: ClassVar[str] = "slices"
    directions: Directions
    row_distance: float
    noise_scale: float

    def __post_init__(self) -> None:
        require_positive("row_distance", self.row_distance)
        require_positive("noise_scale", self.noise_scale)

    @property
    def ratio(self) -> float:
        """Δ/σ."""
        return self.row_distance / self.noise_scale

    @property
    def constant_mu(self) -> float | None:
        """√W/σ where W does not depend on the draw of U (then this is a Gaussian mechanism), else None."""
        energy = self.directions.constant_energy
        return None if energy is None else self.ratio * math.sqrt(energy)

    @property
    def beside_noise(self) -> Hashable:
        """All but the noise: events that share it are compared by Δ/σ alone."""
        return self.directions

    def to_dict(self) -> Json:
        """The event as a JSON object, in which directions are no object of their own."""
        record = super().to_dict()
        law = record.pop("directions")
        return {"kind": record.pop("kind"), "directions": law.pop("kind"), **law, **record}

    @classmethod
    def from_fields(cls, given: Mapping[str, Any]) -> Self:
        """The event, its directions put together."""
        law = {name: given[name] for name in ("dim", "num_slices", "slice_dim") if name in given}
        left = {name: value for name, value in given.items() if name not in law}
        return super().from_fields({**left, "directions": {"kind": given.get("directions"), **law}})


@dataclass(frozen=True, kw_only=True)
class SubsampledEvent(TaggedRecord):
    """Noisy slices of a Poisson sample that is padded with null rows to a public size.

    Attributes:
        rate: τ, the probability of each record to be in the sample.
        event: the slices of the sample.
        symmetric: whether a record may be replaced by any other (``replace-one``), so that both tables
            of a neighbouring pair have a record that the sample may or may not hold.
    """

    kind: ClassVar[str] = "subsampled-slices"
    rate: float
    event: SliceEvent
    symmetric: bool

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise ParameterError(f"rate must be above 0 and at most 1, got {self.rate!r}")

    @property
    def ratio(self) -> float:
        """Δ/σ of the slices."""
        return self.event.ratio

    @property
    def beside_noise(self) -> Hashable:
        """All but the noise: events that share it are compared by Δ/σ alone."""
        return self.event.directions, self.rate, self.symmetric


@dataclass(frozen=True, kw_only=True)
class FailureEvent(TaggedRecord):
    """Something that breaks the promise with at most this probability; it adds to δ.

    Attributes:
        probability: of the failure.
        reason: what it is, such as the threshold for categories or the overflow of the padding.
    """

    kind: ClassVar[str] = "failure"
    probability: float
    reason: str

    def __post_init__(self) -> None:
        if not 0 <= self.probability <= 1:
            raise ParameterError(f"probability must be between 0 and 1, got {self.probability!r}")


RepeatableEvent = GaussianEvent | SliceEvent | SubsampledEvent


@dataclass(frozen=True, kw_only=True)
class RepeatedEvent(TaggedRecord):
    """The same done ``count`` times, one after the other, each time with fresh randomness.

    Attributes:
        count: how often.
        event: what is done each time; it may depend on the outcomes before, its parameters may not.
    """

    kind: ClassVar[str] = "repeated"
    count: int
    event: RepeatableEvent

    def __post_init__(self) -> None:
        require_count("count", self.count)


SingleEvent = RepeatableEvent | FailureEvent
Event = SingleEvent | RepeatedEvent


EVENTS: tuple[type[Event], ...] = (GaussianEvent, SliceEvent, SubsampledEvent, FailureEvent, RepeatedEvent)
Kept = TypeVar("Kept", bound=TaggedRecord)


def counted(events: Iterable[Event]) -> list[tuple[SingleEvent, int]]:
    """Different events, and how often each happens."""
    counts: Counter[SingleEvent] = Counter()
    for event in events:
        match event:
            case RepeatedEvent():
                counts[event.event] += event.count
            case GaussianEvent() | SliceEvent() | SubsampledEvent() | FailureEvent():
                counts[event] += 1
            case _:
                raise ParameterError(f"no accountant knows the event {event!r}")
    return list(counts.items())


@dataclass(frozen=True, kw_only=True)
class Composition:
    """Events by how they compose, each with how often it happens.

    Attributes:
        mu_squared: Σμ² of all Gaussian mechanisms.
        slices: slices of all rows.
        subsampled: slices of Poisson samples.
        failure: the probabilities of failure, added up.
    """

    mu_squared: float
    slices: tuple[tuple[SliceEvent, int], ...]
    subsampled: tuple[tuple[SubsampledEvent, int], ...]
    failure: float

    @property
    def mu(self) -> float:
        """μ₀ of all Gaussian mechanisms together."""
        return math.sqrt(self.mu_squared)


def compose(events: Iterable[Event]) -> Composition:
    """Sort events by how they compose; what is no known event is refused."""
    squares: list[float] = []
    slices: list[tuple[SliceEvent, int]] = []
    subsampled: list[tuple[SubsampledEvent, int]] = []
    failures: list[float] = []
    for event, count in counted(events):
        match event:
            case GaussianEvent():
                squares.append(count * event.mu**2)
            case SliceEvent():
                slices.append((event, count))
            case SubsampledEvent():
                subsampled.append((event, count))
            case FailureEvent():
                failures.append(count * event.probability)
            case _:
                assert_never(event)
    gaussian, failure = math.fsum(squares), math.fsum(failures)
    return Composition(mu_squared=gaussian, slices=tuple(slices), subsampled=tuple(subsampled), failure=failure)


def events_of(kind: type[Kept], events: Iterable[Event]) -> list[Kept]:
    """Those of a list that are of one kind, in order."""
    return [event for event in events if isinstance(event, kind)]


def event_from_dict(record: Mapping[str, object]) -> Event:
    """The event that ``to_dict`` wrote; unknown kinds, missing, extra or ill-typed fields are refused."""
    return record_of_kind(EVENTS, record, "privacy event")
