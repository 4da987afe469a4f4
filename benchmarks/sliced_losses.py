"""What each loss makes of one release of records, from ε = 5 to ε = 1000: pair error and AUC, seed by seed.

    python benchmarks/sliced_losses.py                               # all losses, ε, seeds; what is there is skipped
    python benchmarks/sliced_losses.py --choose --epsilons 20 200    # settings of the kernel loss, one by one

Losses that are run in one go see the same release. Choices are to be made by the held-out score, which only sees the
release; pair error and AUC, on real rows, are reported and choose nothing. Seven columns of Employment, 40,000 rows.
Choices are made of short fits with half the usual batch; losses are fitted four times as long, but MMD, which is slow.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from threadpoolctl import threadpool_limits

from census import TARGET, Task, load_task
from microtome import release
from microtome.divergences import FDivergence
from microtome.evaluation.comparable_table import code_tables
from microtome.evaluation.pairs import listed_pair_error
from microtome.evaluation.tables import read_table
from microtome.evaluation.utility import logistic_auc
from microtome.published import RecordsRelease
from microtome.synthesis import Synthesizer
from microtome.training import FitSettings, LossMix, SliceChoice
from results import FOLDER, ResultFile

COLUMNS = ("AGEP", "SCHL", "MAR", "DIS", "SEX", "NATIVITY", TARGET)
ROWS = 50_000
DELTA = 1e-5
SEEDS = 3
EPSILONS = (5.0, 20.0, 200.0, 1000.0)
FIT = FitSettings(steps=300, batch_size=512, check_every=25)
LONG = replace(FIT, steps=1200)
KERNEL = LossMix(moments=0.0, kernel=1.0, slice_dim=2)
CHOSEN = replace(KERNEL, slice_dim=3)
LOSSES = {
    "moments": LONG,
    "kernel": replace(LONG, loss=CHOSEN),
    "moments + kernel": replace(LONG, loss=replace(CHOSEN, moments=1.0, kernel=0.1)),
    "wasserstein": replace(LONG, loss=LossMix(moments=0.0, wasserstein=1.0)),
    "mmd": replace(FIT, loss=LossMix(moments=0.0, mmd=1.0, slice_dim=2)),
}
THEN = "moments, then kernel"
"""The kernel loss from where moments have ended."""
ROUNDS: tuple[dict[str, FitSettings], ...] = (
    {
        "random planes": replace(FIT, loss=KERNEL),
        "released slices": replace(FIT, loss=replace(KERNEL, slices=SliceChoice.RELEASED)),
        "planes of two columns": replace(FIT, loss=replace(KERNEL, slices=SliceChoice.PAIRS)),
        "one dimension": replace(FIT, loss=replace(KERNEL, slice_dim=1)),
        "three dimensions": replace(FIT, loss=replace(KERNEL, slice_dim=3)),
        "600 slices": replace(FIT, loss=replace(KERNEL, num_slices=600)),
        "1200 slices": replace(FIT, loss=replace(KERNEL, num_slices=1200)),
        "60 slices a step": replace(FIT, loss=replace(KERNEL, slices_per_step=60)),
        "χ²": replace(FIT, loss=replace(KERNEL, f=FDivergence.CHI_SQUARED)),
        "squared Hellinger": replace(FIT, loss=replace(KERNEL, f=FDivergence.SQUARED_HELLINGER)),
        "learning rate 0.006": replace(FIT, loss=KERNEL, learning_rate=6e-3),
        "1200 steps": replace(FIT, loss=KERNEL, steps=1200),
        "moments alone": FIT,
        "moments + 0.1 kernel": replace(FIT, loss=replace(KERNEL, moments=1.0, kernel=0.1)),
        "moments + 0.3 kernel": replace(FIT, loss=replace(KERNEL, moments=1.0, kernel=0.3)),
        "moments + kernel of weight 1": replace(FIT, loss=replace(KERNEL, moments=1.0)),
    },
    {
        "five dimensions": replace(FIT, loss=replace(KERNEL, slice_dim=5)),
        "eight dimensions": replace(FIT, loss=replace(KERNEL, slice_dim=8)),
        "five dimensions, 600 slices": replace(FIT, loss=replace(KERNEL, slice_dim=5, num_slices=600)),
    },
    {
        "three dimensions, 1200 steps": replace(LONG, loss=CHOSEN),
        "three dimensions, 1200 steps, learning rate 0.006": replace(LONG, loss=CHOSEN, learning_rate=6e-3),
        "moments alone, 1200 steps": LONG,
        "moments + 0.1 kernel of three dimensions, 1200 steps": LOSSES["moments + kernel"],
    },
)
"""Settings of the kernel loss in the order in which they were tried; those of a round see one release."""
CHOICES = {name: settings for tried in ROUNDS for name, settings in tried.items()}


def main() -> None:
    options = _options()
    results = ResultFile(options.results)
    for seed in options.seeds:
        task = table(seed)
        for epsilon in options.epsilons:
            for together in ROUNDS if options.choose else ((*LOSSES, THEN),):
                keys = {
                    name: {"name": name, "choice": options.choose, "epsilon": epsilon, "seed": seed}
                    for name in together
                    if not options.names or name in options.names
                }
                missing = {name: key for name, key in keys.items() if not results.has(key)}
                if missing:
                    _run(results, missing, task, epsilon, seed)


def table(seed: int) -> Task:
    """The table, split by the seed."""
    task = load_task("Employment", seed, rows=ROWS)
    kept = tuple(column for column in task.schema.columns if column.name in COLUMNS)
    train, test = (frame[[column.name for column in kept]] for frame in (task.train, task.test))
    return replace(task, schema=replace(task.schema, columns=kept), train=train, test=test)


def _run(results: ResultFile, keys: dict[str, dict[str, Any]], task: Task, epsilon: float, seed: int) -> None:
    with tempfile.TemporaryDirectory(prefix="microtome-bench-") as folder:
        released = release(
            task.train,
            task.schema,
            output=Path(folder) / "table.release",
            epsilon=epsilon,
            delta=DELTA,
            kind="records",
            anyway=True,
        )
        assert isinstance(released, RecordsRelease)
        for name, key in keys.items():
            clock = time.process_time()
            synthesizer = fitted(name, released, seed)
            seconds = time.process_time() - clock
            figures = quality(task, synthesizer.sample(len(task.train)))
            fit = synthesizer.fit_
            assert fit is not None
            score = min(value for _, value in fit.history)
            values = {**figures, "held_out": score, "best_step": fit.best_step, "fit_core_seconds": seconds}
            results.put(key, {**values, "rows": len(task.train), "noise_scale": released.noise_scale})
            print(name, epsilon, seed, {one: round(value, 3) for one, value in values.items()}, flush=True)


def fitted(name: str, released: RecordsRelease, seed: int) -> Synthesizer:
    """A fit by the name of its loss, or of a choice."""
    if name == THEN:
        start = Synthesizer(LOSSES["moments"], random_state=seed).fit(released)
        assert start.fit_ is not None
        return Synthesizer(LOSSES["kernel"], generator=start.fit_.generator, random_state=seed).fit(released)
    settings = CHOICES[name] if name in CHOICES else LOSSES[name]
    return Synthesizer(settings, random_state=seed).fit(released)


def quality(task: Task, synthetic: pd.DataFrame) -> dict[str, float]:
    """Pair error against the training rows, and AUC on the test rows."""
    frames = ((task.train, "train"), (synthetic, "made"), (task.test, "test"))
    with warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter("ignore")
        train, made, test = code_tables([read_table(frame, name) for frame, name in frames], task.schema)[0]
        return {"pair_error": listed_pair_error(train, made), "auc": logistic_auc(made, test, TARGET)}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(range(SEEDS)))
    parser.add_argument("--names", nargs="+", choices=[*LOSSES, THEN, *CHOICES], help="only these")
    parser.add_argument("--choose", action="store_true", help="settings of the kernel loss in place of losses")
    parser.add_argument("--results", type=Path, default=FOLDER / "sliced_losses.json")
    return parser.parse_args()


if __name__ == "__main__":
    main()
