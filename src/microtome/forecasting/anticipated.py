"""A release that nobody has made: its noise, and what its profile would make of public shapes.

Everything is planned by the code that plans real releases, from public facts: the same shares of the budget, thresholds
and tables.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from microtome.accounting import Event
from microtome.forecasting.trial import Draw, mean_errors, try_column
from microtome.private.aggregating import TableBudget, plan_aggregates, plan_tables
from microtome.private.plan import ProfilePlan, SlicePlan, fineness_of, padded_rows, plan_profile, plan_slices
from microtome.private.profile import expected_noise
from microtome.published import ReleaseKind
from microtome.schema import Codebook, Column, Schema
from microtome.settings import PrivacySettings

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Anticipated:
    """What public facts settle about a release.

    Attributes:
        settings: Its promise.
        schema: What is public about its table.
        num_rows: Records that the table is said to have.
        profile: The first pass.
        second: The second pass.
    """

    settings: PrivacySettings
    schema: Schema
    num_rows: int
    profile: ProfilePlan
    second: TableBudget | SlicePlan

    @property
    def events(self) -> tuple[Event, ...]:
        """What it would do to the data."""
        return (*self.profile.events, *self.second.events)

    @cached_property
    def count_noise(self) -> list[float]:
        """Standard deviation of the noise in the counts of each column."""
        return expected_noise(self.schema.columns, self.profile.budget)

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
        return [
            try_column(column, fineness, noise / self.num_rows, (threshold or 0.0) / self.num_rows)
            for column, noise, threshold in zip(self.schema.columns, self.count_noise, self.thresholds, strict=True)
        ]

    @cached_property
    def codebook(self) -> Codebook:
        """A codebook such as the profile would give."""
        codes = tuple(draws[len(draws) // 2].code for draws in self.draws)
        return Codebook(codes=codes, centred=self.settings.neighbours.centred)

    @cached_property
    def errors(self) -> list[tuple[float, float]]:
        """How far every column would be off: by itself, and as a side of two-way tables."""
        return [mean_errors(draws, ratio) for draws, ratio in zip(self.draws, self._level_ratios(), strict=True)]

    @cached_property
    def pair_noise(self) -> Floats | None:
        """Noise in the cells of every two-way table, as a count; 0 where nothing is measured.

        ``None`` where directions do not span the rows: there are no two-way tables then.
        """
        match self.second:
            case TableBudget() as budget:
                return plan_aggregates(self.settings, self.schema, self.codebook, budget, self.num_rows).two_way_noise()
            case SlicePlan() as slices:
                return self._noise_of_moments(slices) if self.settings.fills_rows else None

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

    def _level_ratios(self) -> list[float]:
        """Noise with which all tables of a column together tell its levels; infinite where none does."""
        match self.second, self.pair_noise:
            case TableBudget(), np.ndarray() as noise:
                return self._ratios_of_tables(noise)
            case _:
                return [math.inf] * len(self.schema.columns)

    def _ratios_of_tables(self, noise: Floats) -> list[float]:
        widths = np.array([block.width for block in self.codebook.blocks], dtype=float)
        variances = noise**2 * widths
        worth = np.divide(1.0, variances, out=np.zeros_like(variances), where=variances > 0).sum(axis=1)
        return [1.0 / (math.sqrt(one) * self.num_rows) if one > 0 else math.inf for one in worth]


def anticipate(settings: PrivacySettings, schema: Schema, num_rows: int) -> Anticipated:
    """Plan a release without a table."""
    profile = plan_profile(settings, schema, num_rows)
    second: TableBudget | SlicePlan
    match settings.kind:
        case ReleaseKind.AGGREGATES:
            second = plan_tables(settings, schema, profile.events)
        case ReleaseKind.RECORDS:
            second = plan_slices(settings, schema, profile.events)
    return Anticipated(settings=settings, schema=schema, num_rows=num_rows, profile=profile, second=second)


def _learns_categories(column: Column) -> bool:
    return column.kind.is_categorical and not column.is_declared
