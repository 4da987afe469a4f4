"""Dependence from noisy moments: better than the raw estimate and than nothing, and nothing where there is none."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from fit_support import across, planted, planted_release, planted_schema, true_tables
from microtome.published import Release
from microtome.published.second_moments import level_margins, slice_sums
from microtome.schema import Column, Kind, Schema
from microtome.training.dependence import _groups, _stack, estimate_dependence, gain_error, residual

EPSILON = 4.0
"""At which the raw tables of a few thousand records are mostly noise."""


def raw(release: Release) -> np.ndarray:
    scale = np.where(release.codebook.scale > 0, release.codebook.scale, 1.0)
    return residual(release, slice_sums(release, 0, release.num_rows)).matrix / np.outer(scale, scale)


def truth(release: Release, table: pa.Table) -> np.ndarray:
    margins = level_margins(release)
    return true_tables(release, table) - np.outer(margins, margins)


def error(release: Release, found: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.linalg.norm((found - wanted)[across(release)]))


def one_factor(num_rows: int = 10_000) -> pa.Table:
    """Five columns of eight values that all lean on one hidden factor: what the estimators are made for."""
    rng = np.random.default_rng(5)
    hidden = rng.integers(0, 2, num_rows)
    columns = {}
    for name in "abcde":
        values = np.where(
            rng.random(num_rows) < 0.8, 4 * hidden + rng.integers(0, 4, num_rows), rng.integers(0, 8, num_rows)
        )
        columns[name] = pa.array([str(value) for value in values])
    return pa.table(columns)


def factor_schema(target: str | None) -> Schema:
    categories = tuple(str(value) for value in range(8))
    columns = [Column(name=name, kind=Kind.CATEGORICAL, categories=categories, missing=False) for name in "abcde"]
    return Schema(columns=tuple(columns), target=target)


@pytest.mark.parametrize("target", ["a", None])
def test_estimate_beats_raw_moments_and_independence(target: str | None, tmp_path: Path) -> None:
    table = one_factor()
    release = planted_release(tmp_path / "r", table=table, schema=factor_schema(target), epsilon=2 * EPSILON)
    wanted, found = truth(release, table), estimate_dependence(release, 0, release.num_rows)
    estimate, unshrunk, nothing = (error(release, one, wanted) for one in (found, raw(release), np.zeros_like(wanted)))
    assert estimate < 0.5 * unshrunk
    assert estimate < 0.5 * nothing


def shuffled(table: pa.Table, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table({name: table[name].take(rng.permutation(len(table))) for name in table.column_names})


def test_independent_columns_share_nothing(tmp_path: Path) -> None:
    table = shuffled(planted(), 0)
    release = planted_release(tmp_path / "r", table=table, epsilon=EPSILON)
    found = estimate_dependence(release, 0, release.num_rows)
    assert np.linalg.norm(found) < 0.35 * np.linalg.norm(raw(release))


def test_estimate_is_symmetric_and_leaves_margins_alone(strong_release: Release) -> None:
    found = estimate_dependence(strong_release, 0, strong_release.num_rows)
    np.testing.assert_allclose(found, found.T, atol=1e-9)
    for block in strong_release.codebook.blocks:
        rows = slice(block.start, block.stop)
        assert np.abs(found[rows, rows]).max() == 0.0
        np.testing.assert_allclose(found[rows].sum(axis=0), 0.0, atol=1e-6)
        if block.width == 1:
            assert np.abs(found[rows]).max() == 0.0


def test_only_the_given_rows_are_read(strong_release: Release, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = estimate_dependence(strong_release, 400, 4000)
    other = Release.load(strong_release.path)
    steps = other._steps
    monkeypatch.setattr(other, "_steps", lambda first, last: steps(max(first, 400), last))
    np.testing.assert_array_equal(estimate_dependence(other, 400, 4000), wanted)


def test_too_few_rows_show_no_dependence(strong_release: Release) -> None:
    assert not estimate_dependence(strong_release, 0, 3).any()
    assert np.isfinite(estimate_dependence(strong_release, 0, 5)).all()


def test_pairs_with_the_target_are_a_group_of_their_own(strong_release: Release, tmp_path: Path) -> None:
    with_target, others = _groups(strong_release)
    pairs = across(strong_release)
    assert not (with_target & others).any()
    np.testing.assert_array_equal(with_target | others, pairs | pairs.T)
    target = strong_release.codebook.blocks[2]
    assert with_target[target.start : target.stop, :6].all()
    assert not with_target[:6, :6].any()
    untargeted = planted_release(tmp_path / "r", table=planted(100), schema=planted_schema(None))
    assert len(_groups(untargeted)) == 1


def test_stacking_weights_are_the_best_non_negative_ones() -> None:
    rng = np.random.default_rng(0)
    views = rng.normal(size=(200, 3))
    wanted = views @ np.array([0.7, -0.5, 0.2]) + 0.1 * rng.normal(size=200)
    weights = _stack(views.T @ views, views.T @ wanted, 0.1)
    assert weights.min() >= 0.0
    assert weights[1] == 0.0
    best = np.linalg.norm(wanted - views @ weights)
    for _ in range(300):
        nearby = np.clip(weights + 0.05 * rng.normal(size=3), 0.0, None)
        assert np.linalg.norm(wanted - views @ nearby) >= best - 1e-9


def test_no_weights_for_nothing_and_none_beyond_the_largest() -> None:
    assert not _stack(np.zeros((2, 2)), np.zeros(2), 1.0).any()
    assert _stack(np.eye(2), np.array([40.0, 0.3]), 0.0).tolist() == pytest.approx([1.5, 0.3])


def test_a_gain_within_the_noise_is_no_dependence() -> None:
    """Of one view, whose noise is known: the weight stands if it is worth more than 2.5 standard errors."""
    gram = np.array([[8.0]])
    chance = gain_error(gram, np.ones(1), 1.0)
    assert _stack(gram, np.array([2.6 * chance]), 1.0).any()
    assert not _stack(gram, np.array([2.4 * chance]), 1.0).any()


@pytest.mark.parametrize("kept", [1.0, 0.5])
def test_what_chance_gains_is_as_large_as_is_said(kept: float) -> None:
    """Folds of noise, each judged by a candidate made of the others: all of their mean, or its larger half."""
    rng = np.random.default_rng(0)
    gains, errors = [], []
    for _ in range(2000):
        folds = np.tile(rng.normal(size=(5, 200)), 2)
        others = (folds.sum(axis=0) - folds) / 4
        candidates = np.where(np.abs(others) >= np.quantile(np.abs(others), 1 - kept), others, 0.0)
        gains.append((candidates * folds).sum())
        errors.append(gain_error(np.array([[np.sum(candidates**2)]]), np.ones(1), 1.0))
    assert np.std(gains) == pytest.approx(np.mean(errors), rel=0.1)
