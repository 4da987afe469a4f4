"""A release that nobody has made: its noise, and what would be made of public shapes.

Everything is planned by the code that plans real releases, from public facts: the same shares of the budget, questions,
thresholds and tables.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from microtome.accounting import Event
from microtome.forecasting.search_trial import Found, SearchNoise, search_column
from microtome.forecasting.trial import Draw, known_column, mean_errors, rounded_ratio, try_column
from microtome.private.aggregating import AggregatePlan, TableBudget, plan_aggregates, plan_tables
from microtome.private.likeness import check_like, focus_groups
from microtome.private.plan import ProfilePlan, SlicePlan, fineness_of, padded_rows, plan_profile, plan_slices
from microtome.private.profile import profile_weights
from microtome.published import Release, ReleaseKind
from microtome.schema import Codebook, Column, Schema, rounding_classes
from microtome.settings import PrivacySettings

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Anticipated(ABC):
    """What public facts settle about a release.

    Attributes:
        settings: Its promise.
        schema: What is public about its table.
        num_rows: Records that the table is said to have.
        second: What follows the profile, if there is one.
    """

    settings: PrivacySettings
    schema: Schema
    num_rows: int
    second: TableBudget | SlicePlan
    has_profile: ClassVar[bool]

    @property
    @abstractmethod
    def events(self) -> tuple[Event, ...]:
        """What it would do to the data."""

    @property
    @abstractmethod
    def count_noise(self) -> Sequence[float]:
        """Standard deviation of the noise in the counts of each column."""

    @property
    @abstractmethod
    def thresholds(self) -> Sequence[float | None]:
        """The noisy count from which a category shows, for columns whose categories are to be learnt."""

    @property
    @abstractmethod
    def draws(self) -> Sequence[tuple[Draw, ...]]:
        """Every column, tried out."""

    @property
    @abstractmethod
    def codebook(self) -> Codebook:
        """A codebook such as the release would have."""

    @abstractmethod
    def at(self, epsilon: float) -> Anticipated:
        """The same for another ε."""

    def _groups(self) -> NDArray[np.int64] | None:
        """Groups of levels of the focus, where they are settled beforehand."""
        return None

    @cached_property
    def errors(self) -> list[tuple[float, float]]:
        """How far every column would be off: by itself, and as a side of two-way tables."""
        return [mean_errors(draws, ratio) for draws, ratio in zip(self.draws, self.level_ratios, strict=True)]

    @cached_property
    def tables(self) -> AggregatePlan | None:
        """What a release of aggregates would count."""
        match self.second:
            case TableBudget() as budget:
                return plan_aggregates(self.settings, self.schema, self.codebook, budget, self.num_rows, self._groups())
            case SlicePlan():
                return None

    @cached_property
    def pair_noise(self) -> Floats | None:
        """Noise in the cells of every two-way table, as a count; 0 where nothing is measured.

        ``None`` where directions do not span the rows: there are no two-way tables then.
        """
        match self.second, self.tables:
            case TableBudget(), AggregatePlan() as tables:
                return tables.two_way_noise()
            case SlicePlan() as slices, _:
                return self._noise_of_moments(slices) if self.settings.fills_rows else None
        raise AssertionError("aggregates have tables")

    def _noise_of_moments(self, slices: SlicePlan) -> Floats:
        """Noise of tables that are second moments of noisy rows, as ``published.second_moments`` knows it."""
        variance = slices.for_rows(self.codebook.dim).noise_scale ** 2
        num_rows = padded_rows(self.settings, self.num_rows)
        present = self.num_rows * (self.settings.subsample or 1.0) / num_rows
        scales = np.array([block.scale for block in self.codebook.blocks])
        energies = scales**2 / np.array([block.width for block in self.codebook.blocks])
        product = variance**2 + variance * (energies[:, None] + energies[None, :])
        measured = np.outer(scales, scales)
        noise = np.sqrt(product / num_rows) / present * self.num_rows
        tables: Floats = np.divide(noise, measured, out=np.zeros_like(noise), where=measured > 0)
        return tables

    @cached_property
    def level_ratios(self) -> list[float]:
        """Noise with which all tables of a column together tell its levels; infinite where none does."""
        if self.tables is None:
            return [math.inf] * len(self.schema.columns)
        widths = np.array([block.width for block in self.codebook.blocks], dtype=float)
        variances = self.tables.two_way_noise() ** 2 * widths
        worth = np.divide(1.0, variances, out=np.zeros_like(variances), where=variances > 0).sum(axis=1)
        return [1.0 / (math.sqrt(one) * self.num_rows) if one > 0 else math.inf for one in worth]


@dataclass(frozen=True, kw_only=True)
class Profiled(Anticipated):
    """A release that begins with a search and a profile.

    Attributes:
        profile: Both of these.
    """

    profile: ProfilePlan
    has_profile = True

    @property
    def events(self) -> tuple[Event, ...]:
        """What it would do to the data."""
        return (*self.profile.events, *self.second.events)

    @cached_property
    def found(self) -> list[tuple[Found, ...]]:
        """What the search would find of every column."""
        budget, neighbours = self.profile.budget, self.settings.neighbours
        noise = SearchNoise(
            unit=rounded_ratio(budget.noise_of(1.0) / self.num_rows),
            certainty=rounded_ratio(budget.threshold(1.0)) if budget.threshold_delta else math.inf,
            knows_total=not neighbours.protects_count,
        )
        return [search_column(column, noise) for column in self.schema.columns]

    @cached_property
    def count_noise(self) -> list[float]:
        """Standard deviation of the noise in the counts of each column, if the search finds what is usual."""
        columns, protected = self.schema.columns, self.settings.neighbours.protects_count
        weights = profile_weights(
            columns,
            [round(cells) for cells in self._usual(lambda one: one.num_cells)],
            self._usual(lambda one: one.left),
            rounding=sum(rounding_classes(column) is not None and column.is_declared for column in columns),
            protects_count=protected,
        )
        left = self.profile.budget.less(sum(self._usual(lambda one: one.spent)))
        return left.noise_by_weight(weights)[: len(columns)]

    def _usual(self, figure: Callable[[Found], float]) -> list[float]:
        """The mean of a figure over all that may be found, for every column."""
        return [fmean(figure(one) for one in found) for found in self.found]

    @cached_property
    def thresholds(self) -> list[float | None]:
        """The noisy count from which a category shows, for columns whose categories are to be learnt."""
        learnt = [_learns_categories(column) for column in self.schema.columns]
        return [
            self.profile.budget.threshold(noise) if is_learnt else None
            for noise, is_learnt in zip(self.count_noise, learnt, strict=True)
        ]

    @cached_property
    def draws(self) -> list[tuple[Draw, ...]]:
        """The profile of every column, tried out."""
        fineness = fineness_of(self.settings, len(self.schema.columns))
        tried = zip(self.schema.columns, self.found, self.count_noise, self.thresholds, strict=True)
        return [
            try_column(column, found, fineness, noise / self.num_rows, (threshold or 0.0) / self.num_rows)
            for column, found, noise, threshold in tried
        ]

    @cached_property
    def codebook(self) -> Codebook:
        """A codebook such as the profile would give."""
        codes = tuple(draws[len(draws) // 2].code for draws in self.draws)
        return Codebook(codes=codes, centred=self.settings.neighbours.centred)

    def at(self, epsilon: float) -> Anticipated:
        """The same for another ε."""
        return anticipate(replace(self.settings, epsilon=epsilon), self.schema, self.num_rows)


@dataclass(frozen=True, kw_only=True)
class LikeAnother(Anticipated):
    """A release on the codebook of another: no profile, and all of the budget for the tables.

    Attributes:
        like: The other release. Its columns stand for those of this one.
    """

    like: Release
    has_profile = False

    @property
    def events(self) -> tuple[Event, ...]:
        """What it would do to the data."""
        return self.second.events

    @cached_property
    def count_noise(self) -> list[float]:
        """Standard deviation of the noise with which the tables tell levels."""
        return [ratio * self.num_rows for ratio in self.level_ratios]

    @property
    def thresholds(self) -> list[float | None]:
        """None: categories are known."""
        return [None] * len(self.schema.columns)

    @cached_property
    def draws(self) -> list[tuple[Draw, ...]]:
        """Every column as the other release has it."""
        return [(known_column(code),) for code in self.codebook.codes]

    @cached_property
    def codebook(self) -> Codebook:
        """That of the other release."""
        return replace(self.like.codebook, centred=self.settings.neighbours.centred)

    def _groups(self) -> NDArray[np.int64] | None:
        return focus_groups(self.settings, self.schema, self.like)

    def at(self, epsilon: float) -> Anticipated:
        """The same for another ε."""
        return anticipate(replace(self.settings, epsilon=epsilon), self.schema, self.num_rows, self.like)


def anticipate(settings: PrivacySettings, schema: Schema, num_rows: int, like: Release | None = None) -> Anticipated:
    """Plan a release without a table."""
    if like is not None:
        check_like(settings, schema, like)
        tables = plan_tables(settings, schema, ())
        return LikeAnother(settings=settings, schema=schema, num_rows=num_rows, second=tables, like=like)
    profile = plan_profile(settings, schema, num_rows)
    second: TableBudget | SlicePlan
    match settings.kind:
        case ReleaseKind.AGGREGATES:
            second = plan_tables(settings, schema, profile.events)
        case ReleaseKind.RECORDS:
            second = plan_slices(settings, schema, profile.events)
    return Profiled(settings=settings, schema=schema, num_rows=num_rows, profile=profile, second=second)


def _learns_categories(column: Column) -> bool:
    return column.kind.is_categorical and not column.is_declared
