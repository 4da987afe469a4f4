"""The one door: the only function that turns private rows into something that may be published.

    plan → check → [reserve] → count → check again → profile → encode → slice + noise → shuffle → file → [settle]

The whole promise is planned from public facts and reserved in the book before the first row is read. What can be
refused is refused before noise is drawn, and then nothing is spent. From there on a crash may have overcharged the
ledger but never undercharged it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import microtome
from microtome.accounting import Event
from microtome.errors import SchemaError, TableError
from microtome.private.aggregating import AggregateTally, TableBudget, plan_aggregates, plan_tables, table_bytes
from microtome.private.cell_index import cell_indices
from microtome.private.memory import check_memory
from microtome.private.pipeline import ordered_map
from microtome.private.plan import (
    ProfilePlan,
    SlicePlan,
    check_table_size,
    padded_rows,
    plan_profile,
    plan_slices,
)
from microtome.private.profile import Profile, Tally
from microtome.private.publisher import Publisher
from microtome.private.randomness import GRID, Randomness, SystemRandomness, poisson_sample
from microtome.private.settings import FINENESS
from microtome.private.shuffling import Shuffler
from microtome.private.slicing import SlicingMechanism, draw_directions
from microtome.private.table import PrivateTable
from microtome.release import (
    AggregateMechanism,
    ContainerWriter,
    Contents,
    Manifest,
    Mechanism,
    Release,
    ReleaseKind,
    check_output,
    check_space,
    digest,
)
from microtome.release.container import DIGEST
from microtome.schema import Codebook, Schema

_MARGIN = 1.5
"""How much longer rows may come out than in the rehearsal."""
_HEADER_BYTES = 1 << 16
_COPIES_IN_MEMORY = 4
"""Tables while they are counted, noised and written."""


@dataclass(frozen=True, kw_only=True)
class Curator(Publisher):
    """Makes one release of one table.

    Attributes:
        table: The private table.
        schema: What is public about it.
    """

    table: PrivateTable
    schema: Schema

    def release(self, output: Path) -> Release:
        """Read the table, publish it under noise, write the file."""
        check_output(output, force=self.run.force)
        _require_confirmed(self.schema)
        self.table.check_columns(self.schema)
        profile_plan = plan_profile(self.settings, self.schema)
        second = self._plan_second(profile_plan.events)
        if self.table.num_rows is not None:
            check_table_size(self.settings, self.table.num_rows, self.table.origin)
        with self._reserved((*profile_plan.events, *second.events)) as reservation:
            tally = self._count()
            check_table_size(self.settings, tally.num_rows, self.table.origin)
            self._check_room(output, tally, profile_plan, second)
            reservation.spend(output)
            profile = self._publish_profile(tally, profile_plan, self.randomness)
            if isinstance(second, TableBudget):
                self._publish_aggregates(output, profile, profile_plan, second, tally.num_rows)
            else:
                plan = second.for_rows(profile.codebook.dim)
                self._publish_slices(output, profile, profile_plan, plan, tally.num_rows)
            published = Release.load(output, verify=False)
            reservation.settle(published.fingerprint)
        return published

    def _plan_second(self, spent: tuple[Event, ...]) -> TableBudget | SlicePlan:
        """What the pass after the profile may cost."""
        match self.settings.kind:
            case ReleaseKind.AGGREGATES:
                return plan_tables(self.settings, self.schema, spent)
            case ReleaseKind.RECORDS:
                return plan_slices(self.settings, self.schema, spent)

    def _publish_profile(self, tally: Tally, plan: ProfilePlan, randomness: Randomness) -> Profile:
        fineness = FINENESS[self.settings.kind]
        return tally.publish(plan.budget, randomness, centred=self.settings.centred, fineness=fineness)

    def _count(self) -> Tally:
        tally = Tally(self.schema)
        blocks = self._blocks(len(self.schema.columns) * 8, "profile", self.table.num_rows)
        for _ in ordered_map(tally.add, blocks, threads=self.run.threads):
            pass
        return tally

    def _check_room(
        self, output: Path, tally: Tally, profile_plan: ProfilePlan, second: TableBudget | SlicePlan
    ) -> None:
        """Refuse what disk or memory have no room for, before anything is drawn that is published.

        How long rows are only the profile tells. So it is rehearsed, with noise of its own that nobody sees.
        """
        rehearsed = self._publish_profile(tally, profile_plan, SystemRandomness()).codebook
        known = sum(array.nbytes for array in rehearsed.to_parts()[1].values())
        if isinstance(second, TableBudget):
            tables = table_bytes(plan_aggregates(self.settings, self.schema, rehearsed, second), rehearsed)
            check_memory(_COPIES_IN_MEMORY * tables, self.table.origin)
            size = known + tables
        else:
            rows = padded_rows(self.settings, tally.num_rows)
            law = second.for_rows(rehearsed.dim).law
            size = known + 2 * rows * law.count + 8 * rehearsed.dim * law.count
        check_space(output.parent, _HEADER_BYTES + int(_MARGIN * size))

    def _publish_slices(
        self, output: Path, profile: Profile, profile_plan: ProfilePlan, plan: SlicePlan, num_records: int
    ) -> None:
        """Slice all records, write the rows under noise in random order."""
        num_rows = padded_rows(self.settings, num_records)
        directions = draw_directions(plan.law, self.randomness, profile.codebook.dim)
        parts, arrays = profile.codebook.to_parts()
        arrays["directions"] = directions
        bin_rows = max(1, self.run.bin_entries // plan.law.count)
        mechanism = Mechanism(
            directions=plan.law,
            noise_scale=plan.noise_scale,
            grid_step=plan.noise_scale / GRID,
            row_distance=plan.row_distance,
            profile_share=self.settings.profile_share,
            subsample=self.settings.subsample,
            capacity=self.settings.capacity,
        )
        manifest = self._manifest(profile, (*profile_plan.events, *plan.events), mechanism, parts, arrays)
        contents = replace(manifest.contents, num_rows=num_rows, bin_rows=bin_rows)
        blank = {**manifest.checksums, "rows": [DIGEST] * -(-num_rows // bin_rows)}
        manifest = replace(manifest, contents=contents, checksums=blank)
        with ContainerWriter(output, arrays, (num_rows, plan.law.count), manifest.to_dict()) as file:
            shuffler = Shuffler(
                num_rows=num_rows,
                bin_rows=bin_rows,
                stream=self.randomness.stream("shuffle"),
                write=file.write_rows,
                read=file.read_rows,
            )
            slicing = SlicingMechanism(
                directions=directions,
                noise_scale=plan.noise_scale,
                nonnegative=not self.settings.centred,
                randomness=self.randomness,
            )
            for rows in self._noisy_rows(profile.codebook, slicing, num_rows, num_records):
                shuffler.add(rows)
            digests = [digest(rows.data) for rows in shuffler.finish(threads=self.run.threads)]
            checksums = {**manifest.checksums, "rows": digests}
            file.finish(replace(manifest, checksums=checksums).to_dict())

    def _publish_aggregates(
        self, output: Path, profile: Profile, profile_plan: ProfilePlan, budget: TableBudget, num_records: int
    ) -> None:
        """Count tables over all records, write them under noise."""
        codebook = profile.codebook
        plan = plan_aggregates(self.settings, self.schema, codebook, budget)
        tally = AggregateTally(codebook, plan)
        blocks = self._blocks(codebook.dim, "aggregates", num_records)
        for _ in ordered_map(lambda block: tally.add(_levels(block, None, codebook)), blocks, threads=self.run.threads):
            pass
        if tally.num_rows != num_records:
            raise self._changed()
        mechanism = AggregateMechanism(
            pivot=None if plan.pivot is None else self.schema.names[plan.pivot],
            num_classes=plan.num_classes,
            profile_share=self.settings.profile_share,
            first_noise=tuple(plan.first_noise.tolist()),
            pair_noise=tuple(tuple(row) for row in plan.pair_noise.tolist()),
        )
        parts, arrays = codebook.to_parts()
        arrays["aggregates/first"], arrays["aggregates/second"] = tally.publish(self.randomness)
        manifest = self._manifest(profile, (*profile_plan.events, *plan.events), mechanism, parts, arrays)
        with ContainerWriter(output, arrays, None, manifest.to_dict()) as file:
            file.finish(manifest.to_dict())

    def _changed(self) -> TableError:
        return TableError(f"{self.table.origin} changed while it was read; start again with a fixed copy")

    def _noisy_rows(
        self, codebook: Codebook, mechanism: SlicingMechanism, padded: int, num_records: int
    ) -> Iterator[NDArray[np.int16]]:
        """Noisy slices of all sampled records and of the null rows that pad them, block by block.

        A block is encoded and sliced in pieces, each with a stream of its own, that stay in a core's cache.
        """
        count = mechanism.directions.shape[1]
        width = max(codebook.dim, count)
        step = max(64, self.run.piece_entries // width)
        pieces = -(-self._block_rows(width) // step)

        def work(item: tuple[int, NDArray[np.int64] | None, pa.Table | int]) -> NDArray[np.int16]:
            number, chosen, block = item
            levels = None if isinstance(block, int) else _levels(block, chosen, codebook)
            num_rows = block if levels is None else len(levels)
            noisy = np.empty((num_rows, count), np.int16)
            for piece, first in enumerate(range(0, num_rows, step)):
                part = slice(first, min(first + step, num_rows))
                rows = np.zeros((part.stop - first, codebook.dim)) if levels is None else codebook.encode(levels[part])
                noisy[part] = mechanism(rows, number * pieces + piece)
            return noisy

        return ordered_map(work, self._work_items(width, padded, num_records), threads=self.run.threads)

    def _work_items(
        self, width: int, padded: int, num_records: int
    ) -> Iterator[tuple[int, NDArray[np.int64] | None, pa.Table | int]]:
        stream = self.randomness.stream("sample")
        number = seen = kept = 0
        for block in self._blocks(width, "slices", num_records):
            seen += block.num_rows
            if seen > num_records:
                break
            chosen = self._sample(block.num_rows, padded - kept, stream)
            kept += block.num_rows if chosen is None else len(chosen)
            yield number, chosen, block
            number += 1
        if seen != num_records:
            raise self._changed()
        step = self._block_rows(width)
        for first in range(kept, padded, step):
            yield number, None, min(step, padded - first)
            number += 1

    def _sample(self, num_records: int, room: int, stream: np.random.Generator) -> NDArray[np.int64] | None:
        """Which of the next records are in the sample, ``None`` for all; what finds no room is dropped (a failure)."""
        if self.settings.subsample is None:
            return None
        return np.flatnonzero(poisson_sample(num_records, self.settings.subsample, stream))[:room]

    def _blocks(self, width: int, stage: str, total: int | None) -> Iterator[pa.Table]:
        done = 0
        for block in self.table.blocks(self.schema, self._block_rows(width)):
            yield block
            done += block.num_rows
            self.run.progress(stage, done, total)

    def _block_rows(self, width: int) -> int:
        return max(64, min(self.run.block_entries // width, 1 << 16))

    def _manifest(
        self,
        profile: Profile,
        events: tuple[Event, ...],
        mechanism: Mechanism | AggregateMechanism,
        parts: dict[str, Any],
        arrays: dict[str, NDArray[Any]],
    ) -> Manifest:
        """The manifest of a file without rows."""
        settings = self.settings
        return Manifest(
            kind=settings.kind,
            software=f"microtome {microtome.__version__}",
            promise=self._promise(events),
            mechanism=mechanism,
            contents=Contents(
                num_rows=0,
                num_records=profile.total,
                records_exact=not settings.neighbours.protects_count,
                bin_rows=1,
            ),
            schema=self.schema.to_dict(),
            codebook=parts,
            checksums={name: digest(np.ascontiguousarray(array).tobytes()) for name, array in arrays.items()},
        )


def _require_confirmed(schema: Schema) -> None:
    """Refuse types that nobody has stated: whether a column is whole, or has gaps, is a fact about records."""
    if schema.drafted:
        raise SchemaError(
            "the schema is a draft: its types were read off the table, and would be published though one record may "
            "have made them what they are; read it, correct what is not public knowledge, and confirm it "
            "('microtome schema confirm FILE', or delete the line 'drafted: true'; schema.confirm() in Python)"
        )


def _levels(block: pa.Table, chosen: NDArray[np.int64] | None, codebook: Codebook) -> NDArray[np.int64]:
    """The level of every value of the chosen rows of a block (all, if none are named)."""
    if chosen is not None:
        block = block.take(pa.array(chosen))
    levels = np.empty((len(codebook.codes), block.num_rows), np.int64)
    for index, code in enumerate(codebook.codes):
        cells = cell_indices(block.column(index).combine_chunks(), code.column, code.cells)
        np.take(code.levels, cells, out=levels[index])
    return levels.T
