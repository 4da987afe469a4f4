"""The passes of aggregates over a table once it has a codebook: tables of pairs, and chosen tables of three columns."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Self

import numpy as np
from numpy.typing import NDArray

from microtome.errors import TableError
from microtome.private.aggregating import (
    AggregatePlan,
    AggregateTally,
    TableBudget,
    level_groups,
    plan_aggregates,
    round_candidates,
)
from microtome.private.level_tally import LevelTally
from microtome.private.likeness import focus_groups
from microtome.private.passes import Published
from microtome.private.plan import profile_share
from microtome.private.profile import Profile
from microtome.private.randomness import Randomness
from microtome.private.second_round import TripleTally, expected_tables
from microtome.private.weighting import TableBlock
from microtome.published import AggregateMechanism, Focus, Release, Triples
from microtome.published.table_margins import with_table_margins
from microtome.schema import Codebook, Schema
from microtome.schema.view import View
from microtome.settings import PrivacySettings

NUMBERS_A_COLUMN = 8
"""What counting a column holds for each record."""


class PairTablePass:
    """The second pass of aggregates: noisy tables of all pairs of columns."""

    stage = "aggregates"
    _like: str | None = None

    def __init__(
        self,
        settings: PrivacySettings,
        schema: Schema,
        profile: Profile,
        budget: TableBudget,
        groups: NDArray[np.int64] | None = None,
        view: View | None = None,
    ) -> None:
        self._view = View(schema=schema) if view is None else view
        codebook = self._view.with_steps(profile.codebook)
        self.width = NUMBERS_A_COLUMN * len(codebook.codes)
        self._plan = plan_aggregates(
            settings, schema, codebook, budget, profile.total, groups, self._view.measured_pairs()
        )
        self._settings, self._schema, self._codebook = settings, schema, codebook
        counts = AggregateTally(codebook, self._plan)
        self.tally = LevelTally(profile.codebook, counts, self._view.step_places)
        self._total = profile.total

    def add(self, block: TableBlock) -> None:
        """Count the rows of a block."""
        self.tally.add(block)

    def merge(self, other: Self) -> None:
        """Add what another pass of the same codebook has counted."""
        self.tally.merge(other.tally)

    def publish(self, randomness: Randomness, num_records: int) -> Published:
        """The tables under noise."""
        plan = self._plan
        mechanism = AggregateMechanism(
            pivot=None if plan.pivot is None else self._schema.names[plan.pivot],
            num_classes=plan.num_classes,
            profile_share=0.0 if self._like is not None else profile_share(self._settings, self._schema),
            first_noise=tuple(plan.first_noise.tolist()),
            pair_noise=tuple(tuple(row) for row in plan.pair_noise.tolist()),
            focus=None
            if plan.focus is None
            else Focus(
                column=self._schema.names[plan.focus],
                groups=tuple(plan.groups.tolist()),
                noise=tuple(tuple(row) for row in plan.triple_noise.tolist()),
            ),
            like=self._like,
        )
        tables = self.tally.counts.publish(randomness)
        arrays = {f"aggregates/{name}": array for name, array in tables.items()}
        following = None
        if plan.round.count:
            known = self._known(tables["second"])
            following = ChosenTriplesPass(
                self._schema, self._codebook, known, plan, mechanism, tables["second"][0], self._total, self._view
            )
        return Published(events=plan.events, arrays=arrays, mechanism=mechanism, following=following)

    def _known(self, second: NDArray[np.float64]) -> Codebook:
        """The codebook with all that is public of margins by now."""
        return self._codebook


class LikeTablePass(PairTablePass):
    """Tables on the codebook of another release, as the first and only look at all pairs.

    What the file says of margins is made of the published tables: nothing else was measured of them.
    """

    def __init__(
        self, settings: PrivacySettings, schema: Schema, known: Profile, budget: TableBudget, like: Release
    ) -> None:
        super().__init__(settings, schema, known, budget, focus_groups(settings, schema, like))
        self._like = like.codebook_owner

    def publish(self, randomness: Randomness, num_records: int) -> Published:
        """The tables under noise, and the codebook with their margins."""
        if num_records != self._total:
            raise TableError("the table changed while it was read; start again with a fixed copy")
        published = super().publish(randomness, num_records)
        codebook, arrays = self._known(published.arrays["aggregates/second"]).to_parts()
        return replace(published, codebook=codebook, total=self._total, arrays=published.arrays | arrays)

    def _known(self, second: NDArray[np.float64]) -> Codebook:
        return with_table_margins(self._codebook, second, self._plan.pair_noise, self._total)


class ChosenTriplesPass:
    """The second round of aggregates: tables of three columns, chosen by what the pairs before it do not tell.

    Its cost is within the events of the tables of pairs.
    """

    stage = "triples"

    def __init__(
        self,
        schema: Schema,
        codebook: Codebook,
        known: Codebook,
        plan: AggregatePlan,
        mechanism: AggregateMechanism,
        second: NDArray[np.float64],
        total: float,
        view: View,
    ) -> None:
        self.width = NUMBERS_A_COLUMN * len(codebook.codes)
        self._schema, self._plan, self._mechanism = schema, plan, mechanism
        self._groups = [level_groups(code) for code in codebook.codes]
        candidates = list(combinations(round_candidates(plan, codebook, second, len(schema.columns)), 3))
        self._expected = expected_tables(second, plan.pair_noise, known, self._groups, candidates, total)
        profiled = replace(codebook, codes=codebook.codes[: len(schema.columns)])
        self.tally = LevelTally(profiled, TripleTally(self._groups, candidates), view.step_places)

    def add(self, block: TableBlock) -> None:
        """Count the rows of a block."""
        self.tally.add(block)

    def merge(self, other: Self) -> None:
        """Add what another pass of the same candidates has counted."""
        self.tally.merge(other.tally)

    def publish(self, randomness: Randomness, num_records: int) -> Published:
        """The chosen tables under noise."""
        second = self._plan.round
        chosen, tables = self.tally.counts.publish(*self._expected, second, randomness, self._plan.digits)
        triples = Triples(
            columns=tuple((self._schema.names[a], self._schema.names[b], self._schema.names[c]) for a, b, c in chosen),
            groups=tuple(tuple(groups.tolist()) for groups in self._groups),
            noise=second.noise,
            step=second.step,
        )
        mechanism = replace(self._mechanism, triples=triples)
        return Published(events=(), arrays={"aggregates/triples": tables}, mechanism=mechanism)
