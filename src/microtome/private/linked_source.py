"""Several private tables as one source of releases: a view of each, one promise for a person and everything behind."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from microtome.errors import ParameterError
from microtome.private.aggregating import TableBudget, plan_tables, table_bytes
from microtome.private.domain import Domain
from microtome.private.linked_passes import Profiled, ViewsPass
from microtome.private.linked_people import LinkedPeople
from microtome.private.memory import check_memory, profile_bytes
from microtome.private.pair_passes import PairTablePass
from microtome.private.passes import Pass, Plan
from microtome.private.plan import plan_profile
from microtome.private.profile import Profile, Tally, total_weight
from microtome.private.profile_budget import ProfileBudget
from microtome.private.randomness import Randomness
from microtome.private.searching import Declared, start_search
from microtome.private.table_source import ProfilePass, longest_row, require_confirmed
from microtome.private.table_weights import weight_of_all, weights_of_views
from microtome.private.weighting import DIGITS, WeightedBlock, Weighting
from microtome.published import check_space
from microtome.schema import LinkedSchema, Schema
from microtome.schema.linked_view import LinkedView, inheriting, linked_views
from microtome.settings import MOST_TRIPLES, NO_FOCUS, NO_PIVOT, TARGET, PrivacySettings, RunSettings

_ROUNDED_DOWN, _ROUNDED_UP = 1.0 - 1e-12, 1.0 + 1e-12
_LEAST = 1e-9
"""Part of the largest view's budget of tables that every view has at least."""


