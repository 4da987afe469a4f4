"""``mt.pool``: releases of several holders, on one codebook, added up to one release of all their records.

Counts add, and so do the variances of their noise. Nothing private is read and nothing is spent. Each holder's promise
stays what it was and is kept in the manifest. Where nobody is in two of the releases, a person is exposed by the one
that they are in; where people may be in several, what these cost adds up, as in a ledger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import microtome
from microtome.accounting import Accountant, epsilon
from microtome.errors import ParameterError, ReleaseError
from microtome.published.aggregates import AggregatesRelease
from microtome.published.artefact import Release
from microtome.published.container import ContainerWriter, check_output, digest
from microtome.published.manifest import Contents, Holder, Manifest, Pool, Promise
from microtome.published.mechanisms import AggregateMechanism, Focus, Triples
from microtome.published.table_margins import with_table_margins

Floats = NDArray[np.float64]
_ROUNDED_UP = 1.0 + 1e-9


def pool(
    releases: Sequence[Release | str | Path], output: str | Path, *, overlapping: bool = False, force: bool = False
) -> AggregatesRelease:
    """Add up releases of several holders that have one codebook.

    Args:
        releases: Releases of aggregates, or their paths: one, and others that were made like it (``like=``).
        output: Where to write the release of all.
        overlapping: Whether people may be in several of the releases; then what these cost is added up.
        force: Replace an existing output.

    Returns:
        The release of all records, open for reading.
    """
    held = [_opened(one) for one in releases]
    _check(held)
    path = Path(output)
    check_output(path, force=force)
    if path.resolve() in [one.path.resolve() for one in held]:
        raise ParameterError(f"{path} is one of the releases to be pooled; choose another output")
    tables = _added(held)
    total = sum(one.num_records for one in held)
    mechanism = _mechanism(held)
    noise = np.array(mechanism.pair_noise)
    codebook, arrays = with_table_margins(held[0].codebook, tables["aggregates/second"], noise, total).to_parts()
    arrays = {**tables, **arrays}
    manifest = Manifest(
        software=f"microtome {microtome.__version__}",
        promise=_promise(held, overlapping=overlapping),
        mechanism=mechanism,
        contents=replace(_contents(held), num_records=total),
        schema=held[0].manifest.schema,
        codebook=codebook,
        checksums={name: digest(np.ascontiguousarray(array).tobytes()) for name, array in arrays.items()},
        pool=Pool(holders=tuple(chain.from_iterable(map(_holders, held))), overlapping=overlapping),
    )
    with ContainerWriter(path, arrays, None, manifest.to_dict()) as file:
        file.finish(manifest.to_dict())
    return AggregatesRelease.load(path)


def _opened(given: Release | str | Path) -> AggregatesRelease:
    match given:
        case str() | Path():
            return _opened(Release.load(given))
        case AggregatesRelease(pivot=None):
            return given
        case AggregatesRelease(mechanism=mechanism):
            raise ReleaseError(f"{given.path}: it has a pivot, {mechanism.pivot!r}; pool releases without one")
        case _:
            raise ReleaseError(f"{given.path}: it is a release of {given.holds}; only aggregates can be added up")


def _check(held: Sequence[AggregatesRelease]) -> None:
    """Name everything that keeps releases from being added up."""
    if len(held) < 2:
        raise ParameterError("a pool is of two releases or more")
    first, problems = held[0], []
    seen: dict[str, Path] = {}
    for one in held:
        for holder in _holders(one):
            if holder.fingerprint in seen:
                problems.append(f"{seen[holder.fingerprint]} and {one.path} hold the same release; give it once")
            seen[holder.fingerprint] = one.path
        if one.view.is_of_people:
            problems.append(f"{one.path} is of people with several rows each; only tables of one row each are added up")
        if one.manifest.pool is not None and one.manifest.pool.overlapping:
            problems.append(f"{one.path} is a pool of overlapping releases; pool these themselves")
    for one in held[1:]:
        differing = differing_columns(first, one)
        if differing:
            problems.append(
                f"{first.path} and {one.path} have different codebooks: {', '.join(differing)}; release one like the "
                "other (--like)"
            )
        elif not np.array_equal(first.second_noise() > 0, one.second_noise() > 0):
            problems.append(f"{first.path} and {one.path} hold tables of different pairs of columns")
        if one.schema.unit != first.schema.unit:
            problems.append(f"{first.path} and {one.path} promise for different units: people here, rows there")
        mine, theirs = first.manifest.promise.neighbours, one.manifest.promise.neighbours
        if mine is not theirs:
            problems.append(f"{first.path} promises for {mine} neighbours and {one.path} for {theirs}")
    if problems:
        raise ReleaseError("\n".join(dict.fromkeys(problems)))


def differing_columns(first: Release, other: Release) -> list[str]:
    """Columns that two releases code otherwise: other names, cells or levels."""
    if first.schema.names != other.schema.names:
        return sorted({*first.schema.names} ^ {*other.schema.names}) or list(other.schema.names)
    pairs = zip(first.codebook.codes, other.codebook.codes, strict=True)
    return [mine.column.name for mine, theirs in pairs if not _same(_structure(mine), _structure(theirs))]


def _structure(code: Any) -> dict[str, Any]:
    """What makes a code but for how often anything occurs."""
    entry, arrays = code.cells_to_parts()
    return {**entry, **arrays, "levels": code.levels, "column": code.column}


def _same(mine: dict[str, Any], theirs: dict[str, Any]) -> bool:
    return mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)


def _added(held: Sequence[AggregatesRelease]) -> dict[str, Floats]:
    tables = {
        "aggregates/first": np.sum([one.first for one in held], axis=0),
        "aggregates/second": np.sum([one.second for one in held], axis=0),
    }
    if _focus(held) is not None:
        tables["aggregates/third"] = np.sum([one.third for one in held if one.third is not None], axis=0)
    chosen = _triples(held)
    if chosen is not None:
        tables["aggregates/triples"] = np.sum([_tables_of(one, chosen.columns) for one in held], axis=0)
    return tables


def _mechanism(held: Sequence[AggregatesRelease]) -> AggregateMechanism:
    pairs = _noise([np.array(one.mechanism.pair_noise) for one in held])
    return AggregateMechanism(
        pivot=None,
        num_classes=1,
        profile_share=0.0,
        first_noise=held[0].mechanism.first_noise,
        pair_noise=tuple(tuple(row) for row in pairs.tolist()),
        focus=_focus(held),
        triples=_triples(held),
        like=held[0].codebook_owner,
    )


def _noise(scales: Sequence[Floats]) -> Floats:
    """Variances add."""
    return np.asarray(np.sqrt(np.sum(np.square(scales), axis=0)), dtype=np.float64)


def _focus(held: Sequence[AggregatesRelease]) -> Focus | None:
    """The focus where all have the same: counts by groups of other columns cannot be added."""
    found = [one.mechanism.focus for one in held]
    known = [one for one in found if one is not None]
    if len(known) < len(found) or len({(one.column, one.groups) for one in known}) > 1:
        return None
    scales = [np.array(one.noise) for one in known]
    if not all(np.array_equal(scale > 0, scales[0] > 0) for scale in scales):
        return None
    return replace(known[0], noise=tuple(tuple(row) for row in _noise(scales).tolist()))


def _triples(held: Sequence[AggregatesRelease]) -> Triples | None:
    """The chosen tables that all have, each release having chosen its own."""
    found = [one.mechanism.triples for one in held]
    known = [one for one in found if one is not None]
    if len(known) < len(found) or len({one.groups for one in known}) > 1:
        return None
    common = tuple(columns for columns in known[0].columns if all(columns in one.columns for one in known))
    if not common:
        return None
    noise = float(_noise([np.array(one.noise) for one in known]))
    return Triples(columns=common, groups=known[0].groups, noise=noise, step=min(one.step for one in known))


def _tables_of(release: AggregatesRelease, columns: Sequence[tuple[str, str, str]]) -> Floats:
    triples = release.mechanism.triples
    if triples is None or release.triples is None:
        raise ReleaseError(f"{release.path}: it has no tables of three columns")
    return release.triples[[triples.columns.index(one) for one in columns]]


def _contents(held: Sequence[AggregatesRelease]) -> Contents:
    exact = all(one.manifest.contents.records_exact for one in held)
    return replace(held[0].manifest.contents, records_exact=exact)


def _holders(release: AggregatesRelease) -> tuple[Holder, ...]:
    """Whose release it is; of a pool all of its holders."""
    if release.manifest.pool is not None:
        return release.manifest.pool.holders
    return (Holder(fingerprint=release.fingerprint, num_records=release.num_records, promise=release.manifest.promise),)


def _promise(held: Sequence[AggregatesRelease], *, overlapping: bool) -> Promise:
    """What is promised to a person in one of the releases, or to one who may be in all of them."""
    own = [holder.promise for one in held for holder in _holders(one)]
    worst, delta = max(own, key=lambda one: one.epsilon), max(one.delta for one in own)
    private = all(one.private for one in own)
    if not overlapping:
        return replace(worst, delta=delta, private=private)
    events = tuple(event for one in own for event in one.events)
    together = sum(one.delta for one in own)
    if together >= 1:
        raise ParameterError(f"the δ of all releases add up to {together:g}; together they promise nothing")
    return Promise(
        epsilon=epsilon(list(events), together) * _ROUNDED_UP,
        delta=together,
        neighbours=worst.neighbours,
        accountant=Accountant.EXACT,
        private=private,
        events=events,
    )
