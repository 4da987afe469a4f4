"""Methods of the other environment, where it was built (make bench-env): they learn, and spend what they say."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import compare
from census import Task
from methods import ROOT, Environment
from microtome.schema import Column, Kind, Schema

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Environment.BASELINES.python().exists(), reason="make bench-env was not run"),
]
EPSILON, DELTA = 5.0, 1e-5


@pytest.fixture
def task(monkeypatch):
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 5000)
    region = np.where(rng.random(5000) < 0.9, np.where(label == 1, "north", "south"), "west")
    frame = pd.DataFrame(
        {
            "age": (20 + 40 * label + rng.integers(0, 10, 5000)).astype("float32"),
            "region": region,
            "only": 1.0,
            "label": label.astype("int8"),
        }
    )
    schema = Schema(
        columns=(
            Column(name="age", kind=Kind.INTEGER, dtype="float32", bounds=(0, 99), missing=False),
            Column(name="region", kind=Kind.CATEGORICAL, categories=("north", "south", "west"), missing=False),
            Column(name="only", kind=Kind.CATEGORICAL, dtype="float64", categories=(1.0,), missing=False),
            Column(name="label", kind=Kind.CATEGORICAL, dtype="int8", categories=(0, 1), missing=False),
        ),
        target="label",
    )
    made = Task(name="Income", schema=schema, train=frame[:4000], test=frame[4000:].reset_index(drop=True))
    monkeypatch.setattr(compare, "_task", lambda name, seed, source, rows: made)
    return made


def run(monkeypatch, tmp_path, method):
    monkeypatch.setattr(
        "sys.argv",
        [
            *("compare.py", "--tasks", "Income", "--seeds", "0", "--results", str(tmp_path)),
            *("--methods", method, "--epsilons", str(EPSILON), "--time-limit", "120"),
        ],
    )
    compare.main()
    (run_,) = json.loads((tmp_path / f"{method}.json").read_text())["runs"]
    assert run_["outcome"] == "ok", run_["reason"]
    return run_


@pytest.mark.parametrize("method", ["mst", "aim", "privbayes"])
def test_marginal_models_learn_the_pairs_within_the_budget(task, monkeypatch, tmp_path, method):
    run_ = run(monkeypatch, tmp_path, method)
    assert run_["notes"]["epsilon_of_binning"] == pytest.approx(0.1 * EPSILON)
    assert run_["notes"]["pairs_measured"] >= 2
    assert run_["metrics"]["tv"] > 0.98
    assert run_["metrics"]["pair_error"] < 0.15
    assert run_["metrics"]["auc"] > 0.95
    assert "dpmm" in run_["worker"]["versions"]


@pytest.mark.parametrize("method", ["mst_public", "aim_public"])
def test_public_bins_cost_nothing(task, monkeypatch, tmp_path, method):
    run_ = run(monkeypatch, tmp_path, method)
    assert run_["notes"]["epsilon_of_binning"] == 0.0
    assert run_["metrics"]["pair_error"] < 0.15


@pytest.mark.skipif(not Environment.MIXTURES.python().exists(), reason="make bench-env was not run")
def test_mbi_s_mixture_learns_from_our_tables(task, monkeypatch, tmp_path):
    run_ = run(monkeypatch, tmp_path, "mixture")
    assert run_["metrics"]["pair_error"] < 0.3
    assert run_["metrics"]["auc"] > 0.95


def test_sdv_s_copula_keeps_columns_and_types(task, monkeypatch, tmp_path):
    run_ = run(monkeypatch, tmp_path, "sdv")
    assert run_["notes"] == {"private": False}
    assert run_["metrics"]["tv"] > 0.9


def test_dp_sgd_spends_no_more_than_the_budget(task, monkeypatch, tmp_path):
    from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, SelfComposedDpEvent
    from dp_accounting.pld import PLDAccountant

    notes = run(monkeypatch, tmp_path, "dpsgd")["notes"]
    step = PoissonSampledDpEvent(notes["expected_batch"] / 4000, GaussianDpEvent(notes["noise_multiplier"]))
    spent = PLDAccountant().compose(SelfComposedDpEvent(step, notes["steps"])).get_epsilon(DELTA)
    assert 0.9 * EPSILON < spent < 1.01 * EPSILON


@pytest.mark.parametrize("check", ["quick_pgm_check.py", "dpsgd_check.py"])
def test_parts_give_the_values_of_their_packages(check):
    paths = os.pathsep.join(str(ROOT / part) for part in ("benchmarks", "src"))
    script = Path(__file__).with_name(check)
    subprocess.run([Environment.BASELINES.python(), script], check=True, env={**os.environ, "PYTHONPATH": paths})
