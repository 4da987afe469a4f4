"""Releases on one codebook: no profile is paid for, margins are the holder's own, and pools add up."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import microtome as mt
from microtome.accounting import Ledger, epsilon
from microtome.demo import population, population_schema
from microtome.errors import ParameterError, ReleaseError, SchemaError
from microtome.private import open_table
from microtome.private.sliced_rows import levels_of
from microtome.published import AggregatesRelease, promise_in_words
from microtome.published.consistency import check_events
from microtome.published.second_moments import level_margins, margin_noise
from microtome.schema import Column, Schema
from microtome.schema.unit import Unit
from support import repeatable_noise

ROWS = 6000
MOST_DEVIATION = 5.0
"""Standard deviations: of some 200 levels none should be off by so many."""
TOWN = population(3 * ROWS)
PARTS = [TOWN.slice(number * ROWS, ROWS) for number in range(3)]


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> list[AggregatesRelease]:
    """The releases of three holders, the latter two like the first."""
    folder = tmp_path_factory.mktemp("held")
    with repeatable_noise():
        first = mt.release(PARTS[0], population_schema(), epsilon=2, delta=1e-6, output=folder / "a")
        others = [
            mt.release(PARTS[number], like=first, epsilon=spent, delta=1e-6, output=folder / f"{number}")
            for number, spent in ((1, 2), (2, 1))
        ]
    found = [first, *others]
    assert all(isinstance(one, AggregatesRelease) for one in found)
    return found  # type: ignore[return-value]


def true_margins(release: AggregatesRelease, table: pa.Table) -> np.ndarray:
    (block,) = open_table(table).blocks(release.schema, len(table))
    levels = levels_of(block, release.codebook)
    counts = [
        np.bincount(levels[:, index], minlength=code.num_levels) for index, code in enumerate(release.codebook.codes)
    ]
    return np.concatenate(counts) / len(table)


def test_there_is_no_profile_and_its_budget_goes_to_the_tables(held: list[AggregatesRelease]) -> None:
    first, second = held[:2]
    assert second.mechanism.like == first.fingerprint
    assert second.mechanism.profile_share == 0
    assert len(second.manifest.promise.events) < len(first.manifest.promise.events)
    assert epsilon(list(second.manifest.promise.events), 1e-6) == pytest.approx(2, rel=1e-3)
    measured = second.second_noise() > 0
    ratio = second.second_noise()[measured] / first.second_noise()[measured]
    assert ratio.max() < 0.95
    assert "There is no profile" in "\n".join(promise_in_words(second))


def test_margins_are_those_of_the_new_records_within_their_noise(held: list[AggregatesRelease]) -> None:
    for release, table in zip(held[1:], PARTS[1:], strict=True):
        off = (level_margins(release) - true_margins(release, table)) / margin_noise(release)
        assert np.abs(off).max() < MOST_DEVIATION
        assert 0.3 < off.std() < 1.3


def test_a_like_release_of_other_people_follows_its_own_records(held: list[AggregatesRelease], tmp_path: Path) -> None:
    """Only the young: their margins are theirs and not those of the codebook's release."""
    young = TOWN.filter(pa.compute.less(TOWN["age"], 30))
    release = mt.release(young, like=held[0], epsilon=5, delta=1e-6, output=tmp_path / "r")
    part = slice(release.codebook.blocks[0].start, release.codebook.blocks[0].stop)
    assert release.schema.names[0] == "age"
    found, wanted = level_margins(release)[part], true_margins(release, young)[part]
    assert np.abs(found - wanted).max() < 0.02
    assert np.abs(level_margins(held[0])[part] - wanted).max() > 0.05
    drawn = mt.Synthesizer(mt.FitSettings(steps=20), random_state=0).fit(release).sample(500)
    assert (drawn["age"] < 40).mean() > 0.9


def test_pools_add_counts_and_variances(held: list[AggregatesRelease], tmp_path: Path) -> None:
    pooled = mt.pool(held, tmp_path / "all")
    assert pooled.num_records == 3 * ROWS
    assert np.array_equal(pooled.second, sum(one.second for one in held))
    assert np.allclose(pooled.second_noise() ** 2, sum(one.second_noise() ** 2 for one in held))
    assert pooled.third is not None
    off = (level_margins(pooled) - true_margins(pooled, TOWN)) / margin_noise(pooled)
    assert np.abs(off).max() < MOST_DEVIATION
    promise, kept = pooled.manifest.promise, pooled.manifest.pool
    assert (promise.epsilon, promise.delta) == (2, 1e-6)
    assert kept is not None
    assert [holder.promise for holder in kept.holders] == [one.manifest.promise for one in held]
    told = "\n".join(promise_in_words(pooled))
    assert "Pooled from 3 releases" in told
    assert "in no other of them" in told


def test_pools_of_overlapping_people_cost_what_a_ledger_says(held: list[AggregatesRelease], tmp_path: Path) -> None:
    pooled = mt.pool([one.path for one in held], tmp_path / "all", overlapping=True)
    book = Ledger()
    for one in held:
        promise = one.manifest.promise
        book.reserve(
            "people", promise.events, purpose="r", neighbours=promise.neighbours, accountant=promise.accountant
        )
    found = pooled.manifest.promise
    assert found.delta == pytest.approx(3e-6)
    assert found.epsilon == pytest.approx(book.spent("people", delta=found.delta), rel=1e-6)
    assert found.epsilon > 2


