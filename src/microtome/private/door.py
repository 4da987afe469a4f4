"""The one door: the only function that turns private records into something that may be published.

    plan → check → [reserve] → pass → check again → noise → pass → noise → … → write → [settle]

The whole promise is planned from public facts and reserved in the book before the first record is read. What can be
refused is refused before noise is drawn, and then nothing is spent. From there on a crash may have overcharged the
ledger but never undercharged it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import microtome
from microtome.accounting import Ledger
from microtome.errors import MicrotomeError, TableError
from microtome.private.passes import Arrays, Block, Engine, Pass, Plan, Published, Shard, Told
from microtome.private.pipeline import ordered_map
from microtome.private.plan import check_size
from microtome.private.randomness import ReleaseRandomness, is_unpredictable
from microtome.private.reservation import reserved
from microtome.published import Artefact, ContainerWriter, Contents, Manifest, Promise, check_output, digest
from microtome.published.container import DIGEST, MANIFEST
from microtome.settings import PrivacySettings, RunSettings
from microtome.whole_file import whole_folder


class Source(Protocol):
    """Private records, and what is public about them."""

    @property
    def origin(self) -> str:
        """What to call them in messages."""
        ...

    @property
    def num_records(self) -> int | None:
        """Their number where that is known without reading them."""
        ...

    @property
    def null_records(self) -> int:
        """Records that are there and empty: they are counted in their number and in nothing else."""
        ...

    @property
    def engine(self) -> Engine | None:
        """Who counts them where they are; ``None`` where blocks of them are read."""
        ...

    def plan(self, settings: PrivacySettings, run: RunSettings) -> Plan:
        """The passes of a release, from public facts; refuses what these forbid."""
        ...

    def blocks(self, num_records: int, counting: Pass | None = None) -> Iterator[Block]:
        """All records, in blocks of so many, with all that a pass looks at, or, for none, with everything."""
        ...

    def schema_document(self) -> Mapping[str, Any]:
        """What is public about the records, for the file."""
        ...


@dataclass(frozen=True, kw_only=True)
class Door:
    """Makes one release of one private data set.

    Attributes:
        settings: The promise.
        run: How the work is done.
        ledger: The book in which the promise is reserved.
        dataset: The data's name in the book.
        randomness: The source of all noise; anything but ``SystemRandomness`` marks the release as not private.
    """

    settings: PrivacySettings
    run: RunSettings
    ledger: Ledger
    dataset: str
    randomness: ReleaseRandomness

    def release(self, source: Source, output: Path) -> Artefact:
        """Read the records, publish them under noise, write the file."""
        in_shards = source.engine is not None and not self.settings.kind.is_of_sums
        check_output(output, force=self.run.force, folder=in_shards)
        self.randomness.require_secret()
        plan = source.plan(self.settings, self.run)
        if source.num_records is not None:
            check_size(self.settings, source.num_records, source.origin)
            plan.check_room(source.num_records, output)
        try:
            with (
                reserved(self.ledger, self.dataset, plan.events, settings=self.settings, unit=plan.unit) as reservation,
                _held(source),
            ):
                num_records = self._count(source, plan.first)
                check_size(self.settings, num_records, source.origin)
                plan.check_room(num_records, output)
                reservation.spend(output)
                self._write(output, source, self._published(source, plan.first, num_records), num_records)
                released = Artefact.load(output, verify=False)
                reservation.settle(released.fingerprint)
        finally:
            self.randomness.forget()
        return released

    def _published(self, source: Source, first: Pass, num_records: int) -> list[Published]:
        """What all passes publish, each aimed by the one before it."""
        published, latest = [], first.publish(self.randomness, num_records)
        while (following := latest.following) is not None:
            published.append(replace(latest, following=None))  # a pass holds bare counts: it goes no further than here
            match following:
                case Published():
                    latest = following
                case _:
                    self._count(source, following, num_records)
                    latest = following.publish(self.randomness, num_records)
        return [*published, latest]

    def _count(self, source: Source, counting: Pass, expected: int | None = None) -> int:
        """Show all records to a pass; gives their number, which must be the expected one."""
        seen = source.null_records
        if source.engine is not None:
            seen += source.engine.fill(counting, self.run.block_rows(counting.width), self._told(counting.stage))
            _require_number(source, seen, expected)
            return seen
        blocks = self._blocks(source, counting.stage, counting.width, expected, counting)
        for number in ordered_map(lambda block: _counted(counting, block), blocks, threads=self.run.threads):
            seen += number
        return seen

    def _blocks(
        self, source: Source, stage: str, width: int, expected: int | None, counting: Pass | None = None
    ) -> Iterator[Block]:
        """All records in blocks that fit in memory; a source that has another number of them than before is refused."""
        seen, total = source.null_records, source.num_records if expected is None else expected
        for block in source.blocks(self.run.block_rows(width), counting):
            seen += len(block)
            if expected is not None and seen > expected:
                break
            yield block
            self.run.progress(stage, seen, total)
        _require_number(source, seen, expected)

    def _write(self, output: Path, source: Source, published: list[Published], num_records: int) -> None:
        """The one place where a release is written."""
        arrays: Arrays = {name: array for part in published for name, array in part.arrays.items()}
        rows = published[-1].rows
        checksums: dict[str, Any] = {
            name: digest(np.ascontiguousarray(array).tobytes()) for name, array in arrays.items()
        }
        if rows is None:
            manifest = self._manifest(source, published, checksums)
            with ContainerWriter(output, arrays, None, manifest.to_dict()) as file:
                file.finish(manifest.to_dict())
            return
        if source.engine is not None:
            with whole_folder(output) as folder:
                records, secret = num_records - source.null_records, self.randomness.subkey("rows")
                shards = source.engine.write(rows, records, folder, secret, self._told("slices"))
                checksums["rows"] = [shard.digest for shard in shards]
                manifest = self._manifest(source, published, checksums, shards)
                with ContainerWriter(folder / MANIFEST, arrays, None, manifest.to_dict()) as file:
                    file.finish(manifest.to_dict())
            return
        blank = self._manifest(source, published, {**checksums, "rows": [DIGEST] * rows.num_bins})
        with ContainerWriter(output, arrays, rows.shape, blank.to_dict()) as file:
            digests = rows.write(file, lambda stage, width: self._blocks(source, stage, width, num_records))
            file.finish(self._manifest(source, published, {**checksums, "rows": digests}).to_dict())

    def _told(self, stage: str) -> Told:
        return lambda done, total: self.run.progress(stage, done, total)

    def _manifest(
        self,
        source: Source,
        published: list[Published],
        checksums: Mapping[str, Any],
        shards: Sequence[Shard] | None = None,
    ) -> Manifest:
        told, rows = next((part for part in published if part.total is not None), None), published[-1].rows
        mechanism = next((part.mechanism for part in reversed(published) if part.mechanism is not None), None)
        if mechanism is None or told is None or told.total is None:
            raise MicrotomeError("a release does not say how it was made; nothing was written")
        return Manifest(
            software=f"microtome {microtome.__version__}",
            promise=self._promise(published),
            mechanism=mechanism,
            contents=Contents(
                num_rows=0 if rows is None else rows.shape[0],
                num_records=told.total,
                records_exact=not self.settings.neighbours.protects_count,
                bin_rows=1 if rows is None else rows.bin_rows,
                shards=None if shards is None else tuple(shard.num_rows for shard in shards),
            ),
            schema=source.schema_document(),
            codebook=told.codebook,
            checksums=checksums,
        )

    def _promise(self, published: list[Published]) -> Promise:
        """The promise that was asked for, and what keeps it; void unless the noise is the system's own."""
        return Promise(
            epsilon=self.settings.epsilon,
            delta=self.settings.delta,
            neighbours=self.settings.neighbours,
            accountant=self.settings.accountant,
            private=is_unpredictable(self.randomness),
            events=tuple(event for part in published for event in part.events),
        )


def _held(source: Source) -> AbstractContextManager[None]:
    return nullcontext() if source.engine is None else source.engine.held()


def _require_number(source: Source, seen: int, expected: int | None) -> None:
    if expected not in (None, seen):
        raise TableError(f"{source.origin} changed while it was read; start again with a fixed copy")


def _counted(counting: Pass, block: Block) -> int:
    counting.add(block)
    return len(block)
