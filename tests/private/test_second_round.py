"""The second round: choices cost what they say, tables follow public figures, and what pairs hide is found."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import microtome as mt
from microtome.accounting import GaussianEvent, Neighbours, events_of, gaussian_delta, mu_of_pure
from microtome.errors import ReleaseError
from microtome.private.second_round import (
    MOST_COLUMNS,
    TripleTally,
    expected_tables,
    permute_and_flip,
    plan_round,
    strongest_columns,
)
from microtome.published import AggregatesRelease, Manifest
from microtome.published.consistency import check_events
from support import FixedRandomness, repeatable_noise

COLUMNS = ("x", "y", "z", "w", "v")
SCHEMA = mt.Schema(columns=tuple(mt.Column(name=name, kind="boolean", missing=False) for name in COLUMNS))


def coins(num_rows: int, seed: int = 0) -> pd.DataFrame:
    """Fair coins, one of them the parity of two others: no pair of columns shows it."""
    frame = pd.DataFrame(np.random.default_rng(seed).random((num_rows, 5)) < 0.5, columns=list(COLUMNS))
    return frame.assign(z=frame.x ^ frame.y)


def released(num_rows: int = 50_000, *, epsilon: float = 3.0, **options: object) -> AggregatesRelease:
    with repeatable_noise():
        release = mt.release(coins(num_rows), SCHEMA, epsilon=epsilon, delta=1e-6, **options)  # type: ignore[call-overload]
    assert isinstance(release, AggregatesRelease)
    return release


def test_a_planted_parity_is_chosen_and_reproduced() -> None:
    release = released(triples=2)
    assert release.mechanism.triples is not None
    assert ("x", "y", "z") in release.mechanism.triples.columns
    settings = mt.FitSettings(mixture=mt.generators.MixtureSettings(components=64))
    rows = mt.Synthesizer(settings, random_state=0).fit(release).sample(5000)
    assert (rows.z == rows.x ^ rows.y).mean() > 0.97


def test_without_a_second_round_it_is_lost() -> None:
    release = released(triples=0)
    assert release.mechanism.triples is None
    assert release.triples is None
    settings = mt.FitSettings(mixture=mt.generators.MixtureSettings(components=64))
    rows = mt.Synthesizer(settings, random_state=0).fit(release).sample(5000)
    assert 0.4 < (rows.z == rows.x ^ rows.y).mean() < 0.6


def test_tables_are_the_counts_under_their_noise() -> None:
    release, frame = released(triples=10), coins(50_000)
    triples, tables = release.mechanism.triples, release.triples
    assert triples is not None
    assert tables is not None
    for columns, table in zip(triples.columns, tables, strict=True):
        levels = np.array([frame[name].to_numpy(int) for name in columns])
        groups = [np.array(triples.groups[COLUMNS.index(name)]) for name in columns]
        exact = np.zeros(table.shape)
        np.add.at(exact, tuple(group[one] for group, one in zip(groups, levels, strict=True)), 1.0)
        assert np.abs(table - exact).max() < 5.0 * triples.noise


@pytest.mark.parametrize("num_rows", [300, 2_000])
def test_few_records_get_no_second_round_and_lose_nothing(num_rows: int) -> None:
    with_it, without = (
        released(num_rows, epsilon=0.5, anyway=True),
        released(num_rows, epsilon=0.5, anyway=True, triples=0),
    )
    assert with_it.mechanism.triples is None
    noise = np.array(with_it.mechanism.pair_noise)
    assert noise == pytest.approx(np.array(without.mechanism.pair_noise), rel=1e-5)


@pytest.mark.parametrize("relation", Neighbours)
def test_choices_and_tables_cost_what_the_events_say(relation: Neighbours) -> None:
    release = released(neighbours=str(relation))
    mechanism, changed = release.mechanism, relation.cells_changed
    assert mechanism.triples is not None
    pairs = np.array(mechanism.pair_noise)
    count = len(mechanism.triples.columns)
    spent = changed * (np.sum(pairs[np.triu_indices(5, 1)] ** -2.0) + count * mechanism.triples.noise**-2.0)
    spent += count * mu_of_pure(2.0 * changed / mechanism.triples.step) ** 2
    events = events_of(GaussianEvent, release.manifest.promise.events)
    assert spent == pytest.approx(events[1].mu ** 2, rel=1e-5)


@pytest.mark.parametrize("change", [{"noise": 0.5}, {"step": 0.5}])
def test_a_file_whose_second_round_cost_more_is_refused(change: dict[str, float]) -> None:
    manifest = released().manifest
    mechanism = manifest.mechanism
    assert getattr(mechanism, "triples", None) is not None
    triples = mechanism.triples  # type: ignore[union-attr]
    (name, factor), *_ = change.items()
    value = type(getattr(triples, name))(getattr(triples, name) * factor)
    lying = replace(manifest, mechanism=replace(mechanism, triples=replace(triples, **{name: value})))  # type: ignore[call-arg]
    check_events(manifest)
    with pytest.raises(ReleaseError, match="costs mu"):
        check_events(lying)


@pytest.mark.parametrize("key", ["columns", "groups"])
def test_a_file_whose_tables_do_not_fit_is_refused(key: str) -> None:
    release = released()
    document = release.manifest.to_dict()
    document["mechanism"]["triples"][key] = document["mechanism"]["triples"][key][1:]
    manifest = Manifest.from_dict(document)
    release.mechanism = manifest.mechanism  # type: ignore[assignment]
    with pytest.raises(ReleaseError, match="do not fit"):
        release._check(verify=False)


@pytest.mark.parametrize("epsilon", [0.001, 0.02, 0.3, 1.0, 5.0, 30.0])
def test_the_gaussian_of_a_pure_promise_reveals_at_least_as_much(epsilon: float) -> None:
    mu, alpha = mu_of_pure(epsilon), np.linspace(1e-6, 1.0 - 1e-6, 20_001)
    pure = np.maximum.reduce([0.0 * alpha, 1.0 - math.exp(epsilon) * alpha, math.exp(-epsilon) * (1.0 - alpha)])
    assert (norm.cdf(norm.ppf(1.0 - alpha) - mu) <= pure + 1e-12).all()
    kink = 1.0 / (1.0 + math.exp(epsilon))
    assert norm.cdf(norm.ppf(1.0 - kink) - mu) == pytest.approx(kink, rel=1e-6), "no more than is needed"
    response = [max((math.exp(epsilon) - math.exp(x)) / (1.0 + math.exp(epsilon)), 0.0) for x in (0.0, epsilon / 2)]
    assert all(gaussian_delta(x, mu) >= one * (1.0 - 1e-9) for x, one in zip((0.0, epsilon / 2), response, strict=True))


def flip_law(scores: list[int], step: int) -> np.ndarray:
    """The law of permute and flip, by going through all orders."""
    taken = np.exp((np.array(scores) - max(scores)) / step)
    law = np.zeros(len(scores))
    orders = list(permutations(range(len(scores))))
    for order in orders:
        left = 1.0
        for one in order:
            law[one] += left * taken[one] / len(orders)
            left *= 1.0 - taken[one]
    return law


def test_choices_follow_their_law() -> None:
    scores, stream = [10, 7, 3, 9], np.random.default_rng(0)
    found = np.bincount([permute_and_flip(np.array(scores), 4, stream) for _ in range(20_000)], minlength=4) / 20_000
    assert found == pytest.approx(flip_law(scores, 4), abs=0.015)


@pytest.mark.parametrize("changed", [1, 2])
def test_a_choice_is_as_private_as_it_says(changed: int) -> None:
    rng = np.random.default_rng(changed)
    for _ in range(200):
        scores = rng.integers(0, 12, 4)
        other = scores + rng.integers(-changed, changed + 1, 4)
        ratio = np.log(flip_law(scores.tolist(), 5)) - np.log(flip_law(other.tolist(), 5))
        assert np.abs(ratio).max() <= 2.0 * changed / 5 + 1e-12


def test_one_record_moves_a_score_by_its_own_cells() -> None:
    rng = np.random.default_rng(0)
    groups = [np.array([0, 1, 2, 3]), np.array([0, 1]), np.array([0, 1, 2]), np.array([0, 0, 1])]
    candidates = list(combinations(range(4), 3))
    expected = rng.integers(-3, 9, (4, 64))
    levels = np.stack([rng.integers(0, len(one), 60) for one in groups], axis=1)

    def scores(rows: np.ndarray) -> np.ndarray:
        tally = TripleTally(groups, candidates)
        for part in np.array_split(rows, 3):
            tally.add(part)
        return np.abs(tally._triples() - expected).sum(axis=1)

    whole = scores(levels)
    for left_out in range(60):
        assert np.abs(scores(np.delete(levels, left_out, axis=0)) - whole).max() <= 1
        moved = levels.copy()
        moved[left_out] = [rng.integers(0, len(one)) for one in groups]
        assert np.abs(scores(moved) - whole).max() <= 2


def test_what_pairs_tell_is_expected_and_does_not_count() -> None:
    release, frame = released(triples=0), coins(50_000)
    groups = [np.arange(code.num_levels) for code in release.codebook.codes]
    candidates = list(combinations(range(5), 3))
    expected, spread = expected_tables(
        release.second[0], np.array(release.mechanism.pair_noise), release.codebook, groups, candidates, 50_000.0
    )
    tally = TripleTally(groups, candidates)
    tally.add(frame.to_numpy(np.int64))
    scores = np.abs(tally._triples() - expected).sum(axis=1) - spread
    assert candidates[int(scores.argmax())] == (0, 1, 2)
    assert scores.max() > 40_000
    assert np.sort(scores)[-2] < 3_000
    chosen, _ = tally.publish(
        expected, spread, plan_round(10, 8, unit_noise=1.0, total=5e4, cells_changed=1, most=1), FixedRandomness()
    )
    assert chosen == [(0, 1, 2)]


def test_more_records_or_a_larger_budget_never_get_fewer_tables() -> None:
    def count(total: float, unit: float) -> int:
        return plan_round(220, 64, unit_noise=unit, total=total, cells_changed=1, most=32).count

    by_records = [count(total, 1.5) for total in (100, 1e3, 1e4, 1e5, 1e6)]
    by_budget = [count(5e4, unit) for unit in (100.0, 10.0, 4.0, 1.0, 0.1)]
    assert by_records == sorted(by_records)
    assert by_budget == sorted(by_budget)
    assert (by_records[0], by_records[-1], by_budget[0], by_budget[-1]) == (0, 32, 0, 32)


def test_of_a_wide_table_the_columns_that_share_most_are_looked_at() -> None:
    release = released(triples=0)
    assert strongest_columns([0, 3], release.second[0], release.codebook) == [0, 3]
    width = MOST_COLUMNS + 8
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((20_000, width)) < 0.5, columns=[f"c{i}" for i in range(width)])
    frame["c39"] = frame["c7"]
    schema = mt.Schema(columns=tuple(mt.Column(name=name, kind="boolean", missing=False) for name in frame))
    with repeatable_noise():
        wide = mt.release(frame, schema, epsilon=5.0, delta=1e-6, triples=0)
    assert isinstance(wide, AggregatesRelease)
    found = strongest_columns(list(range(width)), wide.second[0], wide.codebook)
    assert len(found) == MOST_COLUMNS
    assert {7, 39} <= set(found)
