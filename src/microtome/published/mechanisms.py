"""How releases of every kind were made, as their manifests say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from microtome.accounting import Directions
from microtome.errors import ReleaseError
from microtome.images.image_schema import KEY as IMAGES
from microtome.json_record import JsonRecord
from microtome.published.manifest_checks import require_counts, require_noise, require_positive, require_share
from microtome.schema.linked_document import KEY as LINKED


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
        require_positive(self, "noise_scale", "grid_step", "row_distance")
        require_share(self, "profile_share")
        if self.subsample is not None:
            require_positive(self, "subsample")
            require_share(self, "subsample")
        if self.capacity is not None:
            require_counts(self, "capacity", least=1)


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
        require_noise([value for row in self.noise for value in row])

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

    def counted(self, what: str) -> str:
        """How many tables there are, called so, in words."""
        return f"{len(self.columns)} {what}{'s' if len(self.columns) > 1 else ''}"

    def __post_init__(self) -> None:
        require_positive(self, "noise")
        require_counts(self, "step", least=1)
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
        require_counts(self, "num_classes", least=1)
        require_share(self, "profile_share")
        require_noise([*self.first_noise, *(value for row in self.pair_noise for value in row)])


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
        require_positive(self, "radius", "count_noise")
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
        require_positive(self, "radius", "residual_radius", "spread_radius")
        require_positive(self, "count_noise", "mean_noise", "second_noise", "spread_noise")
        require_share(self, "profile_share")

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
        same: Whether columns that name rows of one public table were compared across links.
    """

    kind: ClassVar[ReleaseKind] = ReleaseKind.AGGREGATES
    of_images: ClassVar[bool] = False
    profile_share: float
    views: tuple[ViewMechanism, ...]
    same: bool = False

    def __post_init__(self) -> None:
        require_share(self, "profile_share")


AnyMechanism = Mechanism | AggregateMechanism | ImageRowsMechanism | ImageMomentsMechanism | LinkedMechanism
_MECHANISMS: tuple[type[Mechanism | AggregateMechanism | ImageRowsMechanism | ImageMomentsMechanism], ...] = (
    Mechanism,
    AggregateMechanism,
    ImageRowsMechanism,
    ImageMomentsMechanism,
)


def read_mechanism(document: Mapping[str, Any]) -> AnyMechanism:
    """The mechanism, read as its tag says: the kind of the release, and whether it is of images."""
    if LINKED in document["schema"]:
        return LinkedMechanism.from_dict(document["mechanism"])
    tag = ReleaseKind(document["kind"]), IMAGES in document["schema"]
    chosen = next(choice for choice in _MECHANISMS if (choice.kind, choice.of_images) == tag)
    return chosen.from_dict(document["mechanism"])
