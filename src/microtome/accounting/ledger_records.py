"""What a ledger is made of: records that are only ever added, and the state that they amount to.

    reserve   what is about to be done to a data set; counts from now on
    settle    it was done, and this is what came of it
    cancel    it ended before any noise was drawn: nothing was published, and it counts no longer
    budget    the most that may be spent on a data set from now on

Nothing is taken back by changing a record. Budgets and the status of a reservation are read off all of them in turn,
and a sequence that no ledger can have written is an error.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self, assert_never

from microtome.accounting.accountant import Accountant
from microtome.accounting.events import Event
from microtome.accounting.neighbours import Neighbours
from microtome.accounting.ranges import require_positive, require_probability
from microtome.errors import ParameterError
from microtome.json_record import Json, JsonRecord, TaggedRecord, record_of_kind

RESERVED, RELEASED, CANCELLED = "reserved", "released", "cancelled"
OF_PEOPLE = ", a person's rows together"
"""How the purpose of a release ends that protects people and not rows; earlier books say it nowhere else."""


@dataclass(frozen=True, kw_only=True)
class Budget(JsonRecord):
    """The most that may ever be spent on a data set."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        require_positive("epsilon", self.epsilon)
        require_probability("delta", self.delta)


@dataclass(frozen=True, kw_only=True)
class Entry(JsonRecord):
    """One touch of a data set.

    Attributes:
        id: unique name of the entry.
        dataset: name of the data set.
        time: when it was reserved, UTC, ISO 8601.
        purpose: what for, in words.
        neighbours: the relation that the events are counted under.
        accountant: the accountant by which the touch was planned.
        events: what is done.
        status: "reserved" at first, then "released" once the result was written, or "cancelled". The first two count.
        artefact: checksum of the result, if written.
        unit: the column that says whose a row is, where people are protected and not rows.
    """

    id: str
    dataset: str
    time: str
    purpose: str
    neighbours: Neighbours
    accountant: Accountant
    events: tuple[Event, ...]
    status: str = RESERVED
    artefact: str | None = None
    unit: str | None = None

    def __post_init__(self) -> None:
        if not self.events:
            raise ParameterError(f"entry {self.id!r} of data set {self.dataset!r} needs at least one event, got none")

    @property
    def is_open(self) -> bool:
        """Whether the work that it pays for is neither done nor given up."""
        return self.status == RESERVED

    @property
    def is_of_people(self) -> bool:
        """Whether it protects everything that a person contributed, and not each row by itself."""
        return self.unit is not None or self.purpose.endswith(OF_PEOPLE)

    @property
    def counts(self) -> bool:
        """Whether the entry is part of what was spent."""
        return self.status != CANCELLED


@dataclass(frozen=True, kw_only=True)
class Reserve(TaggedRecord):
    """The first record of an entry, which is written in its place, but for what becomes of it later."""

    kind: ClassVar[str] = "reserve"
    entry: Entry

    def to_dict(self) -> Json:
        """The record as a JSON object."""
        left_out = ["status", "artefact", *(["unit"] if self.entry.unit is None else [])]
        return {"kind": self.kind, **{name: one for name, one in self.entry.to_dict().items() if name not in left_out}}

    @classmethod
    def from_fields(cls, given: Mapping[str, Any]) -> Self:
        """The record of an entry's fields."""
        return cls(entry=Entry.from_fields(given))


@dataclass(frozen=True, kw_only=True)
class Settle(TaggedRecord):
    """An entry's result was written; ``time`` is None where a book of version 1 did not say when."""

    kind: ClassVar[str] = "settle"
    id: str
    artefact: str
    time: str | None

    def closed(self, entry: Entry) -> Entry:
        """The entry after this."""
        return replace(entry, status=RELEASED, artefact=self.artefact)


@dataclass(frozen=True, kw_only=True)
class Cancel(TaggedRecord):
    """An entry came to nothing."""

    kind: ClassVar[str] = "cancel"
    id: str
    time: str | None

    def closed(self, entry: Entry) -> Entry:
        """The entry after this."""
        return replace(entry, status=CANCELLED)


@dataclass(frozen=True, kw_only=True)
class SetBudget(TaggedRecord):
    """A data set has this budget from now on; ``time`` is None where a book of version 1 did not say when."""

    kind: ClassVar[str] = "budget"
    dataset: str
    budget: Budget
    time: str | None

    def to_dict(self) -> Json:
        """The record as a JSON object, in which the budget is no object of its own."""
        limits = {"epsilon": float(self.budget.epsilon), "delta": float(self.budget.delta)}
        return {"kind": self.kind, "dataset": self.dataset, **limits, "time": self.time}

    @classmethod
    def from_fields(cls, given: Mapping[str, Any]) -> Self:
        """The record, its budget put together."""
        limits = {name: given[name] for name in ("epsilon", "delta") if name in given}
        return super().from_fields({**{name: given[name] for name in given if name not in limits}, "budget": limits})


Record = Reserve | Settle | Cancel | SetBudget
RECORDS: tuple[type[Record], ...] = (Reserve, Settle, Cancel, SetBudget)


@dataclass(frozen=True)
class Book:
    """Everything a ledger knows."""

    records: tuple[Record, ...] = ()

    def adding(self, record: Record) -> "Book":
        """The book with one more record; refused where it does not follow from those before."""
        book = Book((*self.records, record))
        _ = book.entries
        return book

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries as they are now, in the order of their reservation."""
        return self._read_in_turn[0]

    @property
    def budget_changes(self) -> tuple[SetBudget, ...]:
        """All budgets that were ever set, in turn."""
        return self._read_in_turn[1]

    @cached_property
    def budgets(self) -> Mapping[str, Budget]:
        """The budgets that are in force, by data set."""
        return {record.dataset: record.budget for record in self.budget_changes}

    @cached_property
    def _read_in_turn(self) -> tuple[tuple[Entry, ...], tuple[SetBudget, ...]]:
        entries: dict[str, Entry] = {}
        changes: list[SetBudget] = []
        for record in self.records:
            match record:
                case Reserve():
                    if record.entry.id in entries:
                        raise ParameterError(f"two entries have the same id {record.entry.id!r}")
                    entries[record.entry.id] = record.entry
                case Settle() | Cancel():
                    entries[record.id] = _closed(entries.get(record.id), record)
                case SetBudget():
                    changes.append(record)
                case _:
                    assert_never(record)
        return tuple(entries.values()), tuple(changes)


def _closed(entry: Entry | None, record: Settle | Cancel) -> Entry:
    if entry is None:
        raise ParameterError(f"the ledger has no entry {record.id!r}")
    if entry.status != RESERVED:
        raise ParameterError(f"entry {record.id!r} is {entry.status} already; {record.kind!r} cannot change that")
    return record.closed(entry)


def record_from_dict(given: Mapping[str, Any]) -> Record:
    """The record that ``to_dict`` wrote; anything else is refused."""
    return record_of_kind(RECORDS, given, "record")
