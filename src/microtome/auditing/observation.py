"""One run of the real release, watched by somebody who knows everything but the noise and one record.

The accounting gives the order of the rows and the choice of a subsample no credit: the promise holds against
whoever knows which row is whose and which other records were sampled. The audit is such an adversary. It lets the
door work with randomness from the operating system as always, and then asks the same streams for the sample
and the shuffle again. It never asks for a stream of noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from microtome.accounting import Ledger
from microtome.api import release
from microtome.auditing.audit_data import AuditData, Coins, Group, Places
from microtome.auditing.audit_images import ImageAuditData, ImageGroup
from microtome.auditing.audit_linked import LinkedAuditData
from microtome.auditing.audit_table import Records, TableAuditData
from microtome.errors import MicrotomeError
from microtome.private import Door, Source, SystemRandomness
from microtome.private.image_rows import ImageBlock
from microtome.private.image_source import ClassRows
from microtome.private.shuffling import Shuffler
from microtome.private.sliced_rows import sampled
from microtome.private.slicing import SlicingMechanism
from microtome.progress import untold
from microtome.published import (
    AggregatesRelease,
    Artefact,
    ImageMomentsRelease,
    ImageRelease,
    ImageRowsRelease,
    LinkedRelease,
    RecordsRelease,
    Release,
    unknown_release,
)
from microtome.settings import PrivacySettings, RunSettings

NOBODY = -1
"""The record behind a null row."""


class ReplayableRandomness(SystemRandomness):
    """The production source of randomness, whose streams of sample and shuffle are looked at once more afterwards.

    A release made with it is marked as not private, as with any source but the production one.
    """

    def forget(self) -> None:
        """Keep the secret until the audit has seen who is where; it goes with this object."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Observation:
    """A release, and what the adversary knows of it.

    Attributes:
        data: The targets and the crowd.
        coins: Which targets are there.
        present: The records of the data.
        release: What was published.
        settings: The promise.
        owners: For every row (of a table, before the shuffle), the record behind it, or ``NOBODY``; ``None`` if not
            observed.
    """

    data: AuditData[Any]
    coins: Coins
    present: Group
    release: Artefact
    settings: PrivacySettings
    owners: Places | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class TableObservation(Observation):
    """A release of a table.

    Attributes:
        order: For every row of the file, its number before the shuffle; ``None`` if not observed.
    """

    data: TableAuditData
    present: Records
    release: Release
    order: Places | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class ImageObservation(Observation):
    """A release of images."""

    data: ImageAuditData
    present: ImageGroup
    release: ImageRelease


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkedObservation(Observation):
    """A release of linked tables."""

    data: LinkedAuditData
    present: Records
    release: LinkedRelease

    def views(self) -> Iterator[tuple[str, TableObservation]]:
        """What was counted in each view, as a release of one table: what it inherits was counted elsewhere."""
        for one in self.release.mechanism.views:
            data, view = self.data.views[one.view], self.release.views[one.view]
            codebook = replace(view.codebook, codes=view.codebook.codes[: len(data.schema.columns)])
            arrays = {"aggregates/first": view.first, "aggregates/second": view.second}
            own = AggregatesRelease(view.path, view.manifest, arrays, one.tables, (view.view, codebook))
            present = data.present(self.coins)
            yield (
                one.view,
                TableObservation(data=data, coins=self.coins, present=present, release=own, settings=self.settings),
            )


AnyAuditData = TableAuditData | ImageAuditData | LinkedAuditData
AnyObservation = TableObservation | ImageObservation | LinkedObservation


def observe_release(
    data: AnyAuditData, settings: PrivacySettings, coins: Coins, output: Path, source: Source | None = None
) -> AnyObservation:
    """Release the data that ``coins`` say, looking on; ``source`` has them if they were opened before."""
    door = Door(
        settings=settings,
        run=RunSettings(threads=1, force=True),
        ledger=Ledger(),
        dataset="audit",
        randomness=ReplayableRandomness(),
    )
    published = door.release(data.opened(coins) if source is None else source, output)
    known: dict[str, Any] = {"coins": coins, "settings": settings, "present": data.present(coins)}
    match data, published:
        case ImageAuditData(), ImageRowsRelease() as rows:
            owners = _owners(door, rows, known["present"])
            return ImageObservation(data=data, release=rows, owners=owners, **known)
        case ImageAuditData(), ImageMomentsRelease() as moments:
            return ImageObservation(data=data, release=moments, **known)
        case TableAuditData(), RecordsRelease() as records:
            owners, order = _replay(door, records, len(known["present"]))
            return TableObservation(data=data, release=records, owners=owners, order=order, **known)
        case TableAuditData(), AggregatesRelease() as tables:
            return TableObservation(data=data, release=tables, **known)
        case LinkedAuditData(), LinkedRelease() as linked:
            return LinkedObservation(data=data, release=linked, **known)
        case _:
            raise unknown_release(published)


def _owners(door: Door, published: ImageRowsRelease, present: ImageGroup) -> Places:
    """The image behind each row: what the door does with images it does once more, with their numbers instead."""
    slicing = SlicingMechanism(
        directions=published.directions,
        noise_scale=published.noise_scale,
        nonnegative=False,
        randomness=door.randomness,
    )
    rows = ClassRows(
        sizes=published.mechanism.class_rows, slicing=slicing, radius=1.0, subsample=door.settings.subsample, width=1
    )
    numbered = ImageBlock(np.arange(1.0, len(present) + 1.0)[:, None], present.classes)
    numbers = np.concatenate(list(rows.padded(iter([numbered]))))
    return numbers[:, 0].astype(np.int64) - 1  # the null row has number 0


def publish_release(data: AnyAuditData, settings: PrivacySettings, coins: Coins, output: Path) -> AnyObservation:
    """Release the data that ``coins`` say by the public function, and look at nothing but the file."""
    run = RunSettings(threads=1, force=True, tell=untold)
    match data:
        case ImageAuditData():
            group = data.present(coins)
            images = release(group.image_set(data.schema), data.schema, privacy=settings, output=output, run=run)
            return ImageObservation(data=data, coins=coins, present=group, release=images, settings=settings)
        case LinkedAuditData():
            raise MicrotomeError("linked tables are audited with the door open only")
        case TableAuditData():
            records = data.present(coins)
            published = release(records.table, data.schema, privacy=settings, output=output, run=run, anyway=True)
            return TableObservation(data=data, coins=coins, present=records, release=published, settings=settings)


def _replay(door: Door, published: RecordsRelease, num_records: int) -> tuple[Places, Places]:
    """Owners of the rows as they were dealt, and the order in which the file has them."""
    stream = door.randomness.stream("sample")
    chosen = sampled(num_records, door.settings.subsample, published.num_rows, stream)
    taken = np.arange(num_records) if chosen is None else chosen
    owners = np.full(published.num_rows, NOBODY)
    owners[: len(taken)] = taken
    numbers = np.arange(published.num_rows)[:, None]
    written = np.zeros_like(numbers)

    def write(first: int, rows: Places) -> None:
        written[first : first + len(rows)] = rows

    shuffler = Shuffler(
        num_rows=published.num_rows,
        bin_rows=published.manifest.contents.bin_rows,
        stream=door.randomness.stream("shuffle"),
        write=write,  # type: ignore[arg-type]
        read=lambda first, count: written[first : first + count],  # type: ignore[arg-type,return-value]
    )
    for block in (numbers[: len(taken)], numbers[len(taken) :]):
        if len(block):
            shuffler.add(block)  # type: ignore[arg-type]
    for _ in shuffler.finish():
        pass
    return owners, written[:, 0]
