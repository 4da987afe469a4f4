"""The one door: the only function that turns private rows into something that may be published.

    table → count → [debit] → profile → encode → [debit] → slice + noise → shuffle → file

Everything that can be refused is refused before the first debit. After it, a crash may have overcharged the
ledger but never undercharged it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import microtome
from microtome.accounting import (
    Accountant,
    DirectionKind,
    Event,
    Ledger,
    Neighbours,
)
from microtome.errors import OutputError, TableError
from microtome.private.cell_index import cell_indices
from microtome.private.dealing import Sampler, Shuffler
from microtome.private.pipeline import ordered_map
from microtome.private.plan import (
    ProfilePlan,
    SlicePlan,
    check_table_size,
    expected_dim,
    plan_profile,
    plan_slices,
)
from microtome.private.profile import Profile, Tally
from microtome.private.randomness import GRID, Randomness, SystemRandomness
from microtome.private.settings import PrivacySettings, RunSettings, option
from microtome.private.slicing import SlicingMechanism, draw_directions
from microtome.private.table import PrivateTable, open_table
from microtome.release import (
    ContainerWriter,
    Contents,
    Manifest,
    Mechanism,
    Promise,
    Release,
    ReleaseKind,
    check_output,
    check_space,
    digest,
    keep_temporary,
)
from microtome.release.container import DIGEST
from microtome.schema import Codebook, Schema


@dataclass(frozen=True, kw_only=True)
class Curator:
    """Makes one release of one table.

    Attributes:
        table: The private table.
        schema: What is public about it.
        settings: The promise.
        run: How the work is done.
        ledger: The book that is debited.
        dataset: The table's name in the book.
        randomness: The source of all noise; anything but ``SystemRandomness`` marks the release as not private.
    """

    table: PrivateTable
    schema: Schema
    settings: PrivacySettings
    run: RunSettings
    ledger: Ledger
    dataset: str
    randomness: Randomness

    def release(self, output: Path) -> Release:
        """Read the table, publish it under noise, write the file."""
        check_output(output, force=self.run.force)
        tally = self._count()
        check_table_size(self.settings, tally.num_rows, self.table.origin)
        profile_plan = plan_profile(self.settings, self.schema)
        self._check_room(output, profile_plan, tally.num_rows)
        entries = [self._debit("profile", profile_plan.events)]
        profile = tally.publish(profile_plan.budget, self.randomness, centred=self.settings.centred)
        plan = plan_slices(self.settings, profile.codebook.dim, tally.num_rows, profile_plan.events)
        entries.append(self._publish_slices(output, profile, profile_plan, plan, tally.num_rows))
        if isinstance(self.randomness, SystemRandomness):
            self.randomness.forget()
        published = Release.load(output, verify=False)
        for entry in entries:
            self.ledger.complete(entry, artefact=published.fingerprint)
        return published

    def _count(self) -> Tally:
        tally = Tally(self.schema)
        blocks = self._blocks(len(self.schema.columns) * 8, "profile", self.table.num_rows)
        for _ in ordered_map(tally.add, blocks, threads=self.run.threads):
            pass
        return tally

    def _check_room(self, output: Path, profile_plan: ProfilePlan, num_records: int) -> None:
        """Refuse what the book or the disk has no room for as a whole, before any part of it is spent.

        The encoded dimension is not known before the profile is. A guess will do for the book: what the slices
        cost hardly depends on it, and not at all for whole orthogonal blocks.
        """
        plan = plan_slices(self.settings, expected_dim(self.schema), num_records, profile_plan.events)
        events = [*profile_plan.events, *plan.events]
        self.ledger.check(self.dataset, events, neighbours=self.settings.neighbours)
        smallest = self.settings.direction_law(len(self.schema.columns))
        check_space(output.parent, 2 * plan.num_rows * smallest.count)

    def _debit(self, purpose: str, events: tuple[Event, ...]) -> str:
        return self.ledger.debit(
            self.dataset,
            events,
            purpose=purpose,
            neighbours=self.settings.neighbours,
            accountant=self.settings.accountant,
        )

    def _publish_slices(
        self, output: Path, profile: Profile, profile_plan: ProfilePlan, plan: SlicePlan, num_records: int
    ) -> str:
        """Write the file; gives the ledger's entry, which is made once there is a place for the file."""
        directions = draw_directions(plan.law, self.randomness)
        parts, arrays = profile.codebook.to_parts()
        arrays["directions"] = directions
        bin_rows = max(1, self.run.bin_entries // plan.law.count)
        manifest = self._manifest(profile, profile_plan, plan, parts, arrays, bin_rows)
        with ContainerWriter(output, arrays, (plan.num_rows, plan.law.count), manifest.to_dict()) as file:
            entry = self._debit("slices", plan.events)
            shuffler = Shuffler(
                num_rows=plan.num_rows,
                bin_rows=bin_rows,
                stream=self.randomness.stream("shuffle"),
                write=file.write_rows,
                read=file.read_rows,
            )
            mechanism = SlicingMechanism(
                directions=directions,
                noise_scale=plan.noise_scale,
                nonnegative=not self.settings.centred,
                randomness=self.randomness,
            )
            for rows in self._noisy_rows(profile.codebook, plan, mechanism, num_records):
                shuffler.add(rows)
            digests = [digest(rows.data) for rows in shuffler.finish(threads=self.run.threads)]
            checksums = {**manifest.checksums, "rows": digests}
            file.finish(replace(manifest, checksums=checksums).to_dict())
        return entry

    def _noisy_rows(
        self, codebook: Codebook, plan: SlicePlan, mechanism: SlicingMechanism, num_records: int
    ) -> Iterator[NDArray[np.int16]]:
        """Noisy slices of all sampled records and of the null rows that pad them, block by block.

        A block is encoded and sliced in pieces, each with a stream of its own, that stay in a core's cache.
        """
        width = max(codebook.dim, plan.law.count)
        step = max(64, self.run.piece_entries // width)
        pieces = -(-self._block_rows(width) // step)

        def work(item: tuple[int, NDArray[np.int64] | None, pa.Table | int]) -> NDArray[np.int16]:
            number, chosen, block = item
            levels = None if isinstance(block, int) else _levels(block, chosen, codebook)
            num_rows = block if levels is None else len(levels)
            noisy = np.empty((num_rows, plan.law.count), np.int16)
            for piece, first in enumerate(range(0, num_rows, step)):
                part = slice(first, min(first + step, num_rows))
                rows = np.zeros((part.stop - first, codebook.dim)) if levels is None else codebook.encode(levels[part])
                noisy[part] = mechanism(rows, number * pieces + piece)
            return noisy

        return ordered_map(work, self._work_items(width, plan, num_records), threads=self.run.threads)

    def _work_items(
        self, width: int, plan: SlicePlan, num_records: int
    ) -> Iterator[tuple[int, NDArray[np.int64] | None, pa.Table | int]]:
        sampler = self._sampler(plan, num_records)
        number = seen = kept = 0
        for block in self._blocks(width, "slices", num_records):
            seen += block.num_rows
            if seen > num_records:
                break
            chosen = None if sampler is None else sampler.choose(block.num_rows)
            kept += block.num_rows if chosen is None else len(chosen)
            yield number, chosen, block
            number += 1
        if seen != num_records:
            raise TableError(f"{self.table.origin} changed while it was read; start again with a fixed copy")
        step = self._block_rows(width)
        for first in range(kept, plan.num_rows, step):
            yield number, None, min(step, plan.num_rows - first)
            number += 1

    def _sampler(self, plan: SlicePlan, num_records: int) -> Sampler | None:
        """Poisson sampling: a binomial number of records, cut at the padded size, all subsets alike."""
        if self.settings.subsample is None:
            return None
        stream = self.randomness.stream("sample")
        wanted = min(int(stream.binomial(num_records, self.settings.subsample)), plan.num_rows)
        return Sampler(total=num_records, wanted=wanted, stream=stream)

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
        profile_plan: ProfilePlan,
        plan: SlicePlan,
        parts: dict[str, Any],
        arrays: dict[str, NDArray[Any]],
        bin_rows: int,
    ) -> Manifest:
        settings = self.settings
        num_bins = -(-plan.num_rows // bin_rows)
        return Manifest(
            kind=ReleaseKind.RECORDS,
            software=f"microtome {microtome.__version__}",
            promise=Promise(
                epsilon=settings.epsilon,
                delta=settings.delta,
                neighbours=settings.neighbours,
                accountant=settings.accountant,
                private=type(self.randomness) is SystemRandomness,
                events=(*profile_plan.events, *plan.events),
            ),
            mechanism=Mechanism(
                directions=plan.law,
                noise_scale=plan.noise_scale,
                grid_step=plan.noise_scale / GRID,
                row_distance=settings.row_distance,
                profile_share=settings.profile_share,
                subsample=settings.subsample,
                capacity=settings.capacity,
            ),
            contents=Contents(
                num_rows=plan.num_rows,
                num_records=profile.total,
                records_exact=not settings.neighbours.protects_count,
                bin_rows=bin_rows,
            ),
            schema=self.schema.to_dict(),
            codebook=parts,
            checksums={
                "rows": [DIGEST] * num_bins,
                **{name: digest(np.ascontiguousarray(array).tobytes()) for name, array in arrays.items()},
            },
        )


def release(
    source: Any,
    schema: Schema | str | Path,
    *,
    epsilon: float,
    delta: float,
    output: str | Path | None = None,
    neighbours: str = Neighbours.BLANK_ONE,
    accountant: str = Accountant.EXACT,
    directions: str = DirectionKind.ORTHOGONAL,
    num_slices: int | None = None,
    slice_dim: int = 1,
    subsample: float | None = None,
    capacity: int | None = None,
    profile_share: float = PrivacySettings.profile_share,
    allow_large_delta: bool = False,
    ledger: Ledger | str | Path | None = None,
    dataset: str | None = None,
    run: RunSettings | None = None,
) -> Release:
    """Publish a private table once, under (ε, δ)-differential privacy.

    Args:
        source: A CSV or Parquet path, or a pandas, polars or Arrow table.
        schema: What is public about it, or the path of its YAML document.
        epsilon: Total ε, profile included.
        delta: Total δ.
        output: Where to write the release; without it, a temporary file that lives as long as the result.
        neighbours: ``blank-one``, ``add-remove`` or ``replace-one``.
        accountant: ``exact``, ``renyi`` or ``theorem1``.
        directions: ``orthogonal`` or ``gaussian``.
        num_slices: Number of slices; by default as many as fill the encoded dimension.
        slice_dim: Dimension of a slice.
        subsample: Poisson sampling rate, or ``None`` for all records.
        capacity: Public upper bound on the number of records, for ``add-remove``.
        profile_share: Share of the budget that the profile gets.
        allow_large_delta: Accept δ ≥ 1/n.
        ledger: The book to debit, or its path; without it nothing remembers what was spent.
        dataset: The table's name in the book; by default the file's name.
        run: How the work is done.

    Returns:
        The release, open for reading.
    """
    settings = PrivacySettings(
        epsilon=epsilon,
        delta=delta,
        neighbours=option(Neighbours, neighbours, "neighbours"),
        accountant=option(Accountant, accountant, "accountant"),
        directions=option(DirectionKind, directions, "directions"),
        num_slices=num_slices,
        slice_dim=slice_dim,
        subsample=subsample,
        capacity=capacity,
        profile_share=profile_share,
        allow_large_delta=allow_large_delta,
    )
    curator = Curator(
        table=open_table(source),
        schema=schema if isinstance(schema, Schema) else Schema.load(schema),
        settings=settings,
        run=run or RunSettings(),
        ledger=ledger if isinstance(ledger, Ledger) else Ledger(ledger),
        dataset=dataset or (Path(source).name if isinstance(source, str | Path) else "table"),
        randomness=SystemRandomness(),
    )
    if output is not None:
        _refuse_own_input(Path(output), source, ledger)
        return curator.release(Path(output))
    directory = Path(mkdtemp(prefix="microtome-"))
    try:
        return keep_temporary(curator.release(directory / "table.release"), directory)
    except BaseException:
        shutil.rmtree(directory)
        raise


def _refuse_own_input(output: Path, *inputs: Any) -> None:
    """Never overwrite the table or its ledger, whatever ``force`` says."""
    for path in inputs:
        if isinstance(path, str | Path) and Path(path).resolve() == output.resolve():
            raise OutputError(f"{output} is the table or its ledger; choose another output")


def _levels(block: pa.Table, chosen: NDArray[np.int64] | None, codebook: Codebook) -> NDArray[np.int64]:
    """The level of every value of the chosen rows of a block (all, if none are named)."""
    if chosen is not None:
        block = block.take(pa.array(chosen))
    levels = np.empty((len(codebook.codes), block.num_rows), np.int64)
    for index, code in enumerate(codebook.codes):
        cells = cell_indices(block.column(index).combine_chunks(), code.column, code.cells)
        np.take(code.levels, cells, out=levels[index])
    return levels.T
