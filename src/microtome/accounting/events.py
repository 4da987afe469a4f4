"""What a mechanism did to the data, as small frozen records that the accountants interpret.

Mechanisms return these; ledgers and releases store them as JSON. An accountant refuses what it does not
know, so a record of an unknown kind is an error and never free of charge.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from microtome.accounting.directions import DirectionKind, Directions
from microtome.accounting.ranges import require_count, require_nonnegative, require_positive
from microtome.errors import ParameterError

Record = dict[str, object]


@dataclass(frozen=True, kw_only=True)
class GaussianEvent:
    """A Gaussian mechanism whose sensitivity is ``mu`` standard deviations of its noise."""

    kind: ClassVar[str] = "gaussian"
    mu: float

    def __post_init__(self) -> None:
        require_nonnegative("mu", self.mu)

    def to_dict(self) -> Record:
        """The event as a JSON object."""
        return {"kind": self.kind, "mu": self.mu}


@dataclass(frozen=True, kw_only=True)
class SliceEvent:
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

    def to_dict(self) -> Record:
        """The event as a JSON object."""
        return {
            "kind": self.kind,
            "directions": self.directions.kind.value,
            "dim": self.directions.dim,
            "num_slices": self.directions.num_slices,
            "slice_dim": self.directions.slice_dim,
            "row_distance": self.row_distance,
            "noise_scale": self.noise_scale,
        }


@dataclass(frozen=True, kw_only=True)
class SubsampledEvent:
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

    def to_dict(self) -> Record:
        """The event as a JSON object."""
        return {
            "kind": self.kind,
            "rate": self.rate,
            "symmetric": self.symmetric,
            "event": self.event.to_dict(),
        }


@dataclass(frozen=True, kw_only=True)
class FailureEvent:
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

    def to_dict(self) -> Record:
        """The event as a JSON object."""
        return {"kind": self.kind, "probability": self.probability, "reason": self.reason}


@dataclass(frozen=True, kw_only=True)
class RepeatedEvent:
    """The same done ``count`` times, one after the other, each time with fresh randomness.

    Attributes:
        count: how often.
        event: what is done each time; it may depend on the outcomes before, its parameters may not.
    """

    kind: ClassVar[str] = "repeated"
    count: int
    event: GaussianEvent | SliceEvent | SubsampledEvent

    def __post_init__(self) -> None:
        require_count("count", self.count)

    def to_dict(self) -> Record:
        """The event as a JSON object."""
        return {"kind": self.kind, "count": self.count, "event": self.event.to_dict()}


Event = GaussianEvent | SliceEvent | SubsampledEvent | FailureEvent | RepeatedEvent
SingleEvent = GaussianEvent | SliceEvent | SubsampledEvent | FailureEvent


def counted(events: Iterable[Event]) -> list[tuple[SingleEvent, int]]:
    """Different events, and how often each happens."""
    counts: Counter[SingleEvent] = Counter()
    for event in events:
        if isinstance(event, RepeatedEvent):
            counts[event.event] += event.count
        else:
            counts[event] += 1
    return list(counts.items())


def event_from_dict(record: Mapping[str, object]) -> Event:
    """The event that ``to_dict`` wrote; unknown kinds, missing, extra or ill-typed fields are refused."""
    fields = dict(record)
    kind = fields.pop("kind", None)
    if kind == GaussianEvent.kind:
        event: Event = GaussianEvent(mu=_number(fields, "mu"))
    elif kind == SliceEvent.kind:
        event = _slice_event(fields)
    elif kind == SubsampledEvent.kind:
        event = _subsampled_event(fields)
    elif kind == FailureEvent.kind:
        event = FailureEvent(probability=_number(fields, "probability"), reason=_text(fields, "reason"))
    elif kind == RepeatedEvent.kind:
        event = _repeated_event(fields)
    else:
        raise ParameterError(f"unknown kind of privacy event {kind!r}; a newer Microtome may know it")
    if fields:
        raise ParameterError(f"privacy event of kind {kind!r} has unknown fields {sorted(fields)}")
    return event


def _slice_event(fields: Record) -> SliceEvent:
    directions = Directions(
        kind=DirectionKind(_text(fields, "directions", choices=tuple(DirectionKind))),
        dim=_whole(fields, "dim"),
        num_slices=_whole(fields, "num_slices"),
        slice_dim=_whole(fields, "slice_dim"),
    )
    return SliceEvent(
        directions=directions,
        row_distance=_number(fields, "row_distance"),
        noise_scale=_number(fields, "noise_scale"),
    )


def _subsampled_event(fields: Record) -> SubsampledEvent:
    inner, symmetric = fields.pop("event", None), fields.pop("symmetric", None)
    event = event_from_dict(inner) if isinstance(inner, dict) else None
    if not isinstance(event, SliceEvent) or not isinstance(symmetric, bool):
        raise ParameterError(f"a subsampled event needs slices and a flag, got {inner!r} and {symmetric!r}")
    return SubsampledEvent(rate=_number(fields, "rate"), event=event, symmetric=symmetric)


def _repeated_event(fields: Record) -> RepeatedEvent:
    inner = fields.pop("event", None)
    event = event_from_dict(inner) if isinstance(inner, dict) else None
    if not isinstance(event, GaussianEvent | SliceEvent | SubsampledEvent):
        raise ParameterError(f"a repeated event needs one that can be repeated, got {inner!r}")
    return RepeatedEvent(count=_whole(fields, "count"), event=event)


def _number(fields: Record, name: str) -> float:
    value = fields.pop(name, None)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(f"{name} of a privacy event must be a number, got {value!r}")
    return float(value)


def _whole(fields: Record, name: str) -> int:
    value = fields.pop(name, None)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ParameterError(f"{name} of a privacy event must be a whole number, got {value!r}")
    return value


def _text(fields: Record, name: str, choices: tuple[str, ...] = ()) -> str:
    value = fields.pop(name, None)
    if not isinstance(value, str) or (choices and value not in choices):
        raise ParameterError(f"{name} of a privacy event cannot be {value!r}")
    return value
