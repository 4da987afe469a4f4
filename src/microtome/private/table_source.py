"""A private table as a source of releases: its passes, in the order in which they are published.

[search ─► …] ─► profile ─► pair tables [─► chosen triples]   kind aggregates
                 └► sliced rows, shuffled             kind records
            another's codebook ─► pair tables [─► …]  kind aggregates, like another release
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microtome.accounting import Event
from microtome.errors import MicrotomeError, SchemaError, TableError
from microtome.private.aggregating import (
    AggregatePlan,
    AggregateTally,
    TableBudget,
    level_groups,
    plan_aggregates,
    plan_tables,
    round_candidates,
    table_bytes,
)
from microtome.private.domain import Domain
from microtome.private.level_tally import LevelTally
from microtome.private.likeness import check_like, focus_groups
from microtome.private.memory import check_memory, profile_bytes
from microtome.private.passes import Pass, Plan, Published
from microtome.private.plan import (
    ProfilePlan,
    SlicePlan,
    fineness_of,
    padded_rows,
    plan_profile,
    plan_slices,
    profile_share,
)
from microtome.private.profile import Profile, Tally, least_noise
from microtome.private.profile_budget import ProfileBudget
from microtome.private.randomness import GRID, Randomness
from microtome.private.searching import SearchPass, start_search
from microtome.private.second_round import TripleTally, expected_tables
from microtome.private.sliced_rows import SlicedRows
from microtome.private.slicing import SlicingMechanism, draw_directions
from microtome.private.table import Counter, PrivateTable
from microtome.progress import Tell
from microtome.published import (
    AggregateMechanism,
    Focus,
    Mechanism,
    Release,
    ReleaseKind,
    Triples,
    check_space,
)
from microtome.published.table_margins import with_table_margins
from microtome.schema import Codebook, Schema, largest_dim
from microtome.schema.margins import rare_share
from microtome.settings import PrivacySettings, RunSettings

_COPIES_IN_MEMORY = 4
"""Tables while they are counted, noised and written."""
_NUMBERS_A_COLUMN = 8
"""What counting a column holds for each record."""


@dataclass(frozen=True, kw_only=True)
class TableSource:
    """A private table and its schema.

    Attributes:
        table: The private rows.
        schema: What is public about them.
        null_records: Empty records beyond those of the table, which no file format can express.
        foresee: Told the number of records before anything is spent; refuses what would be worth nothing.
        like: The release whose codebook is to be used instead of a profile: public by now, so it costs nothing.
    """

    table: PrivateTable
    schema: Schema
    null_records: int = 0
    foresee: Callable[[PrivacySettings, Schema, int | None, Tell], None] = lambda *_: None
    like: Release | None = None

    @property
    def origin(self) -> str:
        """What to call it in messages."""
        return self.table.origin

    @property
    def num_records(self) -> int | None:
        """Rows where the table says so without being read."""
        return None if self.table.num_rows is None else self.table.num_rows + self.null_records

    @property
    def engine(self) -> TableEngine | None:
        """Who counts its rows where they are."""
        return None if self.table.counter is None else TableEngine(counter=self.table.counter, schema=self.schema)

    def blocks(self, num_records: int) -> Iterator[pa.Table]:
        """All rows in blocks."""
        return self.table.blocks(self.schema, num_records)

    def schema_document(self) -> Mapping[str, Any]:
        """The schema, for the file."""
        return self.schema.published().to_dict()

    def plan(self, settings: PrivacySettings, run: RunSettings) -> Plan:
        """The profile, and what follows it."""
        _require_confirmed(self.schema)
        self.table.check_columns(self.schema)
        self.foresee(settings, self.schema, self.num_records, run.tell)
        if self.like is not None:
            return self._plan_like(settings, self.like)
        profile = plan_profile(settings, self.schema)
        second: _Tables | _Rows
        match settings.kind:
            case ReleaseKind.AGGREGATES:
                second = _Tables(settings, self.schema, plan_tables(settings, self.schema, profile.events))
            case ReleaseKind.RECORDS:
                if self.table.counter is not None:
                    raise TableError(
                        f"{self.origin}: a release of records adds noise to every row, and so has to read them here; "
                        "take kind aggregates, or give the rows as a file or a frame"
                    )
                second = _Rows(settings, self.schema, run, plan_slices(settings, self.schema, profile.events))

        def check_room(num_records: int, output: Path) -> None:
            longest = _longest(settings, self.schema, profile, num_records)
            size = second.room(longest, num_records, self.origin) + profile_bytes(self.schema)
            check_space(output.parent, size)

        def profile_of(domains: Mapping[int, Domain], budget: ProfileBudget) -> ProfilePass:
            return ProfilePass(settings, Tally(self.schema, domains), budget, profile.events, second.following)

        return Plan(
            events=(*profile.events, *second.events),
            first=start_search(self.schema, profile.budget, profile_of),
            check_room=check_room,
        )

    def _plan_like(self, settings: PrivacySettings, like: Release) -> Plan:
        """Tables on a codebook that is public: no search, no profile, and all of the budget for the tables."""
        check_like(settings, self.schema, like)
        if self.num_records is None:
            raise TableError(f"{self.origin}: its number of records must be known before its tables are planned")
        tables = _Tables(settings, self.schema, plan_tables(settings, self.schema, ()))
        codebook = replace(like.codebook, centred=settings.neighbours.centred)

        def check_room(num_records: int, output: Path) -> None:
            size = tables.room(codebook.dim, num_records, self.origin) + profile_bytes(self.schema)
            check_space(output.parent, size)

        known = Profile(codebook=codebook, total=float(self.num_records))
        first = LikeTablePass(settings, self.schema, known, tables.budget, like)
        return Plan(events=tables.events, first=first, check_room=check_room)


@dataclass(frozen=True, kw_only=True)
class TableEngine:
    """Whoever can count the rows of a table, told what is public about it."""

    counter: Counter
    schema: Schema

    def held(self) -> AbstractContextManager[None]:
        """The table as it is now, for as long as a release takes."""
        return self.counter.held()

    def fill(self, counting: Pass, block_records: int) -> int:
        """Show all rows to a pass; gives their number."""
        match counting:
            case SearchPass() | ProfilePass() | PairTablePass() | ChosenTriplesPass():
                return self.counter.fill(counting.tally, self.schema, block_records)
            case _:
                raise MicrotomeError(f"{type(counting).__name__} is no pass over a table; nothing is released")


class ProfilePass:
    """Noisy histograms of all columns, and the codebook that everything after it is built on.

    Its events are those of the search before it too: whatever that has found, both together cost the same.
    """

    stage = "profile"

    def __init__(
        self,
        settings: PrivacySettings,
        tally: Tally,
        budget: ProfileBudget,
        events: tuple[Event, ...],
        following: Callable[[Profile, int, Randomness], Pass | Published],
    ) -> None:
        self.width = _NUMBERS_A_COLUMN * tally.num_columns
        self._settings, self._budget, self._events, self._following = settings, budget, events, following
        self.tally = tally

    def add(self, block: pa.Table) -> None:
        """Count the rows of a block."""
        self.tally.add(block)

    def merge(self, other: Self) -> None:
        """Add what another profile of the same schema has counted."""
        self.tally.merge(other.tally)

    def publish(self, randomness: Randomness, num_records: int) -> Published:
        """The codebook, and what is to follow it."""
        profile = self.tally.publish(
            self._budget,
            randomness,
            num_records=num_records,
            centred=self._settings.neighbours.centred,
            fineness=fineness_of(self._settings, self.tally.num_columns),
        )
        codebook, arrays = profile.codebook.to_parts()
        return Published(
            events=self._events,
            arrays=arrays,
            codebook=codebook,
            total=profile.total,
            following=self._following(profile, num_records, randomness),
        )


@dataclass(frozen=True)
class _Tables:
    """What follows the profile of a release of aggregates."""

    settings: PrivacySettings
    schema: Schema
    budget: TableBudget

    @property
    def events(self) -> tuple[Any, ...]:
        return self.budget.events

    def following(self, profile: Profile, num_records: int, randomness: Randomness) -> Pass:
        return PairTablePass(self.settings, self.schema, profile, self.budget)

    def room(self, longest: int, num_records: int, origin: str) -> int:
        """Bytes of the tables; memory for them is checked at once."""
        size = table_bytes(self.settings, self.schema, longest)
        check_memory(_COPIES_IN_MEMORY * size, origin)
        return size


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
    ) -> None:
        codebook = profile.codebook
        self.width = _NUMBERS_A_COLUMN * len(codebook.codes)
        self._plan = plan_aggregates(settings, schema, codebook, budget, profile.total, groups)
        self._settings, self._schema, self._codebook = settings, schema, codebook
        self.tally, self._total = LevelTally(codebook, AggregateTally(codebook, self._plan)), profile.total

    def add(self, block: pa.Table) -> None:
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
                self._schema, self._codebook, known, plan, mechanism, tables["second"][0], self._total
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
    ) -> None:
        self.width = _NUMBERS_A_COLUMN * len(codebook.codes)
        self._schema, self._codebook, self._plan, self._mechanism = schema, codebook, plan, mechanism
        self._groups = [level_groups(code) for code in codebook.codes]
        candidates = list(combinations(round_candidates(plan, codebook, second), 3))
        self._expected = expected_tables(second, plan.pair_noise, known, self._groups, candidates, total)
        self._tally = TripleTally(self._groups, candidates)
        self._expected = expected_tables(second, plan.pair_noise, codebook, self._groups, candidates, total)
        self.tally = LevelTally(codebook, TripleTally(self._groups, candidates))

    def add(self, block: pa.Table) -> None:
        """Count the rows of a block."""
        self.tally.add(block)

    def merge(self, other: Self) -> None:
        """Add what another pass of the same candidates has counted."""
        self.tally.merge(other.tally)

    def publish(self, randomness: Randomness, num_records: int) -> Published:
        """The chosen tables under noise."""
        second = self._plan.round
        chosen, tables = self.tally.counts.publish(*self._expected, second, randomness)
        triples = Triples(
            columns=tuple((self._schema.names[a], self._schema.names[b], self._schema.names[c]) for a, b, c in chosen),
            groups=tuple(tuple(groups.tolist()) for groups in self._groups),
            noise=second.noise,
            step=second.step,
        )
        mechanism = replace(self._mechanism, triples=triples)
        return Published(events=(), arrays={"aggregates/triples": tables}, mechanism=mechanism)


@dataclass(frozen=True)
class _Rows:
    """What follows the profile of a release of records."""

    settings: PrivacySettings
    schema: Schema
    run: RunSettings
    slices: SlicePlan

    @property
    def events(self) -> tuple[Any, ...]:
        return self.slices.events

    def following(self, profile: Profile, num_records: int, randomness: Randomness) -> Published:
        plan = self.slices.for_rows(profile.codebook.dim)
        directions = draw_directions(plan.law, randomness, profile.codebook.dim)
        slicing = SlicingMechanism(
            directions=directions,
            noise_scale=plan.noise_scale,
            nonnegative=not self.settings.neighbours.centred,
            randomness=randomness,
        )
        rows = SlicedRows(
            codebook=profile.codebook,
            slicing=slicing,
            num_rows=padded_rows(self.settings, num_records),
            subsample=self.settings.subsample,
            run=self.run,
        )
        mechanism = Mechanism(
            directions=plan.law,
            noise_scale=plan.noise_scale,
            grid_step=plan.noise_scale / GRID,
            row_distance=plan.row_distance,
            profile_share=profile_share(self.settings, self.schema),
            subsample=self.settings.subsample,
            capacity=self.settings.capacity,
        )
        return Published(events=plan.events, arrays={"directions": directions}, mechanism=mechanism, rows=rows)

    def room(self, longest: int, num_records: int, origin: str) -> int:
        """Bytes of rows and directions; memory for drawing these is checked at once."""
        law = self.slices.for_rows(longest).law
        check_memory(_COPIES_IN_MEMORY * 8 * law.dim * law.count, origin)
        return 2 * padded_rows(self.settings, num_records) * law.count + 8 * longest * law.count


def _longest(settings: PrivacySettings, schema: Schema, profile: ProfilePlan, num_records: int) -> int:
    """The longest that rows can be under this noise. Only public facts and the number of records enter."""
    rare = [rare_share(scale, num_records) for scale in least_noise(schema.columns, profile.budget)]
    return largest_dim(schema, fineness_of(settings, len(schema.columns)), rare) or 0


def _require_confirmed(schema: Schema) -> None:
    """Refuse types that nobody has stated: whether a column is whole, or has gaps, is a fact about records."""
    if schema.drafted:
        raise SchemaError(
            "the schema is a draft: its types were read off the table, and would be published though one record may "
            "have made them what they are; read it, correct what is not public knowledge, and confirm it "
            "('microtome schema confirm FILE', or delete the line 'drafted: true'; schema.confirm() in Python)"
        )
