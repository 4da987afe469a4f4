"""From the wanted promise to the noise: how the budget is split, and what the ledger is told.

The profile gets a share of μ², the slices the rest, found by the accountant for the two together. Whatever
can go wrong with small probability is an event of its own and comes out of δ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import scipy

from microtome.accounting import (
    DirectionKind,
    Directions,
    Event,
    FailureEvent,
    GaussianEvent,
    SliceEvent,
    SubsampledEvent,
    default_delta,
)
from microtome.errors import MicrotomeError, ParameterError, TableError
from microtome.private.profile import total_weight
from microtome.private.profile_budget import ProfileBudget
from microtome.private.randomness import LATTICE_GAP
from microtome.private.searching import (
    SEARCH_HISTOGRAMS,
    VALUE_HISTOGRAMS,
    chances_to_show,
    is_looked_through,
    is_searched,
)
from microtome.private.slicing import MOST_COORDINATES
from microtome.private.weighting import ONE_ROW, Weighting
from microtome.published import ReleaseKind
from microtome.schema import COARSE, FINE, Fineness, Schema, for_width, largest_dim, rounding_classes
from microtome.settings import TABLE_PROFILE, PrivacySettings

FINENESS = {ReleaseKind.RECORDS: COARSE, ReleaseKind.AGGREGATES: FINE}
"""How finely values are told apart in narrow tables, where the schema does not say."""
_FAILURE_SHARE = 0.05
"""Share of δ given to each kind of failure that the mechanism can trade against noise."""
_SEARCH_SHARE = 0.1
"""What the profile gets more where no column is declared."""
_MOST_SHARE = 0.7
"""What it gets where no column is declared and the records are so few that hardly more can be learnt."""
_FAINT = 0.004
"""Noise of a count of every column, as a part of the records, at which the profile gets half of that more: if the whole
budget were shared by a count a column."""
_ROUNDED_UP = 1e-12
ROUNDING = 2.0**-40
"""Probability that rounding error of 64-bit floats moves one noisy number of a row to another grid step."""


def fineness_of(settings: PrivacySettings, num_columns: int) -> Fineness:
    """How finely values are told apart, where the schema does not say; in aggregates wide tables have fewer levels."""
    match settings.kind:
        case ReleaseKind.RECORDS:
            return FINENESS[settings.kind]
        case ReleaseKind.AGGREGATES:
            return for_width(FINENESS[settings.kind], num_columns)


@dataclass(frozen=True, kw_only=True)
class ProfilePlan:
    """The first pass: its budget, its share of all, and what it does to the data."""

    budget: ProfileBudget
    share: float
    events: tuple[Event, ...]


@dataclass(frozen=True, kw_only=True)
class SlicePlan:
    """The second pass, as public facts alone settle it: what it costs does not depend on the profile.

    The profile tells how long encoded rows are, and the directions and the noise of a finished plan follow it. Their
    cost must not: if the noise of the first pass chose the law of W of the second, keeping (ε, δ) with each law by
    itself would not be enough (``docs/privacy.md``, section 4). So

    - one whole orthogonal block lets all of a row through, however long it is: W = Δ²;
    - of a given number m' of gaussian directions, W/σ² = Δ²χ²(m')/(dσ²), with σ² ∝ 1/d;
    - any other number of orthogonal ones is drawn for rows lengthened by zeros to the longest there can be.

    Attributes:
        law: The directions.
        fills_rows: Whether they are one whole orthogonal block.
        noise_scale: σ.
        row_distance: Δ.
        subsample: Rate of the sample, or ``None``.
        symmetric: Whether both neighbours hold a record that may be sampled.
        failures: What can go wrong.
    """

    law: Directions
    fills_rows: bool
    noise_scale: float
    row_distance: float
    subsample: float | None
    symmetric: bool
    failures: tuple[Event, ...]

    @property
    def events(self) -> tuple[Event, ...]:
        """What this pass does to the data."""
        sliced = SliceEvent(directions=self.law, row_distance=self.row_distance, noise_scale=self.noise_scale)
        if self.subsample is None:
            return (sliced, *self.failures)
        return (SubsampledEvent(rate=self.subsample, event=sliced, symmetric=self.symmetric), *self.failures)

    def calibrated(self, settings: PrivacySettings, spent: Sequence[Event]) -> SlicePlan:
        """The same with the least noise that keeps the promise together with what is spent."""
        noise_scale = settings.noise(lambda scale: [*spent, *replace(self, noise_scale=scale).events])
        return replace(self, noise_scale=noise_scale)

    def for_rows(self, dim: int) -> SlicePlan:
        """The same for rows of the length that the profile has settled, at the same cost."""
        law = self.law
        if dim > law.dim:
            raise MicrotomeError(f"rows have {dim} coordinates, where {law.dim} was the most; nothing more is released")
        match law.kind:
            case DirectionKind.GAUSSIAN:
                stretched = self.noise_scale * math.sqrt(law.dim / dim) * (1.0 + _ROUNDED_UP)
                return replace(self, law=replace(law, dim=dim), noise_scale=stretched)
            case DirectionKind.ORTHOGONAL if self.fills_rows:
                slices = -(-dim // law.slice_dim)
                return replace(self, law=replace(law, dim=slices * law.slice_dim, num_slices=slices))
            case DirectionKind.ORTHOGONAL | DirectionKind.FIXED:
                return self


def check_size(settings: PrivacySettings, num_records: int, origin: str) -> None:
    """Refuse tables that are too small, or too large for the declared capacity, and careless δ."""
    if num_records < 2:
        what = "no rows" if num_records == 0 else "only one row"
        raise TableError(f"{origin} has {what}; at least 2 are needed")
    if settings.capacity is not None and num_records > settings.capacity:
        raise TableError(
            f"{origin} has more rows than the capacity of {settings.capacity}; choose a larger public bound "
            "(and tell nobody that this one was too small)"
        )
    bound = settings.capacity or num_records
    if settings.delta * bound >= 1 and not settings.allow_large_delta:
        public = settings.public_size(num_records)
        what = "too large for this table" if public is None else f"not below 1/{public}"
        raise ParameterError(
            f"delta is {settings.delta}, {what}: such a δ would permit publishing some record whole; "
            f"take {default_delta(public):g}, which is chosen if you give none, or insist with --allow-large-delta"
        )


def padded_rows(settings: PrivacySettings, num_records: int) -> int:
    """Rows of the file: all records, or the capacity, or as many as a sample of these can have but for a failure."""
    bound = settings.capacity or num_records
    if settings.subsample is None:
        return bound
    return min(int(scipy.stats.binom.isf(_FAILURE_SHARE * settings.delta, bound, settings.subsample)) + 1, bound)


def longest_rows(schema: Schema) -> int:
    """The most coordinates that an encoded row can have, from public facts."""
    longest = largest_dim(schema, FINENESS[ReleaseKind.RECORDS])
    if longest is None:
        endless = [column.name for column in schema.columns if column.pool == 0 and column.categories is None]
        raise ParameterError(
            f"column {endless[0]!r} has 'pool: 0' and its categories are to be learnt, so rows may be of any length; "
            "declare its categories, or give it a pool such as 0.01"
        )
    return longest


def _profile_share(settings: PrivacySettings, schema: Schema, unit: float, num_records: int | None) -> float:
    """What search and profile get: unless told otherwise the more, the more is to be learnt and from fewer records.

    Where columns are hardly learnt, tables of these tell nothing.
    """
    learnt = sum(map(is_searched, schema.columns)) / len(schema.columns)
    size = settings.public_size(num_records)
    faint = 0.0 if size is None else len(schema.columns) * (unit / (_FAINT * max(size, 1))) ** 2
    usual = {kind: share + _SEARCH_SHARE * learnt for kind, share in TABLE_PROFILE.items()}
    return settings.share_of_profile(
        {kind: share + (_MOST_SHARE - share) * learnt * faint / (1.0 + faint) for kind, share in usual.items()}
    )


def plan_profile(
    settings: PrivacySettings, schema: Schema, num_records: int | None = None, weighting: Weighting = ONE_ROW
) -> ProfilePlan:
    """The profile's share of the budget; it depends on the number of records only as far as that is public.

    A person whose rows are weighted touches as many cells as there are rows.
    """
    chances = sum(map(chances_to_show, schema.columns))
    threshold = _FAILURE_SHARE * settings.delta if chances else 0.0
    histograms = len(schema.columns) + sum(rounding_classes(column) is not None for column in schema.columns)
    histograms += SEARCH_HISTOGRAMS * sum(map(is_searched, schema.columns))
    histograms += VALUE_HISTOGRAMS * sum(map(is_looked_through, schema.columns))
    touched = histograms * settings.neighbours.cells_changed * weighting.most_rows + 1
    failures: list[Event] = [FailureEvent(probability=touched * LATTICE_GAP, reason="discrete noise of the profile")]
    if threshold:
        failures.append(FailureEvent(probability=threshold, reason="a category or number of one record alone shows"))
    unit = unit_noise(settings, failures)
    share = _profile_share(settings, schema, unit, num_records)
    mu = math.sqrt(share) / unit
    budget = ProfileBudget(
        mu=mu,
        threshold_delta=threshold,
        neighbours=settings.neighbours,
        num_chances=max(chances, 1),
        weight=total_weight(schema.columns, protects_count=settings.neighbours.protects_count),
        weighting=weighting,
    )
    return ProfilePlan(budget=budget, share=share, events=(GaussianEvent(mu=mu), *failures))


def unit_noise(settings: PrivacySettings, others: Sequence[Event]) -> float:
    """Noise of one number of sensitivity 1 that fits beside the other events."""
    return settings.noise(lambda scale: [*others, GaussianEvent(mu=1.0 / scale)])


def plan_slices(settings: PrivacySettings, schema: Schema, spent: Sequence[Event]) -> SlicePlan:
    """The least noise with which profile and slices together keep the promise, for the longest rows there can be."""
    law, neighbours = settings.direction_law(longest_rows(schema)), settings.neighbours
    if law.dim > MOST_COORDINATES:
        raise ParameterError(
            f"encoded rows may have {law.dim:,} coordinates, and products are exact up to {MOST_COORDINATES:,}; "
            "declare categories, give columns a larger pool, or leave some out"
        )
    failures: list[Event] = [FailureEvent(probability=law.count * ROUNDING, reason="rounding of the slices")]
    if settings.subsample is not None:
        overflow = _FAILURE_SHARE * settings.delta
        failures.append(FailureEvent(probability=overflow, reason="the sample overflows its padding"))
    plan = SlicePlan(
        law=law,
        fills_rows=settings.fills_rows,
        noise_scale=1.0,
        row_distance=neighbours.row_distance(nonnegative=not neighbours.centred),
        subsample=settings.subsample,
        symmetric=neighbours.symmetric,
        failures=tuple(failures),
    )
    return plan.calibrated(settings, spent)
