"""A release in plain words: what was promised, to whom, and what the file holds."""

from __future__ import annotations

from typing import Any

from microtome.accounting import Event, GaussianEvent, epsilon
from microtome.release.artefact import Release
from microtome.release.manifest import VERSION
from microtome.schema import ColumnCode, NumberCells


def promise_in_words(release: Release) -> list[str]:
    """The guarantee, a sentence a line."""
    manifest, promise, mechanism = release.manifest, release.manifest.promise, release.manifest.mechanism
    if not promise.private:
        return ["NOT PRIVATE: the noise of this release was injected for a test. It promises nothing."]
    share = epsilon([*_profile_events(promise.events)], promise.delta)
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
            f"The number of records is protected: it is about {manifest.contents.num_records:,.0f} by a noisy count, "
            f"and the rows are padded to the public capacity {mechanism.capacity:,}."
        )
    if mechanism.subsample is not None:
        lines.append(
            f"Each record was sampled with probability {mechanism.subsample:g}; null rows pad the sample to "
            f"{manifest.contents.num_rows:,}, so its size tells nothing."
        )
    lines.append("Whatever is computed from this file (models, samples, reports) costs no further privacy.")
    return lines


def summary(release: Release) -> dict[str, Any]:
    """All figures, for ``--json``."""
    manifest = release.manifest
    document = manifest.to_dict()
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
        "contents": {**document["contents"], "null_share": release.null_share, "dim": release.codebook.dim},
        "columns": [column_summary(code) for code in release.codebook.codes],
        "target": release.schema.target,
        "checksums": document["checksums"],
    }


def exact_epsilon(release: Release) -> float:
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
        "levels": code.num_levels,
        "noise_scale": code.noise_scale,
        "missing_share": missing,
    }
    if isinstance(code.cells, NumberCells):
        ends = code.cells.edges[[0, -1]] - [0.0, float(code.cells.integral)]
        values["bounds"] = [str(value) for value in code.values_of(ends).to_pylist()]
    else:
        values["categories"] = len(code.cells.categories)
    return values


def _profile_events(events: tuple[Event, ...]) -> list[Event]:
    return [event for event in events if isinstance(event, GaussianEvent)]
