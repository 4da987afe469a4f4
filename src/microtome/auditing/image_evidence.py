"""What every noisy array of an image release says of every target: counts, sums, moments and rows, class by class.

What is in the file is compared with exact sums that the private half's own code makes of the images, and what a target
adds to them is what that code makes of the target alone. Where targets are few, each hypothesis is summed anew over
*all* images: then one record's effect on the numbers of others, which should be none, is seen as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from microtome.auditing.audit_data import Places
from microtome.auditing.audit_images import ImageGroup
from microtome.auditing.evidence import Evidence, Numbers, rows_evidence, rows_of_targets, sums_evidence
from microtome.auditing.observation import NOBODY, ImageObservation
from microtome.errors import MicrotomeError
from microtome.private import ImageSource
from microtome.private.image_rows import ImageBlock
from microtome.private.image_tally import ImageCounts, MeanSums, MomentSums
from microtome.private.slicing import clip_rows
from microtome.published import ImageMomentsRelease, ImageRelease, ImageRowsRelease, narrowed

Noise = dict[str, Numbers]
"""By name of the array: places × width, in standard deviations."""
Traces = dict[str, tuple[Places, Numbers]]
"""By name of the array: the place where each of some images adds something, and what it adds there."""


def image_profile_evidence(observation: ImageObservation) -> Iterator[Evidence]:
    """The profile: counts by class and by contrast."""
    release, data = observation.release, observation.data
    if data.alike:
        yield from _whole_evidence(observation, lambda images: _profile_noise(release, images))
        return

    def traces(group: ImageGroup, bins: Places) -> Traces:
        one = np.full((len(group), 1), 1.0 / release.count_noise)
        return {"counts by class": (group.classes, one), "contrasts": (bins, one)}

    groups = zip((data.targets, data.substitutes), data.contrast_bins, strict=True)
    there, gone = (traces(group, bins) for group, bins in groups)
    yield from _sums_evidence(observation, _profile_noise(release, data.opened(observation.coins)), there, gone)


def moment_evidence(observation: ImageObservation) -> Iterator[Evidence]:
    """The sums of an aggregates release: means, second moments and spreads of each class."""
    release, data = narrowed(observation.release, ImageMomentsRelease), observation.data
    if data.alike:
        yield from _whole_evidence(observation, lambda images: _moment_noise(release, images))
        return
    there, gone = (
        _moment_traces(release, data.encoded(group), group.classes) for group in (data.targets, data.substitutes)
    )
    yield from _sums_evidence(observation, _moment_noise(release, data.opened(observation.coins)), there, gone)


def image_rows_evidence(observation: ImageObservation) -> Evidence:
    """The row of every target, whose place in the file is known to the observer."""
    data, release, owners = observation.data, narrowed(observation.release, ImageRowsRelease), observation.owners
    if owners is None:
        raise MicrotomeError("rows can be told apart in a observed release of records only")
    sizes = release.mechanism.class_rows
    means = image_row_means(release, data.encoded(observation.present))
    return rows_evidence(
        observation,
        rows=np.concatenate([release.rows(number) for number in range(len(sizes))]),
        standing=np.where((owners == NOBODY)[:, None], 0.0, means[owners]),
        own=rows_of_targets(observation, owners, np.repeat(np.arange(len(sizes)), sizes), data.targets.classes),
        there=image_row_means(release, data.encoded(data.targets)),
        gone=image_row_means(release, data.encoded(data.substitutes)),
        noise_scale=release.noise_scale,
        subsample=release.mechanism.slices.subsample,
    )


def image_row_means(release: ImageRowsRelease, encoded: Numbers) -> Numbers:
    """Where the rows of some encoded images would be without noise."""
    return clip_rows(encoded / release.radius, nonnegative=False) @ release.directions


def _sums_evidence(observation: ImageObservation, noise: Noise, there: Traces, gone: Traces) -> Iterator[Evidence]:
    for name, values in noise.items():
        yield sums_evidence(
            observation,
            name=name,
            noise=values,
            there=there[name][0][:, None],
            gone=gone[name][0][:, None],
            adds=there[name][1][:, None],
            other_adds=gone[name][1][:, None],
        )


def _whole_evidence(observation: ImageObservation, explain: Callable[[ImageSource], Noise]) -> Iterator[Evidence]:
    """All arrays, as the noise that they hold if the images are those with the target, and those without it."""
    data, coins = observation.data, observation.coins
    actual = explain(data.opened(coins))
    flipped = [explain(data.opened(coins ^ turned)) for turned in np.eye(len(coins), dtype=bool)]
    for name, noise in actual.items():
        other = np.stack([world[name] for world in flipped])
        is_there = coins[:, None, None]
        yield Evidence(
            name=name,
            noise=noise,
            places=np.broadcast_to(np.arange(len(noise)), (len(coins), len(noise))),
            there=np.where(is_there, noise, other),
            gone=np.where(is_there, other, noise),
        )


def _profile_noise(release: ImageRelease, images: ImageSource) -> Noise:
    """The noise of the profile, if these are the images."""
    counts = ImageCounts(release.schema.num_classes, release.code.largest)
    for block in images.blocks(len(images.images)):
        counts.add(block)
    return {
        "counts by class": (release.counts - counts.classes)[:, None] / release.count_noise,
        "contrasts": (release.contrasts - counts.contrasts)[:, None] / release.count_noise,
    }


def _moment_noise(release: ImageMomentsRelease, images: ImageSource) -> Noise:
    """The noise of the sums, if these are the images."""
    means, moments, how = *_tallies(release, release.centres), release.mechanism
    for block in images.blocks(len(images.images)):
        means.add(block)
        moments.add(block)
    return {
        "means": (release.sums - means.sums) / how.mean_noise,
        "second-moments": _once(release.second - moments.second) / how.second_noise,
        "spreads": (release.spreads - moments.spreads)[:, None] / how.spread_noise,
    }


def _moment_traces(release: ImageMomentsRelease, encoded: Numbers, classes: Places) -> Traces:
    """What each of some images adds to the sums of its class: the sums if every image has a class of its own."""
    means, moments, how = *_tallies(release, release.centres[classes]), release.mechanism
    alone = ImageBlock(encoded, np.arange(len(encoded)))
    means.add(alone)
    moments.add(alone)
    return {
        "means": (classes, means.sums / how.mean_noise),
        "second-moments": (classes, _once(moments.second) / how.second_noise),
        "spreads": (classes, moments.spreads[:, None] / how.spread_noise),
    }


def _tallies(release: ImageMomentsRelease, centres: Numbers) -> tuple[MeanSums, MomentSums]:
    how = release.mechanism
    return (
        MeanSums(len(centres), centres.shape[1], how.radius),
        MomentSums(centres, how.radius, how.residual_radius, how.spread_radius),
    )


def _once(symmetric: Numbers) -> Numbers:
    """Every entry of symmetric matrices once, in units of the noise of the diagonal."""
    rows, columns = np.triu_indices(symmetric.shape[-1])
    entries: Numbers = symmetric[:, rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0))
    return entries
