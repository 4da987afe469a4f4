"""The runner: a row for every run that is asked for, whatever becomes of it, and none of them twice."""

import json
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import psutil
import pytest

import census
import compare
from census import Task
from microtome.schema import Column, Kind, Schema

METRICS = {"ks", "tv", "contingency", "correlation", "f1", "auc", "trees", "pair_error", "detector_auc", "triples"}


@pytest.fixture
def task(monkeypatch):
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 600)
    frame = pd.DataFrame(
        {
            "age": (30 + 10 * label + rng.integers(0, 20, 600)).astype("int64"),
            "hours": rng.integers(0, 60, 600).astype("int64"),
            "region": np.where(label == rng.integers(0, 2, 600), "north", "south"),
            "label": label.astype("int8"),
        }
    )
    schema = Schema(
        columns=(
            Column(name="age", kind=Kind.INTEGER, bounds=(0, 99), missing=False),
            Column(name="hours", kind=Kind.INTEGER, bounds=(0, 99), missing=False),
            Column(name="region", kind=Kind.CATEGORICAL, categories=("north", "south"), missing=False),
            Column(name="label", kind=Kind.CATEGORICAL, dtype="int8", categories=(0, 1), missing=False),
        ),
        target="label",
    )
    made = Task(name="Income", schema=schema, train=frame[:480], test=frame[480:].reset_index(drop=True))
    monkeypatch.setattr(compare, "_task", lambda name, seed, source, rows: made)
    return made


def run(monkeypatch, tmp_path, *arguments):
    options = ["compare.py", "--tasks", "Income", "--seeds", "0", "--results", str(tmp_path), *arguments]
    monkeypatch.setattr("sys.argv", options)
    compare.main()
    return {path.stem: json.loads(path.read_text())["runs"] for path in tmp_path.glob("*.json")}


def test_a_run_is_written_with_metrics_cost_and_versions(task, monkeypatch, tmp_path):
    (run_,) = run(monkeypatch, tmp_path, "--methods", "independent", "--epsilons", "1")["independent"]
    assert run_["outcome"] == "ok"
    assert set(run_["metrics"]) == METRICS
    assert run_["key"] == {
        "task": "Income",
        "source": "states14",
        "rows": None,
        "method": "independent",
        "epsilon": 1.0,
        "delta": 1e-5,
        "seed": 0,
    }
    assert run_["peak_mebibytes"] > 10
    assert run_["notes"]["noise_scale_of_counts"] > 0
    assert {"numpy", "torch"} <= set(run_["worker"]["versions"])
    assert run_["limits"]["seconds"] == 900


def test_what_is_there_is_not_run_again(task, monkeypatch, tmp_path):
    first = run(monkeypatch, tmp_path, "--methods", "shuffled", "--epsilons", "1")
    monkeypatch.setattr(compare, "run_once", lambda *_: pytest.fail("run twice"))
    assert run(monkeypatch, tmp_path, "--methods", "shuffled", "--epsilons", "1") == first


def test_references_are_run_once_whatever_the_epsilons(task, monkeypatch, tmp_path):
    runs = run(monkeypatch, tmp_path, "--methods", "real", "--epsilons", "1", "8.1")["real"]
    assert [one["key"]["epsilon"] for one in runs] == [None]
    assert runs[0]["metrics"]["pair_error"] == 0


def test_a_failure_gets_a_row_and_is_repeated_only_on_demand(task, monkeypatch, tmp_path):
    asked = ("--methods", "pate", "--epsilons", "5.1", "--memory-limit", "20")
    (broken,) = run(monkeypatch, tmp_path, *asked)["pate"]
    assert broken["outcome"] == "memory limit"
    assert "metrics" not in broken
    assert run(monkeypatch, tmp_path, *asked)["pate"] == [broken]
    (again,) = run(monkeypatch, tmp_path, *asked, "--again")["pate"]
    assert again["environment"]["time"] >= broken["environment"]["time"]
    assert again["wall_seconds"] != broken["wall_seconds"]


def test_time_over_gets_a_row(task, monkeypatch, tmp_path):
    (slow,) = run(monkeypatch, tmp_path, "--methods", "merf", "--epsilons", "5.1", "--time-limit", "0.5")["merf"]
    assert slow["outcome"] == "time limit"
    assert "not done" in slow["reason"]


def test_a_task_that_the_source_does_not_have_is_refused(capsys):
    with pytest.raises(SystemExit):
        compare.parse_options(["--source", "adult", "--tasks", "Income"])
    assert "has no task Income" in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong",
    [
        "--epsilons 1 -1",
        "--epsilons 1 nan",
        "--epsilons inf",
        "--delta 1.5",
        "--rows 0",
        "--time-limit 0",
        "--memory-limit -1",
    ],
)
def test_a_figure_that_no_run_can_have_is_refused(wrong, capsys):
    with pytest.raises(SystemExit):
        compare.parse_options(wrong.split())
    assert f"{wrong.split()[0]}: {wrong.split()[-1]} must be" in capsys.readouterr().err


def test_an_environment_that_is_not_there_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("MICROTOME_BASELINES", str(tmp_path))
    monkeypatch.setattr("sys.argv", ["compare.py", "--methods", "mst", "--results", str(tmp_path)])
    with pytest.raises(SystemExit, match="make bench-env"):
        compare.main()


def test_ending_the_runner_ends_its_worker(tmp_path):
    if not (census.data_folder() / "acs14").exists():
        pytest.skip("no census data (see MICROTOME_DATA)")
    asked = ("--tasks", "Mobility", "--rows", "2000", "--seeds", "0", "--methods", "merf", "--results", str(tmp_path))
    runner = subprocess.Popen([sys.executable, compare.__file__, *asked], stderr=subprocess.DEVNULL)
    workers = []
    for _ in range(600):
        workers = psutil.Process(runner.pid).children()
        if workers:
            break
        time.sleep(0.1)
    assert workers
    runner.terminate()
    runner.wait(30)
    _, alive = psutil.wait_procs(workers, timeout=10)
    assert alive == []
