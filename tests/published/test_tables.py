"""Two-way tables of releases: what was released, against the truth; and made consistent, nearer to it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from fit_support import planted, planted_release, planted_schema, true_tables
from microtome.published import Release, ReleaseKind, TwoWayTables, consistent, two_way_tables
from microtome.published.tables import nearest_table
from support import FixedRandomness


def blocks_of(release: Release, square: np.ndarray) -> dict[tuple[int, int], np.ndarray]:
    parts = [slice(block.start, block.stop) for block in release.codebook.blocks]
    return {
        (first, second): square[parts[first], parts[second]]
        for first in range(len(parts))
        for second in range(first + 1, len(parts))
    }


def tables_of(release: Release) -> TwoWayTables:
    found = two_way_tables(release)
    assert found is not None
    return found


@pytest.mark.parametrize("target", ["large", None], ids=["pivot", "no pivot"])
@pytest.mark.parametrize("kind", list(ReleaseKind))
def test_released_tables_are_the_truth_under_the_stated_noise(
    tmp_path: Path, kind: ReleaseKind, target: str | None
) -> None:
    errors: dict[tuple[int, int], list[np.ndarray]] = {(0, 1): [], (0, 2): [], (1, 2): []}
    for seed in range(12):
        release = planted_release(
            tmp_path / f"{seed}.release",
            kind=kind,
            schema=planted_schema(target),
            randomness=FixedRandomness(seed),
            epsilon=20.0,
        )
        truth = blocks_of(release, true_tables(release, planted()))
        noisy = tables_of(release)
        assert set(noisy.tables) == set(errors), "the column of one value has no table"
        for pair, table in noisy.tables.items():
            errors[pair].append((table - truth[pair]) / noisy.noise[pair])
    for pair, found in errors.items():
        assert 0.78 < np.sqrt(np.mean(np.square(found))) < 1.25, pair


@pytest.mark.parametrize("kind", list(ReleaseKind))
def test_consistent_tables_are_consistent_and_nearer_the_truth(tmp_path: Path, kind: ReleaseKind) -> None:
    before, after, margin_before, margin_after = [], [], [], []
    for seed in range(6):
        release = planted_release(
            tmp_path / f"{seed}.release", kind=kind, randomness=FixedRandomness(seed), epsilon=0.3, delta=1e-5
        )
        square = true_tables(release, planted())
        truth, noisy = blocks_of(release, square), tables_of(release)
        clean = consistent(noisy)
        for (first, second), table in clean.tables.items():
            assert table.min() >= 0.0
            assert table.sum(axis=1) == pytest.approx(clean.margins[first], abs=1e-6)
            assert table.sum(axis=0) == pytest.approx(clean.margins[second], abs=1e-6)
            before.append(np.abs(noisy.tables[first, second] - truth[first, second]).sum())
            after.append(np.abs(table - truth[first, second]).sum())
        for index, block in enumerate(release.codebook.blocks):
            true = np.diag(square)[block.start : block.stop]
            margin_before.append(np.abs(noisy.margins[index] - true).sum())
            margin_after.append(np.abs(clean.margins[index] - true).sum())
    assert np.mean(after) < 0.75 * np.mean(before)
    assert np.mean(margin_after) <= np.mean(margin_before) * (1.0 + 1e-9)
    if kind is ReleaseKind.AGGREGATES:
        assert np.mean(margin_after) < 0.9 * np.mean(margin_before), "tables' sums make margins better"


def test_without_noise_nothing_is_changed() -> None:
    table = np.array([[0.1, 0.2], [0.3, 0.4]])
    assert nearest_table(table, table.sum(axis=1), table.sum(axis=0)) == pytest.approx(table, abs=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(2, 6))
def test_nearest_table_is_the_least_squares_one(seed: int, height: int, width: int) -> None:
    rng = np.random.default_rng(seed)
    rows, columns = rng.dirichlet(np.ones(height)), rng.dirichlet(np.ones(width))
    table = np.outer(rows, columns) + 0.1 * rng.standard_normal((height, width))
    found = nearest_table(table, rows, columns)
    assert found.min() >= 0.0
    assert found.sum(axis=0) == pytest.approx(columns, abs=1e-9)
    assert found.sum(axis=1) == pytest.approx(rows, abs=1e-6)
    margins = [
        {"type": "eq", "fun": lambda flat: flat.reshape(height, width).sum(axis=1) - rows},
        {"type": "eq", "fun": lambda flat: flat.reshape(height, width).sum(axis=0)[:-1] - columns[:-1]},
    ]
    slow = minimize(
        lambda flat: ((flat - table.ravel()) ** 2).sum(),
        np.outer(rows, columns).ravel(),
        jac=lambda flat: 2 * (flat - table.ravel()),
        bounds=[(0.0, None)] * table.size,
        constraints=margins,
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert ((found - table) ** 2).sum() <= slow.fun + 1e-6


def test_directions_that_do_not_span_the_rows_have_no_tables(tmp_path: Path) -> None:
    assert two_way_tables(planted_release(tmp_path / "few.release", num_slices=3)) is None
