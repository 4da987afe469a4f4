"""The search for undeclared columns: what it costs, what it finds, and what it must not find."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from microtome.accounting import Neighbours
from microtome.private import PrivacySettings
from microtome.private.domain import WEIGHTS
from microtome.private.histograms import NUM_BUCKETS, SparseHistogram, buckets, number_histogram
from microtome.private.plan import plan_profile
from microtome.private.profile import total_weight
from microtome.private.profile_budget import ProfileBudget
from microtome.private.searching import SEARCH_HISTOGRAMS, SearchPass, search_weight, start_search
from microtome.schema import CategoryCells, Codebook, Column, ColumnCode, Kind, NumberCells, Schema
from support import FixedRandomness, SilentRandomness, people, people_schema, searched

ROWS = 800


def budget(mu: float, neighbours: Neighbours = Neighbours.BLANK_ONE) -> ProfileBudget:
    return ProfileBudget(mu=mu, threshold_delta=1e-7, neighbours=neighbours)


def learn(table: pa.Table, mu: float, seed: int = 0, **kinds: Kind) -> Codebook:
    """The codebook of a table of which nothing is declared."""
    found = [Column(name=name, kind=kinds.get(name, _kind(table[name].type))) for name in table.column_names]
    tally, left = searched(table, Schema(columns=tuple(found)), budget(mu), FixedRandomness(seed))
    return tally.publish(left, FixedRandomness(seed), centred=True).codebook


def _kind(arrow_type: pa.DataType) -> Kind:
    if pa.types.is_integer(arrow_type):
        return Kind.INTEGER
    if pa.types.is_timestamp(arrow_type):
        return Kind.DATETIME
    return Kind.FLOAT if pa.types.is_floating(arrow_type) else Kind.CATEGORICAL


def ends(code: ColumnCode) -> tuple[float, float]:
    assert isinstance(code.cells, NumberCells)
    return float(code.cells.edges[0]), float(code.cells.edges[-1]) - code.cells.integral


def simulated(num_rows: int = ROWS) -> dict[str, np.ndarray]:
    """Columns of many origins and scales."""
    rng = np.random.default_rng(0)
    return {
        "age": rng.normal(40, 12, num_rows).clip(17, 90).astype(np.int64),
        "income": np.where(rng.random(num_rows) < 0.2, 0, rng.lognormal(10, 0.8, num_rows).round(-2)).astype(np.int64),
        "longitude": rng.uniform(-124.3, -114.3, num_rows).round(2),
        "near a million": rng.normal(1e6, 1.0, num_rows),
        "small": rng.exponential(1e-3, num_rows),
        "year": rng.integers(1995, 2019, num_rows),
        "code": rng.choice([1.0, 2.0, 9.0], num_rows, p=[0.6, 0.3, 0.1]),
        "time": 1_500_000_000_000_000 + rng.integers(0, 86_400_000_000, num_rows),
    }


def table_of(columns: dict[str, np.ndarray]) -> pa.Table:
    arrays = {name: pa.array(values) for name, values in columns.items()}
    if "time" in arrays:
        arrays["time"] = arrays["time"].cast(pa.timestamp("us"))
    return pa.table(arrays)


@pytest.mark.parametrize("mu", [0.17, 0.5])
@pytest.mark.parametrize("releases", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_no_bound_is_far_beyond_the_numbers(mu: float, releases: int) -> None:
    """At the noise of ε = 1 with some twenty columns, and at less: never beyond twice the range, zero included."""
    columns = simulated()
    table = table_of(columns)
    numbers = {name: np.asarray(values, dtype=float) for name, values in columns.items()}
    known = 0
    for seed in range(releases):
        for code in learn(table, mu, seed).codes:
            if not code.found:
                continue
            known += 1
            values = numbers[code.column.name]
            low, high = ends(code)
            reach = max(values.max() - values.min(), np.abs(values).max())
            assert low >= values.min() - reach, (seed, code.column.name, low)
            assert high <= values.max() + reach, (seed, code.column.name, high)
    assert known > 0.5 * releases * len(columns)


def test_where_there_are_too_few_records_nothing_is_learnt_and_the_code_says_so() -> None:
    """Of twenty records under this noise nothing can be known; no bound, no category, and no missing value either."""
    table = table_of({name: values[:20] for name, values in simulated().items()})
    table = table.append_column("town", pa.array(["a", "b"] * 10))
    unknown = 0
    for seed in range(20):
        for code in learn(table, 0.17, seed).codes:
            unknown += not code.is_learnt
            assert code.cells.missing
            assert code.margins[-1] == 0.0
            if not code.is_learnt and code.column.kind is not Kind.CATEGORICAL:
                assert abs(np.array(ends(code))).max() < 1e-300
                assert (code.num_levels, code.margins[0]) == (1, 1.0)
    assert unknown >= 20 * 9 - 3


def test_bounds_quantiles_and_steps_are_learnt() -> None:
    columns = simulated(20_000)
    for code in learn(table_of(columns), 0.3).codes:
        values = np.sort(np.asarray(columns[code.column.name], dtype=float))
        low, high = ends(code)
        assert ((values < low) | (values > high)).mean() < 0.03, code.column.name
        drawn = _drawn(code, 20_000)
        assert stats.ks_2samp(values, drawn).statistic < 0.04, code.column.name
    by_name = {code.column.name: code for code in learn(table_of(columns), 0.3).codes}
    drawn = _drawn(by_name["code"], 5000)
    assert np.isin(drawn, [1.0, 2.0, 9.0]).mean() > 0.99
    assert (drawn == np.rint(drawn)).all()
    assert (_drawn(by_name["longitude"], 5000) * 100 % 1).round(6).max() in (0.0, 1.0)


def _drawn(code: ColumnCode, rows: int) -> np.ndarray:
    rng = np.random.default_rng(5)
    drawn = code.draw(rng.choice(code.num_levels, size=rows, p=code.level_margins), rng)
    if pa.types.is_timestamp(drawn.type):
        drawn = drawn.cast(pa.int64())
    return np.asarray(drawn.drop_null()).astype(float)


def test_numbers_that_many_records_share_are_drawn_exactly() -> None:
    """Seven districts of a density with many digits, and a top code among incomes."""
    rng = np.random.default_rng(3)
    densities = rng.lognormal(4, 1.5, 7)
    incomes = rng.lognormal(10, 0.5, 20_000)
    incomes[rng.random(20_000) < 0.08] = 123_456.789012
    codes = learn(pa.table({"density": rng.choice(densities, 20_000), "income": incomes}), 0.3).codes
    assert set(_drawn(codes[0], 5000)) == set(densities)
    drawn = _drawn(codes[1], 20_000)
    assert (drawn == 123_456.789012).mean() == pytest.approx(0.08, abs=0.01)
    assert len(set(drawn)) > 10_000


@pytest.mark.parametrize("wrong", [1, 10])
def test_a_number_of_one_record_alone_shows_no_more_often_than_stated(wrong: int) -> None:
    """The threshold of numbers is that of categories; ten times its probability would be caught."""
    share = 0.05
    column = Column(name="x", kind=Kind.FLOAT, missing=False)
    histogram = number_histogram(column, np.ones(NUM_BUCKETS, dtype=bool))
    histogram.add(pa.array([0.25] * 50 + [math.pi]))
    stated = replace(budget(1.0), threshold_delta=wrong * share)
    shown = sum(
        math.pi in histogram.shown(1.0, stated.threshold(1.0), np.random.default_rng(seed))[0] for seed in range(2000)
    )
    low, high = stats.binom.ppf(1e-6, 2000, share), stats.binom.isf(1e-6, 2000, share)
    assert (low <= shown <= high) == (wrong == 1)


@pytest.mark.parametrize("neighbours", Neighbours)
def test_search_and_profile_cost_the_same_whatever_is_found(neighbours: Neighbours) -> None:
    """μ² of all histograms of a release, those of the search and of the protected total too, is the budget."""
    changed = neighbours.cells_changed
    spent = set()
    for seed, mu in product(range(4), (0.1, 5.0)):
        tally, left = searched(people(300), people_schema(), budget(mu, neighbours), FixedRandomness(seed))
        codes = tally.publish(left, FixedRandomness(seed), centred=True).codebook.codes
        scales = [scale for code in codes for scale in (code.noise_scale, *code.search_noise)]
        scales += [code.rounding.noise_scale for code in codes if code.rounding is not None]
        cost = sum(changed / scale**2 for scale in scales) / mu**2
        assert cost <= 1.0 + 1e-9
        if not neighbours.protects_count:
            assert cost == pytest.approx(1.0)
        spent.add(len(scales))
        assert all(len(code.search_noise) <= SEARCH_HISTOGRAMS for code in codes)
    assert len(spent) > 1  # searches differ in how much they ask


def _flat(histogram: Any) -> Counter[Any]:
    if isinstance(histogram, SparseHistogram):
        return Counter(histogram.counts)
    return Counter(dict(enumerate(histogram.counts.tolist())))


def test_one_record_changes_one_count_of_every_histogram_by_one() -> None:
    """Brute force over all neighbours of a small table, for every question of every round."""
    table, schema = people(40), people_schema()
    whole = replace(budget(5.0), weight=total_weight(schema.columns, protects_count=False))
    rounds: list[SearchPass] = []
    counting: Any = start_search(schema, whole, lambda domains, left, counted: None)  # type: ignore[arg-type, return-value]
    big = people(2000)
    while counting is not None:
        rounds.append(counting)
        counting.add(big)
        counting = counting.publish(SilentRandomness(), big.num_rows).following
    assert len(rounds) >= 2
    for number in range(len(rounds)):
        assert number > 0 or rounds[number].tally.declared  # what the profile will publish is counted here
        for place, histogram in rounds[number].tally.questions:
            for row in range(table.num_rows):
                before = _flat(histogram)
                histogram.add(table.column(place).slice(row, 1).combine_chunks())
                change = _flat(histogram)
                change.subtract(before)
                assert sorted(count for count in change.values() if count) in ([], [1])


def test_what_rounds_have_counted_apart_merges() -> None:
    table, schema = people(500), people_schema()
    whole = replace(budget(5.0), weight=total_weight(schema.columns, protects_count=False))

    def first_round() -> SearchPass:
        counting = start_search(schema, whole, lambda domains, left, counted: None)  # type: ignore[arg-type, return-value]
        assert isinstance(counting, SearchPass)
        return counting

    together, one, two = first_round(), first_round(), first_round()
    together.add(table)
    one.add(table.slice(0, 123).combine_chunks())
    two.add(table.slice(123).combine_chunks())
    one.merge(two)
    assert together.tally.declared
    for (place, mine), (same, theirs) in zip(together.tally.questions, one.tally.questions, strict=True):
        assert place == same
        assert _flat(mine) == _flat(theirs)


def test_the_most_that_a_search_may_cost_leaves_the_profile_its_share() -> None:
    number, category = (Column(name="x", kind=kind) for kind in (Kind.FLOAT, Kind.CATEGORICAL))
    for column in (number, category):
        assert total_weight([column], protects_count=False) > search_weight(column) > 0
    assert search_weight(Column(name="x", kind=Kind.BOOLEAN)) == 0
    assert search_weight(category) == WEIGHTS["categories"]


def test_a_declared_table_is_not_searched() -> None:
    schema = Schema(columns=(Column(name="x", kind=Kind.BOOLEAN),))
    plan = plan_profile(PrivacySettings(epsilon=1.0, delta=1e-6), schema)
    assert start_search(schema, plan.budget, lambda domains, left, counted: (domains, left)) == ({}, plan.budget)  # type: ignore


def test_categories_are_those_that_stand_out_and_the_budget_goes_where_some_are_missing() -> None:
    rng = np.random.default_rng(0)
    many = [f"town {rank:02d}" for rank in np.minimum(rng.geometric(0.08, 20_000), 60)]
    few = rng.choice(["f", "m"], 20_000)
    codes = learn(pa.table({"few": few, "many": many}), 0.2).codes
    assert isinstance(codes[0].cells, CategoryCells)
    assert isinstance(codes[1].cells, CategoryCells)
    assert codes[0].cells.categories == ("f", "m")
    assert codes[0].margins[2:].tolist() == [0.0, 0.0]  # nobody is other, nobody is missing
    assert codes[1].noise_scale < 0.6 * codes[0].noise_scale
    assert len(codes[1].cells.categories) > 15
    assert all(code.is_learnt for code in codes)


def test_buckets_scatter_numbers_and_know_no_negative_zero() -> None:
    numbers = np.concatenate([np.arange(20_000.0), np.arange(20_000.0) / 7.0])
    found = np.bincount(buckets(numbers), minlength=NUM_BUCKETS)
    assert len(found) == NUM_BUCKETS
    assert stats.chi2.sf(((found - found.mean()) ** 2 / found.mean()).sum(), NUM_BUCKETS - 1) > 1e-6
    assert buckets(np.array([0.0]))[0] == buckets(np.array([-0.0]))[0]


@pytest.mark.parametrize("num_rows", [2, 5, 40])
def test_no_noise_is_too_strong_to_end_in_a_code(num_rows: int) -> None:
    """Tiny tables under any noise: whatever is drawn, there are shares, and values can be had."""
    table = table_of({name: values[:num_rows] for name, values in simulated().items()})
    table = table.append_column("town", pa.array([None] * num_rows, pa.string()))
    for seed, mu in product(range(25), (0.01, 0.2, 5.0)):
        for code in learn(table, mu, seed).codes:
            assert code.margins.sum() == pytest.approx(1.0)
            assert len(code.draw(np.arange(code.num_levels), np.random.default_rng(0))) == code.num_levels
