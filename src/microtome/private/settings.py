"""What the holder decides: the privacy settings, and, apart from these, how the work is done.

Two dataclasses on purpose: nothing in ``RunSettings`` can change a guarantee.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from microtome.accounting import Accountant, DirectionKind, Directions, Neighbours
from microtome.errors import ParameterError, require
from microtome.progress import Progress, silent
from microtome.published import ReleaseKind
from microtome.schema import COARSE, FINE, Schema

NO_PIVOT = "none"
_PROFILE_SHARES = {ReleaseKind.RECORDS: 0.1, ReleaseKind.AGGREGATES: 0.2}
"""What the profile of a declared table gets. Aggregates know pairs so well that rare categories limit them."""
_SEARCH_SHARE = 0.1
"""What it gets more where no column is declared."""
FINENESS = {ReleaseKind.RECORDS: COARSE, ReleaseKind.AGGREGATES: FINE}
"""How finely values are told apart, where the schema does not say."""


def default_profile_share(kind: ReleaseKind, schema: Schema) -> float:
    """What search and profile get unless told otherwise: the more, the more columns are to be learnt."""
    learnt = sum(not column.is_declared for column in schema.columns) / len(schema.columns)
    return _PROFILE_SHARES[kind] + _SEARCH_SHARE * learnt


@dataclass(frozen=True, kw_only=True)
class PrivacySettings:
    """The promise that is wanted and the mechanism that is to keep it.

    Attributes:
        epsilon: Total ε, profile included.
        delta: Total δ, every small failure probability included.
        neighbours: Which tables must be hard to tell apart.
        accountant: How σ is computed from ε and δ.
        directions: Law of the projection directions.
        num_slices: Number of slices m; by default the fewest with m·k ≥ d, the encoded dimension.
        slice_dim: Dimension k of a slice.
        subsample: Poisson rate at which records are sampled first, or ``None`` for all.
        capacity: Public upper bound on the number of records; needed for ``add-remove``.
        profile_share: Share of the budget, in μ², that the profile gets.
        kind: Noise on every record, or on sums over records.
        pivot: For aggregates: the column by whose classes everything is counted apart; ``"none"`` for no pivot.
        allow_large_delta: Accept a δ of 1/n or more, which permits a mechanism to publish some record whole.
    """

    epsilon: float
    delta: float
    neighbours: Neighbours = Neighbours.BLANK_ONE
    accountant: Accountant = Accountant.EXACT
    directions: DirectionKind = DirectionKind.ORTHOGONAL
    num_slices: int | None = None
    slice_dim: int = 1
    subsample: float | None = None
    capacity: int | None = None
    profile_share: float = 0.1
    kind: ReleaseKind = ReleaseKind.RECORDS
    pivot: str = NO_PIVOT
    allow_large_delta: bool = False

    def __post_init__(self) -> None:
        require(math.isfinite(self.epsilon) and self.epsilon > 0, "epsilon", self.epsilon, "a positive number")
        require(0 < self.delta < 1, "delta", self.delta, "between 0 and 1, both excluded")
        require(0 < self.profile_share < 1, "profile_share", self.profile_share, "between 0 and 1, both excluded")
        require(self.slice_dim >= 1, "slice_dim", self.slice_dim, "at least 1")
        if self.num_slices is not None:
            require(self.num_slices >= 1, "num_slices", self.num_slices, "at least 1")
        if self.subsample is not None:
            require(0 < self.subsample < 1, "subsample", self.subsample, "between 0 and 1, both excluded")
        if self.capacity is not None:
            require(self.capacity >= 2, "capacity", self.capacity, "at least 2")
        if self.kind is ReleaseKind.AGGREGATES:
            self._check_aggregates()
            return
        if self.pivot != NO_PIVOT:
            raise ParameterError("a pivot is for aggregates; records have none")
        if self.neighbours.protects_count and self.capacity is None:
            raise ParameterError(
                f"{self.neighbours} neighbours protect the number of records, so the release is padded to a public "
                "capacity: give one (capacity=, --capacity), chosen without looking at the table"
            )
        if not self.neighbours.protects_count and self.capacity is not None:
            raise ParameterError(
                f"capacity is for add-remove neighbours; with {self.neighbours} the number of records is public"
            )
        if self.directions is DirectionKind.FIXED or self.accountant is Accountant.PROP2:
            raise ParameterError(
                "fixed directions (and prop2, their accountant) are for comparing budgets; a release draws its "
                "own, orthogonal or gaussian"
            )
        if self.accountant is Accountant.THEOREM1 and self.directions is not DirectionKind.GAUSSIAN:
            raise ParameterError(
                "theorem1 is the paper's bound for gaussian directions; use --directions gaussian, or the exact "
                "accountant"
            )

    def _check_aggregates(self) -> None:
        """Refuse options that sums over records have no use for."""
        slicing = {
            "directions": self.directions is not DirectionKind.ORTHOGONAL,
            "num_slices": self.num_slices is not None,
            "slice_dim": self.slice_dim != 1,
            "subsample": self.subsample is not None,
            "capacity": self.capacity is not None,
        }
        given = [name for name, is_given in slicing.items() if is_given]
        if given:
            raise ParameterError(f"{given[0]} is for records; aggregates, the default, need none: say kind records")
        if self.accountant not in (Accountant.EXACT, Accountant.RENYI):
            raise ParameterError(f"the {self.accountant} accountant is for slices; aggregates take exact or renyi")

    @property
    def centred(self) -> bool:
        """Whether encoded blocks are centred at the null record."""
        return self.neighbours.centred

    @property
    def row_distance(self) -> float:
        """How far apart the encoded rows of neighbours may be."""
        return self.neighbours.row_distance(nonnegative=not self.centred)

    def direction_law(self, dim: int) -> Directions:
        """The directions to draw for encoded rows of the given length.

        Orthogonal ones fill the rows, lengthened by zeros to whole slices, unless their number is given.
        """
        slices = -(-dim // self.slice_dim)
        if self.fills_rows:
            dim = slices * self.slice_dim
        return Directions(kind=self.directions, dim=dim, num_slices=self.num_slices or slices, slice_dim=self.slice_dim)

    @property
    def fills_rows(self) -> bool:
        """Whether directions are one whole orthogonal block, which lets through all of a row and no more."""
        return self.directions is DirectionKind.ORTHOGONAL and self.num_slices is None


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """How the work is done; no influence on the promise.

    Attributes:
        threads: Blocks worked on at the same time.
        block_entries: Numbers held a block: fewer need less memory.
        piece_entries: Numbers worked on at a time: as many as stay in a core's cache.
        bin_entries: Numbers held when rows are shuffled.
        force: Replace an existing output.
        progress: Told how far the work is.
    """

    threads: int = 2
    block_entries: int = 1 << 22
    piece_entries: int = 1 << 17
    bin_entries: int = 1 << 23
    force: bool = False
    progress: Progress = field(default=silent)

    def __post_init__(self) -> None:
        require(self.threads >= 1, "threads", self.threads, "at least 1")

    def block_rows(self, width: int) -> int:
        """Records a block, where each takes ``width`` numbers."""
        return max(64, min(self.block_entries // width, 1 << 16))


Option = TypeVar("Option", bound=StrEnum)


def option(options: type[Option], value: str, name: str) -> Option:
    """The member of an enumeration by its name, or an error that lists them all."""
    try:
        return options(value)
    except ValueError:
        raise ParameterError(f"{name} is {value!r}; it must be one of {', '.join(options)}") from None
