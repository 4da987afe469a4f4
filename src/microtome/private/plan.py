"""From the wanted promise to the noise: how the budget is split, and what the ledger is told.

The profile gets a share of μ², the slices the rest, found by the accountant for the two together. Whatever
can go wrong with small probability is an event of its own and comes out of δ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.stats import binom

from microtome.accounting import (
    Directions,
    Event,
    FailureEvent,
    GaussianEvent,
    Neighbours,
    SliceEvent,
    SubsampledEvent,
    calibrate_noise,
)
from microtome.errors import ParameterError, TableError
from microtome.private.profile import ProfileBudget
from microtome.private.settings import PrivacySettings
from microtome.schema import COARSE, Schema, rounding_classes

_FAILURE_SHARE = 0.05
"""Share of δ given to each kind of failure that the mechanism can trade against noise."""
ROUNDING = 2.0**-40
"""Probability that rounding error of 64-bit floats moves one noisy number to another grid step."""


@dataclass(frozen=True, kw_only=True)
class ProfilePlan:
    """The first pass: its budget and what it does to the data."""

    budget: ProfileBudget
    events: tuple[Event, ...]


@dataclass(frozen=True, kw_only=True)
class SlicePlan:
    """The second pass.

    Attributes:
        law: The directions.
        noise_scale: σ.
        num_rows: Rows that will be in the file.
        events: What this pass does to the data.
    """

    law: Directions
    noise_scale: float
    num_rows: int
    events: tuple[Event, ...]


def check_table_size(settings: PrivacySettings, num_records: int, origin: str) -> None:
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
        raise ParameterError(
            f"delta is {settings.delta}, not below 1/{bound}: such a δ would permit publishing some record whole; "
            "take a smaller one (10⁻⁶ is usual), or insist with --allow-large-delta"
        )


def expected_dim(schema: Schema) -> int:
    """A guess of the encoded dimension, before the profile tells it."""
    return sum(
        len(column.categories) + 2 if column.categories else 2 * (column.bins or COARSE.most_bins)
        for column in schema.columns
    )


def plan_profile(settings: PrivacySettings, schema: Schema) -> ProfilePlan:
    """The profile's share of the budget."""
    learnt = sum(column.kind.is_categorical and not column.is_declared for column in schema.columns)
    threshold = _FAILURE_SHARE * settings.delta if learnt else 0.0
    histograms = len(schema.columns) + sum(rounding_classes(column) is not None for column in schema.columns)
    touched = histograms * (2 if settings.neighbours is Neighbours.REPLACE_ONE else 1) + 1
    failures: list[Event] = [FailureEvent(probability=touched * ROUNDING, reason="rounding of the profile")]
    if threshold:
        failures.append(FailureEvent(probability=threshold, reason="a category of one record alone shows"))
    total_mu = 1.0 / calibrate_noise(
        lambda scale: [GaussianEvent(mu=1.0 / scale), *failures],
        epsilon=settings.epsilon,
        delta=settings.delta,
        accountant=settings.accountant,
    )
    mu = math.sqrt(settings.profile_share) * total_mu
    budget = ProfileBudget(mu=mu, threshold_delta=threshold, neighbours=settings.neighbours)
    return ProfilePlan(budget=budget, events=(GaussianEvent(mu=mu), *failures))


def plan_slices(settings: PrivacySettings, dim: int, num_records: int, spent: Sequence[Event]) -> SlicePlan:
    """The least noise with which profile and slices together keep the promise."""
    law = settings.direction_law(dim)
    bound = settings.capacity or num_records
    failures: list[Event] = [FailureEvent(probability=law.count * ROUNDING, reason="rounding of the slices")]
    num_rows = bound
    if settings.subsample is not None:
        overflow = _FAILURE_SHARE * settings.delta
        num_rows = min(int(binom.isf(overflow, bound, settings.subsample)) + 1, bound)
        failures.append(FailureEvent(probability=overflow, reason="the sample overflows its padding"))

    def events(noise_scale: float) -> tuple[Event, ...]:
        sliced = SliceEvent(directions=law, row_distance=settings.row_distance, noise_scale=noise_scale)
        if settings.subsample is None:
            return (sliced, *failures)
        symmetric = settings.neighbours is Neighbours.REPLACE_ONE
        return (SubsampledEvent(rate=settings.subsample, event=sliced, symmetric=symmetric), *failures)

    noise_scale = calibrate_noise(
        lambda scale: [*spent, *events(scale)],
        epsilon=settings.epsilon,
        delta=settings.delta,
        accountant=settings.accountant,
    )
    return SlicePlan(law=law, noise_scale=noise_scale, num_rows=num_rows, events=events(noise_scale))
