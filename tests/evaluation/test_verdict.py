"""The verdict: what it says of good and bad tables, and that a release alone ranks them as the real rows do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from evaluation_support import blurred
from scipy.stats import spearmanr

from microtome.demo import population, population_schema
from microtome.evaluation.comparable_table import code_tables
from microtome.evaluation.distributions import compare_column
from microtome.evaluation.pairs import compare_pairs
from microtome.evaluation.released_pairs import compare_with_release
from microtome.evaluation.tables import read_table
from microtome.evaluation.values import whole_percent
from microtome.evaluation.verdict import Level, Verdict, judge
from microtome.published import Release, ReleaseKind
from microtome.schema import Schema
from microtome.synthesis import Synthesizer
from microtome.training import FitSettings
from support import FixedRandomness, publish

COLUMNS = ("age", "sex", "education", "status", "hours", "owner", "commute", "insured")
SCHEMA = Schema(columns=tuple(column for column in population_schema().columns if column.name in COLUMNS))


def by_real_rows(real: pa.Table, made: pa.Table) -> Verdict:
    tables, _ = code_tables([read_table(one, "a table") for one in (real, made)], SCHEMA)
    columns = [compare_column(column, tables[0], tables[1]) for column in SCHEMA.columns]
    return judge(columns, compare_pairs(tables[0], tables[1]), from_real_rows=True)


def by_release(release: Release, made: pa.Table) -> Verdict:
    (table,), _ = code_tables([read_table(made, "a table")], SCHEMA)
    columns, pairs = compare_with_release(release, table, np.random.default_rng(0))
    assert pairs is not None
    return judge(columns, pairs, from_real_rows=False)


def test_words_follow_what_is_left() -> None:
    town = population(8_000, seed=1).select(COLUMNS)
    real, other = town.slice(0, 4_000), town.slice(4_000)
    verdicts = [by_real_rows(real, made) for made in (other, blurred(real, 0.4, seed=0), blurred(real, 1.0, seed=0))]
    assert [verdict.level for verdict in verdicts] == [Level.GOOD, Level.FAIR, Level.POOR]
    assert verdicts[0].sentences[0] == Level.GOOD.in_words
    assert verdicts[2].kept == pytest.approx(0.0, abs=0.02)
    constant = pa.table({name: pa.array([real[name][0].as_py()] * 100, real[name].type) for name in COLUMNS})
    assert by_real_rows(real, constant).level is Level.LITTLE


def test_columns_that_are_all_there_is_have_to_be_alike() -> None:
    """Without dependence to keep, columns that are 70 % alike were called a fair likeness."""
    town = population(3_000, seed=1).select(COLUMNS)
    real, other = (blurred(town.slice(start, 1_500), 1.0, seed=seed) for start, seed in ((0, 1), (1_500, 2)))
    good = by_real_rows(real, other)
    assert good.kept is None
    assert good.level is Level.GOOD
    assert "nothing to do with each other" in good.sentences[1]
    kept = pa.array(np.arange(other.num_rows) >= 450)
    wrong = pa.table(
        {name: pc.if_else(kept, other[name].combine_chunks(), pc.max(other[name])) for name in COLUMNS}
    )  # three in ten have the largest value
    bad = by_real_rows(real, wrong)
    assert 0.65 < bad.columns < 0.8
    assert bad.level in (Level.POOR, Level.LITTLE)


def test_values_that_are_missing_on_one_side_only_are_not_alike() -> None:
    town = population(500, seed=1).select(COLUMNS)
    tables, _ = code_tables([read_table(town, "a table")] * 2, SCHEMA)
    column = compare_column(SCHEMA.columns[0], *tables)
    assert column.alike(column.score) == 1.0
    assert replace(column, synthetic_missing=0.25).alike(1.0) == 0.75
    assert replace(column, synthetic_missing=1.0).alike(None) == 0.0
    assert replace(column, missing=1.0, synthetic_missing=1.0).alike(None) == 1.0


def test_a_release_alone_ranks_tables_as_real_rows_do(tmp_path: Path) -> None:
    """The small sister of benchmarks/verdicts.py, which has more tables, sizes and drafted schemas."""
    scores = []
    for rows in (200, 1_000, 5_000):
        real = population(rows, seed=3).select(COLUMNS)
        for epsilon in (0.2, 1.0, 8.0):
            release = publish(
                real, SCHEMA, tmp_path / f"{rows}-{epsilon}.release", kind=ReleaseKind.AGGREGATES, epsilon=epsilon,
                randomness=FixedRandomness(rows),
            )  # fmt: skip
            model = Synthesizer(FitSettings(steps=60), random_state=0).fit(release)
            made = pa.Table.from_pandas(model.sample(rows), preserve_index=False)
            scores.append((by_real_rows(real, made).score, by_release(release, made).score))
    assert spearmanr(scores).statistic >= 0.9
    assert np.abs(np.diff(scores)).max() < 0.3


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (1.0, "100 %"),
        (0.9999, "99.9 %"),
        (0.998, "99.8 %"),
        (0.99, "99 %"),
        (0.003, "0.3 %"),
        (1e-5, "0.1 %"),
        (0.0, "0 %"),
    ],
)
def test_all_and_nothing_are_said_of_nothing_less(share: float, said: str) -> None:
    """A report called columns 100 % alike of which one was not."""
    assert whole_percent(share) == said
