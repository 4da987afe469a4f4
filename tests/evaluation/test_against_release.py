"""A report from a release alone: right within its stated noise, and honest where the noise hides everything."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from evaluation_support import blurred

from fit_support import planted, planted_release
from microtome.demo import population, population_schema
from microtome.errors import ParameterError
from microtome.evaluation import report
from microtome.evaluation.comparable_table import code_tables
from microtome.evaluation.pairs import AllPairs, compare_pairs
from microtome.evaluation.released_columns import released_columns
from microtome.evaluation.released_pairs import compare_with_release
from microtome.evaluation.tables import read_table
from microtome.evaluation.verdict import Level
from microtome.published import Release, ReleaseKind
from microtome.schema import Column, Kind, Schema
from support import FixedRandomness, levels_of, people, people_schema, publish

_TWO_KINDS = {"x": Kind.FLOAT, "y": Kind.BOOLEAN}


def against(release: Release, table: pa.Table) -> tuple[dict[str, object], AllPairs]:
    (made,), _ = code_tables([read_table(table, "made")], release.schema)
    columns, pairs = compare_with_release(release, made, np.random.default_rng(0))
    assert pairs is not None
    return {column.name: column for column in columns}, pairs


def test_values_fall_into_the_levels_that_the_release_counted_them_in(tmp_path: Path) -> None:
    table = people(2_000)
    release = publish(table, people_schema(), tmp_path / "p.release", kind=ReleaseKind.AGGREGATES, epsilon=50.0)
    (made,), _ = code_tables([read_table(table, "made")], release.schema)
    ours = np.stack([column.levels for column in released_columns(release, None, made)], axis=1)
    theirs = levels_of(table, release.codebook)
    known = ours >= 0
    assert known.all()
    assert (ours == theirs)[known].all()


@pytest.mark.parametrize("kind", list(ReleaseKind))
def test_the_table_itself_scores_as_high_as_the_noise_allows(tmp_path: Path, kind: ReleaseKind) -> None:
    table = population(5_000, seed=2)
    release = publish(table, population_schema(), tmp_path / "t.release", kind=kind, epsilon=8.0)
    columns, _ = against(release, table)
    for column in columns.values():
        assert column.score is not None  # type: ignore[attr-defined]
        if column.name in ("district", "income", "commute", "registered"):
            continue  # Values and tails that the profile could not tell from noise.
        assert column.band[1] > 0.985, column.name  # type: ignore[attr-defined]
        assert column.band[0] <= column.score <= column.band[1]  # type: ignore[attr-defined]


def test_the_noise_floor_is_what_noise_does(tmp_path: Path) -> None:
    table, gaps, floors = population(5_000, seed=2), [], []
    for seed in range(5):
        release = publish(
            table,
            population_schema(),
            tmp_path / f"{seed}.release",
            kind=ReleaseKind.AGGREGATES,
            epsilon=0.5,
            randomness=FixedRandomness(seed),
        )
        column = against(release, table)[0]["education"]
        gaps.append(0.5 * np.abs(column.distribution.real - column.distribution.synthetic).sum())  # type: ignore[attr-defined]
        floors.append(column.noise_floor)  # type: ignore[attr-defined]
    assert 0.6 < np.mean(gaps) / np.mean(floors) < 1.6


def test_dependence_kept_is_one_formula_with_and_without_noise(tmp_path: Path) -> None:
    table = planted(20_000)
    release = planted_release(
        tmp_path / "p.release", table=table, kind=ReleaseKind.AGGREGATES, epsilon=2.0, randomness=FixedRandomness(3)
    )
    for share in (0.0, 0.5, 1.0):
        made = blurred(table, share, seed=1)
        (real, synthetic), _ = code_tables([read_table(one, "a table") for one in (table, made)], release.schema)
        truth, told = compare_pairs(real, synthetic).kept, against(release, made)[1].kept
        assert truth is not None
        assert told is not None
        assert told.band[0] - 0.05 <= truth.value <= told.band[1] + 0.05
        assert told.value == pytest.approx(truth.value, abs=0.1)
        # A pair keeps its link where neither value was replaced: a quarter of it at one half.
        assert truth.value == pytest.approx(1.0 - (1.0 - (1.0 - share) ** 2) ** 2, abs=0.06)


def test_what_agrees_with_a_release_of_noise_is_not_good(tmp_path: Path) -> None:
    table = people(150)
    release = publish(table, people_schema(), tmp_path / "p.release", kind=ReleaseKind.AGGREGATES, epsilon=0.05)
    drawn = release.codebook.draw(
        np.stack(
            [
                np.random.default_rng(0).choice(code.num_levels, 2_000, p=code.level_margins / code.level_margins.sum())
                for code in release.codebook.codes
            ],
            axis=1,
        ),
        np.random.default_rng(1),
    )
    found = report(None, drawn, release=release)
    assert found.figures.verdict.level is Level.LITTLE
    assert 'class="verdict little"' in found.html
    assert any(column.doubt for column in found.figures.columns)
    assert 'class="doubt"' in found.html
    assert found.figures.verdict.band[0] < found.figures.verdict.score < found.figures.verdict.band[1]


def test_records_beyond_learnt_ends_are_seen_from_the_release(tmp_path: Path) -> None:
    """The profile trims what does not stand out, tables count it at the ends: both together tell how much it was."""
    values = np.exp(np.random.default_rng(0).normal(5.0, 1.5, 300))
    schema = Schema(columns=tuple(Column(name=name, kind=kind, missing=False) for name, kind in _TWO_KINDS.items()))
    table, seen = pa.table({"x": values, "y": values > 150.0}), 0
    for seed in range(12):
        path, noise = tmp_path / f"{seed}.release", FixedRandomness(seed)
        release = publish(table, schema, path, kind=ReleaseKind.AGGREGATES, epsilon=1.0, randomness=noise)
        low, high = release.codebook.codes[0].cells.edges[[0, -1]]  # type: ignore[union-attr]
        inside = float(((values >= low) & (values <= high)).mean())
        x = against(release, pa.table({"x": np.clip(values, low, high), "y": values > 150.0}))[0]["x"]
        if inside < 0.75:
            seen += 1
            assert "beyond the ends" in x.doubt  # type: ignore[attr-defined]
            assert x.band[0] - 0.05 < inside < x.band[1] + 0.05  # type: ignore[attr-defined]
    assert seen >= 5, "table and noise are such that ends are often missed"


def test_a_column_of_which_nothing_stood_out_is_wrong_as_a_whole(tmp_path: Path) -> None:
    """Its made-up values agree with the one cell that the release has for it, which is not where the numbers are."""
    values = np.random.default_rng(0).normal(5e6, 1e6, 60)
    schema = Schema(columns=tuple(Column(name=name, kind=kind, missing=False) for name, kind in _TWO_KINDS.items()))
    table = pa.table({"x": values, "y": values > 5e6})
    noise = FixedRandomness(0)
    release = publish(table, schema, tmp_path / "x.release", kind=ReleaseKind.AGGREGATES, epsilon=0.1, randomness=noise)
    x = against(release, pa.table({"x": np.zeros(60), "y": table["y"]}))[0]["x"]
    assert x.score == 0.0  # type: ignore[attr-defined]
    assert x.doubt.startswith("not learnt: none of its numbers")  # type: ignore[attr-defined]


def test_categories_that_were_not_shown_count_by_what_is_expected_of_them(tmp_path: Path) -> None:
    """No records seem to have another category than the two that stood out, but the noise could hide some."""
    table = pa.table({"shape": ["round", "square"] * 200, "y": [True, False] * 200})
    columns = (Column(name="shape", kind=Kind.CATEGORICAL, missing=False), Column(name="y", kind=Kind.BOOLEAN))
    found = {}
    for epsilon in (2.0, 200.0):
        path = tmp_path / f"{epsilon}.release"
        noise = FixedRandomness(1)
        release = publish(
            table, Schema(columns=columns), path, kind=ReleaseKind.AGGREGATES, epsilon=epsilon, randomness=noise
        )
        (made,), _ = code_tables([read_table(table, "made")], release.schema)
        found[epsilon] = released_columns(release, None, made)[0].unknown
    assert found[200.0].value < 0.01
    assert found[2.0].low < found[2.0].value < found[2.0].high < 0.3
    assert found[2.0].value > found[200.0].value


def test_noise_that_hides_dependence_is_not_taken_for_its_absence(tmp_path: Path) -> None:
    table = planted(300)
    release = planted_release(tmp_path / "p.release", table=table, epsilon=0.5, randomness=FixedRandomness(4))
    _, pairs = against(release, table)
    assert pairs.kept is None
    assert any(pair.is_hidden for pair in pairs.pairs.values())
    for pair in pairs.pairs.values():
        if pair.is_hidden:
            assert pair.dependence_error is not None
            assert pair.dependence_error > 0.3, "strong dependence could be hidden"


def test_values_that_the_release_does_not_know_are_counted_as_such(tmp_path: Path) -> None:
    table = planted(4_000)
    release = planted_release(tmp_path / "p.release", table=table, kind=ReleaseKind.AGGREGATES)
    odd = table.set_column(0, "shape", pa.array(["hollow"] * 1_000 + table["shape"].to_pylist()[1_000:]))
    columns, _ = against(release, odd)
    shape = columns["shape"]
    assert shape.coverage.outside == pytest.approx(0.25)  # type: ignore[attr-defined]
    assert shape.score == pytest.approx(0.75, abs=0.03)  # type: ignore[attr-defined]
    assert shape.distribution.labels[-1] == "not in the release"  # type: ignore[attr-defined]


def test_a_page_from_a_release_is_free_to_publish_only_if_the_release_is(tmp_path: Path) -> None:
    release = planted_release(tmp_path / "p.release", kind=ReleaseKind.AGGREGATES)
    tested = report(None, planted(), release=release)
    assert not tested.figures.free_to_publish, "its noise was injected by a test"
    assert "promises nothing" in tested.figures.stamp
    assert "Free to publish" not in tested.html


def test_a_release_has_its_own_schema_and_no_rows_to_hold_out(tmp_path: Path) -> None:
    release = planted_release(tmp_path / "p.release")
    for option in ({"target": "large"}, {"holdout": planted()}, {"schema": release.schema}):
        with pytest.raises(ParameterError, match="a release brings its own schema"):
            report(None, planted(), release=release, **option)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="give the real table, or a release"):
        report(None, planted())


def test_directions_that_do_not_span_the_rows_leave_the_columns(tmp_path: Path) -> None:
    release = planted_release(tmp_path / "p.release", num_slices=3)
    found = report(None, planted(), release=release)
    assert isinstance(found.figures.pairs, str)
    assert "says nothing of pairs" in found.html


def test_the_public_page_says_in_how_many_rows_the_rules_hold(tmp_path: Path) -> None:
    columns = tuple(Column(name=name, kind="integer", bounds=(0, 9), missing=False) for name in ("a", "b"))
    kept = pa.table({"a": [1, 2, 3] * 100, "b": [3, 3, 3] * 100})
    release = publish(
        kept, Schema(columns=columns, rules=("a <= b",)), tmp_path / "r.release", kind=ReleaseKind.AGGREGATES
    )
    (said,) = [note for note in report(None, kept, release=release).figures.notes if "rule" in note]
    assert said == "The rule of the schema holds in all 300 rows of the synthetic table."
    broken = pa.table({"a": [1, 2, 3] * 100, "b": [3, 3, 2] * 100})
    (said,) = [note for note in report(None, broken, release=release).figures.notes if "rule" in note]
    assert said.endswith("some break rules of the schema: 'a <= b' in 100.")
