"""What a release is made of: passes over the private data, one after the other, through one door.

A pass counts what it is shown, block by block. What several of them have counted *merges*, exactly and in any order, so
that anybody who can count can serve. It publishes its sums under noise, once. Its cost is planned from public facts
before the first row is read; what it measures may follow what the pass before it has published.

A release of records ends with *rows*: noise on every record, written as they come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self

import pyarrow as pa
from numpy.typing import NDArray

from microtome.accounting import Event
from microtome.private.randomness import Randomness
from microtome.private.weighting import TableBlock
from microtome.published import AnyMechanism, ContainerWriter

Arrays = dict[str, NDArray[Any]]
Block = Any
"""Some records, as their source gives them and the passes over it take them."""
Blocks = Callable[[str, int], Iterator[Block]]
"""All records once more: the name of the stage, and the numbers that it holds for each record of a block."""
Told = Callable[[int, int], None]
"""Told how many parts of the work are done, and of how many."""


class Pass(Protocol):
    """One measurement of the private data."""

    @property
    def stage(self) -> str:
        """What it is called while it works."""
        ...

    @property
    def width(self) -> int:
        """Numbers that it holds for each record of a block."""
        ...

    def add(self, block: Block) -> None:
        """Count the records of a block; safe on several threads."""
        ...

    def merge(self, other: Self) -> None:
        """Add what another of the same kind has counted."""
        ...

    def publish(self, randomness: Randomness, num_records: int) -> Published:
        """Everything that may be known of the counts, under noise."""
        ...


class TableTally(Protocol):
    """What a pass over a table counts with. A copy that is sent elsewhere, by pickling it, arrives empty."""

    @property
    def columns(self) -> set[str]:
        """Columns whose values are looked at."""
        ...

    def add(self, block: TableBlock) -> None:
        """Count the rows of a block; safe on several threads."""
        ...

    def parts(self) -> list[pa.Array]:
        """What was counted, to be sent back."""
        ...

    def add_parts(self, parts: Iterator[pa.Array]) -> None:
        """Add what another of the same kind has sent; refuses what does not fit."""
        ...


@dataclass(frozen=True, kw_only=True)
class Shard:
    """A file of noisy rows: how many there are, and their checksum."""

    num_rows: int
    digest: str


class Engine(Protocol):
    """Whoever counts records where they are, so that no block of them is read here."""

    def held(self) -> AbstractContextManager[None]:
        """The records as they are now, for as long as a release takes."""
        ...

    def fill(self, counting: Pass, block_records: int, told: Told) -> int:
        """Show all records to a pass, so many at a time; gives their number."""
        ...

    def write(self, rows: Rows, num_records: int, folder: Path, secret: bytes, told: Told) -> list[Shard]:
        """Write rows of all records, and null rows, to a folder: in random order, under noise of the key ``secret``."""
        ...


class Rows(Protocol):
    """Noisy rows, the end of a release of records."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and numbers a row."""
        ...

    @property
    def bin_rows(self) -> int:
        """Rows a checksum, as the file says it."""
        ...

    @property
    def num_bins(self) -> int:
        """How many checksums there are."""
        ...

    def write(self, file: ContainerWriter, blocks: Blocks) -> list[str]:
        """Write all rows under noise; gives the checksums."""
        ...


@dataclass(frozen=True, kw_only=True)
class Published:
    """What a pass has made public.

    Attributes:
        events: What it did to the data.
        arrays: Its noisy numbers, for the file.
        codebook: What the file says of the code of a table.
        total: The number of records as far as it is public, where this pass is the one to know.
        mechanism: How everything was made, from the last pass that says so.
        following: The next pass, aimed by what is published by now; or what else is known without another one.
        rows: The rows that end the release.
    """

    events: tuple[Event, ...]
    arrays: Arrays
    codebook: Mapping[str, Any] = field(default_factory=dict)
    total: float | None = None
    mechanism: AnyMechanism | None = None
    following: Pass | Published | None = None
    rows: Rows | None = None


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A release as public facts settle it.

    Attributes:
        events: What all passes together may do to the data: what is reserved.
        first: The first pass.
        check_room: Refuses, given the records that the first pass has counted and where the file is to be, what disk
            or memory have no room for.
        unit: The column that says whose a record is, where everything that a person contributed is protected.
    """

    events: tuple[Event, ...]
    first: Pass
    check_room: Callable[[int, Any], None]
    unit: str | None = None
