"""Dependence of pairs: known values, chance, what independent columns have, and which pairs are worst."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats.contingency import association

from microtome.evaluation.binning import BINS, NAMED, cut_columns
from microtome.evaluation.comparable_table import ComparableTable, code_tables, shuffled_columns
from microtome.evaluation.dependence import DependenceKept, cramers_v, pair_error, residual
from microtome.evaluation.drafting import schema_of
from microtome.evaluation.pairs import compare_pairs, listed_pair_error
from microtome.evaluation.tables import read_table

_BIAS = 0.03


def coded(*frames: pd.DataFrame) -> list[ComparableTable]:
    raw = [read_table(frame, "a table") for frame in frames]
    return code_tables(raw, schema_of(raw[0], schema=None, target=None)[0])[0]


def linked(rows: int, seed: int, strength: float = 0.8) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, rows)
    b = np.where(rng.random(rows) < strength, a, rng.integers(0, 4, rows))
    x = a + rng.normal(0, 0.5, rows)
    return pd.DataFrame({"a": a, "b": b, "c": rng.integers(0, 30, rows).astype(str), "x": x})


def test_cramers_v_without_correction_is_the_usual_one() -> None:
    counts = np.array([[10, 20, 5], [3, 40, 22]])
    assert cramers_v(counts / counts.sum(), np.inf) == pytest.approx(association(counts, method="cramer"))
    assert cramers_v(np.eye(4) / 4, 10_000) == pytest.approx(1.0, abs=1e-3)
    assert cramers_v(np.array([[0.5, 0.5], [0.0, 0.0]]), 100) == 0.0


def test_correction_takes_chance_out_of_wide_tables() -> None:
    rng = np.random.default_rng(0)
    tables = [np.bincount(rng.integers(0, 400, 2_000), minlength=400).reshape(20, 20) / 2_000 for _ in range(20)]
    assert np.mean([cramers_v(table, np.inf) for table in tables]) > 0.08
    assert np.mean([cramers_v(table, 2_000) for table in tables]) < 0.02


def test_pair_error_is_one_for_independent_columns_and_zero_for_a_copy() -> None:
    table = np.array([[0.4, 0.1], [0.1, 0.4]])
    assert pair_error([(table, np.full((2, 2), 0.25))]) == pytest.approx(1.0)
    assert pair_error([(table, table)]) == 0.0
    assert pair_error([(np.full((2, 2), 0.25), table)]) is None


def test_dependence_kept_is_the_formula_of_the_page() -> None:
    rng = np.random.default_rng(0)
    kept, error, whole = DependenceKept(), 0.0, 0.0
    for _ in range(3):
        real, made = (rng.dirichlet(np.ones(12)).reshape(3, 4) for _ in range(2))
        kept.add(real, made)
        error += ((residual(real) - residual(made)) ** 2).sum()
        whole += (residual(real) ** 2).sum()
    found = kept.kept()
    assert found is not None
    assert found.value == pytest.approx(1.0 - error / whole)
    assert DependenceKept().kept() is None


@pytest.mark.parametrize(("scale", "accepted"), [(0.7, False), (1.0, True), (1.4, False)])
def test_noise_is_taken_out_of_dependence_kept(scale: float, accepted: bool) -> None:
    """Of a follower, which repeats the noisy table shrunk, and of the table itself; a wrong noise scale is noticed."""
    rng = np.random.default_rng(1)
    true = np.full((8, 8), 0.9 / 64) + 0.1 * np.eye(8) / 8
    noise, size = 0.0025, float((residual(true) ** 2).sum())
    errors, inside = [], []
    for _ in range(40):
        table = true + noise * rng.standard_normal(true.shape)
        product = np.outer(true.sum(axis=1), true.sum(axis=0))
        follower, honest = DependenceKept(), DependenceKept()
        made = product + 0.6 * residual(table)
        follower.add(table, made, product=product, noise=scale * noise)
        honest.add(table, true, product=product, noise=noise)
        told, right = follower.kept(), honest.kept()
        assert told is not None
        assert right is not None
        errors.append(told.value - (1.0 - float(((residual(true) - residual(made)) ** 2).sum()) / size))
        inside.append(right.band[0] <= 1.0 <= right.band[1])
    assert np.mean(inside) > 0.85
    assert bool(abs(np.mean(errors)) < _BIAS) is accepted


def test_a_table_at_no_angle_to_the_noise_is_in_the_middle_of_what_it_may_be() -> None:
    """One that is right has kept all, and had it followed the noise 2ρ − 1: what it shows is as far from both."""
    rng = np.random.default_rng(2)
    true = np.full((8, 8), 0.9 / 64) + 0.1 * np.eye(8) / 8
    noise, product, values = 0.0025, np.outer(true.sum(axis=1), true.sum(axis=0)), []
    for _ in range(40):
        kept = DependenceKept()
        kept.add(true + noise * rng.standard_normal(true.shape), true, product=product, noise=noise)
        found = kept.kept()
        assert found is not None
        assert found.band[0] <= found.value <= found.band[1]
        values.append(found.value)
    signal = float((residual(true) ** 2).sum())
    assert np.mean(values) == pytest.approx(signal / (signal + 49 * noise**2), abs=2 * _BIAS)


def test_pairs_that_were_not_measured_have_kept_nothing() -> None:
    true = np.full((4, 4), 0.6 / 16) + 0.4 * np.eye(4) / 4
    kept = DependenceKept()
    kept.add(true, true)
    half = kept.kept(0.5)
    assert half is not None
    assert half.value == pytest.approx(0.5)
    assert half.band[1] == pytest.approx(1.0), "a model may have guessed them"


def test_pairs_tell_a_good_table_from_independent_columns() -> None:
    real, good = coded(linked(20_000, 1), linked(20_000, 2))
    found = compare_pairs(real, good)
    assert set(found.pairs) == {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}
    assert found.pairs[0, 1].dependence == pytest.approx(0.8, abs=0.02)
    assert found.pairs[0, 2].dependence == pytest.approx(0.0, abs=0.02)
    assert found.pairs[0, 3].dependence > 0.6
    assert found.kept is not None
    assert found.kept_by_chance is not None
    assert found.kept.value == pytest.approx(found.kept_by_chance, abs=0.01)
    assert found.kept.band == (found.kept.value, found.kept.value), "real rows leave nothing open"
    alone = compare_pairs(real, shuffled_columns(real, np.random.default_rng(0)))
    assert alone.kept is not None
    assert abs(alone.kept.value) < 0.02
    assert {pair.names for pair in alone.worst(3)} == {("a", "b"), ("a", "x"), ("b", "x")}


def test_the_worst_pair_is_the_one_that_was_broken() -> None:
    frame = linked(10_000, 1)
    broken = linked(10_000, 2).assign(b=np.random.default_rng(0).integers(0, 4, 10_000))
    found = compare_pairs(*coded(frame, broken))
    assert {name for pair in found.worst(2) for name in pair.names} == {"a", "b", "x"}
    assert found.worst(1)[0].synthetic_dependence < 0.05
    matrix = found.matrix("dependence")
    assert matrix[0][1] == matrix[1][0] == found.pairs[0, 1].dependence
    assert matrix[0][0] is None


def test_chance_is_what_two_samples_differ_by() -> None:
    gaps, floors = [], []
    for seed in range(10):
        found = compare_pairs(*coded(linked(3_000, seed), linked(2_000, 100 + seed)))
        gaps += [pair.gap for pair in found.pairs.values()]
        floors += [pair.floor for pair in found.pairs.values()]
    assert 0.8 < np.sum(gaps) / np.sum(floors) < 1.2


def test_levels_pool_rare_values_and_set_point_masses_apart() -> None:
    rng = np.random.default_rng(0)
    values = np.where(rng.random(5_000) < 0.5, 0.0, rng.lognormal(3, 1, 5_000))
    values[:50] = np.nan
    codes = np.minimum(rng.zipf(1.3, 5_000), 300).astype(str)
    (table,) = coded(pd.DataFrame({"x": values, "code": codes}))
    x, code = cut_columns(table)
    assert len(code.labels) == NAMED
    assert code.labels[-1] == "all others"
    assert x.labels[-1] == "missing"
    shares = x.shares(0)
    assert shares[-1] == pytest.approx(0.01)
    assert shares.max() == pytest.approx((values == 0.0).mean())
    assert len(x.labels) <= BINS + 3
    assert shares.sum() == pytest.approx(1.0)


def test_listed_pair_error_counts_every_value() -> None:
    frame = linked(5_000, 1)[["a", "b"]].astype(str)
    real, copy = coded(frame, frame)
    assert listed_pair_error(real, copy) == 0.0
    assert listed_pair_error(real, shuffled_columns(copy, np.random.default_rng(0))) == pytest.approx(1.0, abs=0.05)
