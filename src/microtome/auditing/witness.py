"""One run of the real release, watched by somebody who knows everything but the noise and one record.

The accounting gives the order of the rows and the choice of a subsample no credit: the promise holds against
whoever knows which row is whose and which other records were sampled. The audit is such an adversary. It lets the
curator work with randomness from the operating system as always, and then asks the same streams for the sample
and the shuffle again. It never asks for a stream of noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microtome.accounting import Ledger
from microtome.auditing.image_scene import ImageScene, Pictures
from microtome.auditing.scene import Coins, Group, Places, Scene
from microtome.auditing.table_scene import Records, TableScene
from microtome.private import (
    Curator,
    ImageCurator,
    PrivacySettings,
    PrivateImages,
    RunSettings,
    SystemRandomness,
    open_table,
    release,
    release_images,
)
from microtome.private.aggregating import TableBudget
from microtome.private.plan import ProfilePlan
from microtome.private.profile import Profile, Tally
from microtome.private.shuffling import Shuffler
from microtome.release import Artefact, ImageRelease, ImageRowsRelease, RecordsRelease, Release

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


class NumberedImages(PrivateImages):
    """Images of which nothing is seen but the class: each is encoded as its own number, from 1 on.

    What the door does with images of which it makes rows, it does with these: so one can see which row is whose.
    """

    def __init__(self, classes: Places) -> None:
        self._numbered = classes

    def blocks(self) -> Iterator[tuple[NDArray[np.float64], Places]]:
        """All numbers, in one block."""
        yield np.arange(1.0, len(self._numbered) + 1.0)[:, None], self._numbered


@dataclass(frozen=True, kw_only=True, eq=False)
class Sighting:
    """A release, and what the adversary knows of it.

    Attributes:
        scene: The targets and the crowd.
        coins: Which targets are there.
        present: The records of the data.
        release: What was published.
        settings: The promise.
        owners: For every row (of a table, before the shuffle), the record behind it, or ``NOBODY``; ``None`` if not
            witnessed.
    """

    scene: Scene[Any]
    coins: Coins
    present: Group
    release: Artefact
    settings: PrivacySettings
    owners: Places | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class TableSighting(Sighting):
    """A release of a table.

    Attributes:
        order: For every row of the file, its number before the shuffle; ``None`` if not witnessed.
    """

    scene: TableScene
    present: Records
    release: Release
    order: Places | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class ImageSighting(Sighting):
    """A release of images."""

    scene: ImageScene
    present: Pictures
    release: ImageRelease


def witness_release(scene: Scene[Any], settings: PrivacySettings, coins: Coins, output: Path) -> Sighting:
    """Release the data that ``coins`` say, looking on."""
    publisher: dict[str, Any] = {
        "settings": settings,
        "run": RunSettings(threads=1, force=True),
        "ledger": Ledger(),
        "dataset": "audit",
        "randomness": WitnessedRandomness(),
    }
    if isinstance(scene, ImageScene):
        return _witness_images(scene, ImageCurator(images=scene.opened(coins), **publisher), coins, output)
    assert isinstance(scene, TableScene)
    present = scene.present(coins)
    curator = BlankingCurator(
        table=open_table(present.table), schema=scene.schema, blanks=scene.num_blanks(coins), **publisher
    )
    published = curator.release(output)
    owners = order = None
    if isinstance(published, RecordsRelease):
        owners, order = _replay(curator, published, len(present))
    return TableSighting(
        scene=scene, coins=coins, present=present, release=published, settings=settings, owners=owners, order=order
    )


def _witness_images(scene: ImageScene, curator: ImageCurator, coins: Coins, output: Path) -> ImageSighting:
    present, published = scene.present(coins), curator.release(output)
    owners = None
    if isinstance(published, ImageRowsRelease):
        numbered = replace(curator, images=NumberedImages(present.classes))
        numbers = np.concatenate(list(numbered._class_rows(published.mechanism.class_rows, 1.0)))
        # The null row has number 0.
        owners = numbers[:, 0].astype(np.int64) - 1
    return ImageSighting(
        scene=scene, coins=coins, present=present, release=published, settings=curator.settings, owners=owners
    )


def publish_release(scene: Scene[Any], settings: PrivacySettings, coins: Coins, output: Path) -> Sighting:
    """Release the data that ``coins`` say by the public function, and look at nothing but the file."""
    options: dict[str, Any] = {
        "epsilon": settings.epsilon,
        "delta": settings.delta,
        "output": output,
        "neighbours": settings.neighbours,
        "accountant": settings.accountant,
        "directions": settings.directions,
        "num_slices": settings.num_slices,
        "slice_dim": settings.slice_dim,
        "subsample": settings.subsample,
        "capacity": settings.capacity,
        "profile_share": settings.profile_share,
        "kind": settings.kind,
        "allow_large_delta": settings.allow_large_delta,
        "run": RunSettings(threads=1, force=True),
    }
    if isinstance(scene, ImageScene):
        pictures = scene.present(coins)
        images = release_images(pictures.image_set(scene.schema), scene.schema, **options)
        return ImageSighting(scene=scene, coins=coins, present=pictures, release=images, settings=settings)
    assert isinstance(scene, TableScene)
    records = scene.present(coins)
    published = release(records.table, scene.schema, pivot=settings.pivot, **options)
    return TableSighting(scene=scene, coins=coins, present=records, release=published, settings=settings)


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
