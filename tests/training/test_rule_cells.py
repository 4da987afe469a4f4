"""Cells that rules forbid are empty before the fit, by arithmetic on what is published."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from fit_support import quick_mixture
from microtome import Column, Schema, Synthesizer
from microtome.divergences import ReleasedMoments
from microtome.published import Release
from microtome.training.rule_cells import forbidden_pairs, with_rules
from support import publish

COLUMNS = (
    Column(name="age", kind="integer", bounds=(0, 29), missing=False),
    Column(name="marital", kind="categorical", categories=("N", "M", "D"), missing=True),
    Column(name="first", kind="integer", bounds=(0, 5), missing=False),
    Column(name="last", kind="integer", bounds=(0, 5), missing=False),
    Column(name="town", kind="categorical", categories=("A", "B", "C"), missing=False),
    Column(name="zone", kind="categorical", categories=("x", "y"), missing=False),
)
RULES = (
    "if age < 15: marital = N",
    "first <= last",
    {"zone": {"from": "town", "table": {"A": "x", "B": "y", "C": "y"}}},
)
LESS = 0.4
"""Share of the mass in forbidden cells that a small and noisy fit is left with, at most."""


def table(num_rows: int = 4000) -> pa.Table:
    rng = np.random.default_rng(0)
    age, town = rng.integers(0, 30, num_rows), rng.choice(["A", "B", "C"], num_rows)
    first = rng.integers(0, 6, num_rows)
    values = {
        "age": age,
        "marital": np.where(age < 15, "N", rng.choice(["N", "M", "D"], num_rows)),
        "first": first,
        "last": np.minimum(first + rng.integers(0, 3, num_rows), 5),
        "town": town,
        "zone": np.where(town == "A", "x", "y"),
    }
    return pa.table({column.name: pa.array(values[column.name], column.arrow_type) for column in COLUMNS})


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    path: Path = tmp_path_factory.mktemp("releases") / "ruled.release"
    schema = Schema(columns=COLUMNS, rules=RULES)
    return publish(table(), schema, path, epsilon=1.0, kind="aggregates")


def test_pairs_are_forbidden_if_all_their_values_are(release: Release) -> None:
    forbidden, blocks = forbidden_pairs(release), release.codebook.blocks
    first, last, town, zone = (slice(block.start, block.stop) for block in blocks[2:])
    np.testing.assert_array_equal(forbidden, forbidden.T)
    np.testing.assert_array_equal(forbidden[town, zone], [[False, True], [True, False], [True, False]])
    codes = release.codebook.codes
    lowest = [codes[2].levels.tolist().index(level) for level in range(codes[2].num_levels)]
    highest = [5 - codes[3].levels[:6][::-1].tolist().index(level) for level in range(codes[3].num_levels)]
    np.testing.assert_array_equal(forbidden[first, last], np.array(lowest)[:, None] > np.array(highest))
    assert not forbidden[town, first].any()


def test_a_level_with_an_age_on_either_side_is_not_forbidden(release: Release) -> None:
    code, block = release.codebook.codes[0], release.codebook.blocks[0]
    married = release.codebook.blocks[1].start + int(release.codebook.codes[1].levels[1])
    forbidden = forbidden_pairs(release)[block.start : block.stop, married]
    oldest = [max(np.flatnonzero(code.levels == level)) for level in range(code.num_levels)]
    np.testing.assert_array_equal(forbidden, np.array(oldest) < 15)
    assert forbidden.any()


def test_moments_have_nothing_in_forbidden_cells_and_keep_their_margins() -> None:
    rng = np.random.default_rng(1)
    mean = np.concatenate([rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(5))])
    second = np.outer(mean, mean) + 0.01 * rng.standard_normal((9, 9))
    second = (second + second.T) / 2
    moments = ReleasedMoments(
        blocks=[(0, 4), (4, 9)], mean=mean, second=second, mean_noise=0.0, second_noise=0.01, num_rows=1000
    )
    forbidden = np.zeros((9, 9), dtype=bool)
    forbidden[0, 4] = forbidden[1, 4] = forbidden[2, 8] = True
    forbidden |= forbidden.T
    ruled = with_rules(moments, forbidden)
    np.testing.assert_allclose(np.asarray(ruled.second)[forbidden], 0.0, atol=1e-9)
    np.testing.assert_allclose(np.asarray(ruled.second)[:4, 4:].sum(axis=1), mean[:4], atol=1e-6)
    np.testing.assert_allclose(np.asarray(ruled.second)[:4, 4:].sum(axis=0), mean[4:], atol=1e-6)
    assert not np.asarray(ruled.second_noise)[forbidden].any()
    assert with_rules(moments, np.zeros((9, 9), dtype=bool)) is moments


def test_a_fit_that_knows_the_rules_breaks_them_less(release: Release) -> None:
    unruled = publish(
        table(), Schema(columns=COLUMNS), release.path.with_name("free.release"), epsilon=1.0, kind="aggregates"
    )
    forbidden = forbidden_pairs(release)
    masses = []
    for one in (release, unruled):
        model = Synthesizer(quick_mixture(), random_state=0).fit(one).model
        generator = model.generator  # type: ignore[union-attr]
        rows = generator.components().detach().double().numpy()
        masses.append(float((rows.T @ rows / len(rows))[forbidden].sum()))
    assert masses[0] < LESS * masses[1], masses
