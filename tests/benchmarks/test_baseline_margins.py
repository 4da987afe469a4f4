"""Independent columns from noisy histograms: sensitivity, noise, and what comes out."""

import math

import numpy as np
import pandas as pd
import pytest

from baselines.margins import NoisyMargins, ShuffledColumns
from baselines.protocol import RunContext
from microtome.accounting import gaussian_delta
from microtome.schema import Column, Kind, Schema

CONTEXT = RunContext(seed=0, time_limit=60)


def table(rows, columns=3):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({f"c{i}": rng.choice(["a", "b", "c"], rows, p=[0.6, 0.3, 0.1]) for i in range(columns)})
    categories = tuple("abcdefghij")
    described = [Column(name=name, kind=Kind.CATEGORICAL, categories=categories, missing=False) for name in frame]
    return frame, Schema(columns=tuple(described))


@pytest.mark.parametrize("epsilon", [0.5, 5.1])
def test_noise_spends_the_whole_budget_and_no_more(epsilon):
    frame, schema = table(100, columns=5)
    method = NoisyMargins(CONTEXT)
    method.fit(frame, schema, epsilon, 1e-5)
    assert gaussian_delta(epsilon, math.sqrt(5) / method.noise_scale) == pytest.approx(1e-5, rel=1e-4)
    assert gaussian_delta(epsilon, math.sqrt(5) / (0.7 * method.noise_scale)) > 1e-5


def test_noise_has_the_scale_that_is_stated():
    frame, schema = table(500, columns=200)
    method = NoisyMargins(CONTEXT)
    method.fit(frame, schema, 1.0, 1e-5)
    true = [frame[c.name].value_counts().reindex(c.categories, fill_value=0).to_numpy() for c in schema.columns]
    measured = np.std(np.concatenate(list(method.counts.values())) - np.concatenate(true))
    # Of 2,000 numbers: 9 of its own standard deviations to either side, as the noise has no seed.
    assert 0.85 < measured / method.noise_scale < 1.15


def test_numbers_pay_for_two_histograms_where_their_rounding_is_counted():
    frame = pd.DataFrame({"age": [30, 40] * 50, "pay": [0, 52_000] * 50, "c0": ["a", "b"] * 50})
    age = Column(name="age", kind=Kind.INTEGER, bounds=(0, 99), missing=False)
    pay = Column(name="pay", kind=Kind.INTEGER, bounds=(-20_000, 1_500_000), missing=False)
    code = Column(name="c0", kind=Kind.CATEGORICAL, categories=("a", "b"), missing=False)
    method = NoisyMargins(CONTEXT)
    method.fit(frame, Schema(columns=(age, pay, code)), 1.0, 1e-5)
    assert gaussian_delta(1.0, math.sqrt(4) / method.noise_scale) == pytest.approx(1e-5, rel=1e-4)
    counts = method.numbers["pay"].counts
    true = np.histogram(frame["pay"], bins=method.numbers["pay"].cells.edges)[0]
    # Of 307 cells: at least 6 of its own standard deviations to either side.
    assert len(counts) > 300
    assert 0.75 < np.std(counts - true) / method.noise_scale < 1.27


def test_noise_is_new_in_every_run():
    frame, schema = table(1000)
    one, other = NoisyMargins(CONTEXT), NoisyMargins(CONTEXT)
    one.fit(frame, schema, 1.0, 1e-5)
    other.fit(frame, schema, 1.0, 1e-5)
    assert not one.sample(200).equals(other.sample(200))


def test_margins_come_back():
    frame, schema = table(20_000)
    method = NoisyMargins(CONTEXT)
    method.fit(frame, schema, 5.0, 1e-5)
    shares = method.sample(20_000)["c0"].value_counts(normalize=True)
    assert shares["a"] == pytest.approx((frame["c0"] == "a").mean(), abs=0.02)
    assert set(shares.index) <= set("abcdefghij")


@pytest.mark.parametrize("least", [-20_000, 0])
def test_numbers_stay_whole_and_in_bounds_and_common_ones_keep_their_place(least):
    column = Column(name="x", kind=Kind.INTEGER, dtype="float32", bounds=(least, 1_500_000), missing=False)
    frame = pd.DataFrame({"x": np.array([0.0] * 500 + [40_000.0] * 500, dtype="float32")})
    method = NoisyMargins(CONTEXT)
    method.fit(frame, Schema(columns=(column,)), 50.0, 1e-5)
    drawn = method.sample(5000)["x"]
    assert str(drawn.dtype) == "float32"
    assert (drawn == drawn.round()).all()
    assert drawn.between(least, 1_500_000).all()
    assert (drawn == 0).mean() == pytest.approx(0.5, abs=0.05)


def test_shuffled_columns_keep_margins_and_lose_dependence():
    frame = pd.DataFrame({"a": np.arange(1000) % 2, "b": np.arange(1000) % 2})
    method = ShuffledColumns(CONTEXT)
    method.fit(frame, Schema(columns=(Column(name="a", kind=Kind.INTEGER, bounds=(0, 1)),)), 1.0, 1e-5)
    made = method.sample(1000)
    assert made["a"].sum() == 500
    assert abs(np.corrcoef(made["a"], made["b"])[0, 1]) < 0.2