@dataclass(frozen=True, kw_only=True)
class LinkedSource:
    """People and all that hangs on them.

    Attributes:
        people: The records of all views.
        schema: What is public about the tables.
        count_is_public: Whether the number of people may be known.
        null_records: Empty people beyond those of the tables.
    """

    people: LinkedPeople
    schema: LinkedSchema
    count_is_public: bool
    null_records: int = 0
    engine: None = None

    @property
    def origin(self) -> str:
        """What to call them in messages."""
        return f"table {self.schema.root.name!r}"

    @property
    def num_records(self) -> int | None:
        """The number of people, where it is public."""
        return self.people.num_people + self.null_records if self.count_is_public else None

    def blocks(self, num_records: int, counting: Pass | None = None) -> Iterator[WeightedBlock]:
        """All records of all views in blocks."""
        return self.people.blocks(num_records)

    def schema_document(self) -> Mapping[str, Any]:
        """The schema, for the file."""
        return self.schema.published().to_dict()

    @cached_property
    def views(self) -> dict[str, LinkedView]:
        """What is measured of each table."""
        return linked_views(self.schema)

    def plan(self, settings: PrivacySettings, run: RunSettings) -> Plan:
        """Profiles of all views, then their tables."""
        wanted = _for_views(settings)
        require_confirmed(self.schema)
        weighting = Weighting(digits=DIGITS, most_rows=max(one.view.most_rows for one in self.views.values()))
        every = _all_columns(self.views)
        profile = plan_profile(wanted, every, self.num_records, weighting)
        tables = plan_tables(wanted, every, profile.events, weighting)
        budgets = self._profile_budgets(profile.budget, protects_count=wanted.neighbours.protects_count)

        def tables_of(profiles: Mapping[str, Profile]) -> Mapping[str, Pass]:
            return self._tables(wanted, tables, profile.share, profiles)

        def check_room(num_records: int, output: Path) -> None:
            size = 0
            for name, one in self.views.items():
                longest = longest_row(wanted, one.view.schema, budgets[name], num_records)
                size += table_bytes(wanted, one.view.schema, 2 * longest) + profile_bytes(one.view.schema)
            check_memory(size, self.origin)
            check_space(output.parent, size)

        return Plan(
            events=(*profile.events, *tables.events),
            first=ViewsPass(
                {name: self._first(wanted, name, budgets[name]) for name in self.views},
                profile_events=profile.events,
                table_events=tables.events,
                tables=tables_of,
                share=profile.share,
                root=self.schema.root.name,
            ),
            check_room=check_room,
            unit=self.schema.root.key or self.schema.root.name,
        )

    def _first(self, settings: PrivacySettings, name: str, budget: ProfileBudget) -> Pass:
        """The search of a view, or its profile; what follows waits for the profiles of all."""
        schema = self.views[name].view.own_schema

        def profile_of(domains: Mapping[int, Domain], left: ProfileBudget, counted: Declared) -> ProfilePass:
            return ProfilePass(settings, Tally(schema, domains, counted), left, (), _profiled)

        return start_search(schema, budget, profile_of)

    def _profile_budgets(self, budget: ProfileBudget, *, protects_count: bool) -> dict[str, ProfileBudget]:
        """How the views share what the profile may spend: by what their columns weigh."""
        weights = {
            name: total_weight(one.view.own_schema.columns, protects_count=protects_count)
            for name, one in self.views.items()
        }
        whole = sum(weights.values())
        return {
            name: replace(
                budget,
                mu=budget.mu * math.sqrt(weight / whole) * _ROUNDED_DOWN,
                weight=weight,
                weighting=Weighting(digits=DIGITS, most_rows=self.views[name].view.most_rows),
            )
            for name, weight in weights.items()
        }

    def _tables(
        self, settings: PrivacySettings, budget: TableBudget, spent: float, profiles: Mapping[str, Profile]
    ) -> Mapping[str, Pass]:
        """The tables of all views, which share the budget by what each of them can tell."""
        codebooks = inheriting(self.views, {name: one.codebook for name, one in profiles.items()})
        people = profiles[self.schema.root.name].total
        weights = dict(
            zip(
                self.views,
                weights_of_views(
                    [one.view.with_steps(codebooks[name]) for name, one in self.views.items()],
                    [one.view.measured_pairs() for one in self.views.values()],
                    [_target(one) for one in self.views.values()],
                    people / (budget.unit_noise * math.sqrt(settings.neighbours.cells_changed)),
                ),
                strict=True,
            )
        )
        shares = {name: weight_of_all(one) for name, one in weights.items()}
        least = max(_LEAST * max(shares.values()), np.finfo(float).tiny)
        shares = {name: max(share, least) for name, share in shares.items()}
        whole = sum(shares.values())
        passes: dict[str, Pass] = {}
        for name, one in self.views.items():
            profile = replace(profiles[name], codebook=codebooks[name])
            noise = budget.unit_noise * math.sqrt(whole / shares[name]) * _ROUNDED_UP
            own = replace(budget, unit_noise=noise, events=())
            passes[name] = PairTablePass(
                settings, one.view.schema, profile, own, spent, view=one.view, weights=weights[name]
            )
        return passes


def _profiled(profile: Profile, num_records: int, randomness: Randomness) -> Profiled:
    """What follows the profile of a view by itself: nothing yet."""
    del num_records, randomness
    return Profiled(events=(), arrays={}, profile=profile)


def _all_columns(views: Mapping[str, LinkedView]) -> Schema:
    """The columns that are profiled in any view, for planning."""
    return Schema(
        columns=tuple(
            replace(column, name=f"{name}: {column.name}")
            for name, one in views.items()
            for column in one.view.own_schema.columns
        )
    )


def _target(linked: LinkedView) -> int | None:
    """The place of the column of a table that will be asked for."""
    target = linked.table.schema.target
    return None if target is None else linked.view.schema.names.index(target)


def _for_views(settings: PrivacySettings) -> PrivacySettings:
    """The settings with which views are measured: pairs of columns, and nothing chosen beside them."""
    problems = []
    if not settings.kind.is_of_sums:
        problems.append(f"kind is {settings.kind}; linked tables are released as aggregates")
    if settings.pivot != NO_PIVOT or settings.focus not in (TARGET, NO_FOCUS):
        problems.append("a pivot and a focus are for a single table; linked tables have none")
    if settings.triples not in (0, MOST_TRIPLES):
        problems.append("triples are for a single table; linked tables have none")
    if problems:
        raise ParameterError("\n".join(problems))
    return replace(settings, focus=NO_FOCUS, triples=0)
