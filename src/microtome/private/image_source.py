"""A private image set as a source of releases: its passes, in the order in which they are published.

    classes and contrasts ─► means ─► second moments      kind aggregates
                          └► rows, class by class         kind records

What a later pass needs to know (a radius, the centres of classes) it takes from what an earlier one has published.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from microtome.errors import ParameterError
from microtome.images import ImageCode, ImageSchema
from microtome.private.image_plan import (
    ImageProfilePlan,
    MomentPlan,
    class_rows,
    expected_image_bytes,
    plan_image_profile,
    plan_image_slices,
    plan_moments,
)
from microtome.private.image_rows import ImageBlock, PrivateImages
from microtome.private.image_tally import ImageCounts, MeanSums, MomentSums, check_count
from microtome.private.memory import check_memory
from microtome.private.passes import Blocks, Pass, Plan, Published
from microtome.private.plan import SlicePlan
from microtome.private.randomness import GRID, Randomness, poisson_sample
from microtome.private.slicing import SlicingMechanism, draw_directions
from microtome.published import (
    ContainerWriter,
    ImageMomentsMechanism,
    ImageRowsMechanism,
    Mechanism,
    ReleaseKind,
    check_space,
    digest,
)
from microtome.published.image_classes import Contrast, class_centres, contrast, residual_radii
from microtome.settings import IMAGE_PROFILE, MOST_TRIPLES, NO_FOCUS, NO_PIVOT, TARGET, PrivacySettings, RunSettings

Floats = NDArray[np.float64]
_COPIES_IN_MEMORY = 4
"""Rows or moments while they are summed, noised and written."""


@dataclass(frozen=True, kw_only=True)
class ImageSource:
    """Private images, checked against their schema.

    Attributes:
        images: The images.
        null_records: Empty images beyond these.
    """

    images: PrivateImages
    null_records: int = 0
    engine = None

    @property
    def origin(self) -> str:
        """What to call them in messages."""
        return self.images.origin

    @property
    def num_records(self) -> int:
        """Images, null ones included."""
        return len(self.images) + self.null_records

    def blocks(self, num_records: int, counting: Pass | None = None) -> Iterator[ImageBlock]:
        """All images in blocks."""
        return self.images.blocks(num_records)

    def schema_document(self) -> Mapping[str, Any]:
        """The schema, for the file."""
        return self.images.schema.to_dict()

    def plan(self, settings: PrivacySettings, run: RunSettings) -> Plan:
        """Counts by class and contrast, and what follows them."""
        schema = self.images.schema
        if settings.pivot != NO_PIVOT or settings.focus not in (TARGET, NO_FOCUS) or settings.triples < MOST_TRIPLES:
            raise ParameterError("images are counted by their label: a pivot, a focus and triples are for tables")
        check_count(self.num_records, self.origin)
        profile = plan_image_profile(settings)
        second: MomentPlan | SlicePlan
        match settings.kind:
            case ReleaseKind.AGGREGATES:
                second = plan_moments(settings, schema, profile.events)
            case ReleaseKind.RECORDS:
                second = plan_image_slices(settings, schema, profile.events)

        def check_room(num_records: int, output: Path) -> None:
            size = expected_image_bytes(settings, schema, num_records, profile.noise)
            check_space(output.parent, size)
            check_memory(_COPIES_IN_MEMORY * size, self.origin)

        return Plan(
            events=(*profile.events, *second.events),
            first=ImageProfilePass(settings, schema, profile, second),
            check_room=check_room,
        )


@dataclass(frozen=True, kw_only=True)
class Known:
    """What the first pass has published, and the settings that everything after it shares."""

    settings: PrivacySettings
    schema: ImageSchema
    counts: Floats
    count_noise: float
    scale: Contrast

    @property
    def width(self) -> int:
        """Numbers that an image takes while it is encoded."""
        return _width(self.schema)


class ImageProfilePass:
    """The first pass: noisy counts of classes and of contrasts."""

    stage = "profile"

    def __init__(
        self,
        settings: PrivacySettings,
        schema: ImageSchema,
        plan: ImageProfilePlan,
        second: MomentPlan | SlicePlan,
    ) -> None:
        self.width = _width(schema)
        self._settings, self._schema, self._plan, self._second = settings, schema, plan, second
        self._counts = ImageCounts(schema.num_classes, ImageCode(schema).largest)

    def add(self, block: ImageBlock) -> None:
        """Count a block."""
        self._counts.add(block)

    def merge(self, other: Self) -> None:
        """Add what another pass of the same schema has counted."""
        self._counts.merge(other._counts)

    def publish(self, randomness: Randomness, num_records: int) -> Published:
        """Both histograms, and what is to follow them."""
        noise = self._plan.noise
        counts, contrasts = self._counts.publish(noise, randomness)
        known = Known(
            settings=self._settings,
            schema=self._schema,
            counts=counts,
            count_noise=noise,
            scale=contrast(contrasts, noise, ImageCode(self._schema).largest),
        )
        hidden = self._settings.neighbours.protects_count
        return Published(
            events=self._plan.events,
            arrays={"images/counts": counts, "images/contrasts": contrasts},
            total=max(float(counts.sum()), 0.0) if hidden else float(num_records),
            following=self._following(known, randomness),
        )

    def _following(self, known: Known, randomness: Randomness) -> Pass | Published:
        match self._second:
            case MomentPlan() as plan:
                return MeanPass(known, plan)
            case SlicePlan() as plan:
                return _sliced(known, plan, randomness)


class MeanPass:
    """The second pass of aggregates: noisy sums of the images of each class."""

    stage = "means"

    def __init__(self, known: Known, plan: MomentPlan) -> None:
        self.width = known.width
        self._known, self._plan = known, plan
        self._sums = MeanSums(known.schema.num_classes, known.schema.dim, known.scale.radius)

    def add(self, block: ImageBlock) -> None:
        """Add a block."""
        self._sums.add(block)

    def merge(self, other: Self) -> None:
        """Add what another pass of the same radius has summed."""
        self._sums.merge(other._sums)

    def publish(self, randomness: Randomness, num_records: int) -> Published:
        """The sums, and the pass whose residuals are taken from the centres that they give."""
        known, plan = self._known, self._plan
        sums = self._sums.publish(plan.mean_noise, randomness)
        centres = class_centres(sums, known.counts, plan.mean_noise, known.scale.brightness, known.schema)
        arrays = {"images/sums": sums, "images/centres": centres}
        return Published(events=(), arrays=arrays, following=MomentPass(known, plan, centres))


class MomentPass:
    """The last pass of aggregates: noisy second moments of residuals from public centres, and spreads."""

    stage = "moments"

    def __init__(self, known: Known, plan: MomentPlan, centres: Floats) -> None:
        self.width = known.width
        self._known, self._plan = known, plan
        self._radii = residual_radii(centres, known.counts, known.scale.energy)
        self._sums = MomentSums(centres, known.scale.radius, *self._radii)

    def add(self, block: ImageBlock) -> None:
        """Add a block."""
        self._sums.add(block)

    def merge(self, other: Self) -> None:
        """Add what another pass of the same centres has summed."""
        self._sums.merge(other._sums)

    def publish(self, randomness: Randomness, num_records: int) -> Published:
        """Both sums under noise. The events are those of means and moments together."""
        known, plan = self._known, self._plan
        second, spreads = self._sums.publish(plan.second_noise, plan.spread_noise, randomness)
        mechanism = ImageMomentsMechanism(
            profile_share=known.settings.share_of_profile(IMAGE_PROFILE),
            radius=known.scale.radius,
            residual_radius=self._radii[0],
            spread_radius=self._radii[1],
            count_noise=known.count_noise,
            mean_noise=plan.mean_noise,
            second_noise=plan.second_noise,
            spread_noise=plan.spread_noise,
        )
        arrays = {"images/second": second, "images/spreads": spreads}
        return Published(events=plan.events, arrays=arrays, mechanism=mechanism)


def _sliced(known: Known, plan: SlicePlan, randomness: Randomness) -> Published:
    """What follows the profile of a release of records."""
    sizes = class_rows(known.counts.tolist(), known.count_noise, known.settings)
    directions = draw_directions(plan.law, randomness, known.schema.dim)
    slicing = SlicingMechanism(
        directions=directions, noise_scale=plan.noise_scale, nonnegative=False, randomness=randomness
    )
    rows = ClassRows(
        sizes=sizes,
        slicing=slicing,
        radius=known.scale.radius,
        subsample=known.settings.subsample,
        width=known.width,
    )
    mechanism = ImageRowsMechanism(
        slices=Mechanism(
            directions=plan.law,
            noise_scale=plan.noise_scale,
            grid_step=plan.noise_scale / GRID,
            row_distance=plan.row_distance,
            profile_share=known.settings.share_of_profile(IMAGE_PROFILE),
            subsample=known.settings.subsample,
            capacity=known.settings.capacity,
        ),
        radius=known.scale.radius,
        count_noise=known.count_noise,
        class_rows=sizes,
    )
    return Published(events=plan.events, arrays={"directions": directions}, mechanism=mechanism, rows=rows)


@dataclass(frozen=True, kw_only=True)
class ClassRows:
    """Noisy slices of the images of each class and of the null rows that pad them, in random order.

    Attributes:
        sizes: Rows of each class.
        slicing: The mechanism.
        radius: The unit of images.
        subsample: Rate of the Poisson sample, or ``None`` for all images.
        width: Numbers that an image takes while it is encoded.
    """

    sizes: tuple[int, ...]
    slicing: SlicingMechanism
    radius: float
    subsample: float | None
    width: int
    bin_rows: int = 1

    @property
    def shape(self) -> tuple[int, int]:
        """Rows of the file, and numbers a row."""
        return sum(self.sizes), self.slicing.directions.shape[1]

    @property
    def num_bins(self) -> int:
        """Checksums of the rows: one a class."""
        return len(self.sizes)

    def write(self, file: ContainerWriter, blocks: Blocks) -> list[str]:
        """Write all rows, class after class; gives the checksum of each class."""
        first, digests = 0, []
        for number, rows in enumerate(self.padded(blocks("rows", self.width))):
            noisy = self.slicing(rows, number)
            file.write_rows(first, noisy)
            digests.append(digest(noisy.data))
            first += len(noisy)
        return digests

    def padded(self, blocks: Iterator[ImageBlock]) -> Iterator[Floats]:
        """Each class's rows before noise: its images, or a Poisson sample of them, and null rows, in random order."""
        shown = list(blocks)
        rows = np.concatenate([block.rows for block in shown]) / self.radius
        classes = np.concatenate([block.classes for block in shown])
        for number, size in enumerate(self.sizes):
            stream = self.slicing.randomness.stream("sample", number)
            mine = rows[classes == number]
            if self.subsample is not None:
                mine = mine[poisson_sample(len(mine), self.subsample, stream)]
            mine = mine[stream.permutation(len(mine))[:size]]
            padded = np.zeros((size, rows.shape[1]))
            padded[stream.permutation(size)[: len(mine)]] = mine
            yield padded


def _width(schema: ImageSchema) -> int:
    return int(np.prod(schema.shape))
