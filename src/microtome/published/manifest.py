"""The manifest: what a release promises, how it was made, and what the file holds.

Plain frozen records that turn into canonical JSON and back. Everything in them is public.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Self

from microtome.accounting import Accountant, Directions, Event, Neighbours, verify_promise
from microtome.errors import ReleaseError
from microtome.images.image_schema import KEY as IMAGES
from microtome.json_record import JsonRecord
from microtome.schema.linked_document import KEY as LINKED

FORMAT = "microtome-release"
VERSION = 1


class ReleaseKind(StrEnum):
    """What was noised: every record, or sums over records."""

    RECORDS = "records"
    AGGREGATES = "aggregates"

    @property
    def is_of_sums(self) -> bool:
        """Whether noise is added to sums, by whoever holds all records."""
        match self:
            case ReleaseKind.AGGREGATES:
                return True
            case ReleaseKind.RECORDS:
                return False


@dataclass(frozen=True, kw_only=True)
class Promise(JsonRecord):
    """The guarantee, complete enough to be checked.

    Attributes:
        epsilon: The stated ε, which covers everything in the file, the profile included.
        delta: The stated δ.
        neighbours: Which tables are hard to tell apart.
        accountant: How ε was computed.
        private: False if the randomness was injected, as in tests: then nothing is promised.
        events: What was done to the data; any accountant can compute ε anew from these.
    """

    epsilon: float
    delta: float
    neighbours: Neighbours
    accountant: Accountant
    private: bool
    events: tuple[Event, ...]

    def verify(self) -> None:
        """Refuse a promise that its own events contradict, by the accountant that it names."""
        verify_promise(self.events, stated_epsilon=self.epsilon, stated_delta=self.delta, accountant=self.accountant)


@dataclass(frozen=True, kw_only=True)
class Mechanism(JsonRecord):
    """How the rows were made.

    Attributes:
        directions: The law of the directions.
        noise_scale: σ.
        grid_step: Size of one step of the stored integers.
        row_distance: How far apart neighbouring rows may be.
        profile_share: Share of the budget (in μ²) that the profile was given.
        subsample: Poisson rate at which records were sampled, or ``None``.
        capacity: Declared upper bound on the number of records, where the count is protected.
    """

    kind: ClassVar[ReleaseKind] = ReleaseKind.RECORDS
    of_images: ClassVar[bool] = False
    directions: Directions
    noise_scale: float
    grid_step: float
    row_distance: float
    profile_share: float
    subsample: float | None
    capacity: int | None

    def __post_init__(self) -> None:
        _positive(self, "noise_scale", "grid_step", "row_distance")
        _share(self, "profile_share")
        if self.subsample is not None:
            _positive(self, "subsample")
            _share(self, "subsample")
        if self.capacity is not None:
            _counts(self, "capacity", least=1)


@dataclass(frozen=True, kw_only=True)
class Focus(JsonRecord):
    """The column by whose levels all pairs of other columns were counted once more.

    Attributes:
        column: Its name.
        groups: The group of each of its levels.
        noise: Standard deviation of the counts of each pair of columns by group; 0 where not measured.
    """

    column: str
    groups: tuple[int, ...]
    noise: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        if set(self.groups) != set(range(self.num_groups)):
            raise ReleaseError(f"its groups of levels are {self.groups!r}; they must be numbered from 0 on")
        _noise_levels([value for row in self.noise for value in row])

    @property
    def num_groups(self) -> int:
        """How many groups there are."""
        return max(self.groups, default=0) + 1


@dataclass(frozen=True, kw_only=True)
class Triples(JsonRecord):
    """Tables of three columns that a second round chose, by what their pairs do not tell.

    Attributes:
        columns: The columns of each table.
        groups: The group of each level, column by column, in which they were counted.
        noise: Standard deviation of the counts.
        step: Misplaced counts by which a candidate falls behind that was taken e times less often.
    """

    columns: tuple[tuple[str, str, str], ...]
    groups: tuple[tuple[int, ...], ...]
    noise: float
    step: int

    def __post_init__(self) -> None:
        _positive(self, "noise")
        _counts(self, "step", least=1)
        for groups in self.groups:
            if set(groups) != set(range(max(groups, default=0) + 1)):
                raise ReleaseError(f"its groups of levels are {groups!r}; they must be numbered from 0 on")

    @property
    def num_groups(self) -> int:
        """Groups that a column has at most."""
        return 1 + max(group for groups in self.groups for group in groups)


@dataclass(frozen=True, kw_only=True)
class AggregateMechanism(JsonRecord):
    """How tables of counts were made.

    Attributes:
        pivot: The column by whose classes everything is counted apart, or ``None``.
        num_classes: Its levels; 1 without a pivot.
        profile_share: Share of the budget (in μ²) that the profile was given.
        first_noise: Standard deviation of the counts of each column's levels by class; 0 where not measured.
        pair_noise: That of the counts of each pair of columns by class; 0 where not measured.
        focus: The column by whose levels pairs were counted once more, if any.
        triples: Tables of three columns that a second round chose, if any.
        like: The fingerprint of the release whose codebook this one has. It has no profile of its own then: margins in
            its codebook are made of its tables, and shares within a level are those of that release.
    """

    kind: ClassVar[ReleaseKind] = ReleaseKind.AGGREGATES
    of_images: ClassVar[bool] = False
    pivot: str | None
    num_classes: int
    profile_share: float
    first_noise: tuple[float, ...]
    pair_noise: tuple[tuple[float, ...], ...]
    focus: Focus | None = None
    triples: Triples | None = None
    like: str | None = None

    def __post_init__(self) -> None:
        _counts(self, "num_classes", least=1)
        _share(self, "profile_share")
        _noise_levels([*self.first_noise, *(value for row in self.pair_noise for value in row)])


@dataclass(frozen=True, kw_only=True)
class ImageRowsMechanism(JsonRecord):
    """How the rows of a release of images were made, class by class.

    Attributes:
        slices: As of a table's rows; ``capacity`` bounds the rows of a class.
        radius: The norm that became 1.
        count_noise: Standard deviation of the counts of the profile.
        class_rows: Rows of each class, null rows included, in the order of the file.
    """

    kind: ClassVar[ReleaseKind] = ReleaseKind.RECORDS
    of_images: ClassVar[bool] = True
    slices: Mechanism
    radius: float
    count_noise: float
    class_rows: tuple[int, ...]

    def __post_init__(self) -> None:
        _positive(self, "radius", "count_noise")
        if any(rows < 0 for rows in self.class_rows):
            raise ReleaseError(f"its rows by class are {self.class_rows!r}; they must be whole numbers")

    @property
    def profile_share(self) -> float:
        """Share of the budget (in μ²) that the profile was given."""
        return self.slices.profile_share

    @property
    def noise_scale(self) -> float:
        """σ of every number of a row."""
        return self.slices.noise_scale


@dataclass(frozen=True, kw_only=True)
class ImageMomentsMechanism(JsonRecord):
    """How the moments of a release of images were made.

    Attributes:
        profile_share: Share of the budget (in μ²) that the profile was given.
        radius: The norm that became 1; the unit of means, centres and the radii below.
        residual_radius: The norm of residuals that became 1 in second moments.
        spread_radius: The norm of residuals at which a spread is 1.
        count_noise: Standard deviation of the counts of the profile.
        mean_noise: That of each coordinate of a class's sum of images.
        second_noise: That of each entry of a class's second moments on the diagonal; √½ of it off the diagonal.
        spread_noise: That of a class's sum of spreads.
    """

    kind: ClassVar[ReleaseKind] = ReleaseKind.AGGREGATES
    of_images: ClassVar[bool] = True
    profile_share: float
    radius: float
    residual_radius: float
    spread_radius: float
    count_noise: float
    mean_noise: float
    second_noise: float
    spread_noise: float

    def __post_init__(self) -> None:
        _positive(self, "radius", "residual_radius", "spread_radius")
        _positive(self, "count_noise", "mean_noise", "second_noise", "spread_noise")
        _share(self, "profile_share")

    @property
    def noise_scale(self) -> float:
        """That of second moments, by which most is learnt."""
        return self.second_noise


@dataclass(frozen=True, kw_only=True)
class ViewMechanism(JsonRecord):
    """How the tables of one view of several were made.

    Attributes:
        view: The table that it is of.
        tables: Its tables.
    """

    view: str
    tables: AggregateMechanism


@dataclass(frozen=True, kw_only=True)
class LinkedMechanism(JsonRecord):
    """How the views of linked tables were made.

    Attributes:
        profile_share: Share of the budget (in μ²) that the profiles of all views were given.
        views: The tables of each view, parents first.
    """

    kind: ClassVar[ReleaseKind] = ReleaseKind.AGGREGATES
    of_images: ClassVar[bool] = False
    profile_share: float
    views: tuple[ViewMechanism, ...]

    def __post_init__(self) -> None:
        _share(self, "profile_share")


AnyMechanism = Mechanism | AggregateMechanism | ImageRowsMechanism | ImageMomentsMechanism | LinkedMechanism
_MECHANISMS: tuple[type[Mechanism | AggregateMechanism | ImageRowsMechanism | ImageMomentsMechanism], ...] = (
    Mechanism,
    AggregateMechanism,
    ImageRowsMechanism,
    ImageMomentsMechanism,
)


@dataclass(frozen=True, kw_only=True)
class Contents(JsonRecord):
    """What the file holds.

    Attributes:
        num_rows: Rows in the file, null rows included; none in a release of aggregates.
        num_records: Records in the table: exact where that is public, else the profile's noisy count.
        records_exact: Whether ``num_records`` is exact.
        bin_rows: Rows a checksum, where all rows are in one file.
        shards: Rows of each file, where they are in several; a checksum each.
    """

    num_rows: int
    num_records: float
    records_exact: bool
    bin_rows: int
    shards: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        _counts(self, "num_rows", least=0)
        if self.shards is not None and (min(self.shards, default=-1) < 0 or sum(self.shards) != self.num_rows):
            raise ReleaseError(f"its shards have {self.shards!r} rows; together they must have {self.num_rows}")
        _counts(self, "bin_rows", least=1)
        if not (math.isfinite(self.num_records) and self.num_records >= 0):
            raise ReleaseError(f"num_records is {self.num_records!r}; it must be a number, at least 0")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; shards are named where there are any."""
        return {name: value for name, value in super().to_dict().items() if (name, value) != ("shards", None)}


