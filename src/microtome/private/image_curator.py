"""The door for images: the counterpart of ``Curator``, by the same order of steps.

    plan → check → [reserve] → count → profile → rows, or means and then moments → file → [settle]

Everything that can be refused is refused before the reservation. What a later pass needs to know (a radius, the
centres of classes) it takes from what an earlier one has published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import microtome
from microtome.accounting import Event
from microtome.private.image_plan import (
    ImageProfilePlan,
    ImageSlicePlan,
    MomentPlan,
    class_rows,
    expected_image_bytes,
    plan_image_profile,
    plan_image_slices,
    plan_moments,
)
from microtome.private.image_rows import Block, PrivateImages
from microtome.private.image_tally import ImageCounts, MeanSums, MomentSums, check_count
from microtome.private.memory import check_memory
from microtome.private.pipeline import ordered_map
from microtome.private.plan import check_table_size
from microtome.private.publisher import Publisher
from microtome.private.randomness import GRID, poisson_sample
from microtome.private.slicing import SlicingMechanism, draw_directions
from microtome.release import (
    ContainerWriter,
    Contents,
    ImageMomentsMechanism,
    ImageRelease,
    ImageRowsMechanism,
    Manifest,
    Mechanism,
    ReleaseKind,
    check_output,
    check_space,
    digest,
)
from microtome.release.image_centres import Contrast, class_centres, contrast, residual_radii
from microtome.schema import ImageCode

Arrays = dict[str, NDArray[Any]]
_COPIES_IN_MEMORY = 4
"""Rows or moments while they are summed, noised and written."""


@dataclass(frozen=True, kw_only=True)
class ImageCurator(Publisher):
    """Makes one release of one image set.

    Attributes:
        images: The private images, checked against their schema.
    """

    images: PrivateImages

    def release(self, output: Path) -> ImageRelease:
        """Read the images, publish them under noise, write the file."""
        check_output(output, force=self.run.force)
        check_table_size(self.settings, len(self.images), self.images.origin)
        check_count(len(self.images), self.images.origin)
        schema, settings = self.images.schema, self.settings
        profile = plan_image_profile(settings)
        plan = self._plan_second(profile.events)
        size = expected_image_bytes(settings, schema, len(self.images), profile.noise)
        check_space(output.parent, size)
        check_memory(_COPIES_IN_MEMORY * size, self.images.origin)
        with self._reserved((*profile.events, *plan.events)) as reservation:
            counts = ImageCounts(schema.num_classes, ImageCode(schema).largest)
            self._pass("profile", counts.add)
            reservation.spend()
            arrays: Arrays = dict(
                zip(("images/counts", "images/contrasts"), counts.publish(profile.noise, self.randomness), strict=True)
            )
            scale = contrast(arrays["images/contrasts"], profile.noise, ImageCode(schema).largest)
            if isinstance(plan, MomentPlan):
                self._publish_moments(output, arrays, profile, plan, scale)
            else:
                self._publish_rows(output, arrays, profile, plan, scale)
            published = ImageRelease.load(output, verify=False)
            reservation.settle(output, published.fingerprint)
        return published

    def _plan_second(self, spent: tuple[Event, ...]) -> MomentPlan | ImageSlicePlan:
        """What the passes after the profile cost."""
        match self.settings.kind:
            case ReleaseKind.AGGREGATES:
                return plan_moments(self.settings, self.images.schema, spent)
            case ReleaseKind.RECORDS:
                return plan_image_slices(self.settings, self.images.schema, spent)

    def _pass(self, stage: str, add: Callable[[Block], None]) -> None:
        """Show every image to a tally, once."""

        def blocks() -> Iterator[Block]:
            done = 0
            for block in self.images.blocks():
                yield block
                done += len(block[0])
                self.run.progress(stage, done, len(self.images))

        for _ in ordered_map(add, blocks(), threads=self.run.threads):
            pass

    def _publish_moments(
        self, output: Path, arrays: Arrays, profile: ImageProfilePlan, plan: MomentPlan, scale: Contrast
    ) -> None:
        schema, counts = self.images.schema, arrays["images/counts"]
        means = MeanSums(schema.num_classes, schema.dim, scale.radius)
        self._pass("means", means.add)
        arrays["images/sums"] = means.publish(plan.mean_noise, self.randomness)
        centres = class_centres(arrays["images/sums"], counts, plan.mean_noise, scale.brightness, schema.channels)
        residual_radius, spread_radius = residual_radii(centres, counts, scale.energy)
        moments = MomentSums(centres, scale.radius, residual_radius, spread_radius)
        self._pass("moments", moments.add)
        second, spreads = moments.publish(plan.second_noise, plan.spread_noise, self.randomness)
        arrays |= {"images/centres": centres, "images/second": second, "images/spreads": spreads}
        mechanism = ImageMomentsMechanism(
            profile_share=self.settings.profile_share,
            radius=scale.radius,
            residual_radius=residual_radius,
            spread_radius=spread_radius,
            count_noise=profile.noise,
            mean_noise=plan.mean_noise,
            second_noise=plan.second_noise,
            spread_noise=plan.spread_noise,
        )
        manifest = self._manifest((*profile.events, *plan.events), mechanism, arrays)
        with ContainerWriter(output, arrays, None, manifest.to_dict()) as file:
            file.finish(manifest.to_dict())

    def _publish_rows(
        self, output: Path, arrays: Arrays, profile: ImageProfilePlan, plan: ImageSlicePlan, scale: Contrast
    ) -> None:
        sizes = class_rows(arrays["images/counts"].tolist(), profile.noise, self.settings)
        arrays["directions"] = draw_directions(plan.law, self.randomness, self.images.schema.dim)
        mechanism = ImageRowsMechanism(
            slices=Mechanism(
                directions=plan.law,
                noise_scale=plan.noise_scale,
                grid_step=plan.noise_scale / GRID,
                row_distance=plan.row_distance,
                profile_share=self.settings.profile_share,
                subsample=self.settings.subsample,
                capacity=self.settings.capacity,
            ),
            radius=scale.radius,
            count_noise=profile.noise,
            class_rows=sizes,
        )
        slicing = SlicingMechanism(
            directions=arrays["directions"],
            noise_scale=plan.noise_scale,
            nonnegative=False,
            randomness=self.randomness,
        )
        noisy = [slicing(rows, number) for number, rows in enumerate(self._class_rows(sizes, scale.radius))]
        manifest = self._manifest((*profile.events, *plan.events), mechanism, arrays)
        contents = replace(manifest.contents, num_rows=sum(sizes))
        checksums = {**manifest.checksums, "rows": [digest(rows.data) for rows in noisy]}
        manifest = replace(manifest, contents=contents, checksums=checksums)
        with ContainerWriter(output, arrays, (sum(sizes), plan.law.count), manifest.to_dict()) as file:
            file.write_rows(0, np.concatenate(noisy))
            file.finish(manifest.to_dict())

    def _class_rows(self, sizes: tuple[int, ...], radius: float) -> Iterator[NDArray[np.float64]]:
        """Each class's rows before noise: its images, or a Poisson sample of them, and null rows, in random order."""
        blocks = list(self.images.blocks())
        rows = np.concatenate([block[0] for block in blocks]) / radius
        classes = np.concatenate([block[1] for block in blocks])
        rate = self.settings.subsample
        for number, size in enumerate(sizes):
            stream = self.randomness.stream("sample", number)
            mine = rows[classes == number]
            if rate is not None:
                mine = mine[poisson_sample(len(mine), rate, stream)]
            mine = mine[stream.permutation(len(mine))[:size]]
            padded = np.zeros((size, rows.shape[1]))
            padded[stream.permutation(size)[: len(mine)]] = mine
            self.run.progress("rows", number + 1, len(sizes))
            yield padded

    def _manifest(
        self, events: tuple[Event, ...], mechanism: ImageRowsMechanism | ImageMomentsMechanism, arrays: Arrays
    ) -> Manifest:
        settings = self.settings
        exact = not settings.neighbours.protects_count
        return Manifest(
            kind=settings.kind,
            software=f"microtome {microtome.__version__}",
            promise=self._promise(events),
            mechanism=mechanism,
            contents=Contents(
                num_rows=0,
                num_records=float(len(self.images) if exact else max(arrays["images/counts"].sum(), 0.0)),
                records_exact=exact,
                bin_rows=1,
            ),
            schema=self.images.schema.to_dict(),
            codebook={},
            checksums={name: digest(np.ascontiguousarray(array).tobytes()) for name, array in arrays.items()},
        )
