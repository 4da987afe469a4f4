"""Quality of synthetic tables: the ACS tasks of 14 states, three seeds, the paper's metrics.

    python benchmarks/census_quality.py                                       # records, every task, default fit
    python benchmarks/census_quality.py --kind aggregates --epsilon 1         # the other kind of release
    python benchmarks/census_quality.py --losses --tasks PublicCoverage       # each loss alone and combined

A seed chooses the split and the training's randomness; the release's noise is new each time, as it has to be.
Runs that are in the result file are not run again. References are in the file of records: the real training rows,
and independent columns with exact margins.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from census import TASKS, Task, load_task
from metrics import evaluate, independent_columns
from microtome import release
from microtome.published import ReleaseKind
from microtome.synthesis import Synthesizer
from microtome.training import FitSettings, LossMix, SliceChoice
from results import FOLDER, ResultFile

DEFAULT = {"default": LossMix()}
LOSSES = {
    "moments": LossMix(),
    "kernel": LossMix(moments=0.0, kernel=1.0),
    "kernel, 2-d slices of column pairs": LossMix(
        moments=0.0, kernel=1.0, slices=SliceChoice.PAIRS, slice_dim=2, num_slices=200
    ),
    "algorithm 1 as printed": LossMix(moments=0.0, algorithm1=1.0),
    "wasserstein": LossMix(moments=0.0, wasserstein=1.0),
    "mmd": LossMix(moments=0.0, mmd=1.0),
    "moments + kernel": LossMix(kernel=0.1),
    "moments + mmd": LossMix(mmd=0.1),
}


def main() -> None:
    options = _options()
    results = ResultFile(options.results)
    for name in options.tasks:
        for seed in options.seeds:
            if options.kind == ReleaseKind.RECORDS:
                _references(results, name, seed)
            for label, loss in (LOSSES if options.losses else DEFAULT).items():
                _fit(results, name, seed, label, loss, options)


def _references(results: ResultFile, name: str, seed: int) -> None:
    for label in ("real rows", "independent columns"):
        key = {"task": name, "seed": seed, "method": label}
        if not results.has(key):
            task = load_task(name, seed)
            frame = task.train if label == "real rows" else independent_columns(task.train, seed)
            results.put(key, {"metrics": evaluate(task, frame)})


def _fit(results: ResultFile, name: str, seed: int, label: str, loss: LossMix, options: argparse.Namespace) -> None:
    key = {"task": name, "seed": seed, "method": label, "epsilon": options.epsilon, "delta": options.delta}
    if results.has(key):
        return
    values = run(load_task(name, seed), seed, FitSettings(loss=loss), options)
    results.put(key, values)
    print(key, {metric: value and round(value, 4) for metric, value in values["metrics"].items()}, flush=True)


def run(task: Task, seed: int, settings: FitSettings, options: argparse.Namespace) -> dict[str, Any]:
    """Release, fit, sample and evaluate once."""
    clock = time.perf_counter()
    released = release(
        task.train,
        task.schema,
        epsilon=options.epsilon,
        delta=options.delta,
        kind=options.kind,
        allow_large_delta=True,
    )
    release_seconds, clock = time.perf_counter() - clock, time.perf_counter()
    synthesizer = Synthesizer(settings, random_state=seed).fit(released)
    fit_seconds, clock = time.perf_counter() - clock, time.perf_counter()
    synthetic = synthesizer.sample(len(task.train))
    sample_seconds = time.perf_counter() - clock
    fit = synthesizer.fit_
    assert fit is not None
    return {
        "metrics": evaluate(task, synthetic),
        "seconds": {"release": release_seconds, "fit": fit_seconds, "sample": sample_seconds},
        "rows": len(task.train),
        "encoded_dimension": released.codebook.dim,
        "file_bytes": released.path.stat().st_size,
        "held_out_score": min(score for _, score in fit.history),
        "held_out_error": fit.score_error,
        "best_step": fit.best_step,
        "settings": settings.to_dict(),
    }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--epsilon", type=float, default=5.1)
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--kind", choices=list(ReleaseKind), default=ReleaseKind.RECORDS)
    parser.add_argument("--losses", action="store_true", help="each loss alone and combined instead of the default")
    parser.add_argument("--results", type=Path, help="default: results/KIND_quality.json")
    options = parser.parse_args()
    options.results = options.results or FOLDER / f"{options.kind}_quality.json"
    return options


if __name__ == "__main__":
    main()
