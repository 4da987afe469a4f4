"""Whether a manifest agrees with itself: the noise that it states costs what its events say.

The promise is computed anew from the events. That is worth nothing if the events are not those of the mechanism beside
them: half the noise under the same events would be twice the cost. Anybody can write a file that lies in all its parts
alike, and only a signature tells who wrote it; a file that contradicts itself is refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, assert_never

import numpy as np

from microtome.accounting import Event, GaussianEvent, Neighbours, SliceEvent, SubsampledEvent, events_of, mu_of_pure
from microtome.errors import ReleaseError
from microtome.published.manifest import Manifest, Pool, Promise
from microtome.published.mechanisms import (
    AggregateMechanism,
    AnyMechanism,
    ImageMomentsMechanism,
    ImageRowsMechanism,
    LinkedMechanism,
    Mechanism,
    Triples,
)

_SLACK = 1e-6
"""Relative: noise is rounded up by less."""


def check_events(manifest: Manifest) -> None:
    """Refuse events that are not those of the mechanism, the codebook and the relation."""
    promise, mechanism = manifest.promise, manifest.mechanism
    gaussian = [event.mu for event in events_of(GaussianEvent, promise.events)]
    changed = promise.neighbours.cells_changed
    if manifest.pool is not None:
        _check_pool(manifest.pool, promise, mechanism)
        return
    match mechanism:
        case Mechanism():
            _check_costs([_profile(manifest, changed)], gaussian)
            _check_slices(mechanism, promise.events, promise.neighbours, nonnegative=not promise.neighbours.centred)
        case AggregateMechanism():
            tables = _tables(mechanism, changed)
            profile = [_profile(manifest, changed)] if mechanism.like is None else []
            _check_costs([*profile, tables], gaussian)
        case LinkedMechanism():
            books = manifest.codebook.values()
            profile = [math.hypot(*(_profile_of(book, changed) for book in books))]
            _check_costs([*profile, math.hypot(*(_tables(one.tables, changed) for one in mechanism.views))], gaussian)
        case ImageRowsMechanism():
            _check_costs([_counts([mechanism.count_noise] * 2, changed)], gaussian)
            _check_slices(mechanism.slices, promise.events, promise.neighbours, nonnegative=False)
        case ImageMomentsMechanism():
            means = promise.neighbours.row_distance(nonnegative=False) / mechanism.mean_noise
            moments = _counts([mechanism.second_noise, mechanism.spread_noise], changed)
            _check_costs([_counts([mechanism.count_noise] * 2, changed), means, moments], gaussian)
        case _:
            assert_never(mechanism)


def _tables(mechanism: AggregateMechanism, changed: int) -> float:
    """μ of all tables of a release of aggregates."""
    pairs = np.array(mechanism.pair_noise, dtype=float)
    noise = [*mechanism.first_noise, *pairs[np.triu_indices(len(pairs), 1)].tolist()]
    if mechanism.focus is not None:
        triples = np.array(mechanism.focus.noise, dtype=float)
        noise += triples[np.triu_indices(len(triples), 1)].tolist()
    return math.hypot(_counts(noise, changed), _second_round(mechanism.triples, changed))


def _check_pool(pool: Pool, promise: Promise, mechanism: AnyMechanism) -> None:
    """Refuse a pool that promises more than its holders do, or has less noise than any of them."""
    own = [holder.promise for holder in pool.holders]
    for one in own:
        one.verify()
    if any((one.neighbours, one.private) != (promise.neighbours, True) and promise.private for one in own):
        raise ReleaseError("its holders promise less than it does, or something else")
    if pool.overlapping:
        if promise.events != tuple(event for one in own for event in one.events):
            raise ReleaseError("its events are not those of its holders")
    elif promise.epsilon < max(one.epsilon for one in own) or promise.delta < max(one.delta for one in own):
        raise ReleaseError("it promises more than its holders do")
    match mechanism:
        case AggregateMechanism(like=str()):
            cost = _tables(replace(mechanism, triples=None), promise.neighbours.cells_changed)
        case _:
            raise ReleaseError("it is a pool, and not of aggregates of one codebook")
    for one in own:
        _check_costs([cost], [math.hypot(*(event.mu for event in events_of(GaussianEvent, one.events)))])


def _profile(manifest: Manifest, changed: int) -> float:
    return _profile_of(manifest.codebook, changed)


def _profile_of(codebook: Mapping[str, Any], changed: int) -> float:
    """μ of the profile's histograms. That of a protected total is not among them: its noise is not in the file."""
    columns = codebook["columns"]
    rounding = [column["rounding_noise"] for column in columns if "rounding_noise" in column]
    searches = [scale for column in columns for scale in column.get("search_noise", ())]
    return _counts([*(column["noise_scale"] for column in columns), *rounding, *searches], changed)


def _second_round(triples: Triples | None, changed: int) -> float:
    """μ of the tables that a second round chose, and of its choices."""
    if triples is None:
        return 0.0
    count = len(triples.columns)
    return math.hypot(
        _counts([triples.noise] * count, changed), math.sqrt(count) * mu_of_pure(2.0 * changed / triples.step)
    )


def _counts(noise: Sequence[float], changed: int) -> float:
    """μ of histograms of the given noise, none where it is 0."""
    return math.sqrt(changed * math.fsum(scale**-2 for scale in noise if scale > 0))


def _check_costs(found: Sequence[float], stated: Sequence[float]) -> None:
    if len(stated) < len(found):
        raise ReleaseError(f"its events list {len(stated)} counts of the data, where {len(found)} were made")
    for cost, event in zip(found, stated, strict=False):
        if not cost <= event * (1.0 + _SLACK):
            raise ReleaseError(f"its noise costs mu = {cost:.6g}, and its events say {event:.6g}")


def _check_slices(mechanism: Mechanism, events: Sequence[Event], relation: Neighbours, *, nonnegative: bool) -> None:
    sliced = SliceEvent(
        directions=mechanism.directions,
        row_distance=relation.row_distance(nonnegative=nonnegative),
        noise_scale=mechanism.noise_scale,
    )
    wanted: Event = sliced
    if mechanism.subsample is not None:
        wanted = SubsampledEvent(rate=mechanism.subsample, event=sliced, symmetric=relation.symmetric)
    if [*events_of(SliceEvent, events), *events_of(SubsampledEvent, events)] != [wanted]:
        raise ReleaseError("its slices are not those that its events list")
