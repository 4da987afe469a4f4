"""Correlations of numbers: released ones are met, where a price on knowledge would have shrunk them."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from fit_support import quick_mixture
from microtome.divergences import Denoising, MomentSettings, ReleasedMoments
from microtome.published import AggregatesRelease, ReleaseKind
from microtome.schema import Column, Kind, Schema
from microtome.synthesis import Synthesizer
from microtome.training.correlations import Correlations
from support import publish

CORRELATION = 0.4
TOWNS = tuple(f"town {number}" for number in range(60))


def numbers(rows: int = 6000) -> pa.Table:
    """Two correlated numbers, one on a scale of its own, and wide categories that know of neither."""
    rng = np.random.default_rng(0)
    first = rng.standard_normal(rows)
    second = CORRELATION * first + np.sqrt(1 - CORRELATION**2) * rng.standard_normal(rows)
    spent = np.clip(np.round(1000 * second), -5000, 5000).astype(np.int64)
    return pa.table({"age": np.clip(first, -4, 4), "spent": spent, "town": rng.choice(TOWNS, rows)})


def schema(*, numeric: bool = True) -> Schema:
    """The table's columns; with ``numeric`` false only one of them is of numbers."""
    age = Column(name="age", kind=Kind.FLOAT, bounds=(-4, 4), missing=False)
    town = Column(name="town", kind=Kind.CATEGORICAL, categories=TOWNS, missing=False)
    spent = Column(name="spent", kind=Kind.INTEGER, bounds=(-5000, 5000), missing=False)
    return Schema(columns=(age, spent, town) if numeric else (age, town))


def released(path: Path, epsilon: float = 60.0, **options: Any) -> AggregatesRelease:
    columns = options.pop("schema", schema())
    table = numbers().select(columns.names)
    made = publish(table, columns, path, epsilon=epsilon, kind=ReleaseKind.AGGREGATES, **options)
    assert isinstance(made, AggregatesRelease)
    return made


def moments_of(release: AggregatesRelease) -> ReleasedMoments:
    """The released moments, as they are."""
    size = release.num_records
    return ReleasedMoments(
        blocks=[(block.start, block.stop) for block in release.codebook.blocks],
        mean=np.concatenate([code.level_margins for code in release.codebook.codes]),
        second=release.second[0] / size,
        mean_noise=0.0,
        second_noise=release.second_noise() / size,
        num_rows=int(size),
    )


def test_scores_are_standard_and_in_order(tmp_path: Path) -> None:
    codes = released(tmp_path / "t.release").codebook.codes
    for code in codes[:2]:
        scores = code.level_scores()
        assert scores is not None
        assert code.level_margins @ scores == pytest.approx(0.0, abs=1e-9)
        assert 0.9 < code.level_margins @ scores**2 <= 1.0  # what levels hide is little
        assert (np.diff(scores) > 0).all()
    assert codes[2].level_scores() is None


def test_the_loss_is_that_of_the_correlation_alone(tmp_path: Path) -> None:
    """Rows at random levels, with and without the released correlation: the loss by its definition."""
    release = released(tmp_path / "t.release")
    moments, codebook = moments_of(release), release.codebook
    look = Correlations(release, [moments], MomentSettings(denoising=Denoising.NONE))
    rng = np.random.default_rng(1)
    levels = np.stack([rng.integers(0, code.num_levels, 500) for code in codebook.codes], axis=1)
    one_hot = np.concatenate([np.eye(c.num_levels)[levels[:, i]] for i, c in enumerate(codebook.codes)], axis=1)
    scores = [code.level_scores() for code in codebook.codes[:2]]
    values = [score[levels[:, i]] for i, score in enumerate(scores) if score is not None]
    a, b = (slice(block.start, block.stop) for block in codebook.blocks[:2])
    mean, second = np.asarray(moments.mean), np.asarray(moments.second)
    found = np.mean((values[0] - mean[a] @ scores[0]) * (values[1] - mean[b] @ scores[1]))
    wanted = scores[0] @ (second[a, b] - np.outer(mean[a], mean[b])) @ scores[1]
    noise = np.asarray(moments.second_noise)[a, b] ** 2 + np.outer(mean[a], mean[b]) / moments.num_rows
    variance = scores[0] ** 2 @ noise @ scores[1] ** 2 + moments.num_rows**-2.0
    entries = len(mean) ** 2 - sum(block.width**2 for block in codebook.blocks)
    expected = len(mean) / 2 / entries * 2 * (found - wanted) ** 2 / variance
    encoded = torch.tensor(codebook.scale * (one_hot - codebook.offset), dtype=torch.float32)
    assert float(look([encoded])) == pytest.approx(expected, rel=2e-3)


def test_one_column_of_numbers_has_no_correlations(tmp_path: Path) -> None:
    release = released(tmp_path / "t.release", schema=schema(numeric=False))
    look = Correlations(release, [moments_of(release)], MomentSettings())
    assert float(look([torch.zeros(4, release.codebook.dim)])) == 0.0


def test_a_correlation_is_met_where_the_price_would_shrink_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At an ε at which the tables are noisy, and the score still tells a state that has learnt from an early one."""
    release = released(tmp_path / "t.release", epsilon=0.8)

    def found() -> float:
        frame = Synthesizer(quick_mixture(), random_state=0).fit(release).sample(6000)
        return float(frame["age"].corr(frame["spent"]))

    met = found()
    monkeypatch.setattr(Correlations, "of_moments", lambda *_: torch.zeros(()))
    assert abs(met - CORRELATION) < 0.1
    assert found() < met - 0.05
