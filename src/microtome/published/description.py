"""A release in plain words: what was promised, to whom, and what the file holds."""

from __future__ import annotations

from typing import Any

from microtome.accounting import GaussianEvent, epsilon, events_of
from microtome.images import ImageSchema
from microtome.published.aggregates import AggregatesRelease
from microtome.published.artefact import Artefact, Release, unknown_release
from microtome.published.images import ImageMomentsRelease, ImageRelease, ImageRowsRelease
from microtome.published.linked import LinkedRelease
from microtome.published.manifest import VERSION, Manifest, Pool
from microtome.published.mechanisms import (
    AggregateMechanism,
    ImageMomentsMechanism,
    ImageRowsMechanism,
    LinkedMechanism,
    Mechanism,
)
from microtome.published.records import RecordsRelease
from microtome.schema import ColumnCode

_SHORT = 12
"""Digits by which a fingerprint is told from others."""


def promise_in_words(release: Artefact) -> list[str]:
    """The guarantee, a sentence a line."""
    manifest, promise = release.manifest, release.manifest.promise
    if not promise.private:
        return ["NOT PRIVATE: the noise of this release was injected for a test. It promises nothing."]
    counted = "people" if manifest.is_of_people else "records"
    lines = [
        f"This release is (ε = {promise.epsilon:g}, δ = {promise.delta:g})-differentially private, "
        f"{_together(manifest)}.",
        f"Neighbours ({promise.neighbours}): {promise.neighbours.described(people=manifest.is_of_people)}",
        f"Computed by the {promise.accountant} accountant"
        f"{'' if promise.accountant == 'exact' else f'; the exact one finds ε = {exact_epsilon(release):.4g}'}.",
        *_profile_in_words(manifest),
    ]
    if manifest.contents.records_exact:
        lines.append(f"The number of {counted}, {manifest.contents.num_records:,.0f}, is public.")
    else:
        lines.append(
            f"The number of {counted} is protected: it is about {manifest.contents.num_records:,.0f} by a noisy count."
        )
    lines += _how(manifest)
    lines.append("Whatever is computed from this file (models, samples, reports) costs no further privacy.")
    return lines


def _together(manifest: Manifest) -> str:
    match manifest.pool:
        case None:
            return "profile included" if manifest.mechanism.profile_share else "all of it together"
        case Pool(overlapping=True):
            return "for people who may be in all releases that it was made of: what these cost is added up"
        case Pool():
            return "for people who are in one of the releases that it was made of, and in no other of them"


def _profile_in_words(manifest: Manifest) -> list[str]:
    """What the profile cost; or whose it is, where there is none."""
    promise, mechanism = manifest.promise, manifest.mechanism
    if manifest.pool is not None:
        return [
            f"Pooled from {len(manifest.pool.holders)} releases, each with a promise of its own: "
            + "; ".join(
                f"{holder.fingerprint[:_SHORT]}, {holder.num_records:,.0f} records, ε = {holder.promise.epsilon:g} at "
                f"δ = {holder.promise.delta:g}"
                for holder in manifest.pool.holders
            )
            + "."
        ]
    match mechanism:
        case AggregateMechanism(like=str() as other):
            return [
                f"There is no profile: columns are coded as in the release {other[:_SHORT]}, which was public, and all "
                "of the budget went to the tables. Shares within a level are those of that release."
            ]
        case AggregateMechanism() | Mechanism() | LinkedMechanism() | ImageRowsMechanism() | ImageMomentsMechanism():
            share = epsilon(events_of(GaussianEvent, promise.events)[:1], promise.delta)  # the profile comes first
            return [
                f"The profile (one-way histograms) took {mechanism.profile_share:.0%} of the budget; by itself it is "
                f"(ε = {share:.3g}, δ = {promise.delta:g})-private."
            ]


def unlearnt_in_words(release: Artefact) -> list[str]:
    """Which columns the release knows next to nothing of, and what to do; nothing where there are none."""
    names = release.unlearnt
    if not names:
        return []
    return [
        f"NOT LEARNT: {', '.join(names)}. Of these columns next to nothing stood out from the noise, and what is drawn "
        "of them says nothing. Declare their bounds or categories from public knowledge, or spend a larger ε."
    ]


def contents_in_words(release: Artefact) -> str:
    """What the file holds, in a sentence."""
    match release:
        case RecordsRelease():
            return _records_in_words(release)
        case AggregatesRelease():
            return _aggregates_in_words(release)
        case LinkedRelease(views=views):
            return " ".join(f"{name}: {_aggregates_in_words(one)}" for name, one in views.items())
        case ImageRowsRelease():
            rows = release.manifest.contents.num_rows
            return f"{_images_in_words(release.schema)}: {rows:,} rows of noise σ = {release.noise_scale:.5g}."
        case ImageMomentsRelease(mechanism=noise):
            return (
                f"{_images_in_words(release.schema)}: sums with noise σ = {noise.mean_noise:.4g} and sums of products "
                f"with noise σ = {noise.second_noise:.4g}."
            )
        case _:
            raise unknown_release(release)


def _records_in_words(release: RecordsRelease) -> str:
    law = release.mechanism.directions
    return (
        f"{release.num_rows:,} rows × {law.count} {law.kind} directions ({law.num_slices} slices of dimension "
        f"{law.slice_dim}) of {release.codebook.dim}-dimensional encoded rows; noise σ = {release.noise_scale:.5g} "
        f"in steps of {release.mechanism.grid_step:.3g}; expected share of null rows {release.null_share:.1%}."
    )


