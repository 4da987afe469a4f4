"""Every method on every task: one process a run, JSON a run, nothing run twice.

    python benchmarks/compare.py --tasks Employment --methods mst merf --epsilons 1 5.1 --seeds 0 1
    python benchmarks/compare.py --source adult --tasks Adult --rows 5000 --results /tmp/trial

A run is known by task, source, rows, method, ε, δ and seed. Those that are in ``results/comparison/METHOD.json`` are
skipped, failures included (``--again`` repeats these); a run that fails or exceeds a limit is written down with the
reason. A seed chooses the split and the training's randomness; noise on private data is drawn anew each time.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from census import Source, Task, load_task
from methods import METHODS, ROOT
from metrics import evaluate
from processes import Ended, Outcome, run_limited
from results import FOLDER, ResultFile

EPSILONS = (5.1, 8.1)
DELTA = 1e-5
Key = dict[str, Any]


def main() -> None:
    options = parse_options()
    _check_environments(options.methods)
    # A worker is the leader of a session of its own: ended politely, we end it too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    for key in keys(options):
        results = ResultFile(options.results / f"{key['method']}.json")
        found = results.find(key)
        if found is not None and not (options.again and found["outcome"] != Outcome.OK):
            continue
        run = run_once(key, options)
        results.put(key, run)
        print(summary(key, run), flush=True)


def keys(options: argparse.Namespace) -> Iterator[Key]:
    """The runs that are asked for; seeds last in order, so that every row of a table is there early."""
    for seed in options.seeds:
        for epsilon in options.epsilons:
            for method in options.methods:
                for task in options.tasks or options.source.tasks:
                    key = {"task": task, "source": str(options.source), "rows": options.rows, "method": method}
                    if METHODS[method].uses_epsilon:
                        yield {**key, "epsilon": epsilon, "delta": options.delta, "seed": seed}
                    else:
                        yield {**key, "epsilon": None, "delta": None, "seed": seed}


def run_once(key: Key, options: argparse.Namespace) -> dict[str, Any]:
    """Fit and sample in a process of its own, then evaluate here."""
    task = _task(key["task"], key["seed"], Source(key["source"]), key["rows"])
    with tempfile.TemporaryDirectory(prefix="microtome-bench-") as name:
        folder = Path(name)
        _write_job(folder, key, task, options.time_limit)
        ended = run_limited(
            [METHODS[key["method"]].environment.python(), ROOT / "benchmarks" / "worker.py", folder],
            env=_environment_variables(folder),
            log=folder / "log.txt",
            seconds=options.time_limit,
            mebibytes=options.memory_limit,
        )
        return _report(ended, folder, task, options)


def _report(ended: Ended, folder: Path, task: Task, options: argparse.Namespace) -> dict[str, Any]:
    report: dict[str, Any] = {
        "outcome": str(ended.outcome),
        "reason": ended.reason.replace(str(folder), "FOLDER").replace(str(ROOT), "ROOT"),
        "limits": {"seconds": options.time_limit, "mebibytes": options.memory_limit},
        "train_rows": len(task.train),
        "wall_seconds": ended.wall_seconds,
        "processor_seconds": ended.processor_seconds,
        "peak_mebibytes": ended.peak_mebibytes,
    }
    if ended.outcome is not Outcome.OK:
        return report
    figures = json.loads((folder / "figures.json").read_text())
    peak = max(ended.peak_mebibytes, figures["peak_mebibytes"])
    return {**report, **figures, "peak_mebibytes": peak, "metrics": _metrics(task, folder)}


def _metrics(task: Task, folder: Path) -> dict[str, float | None]:
    synthetic = pd.read_parquet(folder / "synthetic.parquet")
    return evaluate(task, synthetic.astype({name: task.train[name].dtype for name in task.train.columns}))


@lru_cache(maxsize=1)
def _task(name: str, seed: int, source: Source, rows: int | None) -> Task:
    return load_task(name, seed, source=source, rows=rows)


def _write_job(folder: Path, key: Key, task: Task, time_limit: float) -> None:
    job = {**key, "time_limit": time_limit, "schema": task.schema.to_dict()}
    (folder / "job.json").write_text(json.dumps(job))
    task.train.to_parquet(folder / "train.parquet", index=False)


def _environment_variables(folder: Path) -> dict[str, str]:
    """One thread, temporary files in the run's own folder, and this checkout's packages in either environment."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return {**os.environ, **threads, "TMPDIR": str(folder), "PYTHONPATH": str(ROOT / "src")}


def _check_environments(methods: list[str]) -> None:
    missing = [name for name in methods if not METHODS[name].environment.python().exists()]
    if missing:
        python = METHODS[missing[0]].environment.python()
        raise SystemExit(f"method {missing[0]} needs {python}, which is not there: make bench-env")


def summary(key: Key, run: dict[str, Any]) -> str:
    """A line for people."""
    epsilon = "" if key["epsilon"] is None else f" ε={key['epsilon']:g}"
    head = f"{key['task']} {key['method']}{epsilon} seed {key['seed']}: "
    cost = f"{run['processor_seconds']:.0f} s of processor time, {run['peak_mebibytes']:.0f} MiB"
    if run["outcome"] != Outcome.OK:
        return f"{head}{run['outcome']} ({run['reason']}); {cost}"
    figures = ", ".join(f"{name} {value:.3f}" for name, value in run["metrics"].items() if value is not None)
    return f"{head}{figures}; {cost}"


def parse_options(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Source, choices=list(Source), default=Source.STATES)
    parser.add_argument("--tasks", nargs="+", help="default: all of the source")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument("--delta", type=float, default=DELTA)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--rows", type=int, help="only so many rows of the table, for trials")
    parser.add_argument("--time-limit", type=float, default=900.0, help="seconds of processor time a run")
    parser.add_argument("--memory-limit", type=float, default=12_288.0, help="MiB a run")
    parser.add_argument("--again", action="store_true", help="repeat runs that failed or exceeded a limit")
    parser.add_argument("--results", type=Path, default=FOLDER / "comparison", help="folder of the JSON files")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.tasks or ()) - set(options.source.tasks))
    if unknown:
        parser.error(f"source {options.source} has no task {unknown[0]}; it has {', '.join(options.source.tasks)}")
    positive = [("--epsilons", epsilon) for epsilon in options.epsilons]
    positive += [("--time-limit", options.time_limit), ("--memory-limit", options.memory_limit)]
    positive += [] if options.rows is None else [("--rows", options.rows)]
    for name, value in positive:
        if not 0 < value < math.inf:
            parser.error(f"{name}: {value:g} must be a positive number")
    if not 0 < options.delta < 1:
        parser.error(f"--delta: {options.delta:g} must be between 0 and 1")
    return options


if __name__ == "__main__":
    main()
