"""A plain Gaussian copula: what it spends, and what it keeps."""

import math

import numpy as np
import pandas as pd
import pytest

from baselines.copula import GaussianCopula
from baselines.protocol import RunContext
from microtome.accounting import gaussian_delta
from microtome.schema import Column, Kind, Schema

CONTEXT = RunContext(seed=0, time_limit=60)
SCHEMA = Schema(
    columns=(
        Column(name="age", kind=Kind.INTEGER, bounds=(0, 99), missing=False),
        Column(name="hours", kind=Kind.INTEGER, bounds=(0, 99), missing=False),
        Column(name="grade", kind=Kind.CATEGORICAL, categories=("low", "middle", "high"), missing=False),
    )
)


def people(rows):
    hidden = (
        np.random.default_rng(1).normal(size=(rows, 3))
        @ np.linalg.cholesky([[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 1.0]]).T
    )
    age, hours = (np.clip(50 + 12 * hidden[:, place], 0, 99).astype(int) for place in (0, 1))
    grade = np.array(["low", "middle", "high"])[np.digitize(hidden[:, 2], [-0.5, 0.5])]
    return pd.DataFrame({"age": age, "hours": hours, "grade": grade})


@pytest.mark.parametrize("epsilon", [0.5, 5.1])
def test_margins_and_products_spend_the_whole_budget_and_no_more(epsilon):
    method = GaussianCopula(CONTEXT)
    method.fit(people(200), SCHEMA, epsilon, 1e-5)
    notes = method.notes()
    # A record is in one cell of three histograms; its products have a norm of R² at most, with R² = 2 · 3.
    parts = math.sqrt(3) / notes["noise_scale_of_counts"], 6 / notes["noise_scale_of_products"]
    assert gaussian_delta(epsilon, math.hypot(*parts)) == pytest.approx(1e-5, rel=1e-4)
    assert gaussian_delta(epsilon, 1.4 * math.hypot(*parts)) > 1e-5


def test_correlations_and_margins_come_back():
    frame = people(20_000)
    method = GaussianCopula(CONTEXT)
    method.fit(frame, SCHEMA, 5.0, 1e-5)
    made = method.sample(20_000)
    assert made[["age", "hours"]].corr().iloc[0, 1] == pytest.approx(
        frame[["age", "hours"]].corr().iloc[0, 1], abs=0.05
    )
    assert (made["grade"] == "low").mean() == pytest.approx((frame["grade"] == "low").mean(), abs=0.02)
    assert abs(made["age"].corr((made["grade"] == "low").astype(float))) < 0.05
