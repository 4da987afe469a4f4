"""DP-MERF as we wrote it: bounded features, calibrated noise, and a generator that follows the embedding."""

import math

import numpy as np
import pandas as pd
import pytest
import torch

from baselines import merf
from baselines.encoding import MixedEncoding
from baselines.merf import DPMERF, MixedFeatures, class_sums
from baselines.protocol import RunContext
from microtome.accounting import gaussian_delta
from microtome.schema import Column, Kind, Schema

CONTEXT = RunContext(seed=0, time_limit=60)
SCHEMA = Schema(
    columns=(
        Column(name="age", kind=Kind.INTEGER, bounds=(0, 99), missing=False),
        Column(name="hours", kind=Kind.INTEGER, bounds=(0, 60), missing=False),
        Column(name="region", kind=Kind.CATEGORICAL, categories=("n", "s", "w"), missing=False),
        Column(name="sex", kind=Kind.CATEGORICAL, dtype="int8", categories=(0, 1), missing=False),
        Column(name="label", kind=Kind.CATEGORICAL, dtype="int8", categories=(0, 1), missing=False),
    ),
    target="label",
)
FEATURES = [column for column in SCHEMA.columns if column.name != "label"]


def table(rows=2000):
    rng = np.random.default_rng(3)
    label = (rng.random(rows) < 0.3).astype("int8")
    return pd.DataFrame(
        {
            "age": np.clip(30 + 30 * label + rng.normal(0, 5, rows), 0, 99).round().astype("int64"),
            "hours": rng.integers(0, 61, rows),
            "region": np.where(label == 1, "n", rng.choice(["s", "w"], rows)),
            "sex": rng.integers(0, 2, rows).astype("int8"),
            "label": label,
        }
    )


@pytest.mark.parametrize("columns", [FEATURES, FEATURES[:2], FEATURES[2:]], ids=["mixed", "numbers", "categories"])
def test_features_have_norm_one(columns):
    encoding = MixedEncoding(columns)
    features = MixedFeatures(encoding, torch.Generator().manual_seed(0))
    rows = torch.from_numpy(encoding.encode(table(200)))
    norms = features(rows).norm(dim=1)
    assert torch.allclose(norms, torch.ones(200), atol=1e-4)


def test_a_record_moves_embedding_and_counts_by_one_each():
    frame = table(300)
    encoding = MixedEncoding(FEATURES)
    features = MixedFeatures(encoding, torch.Generator().manual_seed(0))
    sums, counts = class_sums(frame, encoding, SCHEMA["label"], features)
    fewer_sums, fewer_counts = class_sums(frame.iloc[1:], encoding, SCHEMA["label"], features)
    assert float((sums - fewer_sums).norm()) == pytest.approx(1.0, abs=1e-3)
    assert float((counts - fewer_counts).norm()) == pytest.approx(1.0)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 8.1])
def test_both_releases_together_spend_the_budget_and_no_more(epsilon, monkeypatch):
    monkeypatch.setattr(DPMERF, "_train", lambda *_: None)
    method = DPMERF(CONTEXT)
    method.fit(table(200), SCHEMA, epsilon, 1e-5)
    mu = math.hypot(1 / method.counts_noise, 1 / method.embedding_noise)
    assert gaussian_delta(epsilon, mu) == pytest.approx(1e-5, rel=1e-4)
    assert gaussian_delta(epsilon, 1.4 * mu) > 1e-5


def test_noise_on_the_embedding_has_the_stated_scale(monkeypatch):
    released = {}
    monkeypatch.setattr(DPMERF, "_train", lambda self, features, wanted: released.update(f=features, wanted=wanted))
    frame = table(20_000)
    method = DPMERF(CONTEXT)
    method.fit(frame, SCHEMA, 1.0, 1e-5)
    sums, counts = class_sums(frame, MixedEncoding(FEATURES), SCHEMA["label"], released["f"])
    # Noise on the counts is small against 6,000 rows: what is left is the embedding's.
    error = (released["wanted"] * counts[:, None] - sums)[1]
    fourier = error[: merf.FEATURES]
    measured = float((fourier - fourier.mean()).std())
    assert 0.85 < measured / method.embedding_noise < 1.15


def test_it_learns_what_the_classes_differ_in(monkeypatch):
    monkeypatch.setattr(merf, "STEPS", 300)
    frame = table(5000)
    method = DPMERF(CONTEXT)
    method.fit(frame, SCHEMA, 5.1, 1e-5)
    made = method.sample(4000)
    assert list(made.columns) == SCHEMA.names
    assert made["label"].mean() == pytest.approx(0.3, abs=0.05)
    assert (made.loc[made["label"] == 1, "region"] == "n").mean() > 0.85
    ages = made.groupby("label")["age"].mean()
    assert ages[1] - ages[0] == pytest.approx(30, abs=8)


def test_a_table_without_a_target_is_refused():
    schema = Schema(columns=SCHEMA.columns[:2])
    with pytest.raises(ValueError, match="target"):
        DPMERF(CONTEXT).fit(table(50)[["age", "hours"]], schema, 1.0, 1e-5)
