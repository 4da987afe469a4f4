"""A release in plain words: what was promised, to whom, and what the file holds."""

from __future__ import annotations

from typing import Any

from microtome.accounting import Event, GaussianEvent, epsilon
from microtome.published.aggregates import AggregatesRelease
from microtome.published.artefact import Artefact, Release
from microtome.published.images import ImageMomentsRelease, ImageRelease, ImageRowsRelease
from microtome.published.manifest import (
    VERSION,
    AggregateMechanism,
    ImageMomentsMechanism,
    ImageRowsMechanism,
    Manifest,
    Mechanism,
)
from microtome.published.records import RecordsRelease
from microtome.schema import ColumnCode, NumberCells


def promise_in_words(release: Artefact) -> list[str]:
    """The guarantee, a sentence a line."""
    manifest, promise, mechanism = release.manifest, release.manifest.promise, release.manifest.mechanism
    if not promise.private:
        return ["NOT PRIVATE: the noise of this release was injected for a test. It promises nothing."]
    share = epsilon(_profile_events(promise.events), promise.delta)
    lines = [
        f"This release is (ε = {promise.epsilon:g}, δ = {promise.delta:g})-differentially private, profile included.",
        f"Neighbours ({promise.neighbours}): {promise.neighbours.describes}",
        f"Computed by the {promise.accountant} accountant"
        f"{'' if promise.accountant == 'exact' else f'; the exact one finds ε = {exact_epsilon(release):.4g}'}.",
        f"The profile (one-way histograms) took {mechanism.profile_share:.0%} of the budget; by itself it is "
        f"(ε = {share:.3g}, δ = {promise.delta:g})-private.",
    ]
    if manifest.contents.records_exact:
        lines.append(f"The number of records, {manifest.contents.num_records:,.0f}, is public.")
    else:
        lines.append(
            f"The number of records is protected: it is about {manifest.contents.num_records:,.0f} by a noisy count."
        )
    lines += _how(manifest)
    lines.append("Whatever is computed from this file (models, samples, reports) costs no further privacy.")
    return lines


def unlearnt_in_words(release: Artefact) -> list[str]:
    """Which columns the release knows next to nothing of, and what to do; nothing where there are none."""
    names = release.unlearnt if isinstance(release, Release) else ()
    if not names:
        return []
    return [
        f"NOT LEARNT: {', '.join(names)}. Of these columns next to nothing stood out from the noise, and what is drawn "
        "of them says nothing. Declare their bounds or categories from public knowledge, or spend a larger ε."
    ]


def contents_in_words(release: Artefact) -> str:
    """What the file holds, in a sentence."""
    if isinstance(release, ImageRelease):
        return _images_in_words(release)
    if isinstance(release, RecordsRelease):
        law = release.mechanism.directions
        return (
            f"{release.num_rows:,} rows × {law.count} {law.kind} directions ({law.num_slices} slices of dimension "
            f"{law.slice_dim}) of {release.codebook.dim}-dimensional encoded rows; noise σ = {release.noise_scale:.5g} "
            f"in steps of {release.mechanism.grid_step:.3g}; expected share of null rows {release.null_share:.1%}."
        )
    assert isinstance(release, AggregatesRelease)
    noise = [value for row in release.mechanism.pair_noise for value in row if value > 0]
    spread = f"; noise σ of a count from {min(noise):.4g} to {max(noise):.4g}" if noise else ""
    by = "" if release.mechanism.pivot is None else f" in {release.mechanism.num_classes} classes"
    return f"Counts of all pairs of {release.codebook.dim} levels of {len(release.codebook.codes)} columns{by}{spread}."


def _images_in_words(release: ImageRelease) -> str:
    schema = release.schema
    what = (
        f"Images of {schema.height} × {schema.width} pixels and {schema.channels} channels as {schema.dim} "
        f"low-frequency components, in {schema.num_classes} classes"
    )
    if isinstance(release, ImageRowsRelease):
        return f"{what}: {release.manifest.contents.num_rows:,} rows of noise σ = {release.noise_scale:.5g}."
    assert isinstance(release, ImageMomentsRelease)
    noise = release.mechanism
    return (
        f"{what}: sums with noise σ = {noise.mean_noise:.4g} and sums of products with noise σ = "
        f"{noise.second_noise:.4g}."
    )


def _how(manifest: Manifest) -> list[str]:
    """What was noised, in words."""
    mechanism = manifest.mechanism
    if isinstance(mechanism, ImageMomentsMechanism):
        return ["Aggregates: noise was added to counts, means and second moments over all images of a class."]
    if isinstance(mechanism, ImageRowsMechanism):
        lines = [
            "Records: noise was added to every image. Each class is padded with null rows, so its size tells nothing "
            "beyond the noisy count."
        ]
        rate = mechanism.slices.subsample
        return lines if rate is None else [*lines, f"Each image was sampled with probability {rate:g}."]
    if isinstance(mechanism, AggregateMechanism):
        by = (
            ""
            if mechanism.pivot is None
            else f", apart for each of the {mechanism.num_classes} classes of {mechanism.pivot!r}"
        )
        return [f"Aggregates: noise was added to counts over all records, of every pair of columns{by}."]
    assert isinstance(mechanism, Mechanism)
    lines = ["Records: noise was added to every record."]
    if mechanism.capacity is not None:
        lines.append(f"Rows are padded to the public capacity {mechanism.capacity:,}.")
    if mechanism.subsample is not None:
        lines.append(
            f"Each record was sampled with probability {mechanism.subsample:g}; null rows pad the sample to "
            f"{manifest.contents.num_rows:,}, so its size tells nothing."
        )
    return lines


def summary(release: Artefact) -> dict[str, Any]:
    """All figures, for ``--json``."""
    document = release.manifest.to_dict()
    held = _table_summary(release) if isinstance(release, Release) else _image_summary(release)
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
    }


def _table_summary(release: Release) -> dict[str, Any]:
    return {
        "contents": {**_null_share(release), "dim": release.codebook.dim},
        "columns": [column_summary(code) for code in release.codebook.codes],
        "unlearnt": list(release.unlearnt),
        "target": release.schema.target,
    }


def _image_summary(release: Artefact) -> dict[str, Any]:
    assert isinstance(release, ImageRelease)
    classes = release.schema.classes or ("all",)
    return {
        "contents": {"dim": release.schema.dim},
        "images": release.schema.to_dict(),
        "classes": [
            {"class": label, "images": float(count), "noise_scale": release.count_noise}
            for label, count in zip(classes, release.counts, strict=True)
        ],
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
    if isinstance(code.cells, NumberCells):
        ends = code.cells.edges[[0, -1]] - [0.0, float(code.cells.integral)]
        values["bounds"] = [str(value) for value in code.values_of(ends).to_pylist()]
        if code.column.codes:
            values["codes"] = code.column.code_texts
        if code.rounding is not None:
            values["rounding_noise_scale"] = code.rounding.noise_scale
    else:
        values["categories"] = len(code.cells.categories)
    return values


def _null_share(release: Release) -> dict[str, float]:
    return {"null_share": release.null_share} if isinstance(release, RecordsRelease) else {}


def _profile_events(events: tuple[Event, ...]) -> list[Event]:
    """The profile comes first."""
    return [next(event for event in events if isinstance(event, GaussianEvent))]
