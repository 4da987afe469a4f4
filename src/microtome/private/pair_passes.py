"""The passes of aggregates over a table once it has a codebook: tables of pairs, and chosen tables of three columns."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from microtome.errors import TableError
from microtome.private.aggregating import (
    AggregatePlan,
    AggregateTally,
    TableBudget,
    known_candidates,
    level_groups,
    plan_aggregates,
    round_candidates,
)
from microtome.private.level_tally import LevelTally, PairsAndTriples
from microtome.private.likeness import focus_groups
from microtome.private.passes import Published
from microtome.private.profile import Profile
from microtome.private.randomness import Randomness
from microtome.private.second_round import TripleTally, expected_tables
from microtome.private.weighting import TableBlock
from microtome.published import AggregateMechanism, Focus, Release, Triples
from microtome.published.table_margins import with_table_margins
from microtome.schema import Codebook, Schema
from microtome.schema.view import View
from microtome.settings import PrivacySettings

NUMBERS_A_COLUMN = 3
"""What counting a column holds for each record."""


class PairTablePass:
    """The second pass of aggregates: noisy tables of all pairs of columns.

    Where the sets of three columns of the second round do not depend on what is published here, they are counted too.
    """

    stage = "aggregates"
    _like: str | None = None

    def __init__(
        self,
        settings: PrivacySettings,
        schema: Schema,
        profile: Profile,
        budget: TableBudget,
        share: float,
        groups: NDArray[np.int64] | None = None,
        view: View | None = None,
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        self._view, self._share = View(schema=schema) if view is None else view, share
        codebook = self._view.with_steps(profile.codebook)
        self.width = NUMBERS_A_COLUMN * len(codebook.codes)
        self._plan = plan_aggregates(
            settings, schema, codebook, budget, profile.total, groups, self._view.measured_pairs(), weights
        )
        self._schema, self._codebook = schema, codebook
        self._pairs, self._triples = AggregateTally(codebook, self._plan), self._early_triples()
        counts = self._pairs if self._triples is None else PairsAndTriples(self._pairs, self._triples)
        self.tally: LevelTally[Any] = LevelTally(profile.codebook, counts, self._view.step_places)
        self._total = profile.total

    def _early_triples(self) -> TripleTally | None:
        """The tally of the second round's candidates, if these are known by now."""
        known = known_candidates(self._plan, self._codebook, len(self._schema.columns))
        if not self._plan.round.count or known is None:
            return None
        return TripleTally(_groups(self._codebook), list(combinations(known, 3)))

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
            profile_share=self._share,
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
        tables = self._pairs.publish(randomness)
        arrays = {f"aggregates/{name}": array for name, array in tables.items()}
        following: ChosenTriplesPass | Published | None = None
        if plan.round.count:
            known, second = self._known(tables["second"]), tables["second"][0]
            chosen = ChosenTriplesPass(
                self._schema, self._codebook, known, plan, mechanism, second, self._total, self._view, self._triples
            )
            following = chosen if self._triples is None else chosen.publish(randomness, num_records)
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
        super().__init__(settings, schema, known, budget, 0.0, focus_groups(settings, schema, like))
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

    Its cost is within the events of the tables of pairs. Candidates may have been counted with these (``counted``).
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
        counted: TripleTally | None = None,
    ) -> None:
        self.width = NUMBERS_A_COLUMN * len(codebook.codes)
        self._schema, self._plan, self._mechanism = schema, plan, mechanism
        self._groups = _groups(codebook)
        if counted is None:
            columns = round_candidates(plan, codebook, second, len(schema.columns))
            counted = TripleTally(self._groups, list(combinations(columns, 3)))
        self._expected = expected_tables(second, plan.pair_noise, known, self._groups, counted.candidates, total)
        profiled = replace(codebook, codes=codebook.codes[: len(schema.columns)])
        self.tally = LevelTally(profiled, counted, view.step_places)

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


def _groups(codebook: Codebook) -> list[NDArray[np.int64]]:
    return [level_groups(code) for code in codebook.codes]
