"""The manifest: what a release promises, how it was made, and what the file holds.

Plain frozen records that turn into canonical JSON and back. Everything in them is public.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from microtome.accounting import Accountant, Event, Neighbours, verify_promise
from microtome.errors import ReleaseError
from microtome.json_record import JsonRecord
from microtome.published.manifest_checks import require_counts
from microtome.published.mechanisms import AnyMechanism, ReleaseKind, read_mechanism
from microtome.schema.linked_document import KEY as LINKED

FORMAT = "microtome-release"
VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Promise(JsonRecord):
    """The guarantee, complete enough to be checked.

    Attributes:
        epsilon: The stated ε, which covers everything in the file, the profile included.
        delta: The stated δ.
        neighbours: Which tables are hard to tell apart.
        accountant: How ε was computed.
        private: False if the randomness was injected, as in tests: then nothing is promised.
        events: What was done to the data; any accountant can compute ε anew from these.
    """

    epsilon: float
    delta: float
    neighbours: Neighbours
    accountant: Accountant
    private: bool
    events: tuple[Event, ...]

    def verify(self) -> None:
        """Refuse a promise that its own events contradict, by the accountant that it names."""
        verify_promise(self.events, stated_epsilon=self.epsilon, stated_delta=self.delta, accountant=self.accountant)


@dataclass(frozen=True, kw_only=True)
class Contents(JsonRecord):
    """What the file holds.

    Attributes:
        num_rows: Rows in the file, null rows included; none in a release of aggregates.
        num_records: Records in the table: exact where that is public, else the profile's noisy count.
        records_exact: Whether ``num_records`` is exact.
        bin_rows: Rows a checksum, where all rows are in one file.
        shards: Rows of each file, where they are in several; a checksum each.
    """

    num_rows: int
    num_records: float
    records_exact: bool
    bin_rows: int
    shards: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        require_counts(self, "num_rows", least=0)
        if self.shards is not None and (min(self.shards, default=-1) < 0 or sum(self.shards) != self.num_rows):
            raise ReleaseError(f"its shards have {self.shards!r} rows; together they must have {self.num_rows}")
        require_counts(self, "bin_rows", least=1)
        if not (math.isfinite(self.num_records) and self.num_records >= 0):
            raise ReleaseError(f"num_records is {self.num_records!r}; it must be a number, at least 0")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; shards are named where there are any."""
        return {name: value for name, value in super().to_dict().items() if (name, value) != ("shards", None)}


@dataclass(frozen=True, kw_only=True)
class Holder(JsonRecord):
    """One of those whose releases were pooled.

    Attributes:
        fingerprint: That of their release.
        num_records: Records in it.
        promise: Theirs, which pooling leaves as it is.
    """

    fingerprint: str
    num_records: float
    promise: Promise


@dataclass(frozen=True, kw_only=True)
class Pool(JsonRecord):
    """The releases of which one was made by adding them up.

    Attributes:
        holders: Whose they were.
        overlapping: Whether a person may be in several of them, so that what these cost adds up.
    """

    holders: tuple[Holder, ...]
    overlapping: bool

    def __post_init__(self) -> None:
        if len({holder.fingerprint for holder in self.holders}) < max(len(self.holders), 2):
            raise ReleaseError("a pool is of two releases or more, each once")


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """All of the above with the schema, the codebook and the checksums; of a pool also what it was made of."""

    software: str
    promise: Promise
    mechanism: AnyMechanism
    contents: Contents
    schema: Mapping[str, Any]
    codebook: Mapping[str, Any]
    checksums: Mapping[str, Any]
    pool: Pool | None = None

    @property
    def kind(self) -> ReleaseKind:
        """What was noised. Together with the schema, of a table or of images, it is the tag of the mechanism."""
        return self.mechanism.kind

    @property
    def is_of_people(self) -> bool:
        """Whether everything that a person contributed is protected together, and not each record by itself."""
        return self.schema.get("unit") is not None or self.is_of_linked_tables

    @property
    def is_of_linked_tables(self) -> bool:
        """Whether several tables were released together."""
        return LINKED in self.schema

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "kind": str(self.kind),
            "software": self.software,
            "promise": self.promise.to_dict(),
            "mechanism": self.mechanism.to_dict(),
            "contents": self.contents.to_dict(),
            "schema": dict(self.schema),
            "codebook": dict(self.codebook),
            "checksums": dict(self.checksums),
            **({} if self.pool is None else {"pool": self.pool.to_dict()}),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """The inverse of ``to_dict``; an error that says what is wrong for anything else."""
        if not isinstance(document, Mapping):
            raise ReleaseError(f"its manifest is damaged: it is no JSON object but {type(document).__name__}")
        if document.get("format") != FORMAT:
            raise ReleaseError(f"not a release: its format is {document.get('format')!r}")
        version = document.get("version")
        if version != VERSION:
            raise ReleaseError(f"format version {version}; this Microtome reads {VERSION}: upgrade it")
        try:
            for name in ("schema", "codebook", "checksums"):
                if not isinstance(document[name], Mapping):
                    raise ReleaseError(f"its manifest is damaged: {name} is no JSON object")
            return cls(
                software=str(document["software"]),
                promise=Promise.from_dict(document["promise"]),
                mechanism=read_mechanism(document),
                contents=Contents.from_dict(document["contents"]),
                schema=document["schema"],
                codebook=document["codebook"],
                checksums=document["checksums"],
                pool=Pool.from_dict(document["pool"]) if "pool" in document else None,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ReleaseError(f"its manifest is damaged: {error}") from error