@dataclass(frozen=True, kw_only=True)
class Holder(JsonRecord):
    """One of those whose releases were pooled.

    Attributes:
        fingerprint: That of their release.
        num_records: Records in it.
        promise: Theirs, which pooling leaves as it is.
    """

    fingerprint: str
    num_records: float
    promise: Promise


@dataclass(frozen=True, kw_only=True)
class Pool(JsonRecord):
    """The releases of which one was made by adding them up.

    Attributes:
        holders: Whose they were.
        overlapping: Whether a person may be in several of them, so that what these cost adds up.
    """

    holders: tuple[Holder, ...]
    overlapping: bool

    def __post_init__(self) -> None:
        if len({holder.fingerprint for holder in self.holders}) < max(len(self.holders), 2):
            raise ReleaseError("a pool is of two releases or more, each once")


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """All of the above with the schema, the codebook and the checksums; of a pool also what it was made of."""

    software: str
    promise: Promise
    mechanism: AnyMechanism
    contents: Contents
    schema: Mapping[str, Any]
    codebook: Mapping[str, Any]
    checksums: Mapping[str, Any]
    pool: Pool | None = None

    @property
    def kind(self) -> ReleaseKind:
        """What was noised. Together with the schema, of a table or of images, it is the tag of the mechanism."""
        return self.mechanism.kind

    @property
    def is_of_people(self) -> bool:
        """Whether everything that a person contributed is protected together, and not each record by itself."""
        return self.schema.get("unit") is not None or LINKED in self.schema

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "kind": str(self.kind),
            "software": self.software,
            "promise": self.promise.to_dict(),
            "mechanism": self.mechanism.to_dict(),
            "contents": self.contents.to_dict(),
            "schema": dict(self.schema),
            "codebook": dict(self.codebook),
            "checksums": dict(self.checksums),
            **({} if self.pool is None else {"pool": self.pool.to_dict()}),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of ``to_dict``; an error that says what is wrong for anything else."""
        if not isinstance(document, Mapping):
            raise ReleaseError(f"its manifest is damaged: it is no JSON object but {type(document).__name__}")
        if document.get("format") != FORMAT:
            raise ReleaseError(f"not a release: its format is {document.get('format')!r}")
        version = document.get("version")
        if version != VERSION:
            raise ReleaseError(f"format version {version}; this Microtome reads {VERSION}: upgrade it")
        try:
            for name in ("schema", "codebook", "checksums"):
                if not isinstance(document[name], Mapping):
                    raise ReleaseError(f"its manifest is damaged: {name} is no JSON object")
            return cls(
                software=str(document["software"]),
                promise=Promise.from_dict(document["promise"]),
                mechanism=_mechanism(document),
                contents=Contents.from_dict(document["contents"]),
                schema=document["schema"],
                codebook=document["codebook"],
                checksums=document["checksums"],
                pool=Pool.from_dict(document["pool"]) if "pool" in document else None,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ReleaseError(f"its manifest is damaged: {error}") from error


def _positive(record: Any, *names: str) -> None:
    for name in names:
        value = getattr(record, name)
        if not (math.isfinite(value) and value > 0):
            raise ReleaseError(f"{name} is {value!r}; it must be a number above 0")


def _noise_levels(values: Sequence[float]) -> None:
    for value in values:
        if not (math.isfinite(value) and value >= 0):
            raise ReleaseError(f"its noise is {value!r}; it must be a number, at least 0")


def _share(record: Any, name: str) -> None:
    value = getattr(record, name)
    if not 0 <= value <= 1:
        raise ReleaseError(f"{name} is {value!r}; it must be between 0 and 1")


def _counts(record: Any, name: str, *, least: int) -> None:
    value = getattr(record, name)
    if value < least:
        raise ReleaseError(f"{name} is {value!r}; it must be a whole number, at least {least}")


def _mechanism(document: Mapping[str, Any]) -> AnyMechanism:
    """The mechanism, read as its tag says: the kind of the release, and whether it is of images."""
    if LINKED in document["schema"]:
        return LinkedMechanism.from_dict(document["mechanism"])
    tag = ReleaseKind(document["kind"]), IMAGES in document["schema"]
    chosen = next(choice for choice in _MECHANISMS if (choice.kind, choice.of_images) == tag)
    return chosen.from_dict(document["mechanism"])
