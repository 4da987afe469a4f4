"""A forecast plans what a release does: its search, its second round, and another's codebook in place of a profile."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import microtome as mt
from microtome.demo import population, population_schema
from microtome.errors import ParameterError
from microtome.forecasting.anticipated import LikeAnother, anticipate
from microtome.forecasting.search_trial import SearchNoise, search_column
from microtome.private.domain import WEIGHTS
from microtome.published import AggregatesRelease
from microtome.settings import PrivacySettings
from support import repeatable_noise

TOWN = population_schema()
ROWS = 4_000


def made(schema: mt.Schema, table: pa.Table, **options: object) -> AggregatesRelease:
    with repeatable_noise():
        release = mt.release(table, schema, anyway=True, **options)
    assert isinstance(release, AggregatesRelease)
    return release


@pytest.fixture(scope="module")
def town() -> AggregatesRelease:
    return made(TOWN, population(ROWS), epsilon=1, delta=1e-6)


def test_the_whole_cost_and_the_share_of_the_profile_are_those_of_the_release(town: AggregatesRelease) -> None:
    foretold = mt.forecast(TOWN, rows=ROWS, epsilon=1, delta=1e-6)
    assert foretold.release.events == town.manifest.promise.events


def test_what_the_search_leaves_the_profile_is_foretold(town: AggregatesRelease) -> None:
    """Noise of counts depends on what is found; on the whole it is that of the release, and no factor away from it."""
    foretold = mt.forecast(TOWN, rows=ROWS, epsilon=1, delta=1e-6)
    ratios = np.array([column.count_noise for column in foretold.columns])
    ratios /= [code.noise_scale for code in town.codebook.codes]
    assert np.exp(np.log(ratios).mean()) == pytest.approx(1.0, abs=0.15)
    assert (ratios > 0.5).all()
    assert (ratios < 2.0).all()


def test_a_search_costs_what_it_asks() -> None:
    noise = SearchNoise(unit=0.02, certainty=6.0, knows_total=True)
    for kind in ("categorical", "integer", "float", "date"):
        found = search_column(mt.Column(name="x", kind=kind), noise)
        asked = {"categorical": "categories"}.get(kind, "scale")
        assert all(one.spent >= WEIGHTS[asked] for one in found), kind
        assert all(one.domain is not None for one in found), kind
    looked_through = mt.Column(name="x", kind="float", bounds=(0, 1))
    spent = [one.spent for one in search_column(looked_through, noise)]
    in_vain = [one for one in spent if one != WEIGHTS["buckets"]]  # a column without common numbers is asked in vain
    assert set(in_vain) <= {WEIGHTS["buckets"] + WEIGHTS["values"]}
    assert len(in_vain) <= len(spent) / 2
    assert {one.spent for one in search_column(mt.Column(name="x", kind="boolean"), noise)} == {0.0}


def test_a_second_round_takes_its_part_and_is_told() -> None:
    columns = tuple(mt.Column(name=name, kind="boolean", missing=False) for name in "abcdef")
    schema = mt.Schema(columns=columns)
    rng = np.random.default_rng(0)
    table = pa.table({name: rng.random(60_000) < 0.5 for name in "abcdef"})
    release = made(schema, table, epsilon=1, delta=1e-6, triples=5)
    assert release.mechanism.triples is not None
    foretold = mt.forecast(schema, rows=60_000, epsilon=1, delta=1e-6, triples=5)
    assert foretold.to_dict()["triples"] == len(release.mechanism.triples.columns) == 5
    assert "choose 5 tables of three columns" in str(foretold)
    np.testing.assert_allclose(foretold.release.tables.pair_noise, release.mechanism.pair_noise, rtol=1e-9)  # type: ignore[union-attr]
    without = mt.forecast(schema, rows=60_000, epsilon=1, delta=1e-6, triples=0)
    assert "three columns" not in str(without)
    assert without.release.pair_noise.max() < foretold.release.pair_noise.max()  # type: ignore[union-attr]


def test_a_release_like_another_is_foretold_on_its_codebook(town: AggregatesRelease, tmp_path: Path) -> None:
    release = made(TOWN, population(ROWS, seed=9), epsilon=0.5, delta=1e-6, like=town)
    foretold = mt.forecast(like=town, rows=ROWS, epsilon=0.5, delta=1e-6)
    assert isinstance(foretold.release, LikeAnother)
    assert foretold.release.events == release.manifest.promise.events
    np.testing.assert_allclose(foretold.release.tables.pair_noise, release.mechanism.pair_noise, rtol=1e-9)  # type: ignore[union-attr]
    assert foretold.band is None
    assert "not for this" in str(foretold)
    assert all(column.error < 1 for column in foretold.columns)
    assert foretold.curve[0].margins > foretold.curve[-1].margins
    by_path = mt.forecast(TOWN, like=town.path, rows=ROWS, epsilon=0.5, delta=1e-6)
    assert by_path.margins == foretold.margins


def test_what_cannot_be_like_another_is_refused_before_anything_is_foretold(town: AggregatesRelease) -> None:
    with pytest.raises(ParameterError, match="only aggregates can be released like another"):
        anticipate(PrivacySettings(epsilon=1, kind="records"), TOWN, ROWS, town)
    with pytest.raises(ParameterError, match="leave it out beside like"):
        mt.forecast(rows=ROWS, epsilon=1)
