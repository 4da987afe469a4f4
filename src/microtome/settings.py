"""What the holder decides: the promise, and, apart from it, how the work is done.

Two dataclasses on purpose: nothing in ``RunSettings`` can change a guarantee. Options, their names and their defaults
stand here; ``mt.release`` and ``microtome release`` take them from here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from microtome.accounting import Accountant, DirectionKind, Directions, Event, Neighbours, calibrate_noise
from microtome.choice import Choice
from microtome.errors import ParameterError, require_whole
from microtome.progress import Progress, Tell, usual_progress, warn
from microtome.published import ReleaseKind

NO_PIVOT = "none"
NO_FOCUS = "none"
TARGET = "target"
MOST_TRIPLES = 32
"""Tables of three columns that a second round may choose unless told otherwise."""
TABLE_PROFILE = {ReleaseKind.RECORDS: 0.1, ReleaseKind.AGGREGATES: 0.2}
"""What the profile of a table gets unless told otherwise. Aggregates know pairs so well that rare categories limit
them."""
IMAGE_PROFILE = {ReleaseKind.RECORDS: 0.05, ReleaseKind.AGGREGATES: 0.05}
"""What counts of images get unless told otherwise: a number a class, known well enough with little."""
_BELOW = {"epsilon": math.inf, "delta": 1.0, "profile_share": 1.0, "subsample": 1.0}
_AT_LEAST = {"num_slices": 1, "slice_dim": 1, "capacity": 2, "triples": 0}
_FOR_RECORDS = ("directions", "num_slices", "slice_dim", "subsample", "capacity")


@dataclass(frozen=True, kw_only=True)
class PrivacySettings:
    """The promise that is wanted and the mechanism that is to keep it.

    Whatever is one of several may be given by its name: ``kind="records"``.

    Attributes:
        epsilon: Total ε, profile included.
        delta: Total δ, every small failure probability included; it must be below 1/n.
        kind: ``aggregates`` (noise on sums over all records: far less error; whoever makes a release sees the records
            anyway) or ``records`` (noise on every record by itself, as the paper does).
        pivot: For aggregates of a table: the column by whose classes everything is counted apart, for what three
            columns share; ``"none"`` to count all records together, under less noise. Images are always counted by
            their label.
        focus: For aggregates of a table: the column by groups of whose levels all pairs of other columns are counted
            once more, beside the pairs; ``"target"`` for that of the schema, ``"none"`` for no such tables.
        triples: For aggregates of a table: how many tables of three columns a second round may choose, for what pairs
            do not tell; as many of these as there are enough records for.
        neighbours: Which data sets must be hard to tell apart: ``blank-one``, ``add-remove`` or ``replace-one``.
        accountant: How σ is computed from ε and δ: ``exact``, ``renyi`` or, for gaussian directions, ``theorem1``.
        directions: For records: the law of the projection directions, ``orthogonal`` or ``gaussian``.
        num_slices: For records: the number of slices m; by default the fewest with m·k ≥ d, the encoded dimension.
        slice_dim: For records: the dimension k of a slice.
        subsample: For records: the Poisson rate at which they are sampled first, or ``None`` for all.
        capacity: For records: a public upper bound on their number; needed for ``add-remove``.
        profile_share: Share of the budget, in μ², that the profile gets; by default 0.2 for aggregates of a table, 0.1
            for its records, 0.05 for images; more where columns are to be learnt, most from few records.
        allow_large_delta: Accept a δ of 1/n or more, which permits a mechanism to publish some record whole.

    Example:
        >>> import microtome as mt
        >>> mt.PrivacySettings(epsilon=1.0).kind
        <ReleaseKind.AGGREGATES: 'aggregates'>
        >>> mt.PrivacySettings(epsilon=1.0, kind="records", neighbours="friends")
        Traceback (most recent call last):
            ...
        microtome.errors.ParameterError: neighbours is 'friends'; it must be one of blank-one, add-remove, replace-one
    """

    epsilon: float
    delta: float = 1e-6
    kind: Choice[ReleaseKind] = Choice(ReleaseKind, ReleaseKind.AGGREGATES)
    pivot: str = NO_PIVOT
    focus: str = TARGET
    triples: int = MOST_TRIPLES
    neighbours: Choice[Neighbours] = Choice(Neighbours, Neighbours.BLANK_ONE)
    accountant: Choice[Accountant] = Choice(Accountant, Accountant.EXACT)
    directions: Choice[DirectionKind] = Choice(DirectionKind, DirectionKind.ORTHOGONAL)
    num_slices: int | None = None
    slice_dim: int = 1
    subsample: float | None = None
    capacity: int | None = None
    profile_share: float | None = None
    allow_large_delta: bool = False

    def __post_init__(self) -> None:
        problems = [*self._out_of_range(), *self._contradictions()]
        if problems:
            raise ParameterError("\n".join(problems))

    def _out_of_range(self) -> Iterator[str]:
        for name, most in _BELOW.items():
            value = getattr(self, name)
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not (self._is_left_out(name) or (is_number and 0 < value < most)):
                wanted = "a number above 0" if most == math.inf else "a number between 0 and 1, both excluded"
                yield f"{name} is {value!r}; it must be {wanted}"
        for name, least in _AT_LEAST.items():
            value = getattr(self, name)
            is_whole = isinstance(value, int) and not isinstance(value, bool)
            if not (self._is_left_out(name) or (is_whole and value >= least)):
                yield f"{name} is {value!r}; it must be a whole number (int), at least {least}"

    def _is_left_out(self, name: str) -> bool:
        """Whether an option has no value, and need not have one."""
        return getattr(self, name) is None and getattr(type(self), name, 0) is None

    def _contradictions(self) -> Iterator[str]:
        hides_count = self.neighbours.protects_count  # first of all: an unknown relation is refused with any kind
        match self.kind:
            case ReleaseKind.AGGREGATES:
                given = [name for name in _FOR_RECORDS if getattr(self, name) != getattr(type(self), name)]
                if given:
                    what = f"{', '.join(given)} {'is' if len(given) == 1 else 'are'} for records"
                    yield f"{what}; aggregates, the default, need none: say kind records"
                if self.accountant.needs is not None:
                    yield f"the {self.accountant} accountant is for slices; aggregates take exact or renyi"
            case ReleaseKind.RECORDS:
                yield from self._contradictions_of_records(hides_count)

    def _contradictions_of_records(self, hides_count: bool) -> Iterator[str]:
        if self.pivot != NO_PIVOT or self.focus not in (TARGET, NO_FOCUS) or self.triples not in (0, MOST_TRIPLES):
            yield "a pivot, a focus and triples are for aggregates; records have none"
        if hides_count and self.capacity is None:
            yield (
                f"{self.neighbours} neighbours protect the number of records, so the release is padded to a public "
                "capacity: give one (capacity=, --capacity), chosen without looking at the table"
            )
        if not hides_count and self.capacity is not None:
            yield f"capacity is for add-remove neighbours; with {self.neighbours} the number of records is public"
        needed = self.accountant.needs or self.directions
        if not (self.directions.is_drawn and needed.is_drawn):
            yield "fixed directions, and prop3, are for comparing budgets; a release draws orthogonal or gaussian ones"
        elif self.directions is not needed:
            yield "theorem1 is the paper's bound for gaussian directions; take these, or the exact accountant"

    def public_size(self, num_records: int | None) -> int | None:
        """What may be said of the number of records: themselves, their capacity, or nothing."""
        return self.capacity if self.neighbours.protects_count else num_records

    def share_of_profile(self, usual: Mapping[ReleaseKind, float]) -> float:
        """Share of the budget that the profile gets: the one that is wanted, or the usual one of the kind."""
        return usual[self.kind] if self.profile_share is None else self.profile_share

    def noise(self, events: Callable[[float], Sequence[Event]]) -> float:
        """The least noise scale at which these events keep the promise."""
        return calibrate_noise(events, epsilon=self.epsilon, delta=self.delta, accountant=self.accountant)

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
        return self.directions.is_orthogonal and self.num_slices is None


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """How the work is done; no influence on the promise.

    Attributes:
        threads: Blocks worked on at the same time.
        block_entries: Numbers held a block: fewer need less memory.
        piece_entries: Numbers worked on at a time: as many as stay in a core's cache.
        bin_entries: Numbers held when rows are shuffled.
        force: Replace an existing output.
        progress: Told how far the work is; by default bars in a notebook, and nothing elsewhere.
        tell: Told beforehand what the release will be worth.
    """

    threads: int = 2
    block_entries: int = 1 << 22
    piece_entries: int = 1 << 17
    bin_entries: int = 1 << 23
    force: bool = False
    progress: Progress = field(default_factory=usual_progress)
    tell: Tell = warn

    def __post_init__(self) -> None:
        for name in ("threads", "block_entries", "piece_entries", "bin_entries"):
            require_whole(name, getattr(self, name), 1)

    def block_rows(self, width: int) -> int:
        """Records a block, where each takes ``width`` numbers."""
        return max(64, min(self.block_entries // width, 1 << 16))
