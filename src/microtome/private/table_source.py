"""A private table as a source of releases: its passes, in the order in which they are published.

[search ─► …] ─► profile ─► pair tables [─► chosen triples]   kind aggregates
                 └► sliced rows, shuffled             kind records
            another's codebook ─► pair tables [─► …]  kind aggregates, like another release
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from microtome.accounting import Event
from microtome.errors import MicrotomeError, ParameterError, SchemaError, TableError
from microtome.private.aggregating import (
    TableBudget,
    plan_tables,
    table_bytes,
)
from microtome.private.domain import Domain
from microtome.private.likeness import check_like
from microtome.private.memory import check_memory, profile_bytes
from microtome.private.pair_passes import NUMBERS_A_COLUMN, ChosenTriplesPass, LikeTablePass, PairTablePass
from microtome.private.passes import Pass, Plan, Published, Rows, Shard, Told
from microtome.private.people import PeopleTable
from microtome.private.plan import (
    SlicePlan,
    fineness_of,
    padded_rows,
    plan_profile,
    plan_slices,
)
from microtome.private.profile import Profile, Tally, least_noise
from microtome.private.profile_budget import ProfileBudget
from microtome.private.randomness import GRID, Randomness
from microtome.private.searching import Declared, SearchPass, start_search
from microtome.private.sliced_rows import SlicedRows
from microtome.private.slicing import SlicingMechanism, draw_directions
from microtome.private.table import Counter, PrivateTable, RowWriter, narrowed
from microtome.private.weighting import TableBlock, weighting_of
from microtome.progress import Tell
from microtome.published import (
    Mechanism,
    Release,
    ReleaseKind,
    check_space,
)
from microtome.schema import LinkedSchema, Schema, largest_dim
from microtome.schema.margins import rare_share
from microtome.schema.view import View, view_of
from microtome.settings import PrivacySettings, RunSettings

_COPIES_IN_MEMORY = 4
"""Tables while they are counted, noised and written."""


@dataclass(frozen=True, kw_only=True)
class TableSource:
    """A private table and its schema.

    Attributes:
        table: The private rows; of people, those that were kept of each.
        schema: What is public about them.
        null_records: Empty records beyond those of the table, which no file format can express.
        foresee: Told the number of records before anything is spent; refuses what would be worth nothing.
        like: The release whose codebook is to be used instead of a profile: public by now, so it costs nothing.
    """

    table: PrivateTable | PeopleTable
    schema: Schema
    null_records: int = 0
    foresee: Callable[[PrivacySettings, Schema, int | None, Tell], None] = lambda *_: None
    like: Release | None = None

    def __post_init__(self) -> None:
        if (self.schema.unit is not None) != self.table.is_of_people:
            raise MicrotomeError(f"{self.origin}: rows of people are no table of one row each; nothing is released")

    @cached_property
    def view(self) -> View:
        """What is measured of its rows."""
        return view_of(self.schema)

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
        if self.table.counter is None:
            return None
        return TableEngine(counter=self.table.counter, writer=self.table.writer, schema=self.view.schema)

    def blocks(self, num_records: int, counting: Pass | None = None) -> Iterator[TableBlock]:
        """All rows in blocks, with the columns that a pass looks at."""
        match counting:
            case SearchPass() | ProfilePass() | PairTablePass() | ChosenTriplesPass():
                return self.table.pieces(narrowed(self.view.schema, counting.tally.columns), num_records)
            case _:
                return self.table.blocks(self.view.schema, num_records)

    def schema_document(self) -> Mapping[str, Any]:
        """The schema, for the file."""
        return self.schema.published().to_dict()

    def plan(self, settings: PrivacySettings, run: RunSettings) -> Plan:
        """The profile, and what follows it."""
        require_confirmed(self.schema)
        self.table.check_columns(self.schema)
        schema, weighting = self.view.schema, weighting_of(self.view.most_rows)
        if not settings.kind.is_of_sums:
            _require_one_row(self.view, self.origin)
        if self.like is not None:
            _require_no_unit(self.schema)
            check_like(settings, self.schema, self.like)
        self.foresee(settings, schema, self.num_records, run.tell)
        if self.like is not None:
            return self._plan_like(settings, self.like)
        profile = plan_profile(settings, schema, self.num_records, weighting)
        second: _Tables | _Rows
        match settings.kind:
            case ReleaseKind.AGGREGATES:
                tables = plan_tables(settings, schema, profile.events, weighting)
                second = _Tables(settings, self.view, tables, profile.share)
            case ReleaseKind.RECORDS:
                if self.table.counter is not None:
                    self._check_writer(settings)
                slices = plan_slices(settings, schema, profile.events)
                second = _Rows(settings, schema, run, slices, profile.share)

        def check_room(num_records: int, output: Path) -> None:
            longest = longest_row(settings, schema, profile.budget, num_records)
            size = second.room(longest, num_records, self.origin) + profile_bytes(schema)
            check_space(output.parent, size)

        def profile_of(domains: Mapping[int, Domain], budget: ProfileBudget, counted: Declared) -> ProfilePass:
            return ProfilePass(settings, Tally(schema, domains, counted), budget, profile.events, second.following)

        return Plan(
            events=(*profile.events, *second.events),
            first=start_search(schema, profile.budget, profile_of),
            check_room=check_room,
            unit=None if self.schema.unit is None else self.schema.unit.key,
        )

    def _check_writer(self, settings: PrivacySettings) -> None:
        """Refuse records of a table whose rows are not read here, unless somebody makes noisy ones of them there."""
        if self.table.writer is None:
            raise TableError(
                f"{self.origin}: a release of records adds noise to every row, and so has to read them here; take kind "
                "aggregates, or give the rows as a file or a frame"
            )
        if settings.subsample is not None:
            raise TableError(f"{self.origin}: records are not sampled there; leave subsample out")

    def _plan_like(self, settings: PrivacySettings, like: Release) -> Plan:
        """Tables on a codebook that is public: no search, no profile, and all of the budget for the tables."""
        if self.num_records is None:
            raise TableError(f"{self.origin}: its number of records must be known before its tables are planned")
        tables = _Tables(settings, self.view, plan_tables(settings, self.schema, ()), 0.0)
        codebook = replace(like.codebook, centred=settings.neighbours.centred)

        def check_room(num_records: int, output: Path) -> None:
            size = tables.room(codebook.dim, num_records, self.origin) + profile_bytes(self.schema)
            check_space(output.parent, size)

        known = Profile(codebook=codebook, total=float(self.num_records))
        first = LikeTablePass(settings, self.schema, known, tables.budget, like)
        return Plan(events=tables.events, first=first, check_room=check_room)


def _require_no_unit(schema: Schema) -> None:
    if schema.unit is not None:
        raise SchemaError("a release like another is of tables of one row a person; this schema has a unit")


@dataclass(frozen=True, kw_only=True)
class TableEngine:
    """Whoever can count the rows of a table, told what is public about it."""

    counter: Counter
    writer: RowWriter | None
    schema: Schema

    def held(self) -> AbstractContextManager[None]:
        """The table as it is now, for as long as a release takes."""
        return self.counter.held()

    def fill(self, counting: Pass, block_records: int, told: Told) -> int:
        """Show all rows to a pass; gives their number."""
        match counting:
            case SearchPass() | ProfilePass() | PairTablePass() | ChosenTriplesPass():
                return self.counter.fill(counting.tally, self.schema, block_records, told)
            case _:
                raise MicrotomeError(f"{type(counting).__name__} is no pass over a table; nothing is released")

    def write(self, rows: Rows, num_records: int, folder: Path, secret: bytes, told: Told) -> list[Shard]:
        """Have all rows written, under noise."""
        match rows:
            case SlicedRows() if self.writer is not None:
                return self.writer.write(rows, num_records, self.schema, folder, secret, told)
            case _:
                raise MicrotomeError(f"{type(rows).__name__} is not written where records are; nothing is released")


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
        self.width = NUMBERS_A_COLUMN * tally.num_columns
        self._settings, self._budget, self._events, self._following = settings, budget, events, following
        self.tally = tally

    def add(self, block: TableBlock) -> None:
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
    view: View
    budget: TableBudget
    share: float

    @property
    def events(self) -> tuple[Any, ...]:
        return self.budget.events

    def following(self, profile: Profile, num_records: int, randomness: Randomness) -> Pass:
        return PairTablePass(self.settings, self.view.schema, profile, self.budget, self.share, view=self.view)

    def room(self, longest: int, num_records: int, origin: str) -> int:
        """Bytes of the tables; memory for them is checked at once."""
        size = table_bytes(self.settings, self.view.schema, longest * (2 if self.view.steps else 1))
        check_memory(_COPIES_IN_MEMORY * size, origin)
        return size


@dataclass(frozen=True)
class _Rows:
    """What follows the profile of a release of records."""

    settings: PrivacySettings
    schema: Schema
    run: RunSettings
    slices: SlicePlan
    share: float

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
            profile_share=self.share,
            subsample=self.settings.subsample,
            capacity=self.settings.capacity,
        )
        return Published(events=plan.events, arrays={"directions": directions}, mechanism=mechanism, rows=rows)

    def room(self, longest: int, num_records: int, origin: str) -> int:
        """Bytes of rows and directions; memory for drawing these is checked at once."""
        law = self.slices.for_rows(longest).law
        check_memory(_COPIES_IN_MEMORY * 8 * law.dim * law.count, origin)
        return 2 * padded_rows(self.settings, num_records) * law.count + 8 * longest * law.count


def longest_row(settings: PrivacySettings, schema: Schema, budget: ProfileBudget, num_records: int) -> int:
    """The longest that rows can be under this noise. Only public facts and the number of records enter."""
    rare = [rare_share(scale, num_records) for scale in least_noise(schema.columns, budget)]
    return largest_dim(schema, fineness_of(settings, len(schema.columns)), rare) or 0


def _require_one_row(view: View, origin: str) -> None:
    if view.most_rows > 1:
        raise ParameterError(
            f"{origin}: a release of records adds noise to one row a person, and its unit has max_rows "
            f"{view.most_rows}; take kind aggregates, or say 'max_rows: 1' to have one row of each, chosen by lot"
        )


def require_confirmed(schema: Schema | LinkedSchema) -> None:
    """Refuse types that nobody has stated: whether a column is whole, or has gaps, is a fact about records."""
    if schema.drafted:
        raise SchemaError(
            "the schema is a draft: its types were read off the table, and would be published though one record may "
            "have made them what they are; read it, correct what is not public knowledge, and confirm it "
            "('microtome schema confirm FILE', or delete the line 'drafted: true'; schema.confirm() in Python)"
        )