def test_pools_can_be_pooled_fitted_and_released_like(held: list[AggregatesRelease], tmp_path: Path) -> None:
    two = mt.pool(held[:2], tmp_path / "two")
    three = mt.pool([two, held[2]], tmp_path / "three")
    assert np.array_equal(three.second, mt.pool(held, tmp_path / "all").second)
    assert three.manifest.pool is not None
    assert len(three.manifest.pool.holders) == 3
    again = mt.release(PARTS[0], like=three, epsilon=1, delta=1e-6, output=tmp_path / "again")
    assert again.manifest.mechanism.like == held[0].fingerprint  # type: ignore[union-attr]
    assert mt.pool([again, held[1]], tmp_path / "more").num_records == 2 * ROWS
    assert len(mt.Synthesizer(mt.FitSettings(steps=20), random_state=0).fit(three).sample(50)) == 50


def test_what_cannot_be_pooled(held: list[AggregatesRelease], tmp_path: Path) -> None:
    other = mt.release(PARTS[1], population_schema(), epsilon=1, delta=1e-6, output=tmp_path / "other")
    for releases, told in (
        ([held[0]], "two releases or more"),
        ([held[0], held[0]], "hold the same release"),
        ([held[0], other], "different codebooks: "),
    ):
        with pytest.raises((ParameterError, ReleaseError), match=told):
            mt.pool(releases, tmp_path / "no")
    records = mt.release(PARTS[1], population_schema(), epsilon=5, kind="records", anyway=True, output=tmp_path / "rec")
    with pytest.raises(ReleaseError, match="only aggregates"):
        mt.pool([held[0], records], tmp_path / "no")
    with pytest.raises(ParameterError, match="one of the releases"):
        mt.pool(held, held[1].path, force=True)
    assert not (tmp_path / "no").exists()


def test_people_and_rows_are_not_added_up(tmp_path: Path) -> None:
    rows = pa.table({"who": list(range(400)), "kind": ["a", "b"] * 200})
    kinds = (Column(name="kind", kind="categorical", categories=("a", "b"), missing=False),)
    told = []
    for name, unit in (("people", Unit(key="who", max_rows=1)), ("rows", None), ("many", Unit(key="who", max_rows=2))):
        schema = Schema(columns=kinds, unit=unit)
        told.append(mt.release(rows, schema, epsilon=5, delta=1e-6, output=tmp_path / name, anyway=True))
    with pytest.raises(ReleaseError, match="promise for different units"):
        mt.pool(told[:2], tmp_path / "no")
    with pytest.raises(ReleaseError, match="people with several rows each"):
        mt.pool([told[2], told[2]], tmp_path / "no")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"kind": "records"}, "only aggregates"),
        ({"pivot": "insured"}, "has none"),
        ({"neighbours": "add-remove"}, "which that relation protects"),
        ({"profile_share": 0.2}, "has no profile"),
    ],
)
def test_what_cannot_be_like_another(options: dict[str, Any], told: str, held: list[AggregatesRelease]) -> None:
    book = Ledger()
    with pytest.raises(ParameterError, match=told):
        mt.release(PARTS[1], like=held[0], epsilon=1, ledger=book, anyway=True, **options)
    assert book.spent("table", delta=1e-6) == 0


def test_a_schema_beside_like_must_be_the_same(held: list[AggregatesRelease]) -> None:
    schema = population_schema()
    narrower = replace(schema, columns=tuple(one for one in schema.columns if one.name != "commute"))
    with pytest.raises(SchemaError, match="and those of"):
        mt.release(PARTS[1], narrower, like=held[0], epsilon=1)
    wider = [replace(one, bounds=(0, 99)) if one.name == "age" else one for one in schema.columns]
    with pytest.raises(SchemaError, match="column 'age' is declared otherwise"):
        mt.release(PARTS[1], replace(schema, columns=tuple(wider)), like=held[0], epsilon=1)


def test_a_pool_that_claims_too_much_is_refused(held: list[AggregatesRelease], tmp_path: Path) -> None:
    manifest = mt.pool(held, tmp_path / "all").manifest
    check_events(manifest)
    mechanism = manifest.mechanism
    halved = tuple(tuple(value / 4 for value in row) for row in mechanism.pair_noise)  # type: ignore[union-attr]
    claims = {
        "promises more": replace(manifest, promise=replace(manifest.promise, epsilon=1.0)),
        "its noise costs": replace(manifest, mechanism=replace(mechanism, pair_noise=halved)),  # type: ignore[arg-type]
        "its events are not those": replace(manifest, pool=replace(manifest.pool, overlapping=True)),  # type: ignore[type-var]
    }
    for told, claim in claims.items():
        with pytest.raises(ReleaseError, match=told):
            check_events(claim)


def test_a_like_release_that_states_less_noise_is_refused(held: list[AggregatesRelease]) -> None:
    manifest = held[1].manifest
    smaller = tuple(tuple(value * 0.9 for value in row) for row in held[1].mechanism.pair_noise)
    with pytest.raises(ReleaseError, match="its noise costs"):
        check_events(replace(manifest, mechanism=replace(held[1].mechanism, pair_noise=smaller)))