def _aggregates_in_words(release: AggregatesRelease) -> str:
    noise = [value for row in release.mechanism.pair_noise for value in row if value > 0]
    spread = f"; noise σ of a count from {min(noise):.4g} to {max(noise):.4g}" if noise else ""
    by = "" if release.mechanism.pivot is None else f" in {release.mechanism.num_classes} classes"
    focus = release.mechanism.focus
    once_more = "" if focus is None else f" The same in {focus.num_groups} groups of levels of {focus.column!r}."
    triples = release.mechanism.triples
    chosen = "" if triples is None else f" {triples.counted('table')} of three columns that pairs do not tell."
    columns = len(release.codebook.codes)
    return f"Counts of all pairs of {release.codebook.dim} levels of {columns} columns{by}{spread}.{once_more}{chosen}"


def _images_in_words(schema: ImageSchema) -> str:
    pose = " of what they show and the five numbers of where it is" if schema.aligned else ""
    return (
        f"Images of {schema.height} × {schema.width} pixels and {schema.channels} channels as "
        f"{schema.num_components * schema.channels} low-frequency components{pose}, in {schema.num_classes} classes"
    )


def _how(manifest: Manifest) -> list[str]:
    """What was noised, in words."""
    match manifest.mechanism:
        case LinkedMechanism(views=views):
            return [
                f"Aggregates: noise was added to counts over all people, of {len(views)} tables with what their rows "
                "hang on. Everything that hangs on a person has weights that sum to one, so each person counts once."
            ]
        case ImageMomentsMechanism():
            return ["Aggregates: noise was added to counts, means and second moments over all images of a class."]
        case ImageRowsMechanism(slices=slices):
            lines = [
                "Records: noise was added to every image. Each class is padded with null rows, so its size tells "
                "nothing beyond the noisy count."
            ]
            if slices.subsample is not None:
                lines.append(f"Each image was sampled with probability {slices.subsample:g}.")
            return lines
        case AggregateMechanism(pivot=pivot, num_classes=classes, focus=focus, triples=triples):
            by = "" if pivot is None else f", apart for each of the {classes} classes of {pivot!r}"
            by += "" if focus is None else f", and once more by levels of {focus.column!r}"
            by += "" if triples is None else f", and of {triples.counted('chosen set')} of three columns"
            return [f"Aggregates: noise was added to counts over all records, of every pair of columns{by}."]
        case Mechanism(capacity=capacity, subsample=rate):
            lines = ["Records: noise was added to every record."]
            if capacity is not None:
                lines.append(f"Rows are padded to the public capacity {capacity:,}.")
            if rate is not None:
                lines.append(
                    f"Each record was sampled with probability {rate:g}; null rows pad the sample to "
                    f"{manifest.contents.num_rows:,}, so its size tells nothing."
                )
            return lines


def summary(release: Artefact) -> dict[str, Any]:
    """All figures, for ``--json``."""
    document = release.manifest.to_dict()
    held = _held(release)
    return {
        "file": str(release.path),
        "fingerprint": release.fingerprint,
        "format_version": VERSION,
        "kind": document["kind"],
        "software": document["software"],
        "promise": {
            **document["promise"],
            "epsilon_exact": exact_epsilon(release),
            "in_words": promise_in_words(release),
        },
        "mechanism": document["mechanism"],
        "contents": {**document["contents"], **held.pop("contents")},
        **held,
        "checksums": document["checksums"],
        **({"pool": document["pool"]} if "pool" in document else {}),
    }


def _held(release: Artefact) -> dict[str, Any]:
    """What only releases of a table, or only those of images, have figures of."""
    match release:
        case RecordsRelease():
            return _of_table(release, null_share=release.null_share)
        case AggregatesRelease():
            return _of_table(release)
        case LinkedRelease(views=views):
            return {
                "contents": {"dim": sum(one.codebook.dim for one in views.values())},
                "tables": {name: _of_table(one) for name, one in views.items()},
                "unlearnt": list(release.unlearnt),
            }
        case ImageRelease():
            classes = release.schema.classes or ("all",)
            return {
                "contents": {"dim": release.schema.dim},
                "images": release.schema.to_dict(),
                "classes": [
                    {"class": label, "images": float(count), "noise_scale": release.count_noise}
                    for label, count in zip(classes, release.counts, strict=True)
                ],
            }
        case _:
            raise unknown_release(release)


def _of_table(release: Release, **contents: float) -> dict[str, Any]:
    return {
        "contents": {**contents, "dim": release.codebook.dim},
        "columns": [column_summary(code) for code in release.codebook.codes[: len(release.view.own_schema.columns)]],
        "unlearnt": list(release.unlearnt),
        "target": release.schema.target,
    }


def exact_epsilon(release: Artefact) -> float:
    """ε of everything in the file at its δ, by the exact accountant."""
    return epsilon(list(release.manifest.promise.events), release.manifest.promise.delta)


def column_summary(code: ColumnCode) -> dict[str, Any]:
    """What the release says of a column."""
    missing = float(code.margins[-1]) if code.cells.missing else 0.0
    values: dict[str, Any] = {
        "name": code.column.name,
        "kind": str(code.column.kind),
        "dtype": code.column.dtype,
        "declared": code.column.is_declared,
        "learnt": code.is_learnt,
        "levels": code.num_levels,
        "noise_scale": code.noise_scale,
        "missing_share": missing,
    }
    return values | code.summary()
