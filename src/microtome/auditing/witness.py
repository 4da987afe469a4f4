"""One run of the real release, watched by somebody who knows everything but the noise and one record.

The accounting gives the order of the rows and the choice of a subsample no credit: the promise holds against
whoever knows which row is whose and which other records were sampled. The audit is such an adversary. It lets the
curator work with randomness from the operating system as always, and then asks the same streams for the sample
and the shuffle again. It never asks for a stream of noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microtome.accounting import Ledger, Neighbours
from microtome.auditing.scene import Coins, Places, Records, Scene
from microtome.private import Curator, PrivacySettings, RunSettings, SystemRandomness, open_table, release
from microtome.private.aggregating import TableBudget
from microtome.private.plan import ProfilePlan
from microtome.private.profile import Profile, Tally
from microtome.private.shuffling import Shuffler
from microtome.release import RecordsRelease, Release

NOBODY = -1
"""The record behind a null row."""


class WitnessedRandomness(SystemRandomness):
    """The production source of randomness, whose streams of sample and shuffle are looked at once more afterwards.

    A release made with it is marked as not private, as with any source but the production one.
    """

    def forget(self) -> None:
        """Keep the secret until the audit has seen who is where; it goes with this object."""


@dataclass(frozen=True, kw_only=True)
class BlankingCurator(Curator):
    """A curator of a table some of whose records are null records, which no file format can express.

    The null record counts in no cell and is sliced as a zero row; it is counted in n. That is what padding rows
    are, so the blanks go where padding goes: after the table.

    Attributes:
        blanks: Number of null records.
    """

    blanks: int

    def _count(self) -> Tally:
        tally = super()._count()
        tally.num_rows += self.blanks
        return tally

    def _work_items(
        self, width: int, padded: int, num_records: int
    ) -> Iterator[tuple[int, NDArray[np.int64] | None, pa.Table | int]]:
        return super()._work_items(width, padded, num_records - self.blanks)

    def _publish_aggregates(
        self, output: Path, profile: Profile, profile_plan: ProfilePlan, budget: TableBudget, num_records: int
    ) -> None:
        super()._publish_aggregates(output, profile, profile_plan, budget, num_records - self.blanks)


@dataclass(frozen=True, kw_only=True, eq=False)
class Sighting:
    """A release, and what the adversary knows of it.

    Attributes:
        scene: The targets and the crowd.
        coins: Which targets are there.
        present: The records of the table.
        release: What was published.
        settings: The promise.
        owners: For every row before the shuffle, the record behind it, or ``NOBODY``; ``None`` if not witnessed.
        order: For every row of the file, its number before the shuffle; ``None`` if not witnessed.
    """

    scene: Scene
    coins: Coins
    present: Records
    release: Release
    settings: PrivacySettings
    owners: Places | None = None
    order: Places | None = None


def witness_release(scene: Scene, settings: PrivacySettings, coins: Coins, output: Path) -> Sighting:
    """Release the table that ``coins`` say, looking on."""
    present = scene.present(coins)
    randomness = WitnessedRandomness()
    blanks = int((~coins).sum()) if scene.neighbours is Neighbours.BLANK_ONE else 0
    curator = BlankingCurator(
        table=open_table(present.table),
        schema=scene.schema,
        settings=settings,
        run=RunSettings(threads=1, force=True),
        ledger=Ledger(),
        dataset="audit",
        randomness=randomness,
        blanks=blanks,
    )
    published = curator.release(output)
    owners = order = None
    if isinstance(published, RecordsRelease):
        owners, order = _replay(curator, published, len(present))
    return Sighting(
        scene=scene, coins=coins, present=present, release=published, settings=settings, owners=owners, order=order
    )


def publish_release(scene: Scene, settings: PrivacySettings, coins: Coins, output: Path) -> Sighting:
    """Release the table that ``coins`` say by the public function, and look at nothing but the file."""
    present = scene.present(coins)
    published = release(
        present.table,
        scene.schema,
        epsilon=settings.epsilon,
        delta=settings.delta,
        output=output,
        neighbours=settings.neighbours,
        accountant=settings.accountant,
        directions=settings.directions,
        num_slices=settings.num_slices,
        slice_dim=settings.slice_dim,
        subsample=settings.subsample,
        capacity=settings.capacity,
        profile_share=settings.profile_share,
        kind=settings.kind,
        pivot=settings.pivot,
        allow_large_delta=settings.allow_large_delta,
        run=RunSettings(threads=1, force=True),
    )
    return Sighting(scene=scene, coins=coins, present=present, release=published, settings=settings)


def _replay(curator: Curator, published: RecordsRelease, num_records: int) -> tuple[Places, Places]:
    """Owners of the rows as they were dealt, and the order in which the file has them."""
    chosen = curator._sample(num_records, published.num_rows, curator.randomness.stream("sample"))
    sampled = np.arange(num_records) if chosen is None else chosen
    owners = np.full(published.num_rows, NOBODY)
    owners[: len(sampled)] = sampled
    numbers = np.arange(published.num_rows)[:, None]
    written = np.zeros_like(numbers)

    def write(first: int, rows: Places) -> None:
        written[first : first + len(rows)] = rows

    shuffler = Shuffler(
        num_rows=published.num_rows,
        bin_rows=published.manifest.contents.bin_rows,
        stream=curator.randomness.stream("shuffle"),
        write=write,  # type: ignore[arg-type]
        read=lambda first, count: written[first : first + count],  # type: ignore[arg-type,return-value]
    )
    for block in (numbers[: len(sampled)], numbers[len(sampled) :]):
        if len(block):
            shuffler.add(block)  # type: ignore[arg-type]
    for _ in shuffler.finish():
        pass
    return owners, written[:, 0]
