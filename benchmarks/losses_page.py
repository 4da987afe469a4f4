"""The section of docs/paper.md on the paper's divergence beside other losses, from the runs of sliced_losses.py."""

from __future__ import annotations

from statistics import mean
from typing import Any

from comparison import METRICS, NOTHING_LEARNT, spread
from comparison_page import table
from losses_plot import draw
from sliced_losses import CHOSEN, FIT, LONG, LOSSES, ROUNDS, THEN

BOTH = "moments + kernel"
BEST = {"pair_error": min, "auc": max}

_LOSSES = """
## The paper's divergence beside others, on one release

Released slices alone, as many numbers as a row has, leave dependence open. A full orthogonal release is the rows under
isotropic noise, so any slice may be drawn of it afterwards, for nothing: the kernel loss looks at {num} random slices
of {dim} dimensions, {step} a step, Wasserstein at as many lines. Losses of a seed and an ε see one release of records
of seven columns of Employment (14 states), {rows:,} rows, δ = 1e-5. Fits take up to {steps} steps of {batch} synthetic
rows and stop when the held-out score has not fallen for 200. {mmd}
*moments + kernel* has the kernel loss with weight {weight:g}; *moments, then kernel* starts the kernel loss where
moments have ended. Pair error (0 is perfect, 1 is independent columns) and AUC of a logistic regression on real test
rows: means over up to {seeds} seeds, a figure without ± being one run. The best of a column is in bold; an AUC in
brackets is beside a pair error of about 1, so that little but margins was learnt.
"""

_MMD = "MMD, which is slow, takes {short} steps, looks at planes, and has releases of its own."
_NO_MMD = "MMD was **not run**."
_CHOICES = """
How the kernel loss was set: held-out score (1 is independent columns, lower is better), which sees the release alone,
and pair error, which sees real rows and chose nothing; seed 0. Fits of {short} steps where nothing else is said, slices
of two dimensions. Settings between two lines saw one release; scores of different releases differ by some hundredths.
"""

_ADDS = """
**What holds.** Does the kernel loss add to moments? On the same release, the pair error of *moments + kernel* is below
that of moments {both}; that of the kernel loss alone {alone}.
{verdict}
A fit to both takes {times:.1f} times the processor time of one to moments{usual}: moments alone stay the default for
records. The pair error is made of what moments are, tables of two columns, and their noise is known and taken off;
slices hold the same in small parts, with the noise in it.
"""

_REACHED = "So it adds to them, as was our goal, by {gain:.3f} on average."
_IN_PART = "So it adds to them at {where}; our goal was that it does from ε = 20 on, which is **reached in part**."
_MISSED = "So it does not add to them: our goal, that it does from ε = 20 on, is **not reached**."
_USUAL = ", which is not worth a gain of this size, and usual ε are smaller"


def section(every: list[dict[str, Any]]) -> list[str]:
    """The text, the plot and the tables; nothing where there are no results."""
    runs = [run for run in every if not run["key"]["choice"]]
    if not runs:
        return []
    mix, epsilons = CHOSEN, sorted({run["key"]["epsilon"] for run in runs})
    size = {"num": mix.num_slices, "step": mix.slices_per_step, "dim": mix.slice_dim, "rows": runs[0]["rows"]}
    size |= {"steps": LONG.steps, "short": FIT.steps, "batch": FIT.batch_size, "weight": LOSSES[BOTH].loss.kernel}
    size["mmd"] = _MMD.format(short=FIT.steps) if any(run["key"]["name"] == "mmd" for run in runs) else _NO_MMD
    size["seeds"] = len({run["key"]["seed"] for run in runs})
    parts = [_LOSSES.format(**size)]
    if len(epsilons) > 1:
        draw(runs)
        parts.append("![pair error and AUC against ε](losses.svg)")
    names = [name for name in (*LOSSES, THEN) if any(run["key"]["name"] == name for run in runs)]
    for metric, best in BEST.items():
        rows = [[name, *(_cell(runs, name, at, metric) for at in epsilons)] for name in names]
        for column, at in enumerate(epsilons, start=1):
            means = {name: mean(values) for name in names if (values := _values(runs, name, at, metric))}
            for row in rows:
                if means and means.get(row[0]) == best(means.values()):
                    row[column] = f"**{row[column]}**"
        parts += [f"{METRICS[metric]}:", table(["", *(f"ε = {at:g}" for at in epsilons)], rows)]
    return [*parts, _adds(runs, [at for at in epsilons if at >= 20]), *_choices(every)]


def _cell(runs: list[dict[str, Any]], name: str, at: float, metric: str) -> str:
    values, errors = (_values(runs, name, at, one) for one in (metric, "pair_error"))
    shown = spread(values)
    return f"({shown})" if metric == "auc" and errors and mean(errors) >= NOTHING_LEARNT else shown


def _choices(every: list[dict[str, Any]]) -> list[str]:
    """Settings of the kernel loss by round, with their held-out scores and pair errors."""
    runs = {(run["key"]["name"], run["key"]["epsilon"]): run for run in every if run["key"]["choice"]}
    epsilons = sorted({at for _, at in runs})
    rows: list[list[str]] = []
    for tried in ROUNDS:
        known = [name for name in tried if all((name, at) in runs for at in epsilons)]
        rows += [["–"] * (1 + 2 * len(epsilons))] if rows and known else []
        rows += [
            [name, *(f"{runs[name, at][figure]:.3f}" for at in epsilons for figure in ("held_out", "pair_error"))]
            for name in known
        ]
    if not rows:
        return []
    heads = [f"{what}, ε = {at:g}" for at in epsilons for what in ("held out", "pair error")]
    return [_CHOICES.format(short=FIT.steps), table(["", *heads], rows)]


def _adds(runs: list[dict[str, Any]], epsilons: list[float]) -> str:
    """On how many releases a kernel loss has the lower pair error than moments, and where it has it on average."""
    both, alone = (_gains(runs, name, epsilons) for name in (BOTH, "kernel"))
    where = [at for at, gains in both.items() if mean(gains) > 0]
    told = _IN_PART.format(where=" and ".join(f"ε = {at:g}" for at in where)) if where else _MISSED
    seconds = [
        mean(run["fit_core_seconds"] for run in runs if run["key"]["name"] == name) for name in (BOTH, "moments")
    ]
    reached = len(where) == len(both)
    gain = mean(one for gains in both.values() for one in gains)
    return _ADDS.format(
        both=_counted(both),
        alone=_counted(alone),
        verdict=_REACHED.format(gain=gain) if reached else told,
        times=seconds[0] / seconds[1],
        usual=_USUAL if reached else "",
    )


def _gains(runs: list[dict[str, Any]], name: str, epsilons: list[float]) -> dict[float, list[float]]:
    """By how much the pair error of a loss is below that of moments, release by release."""
    found = {}
    for at in epsilons:
        theirs, ours = (_by_seed(runs, one, at) for one in ("moments", name))
        found[at] = [theirs[seed] - ours[seed] for seed in theirs.keys() & ours.keys()]
    return {at: gains for at, gains in found.items() if gains}


def _counted(gains: dict[float, list[float]]) -> str:
    return ", ".join(f"in {sum(one > 0 for one in ones)} of {len(ones)} at ε = {at:g}" for at, ones in gains.items())


def _by_seed(runs: list[dict[str, Any]], name: str, at: float) -> dict[int, float]:
    found = [run for run in runs if (run["key"]["name"], run["key"]["epsilon"]) == (name, at)]
    return {run["key"]["seed"]: run["pair_error"] for run in found}


def _values(runs: list[dict[str, Any]], name: str, at: float, metric: str) -> list[float]:
    return [run[metric] for run in runs if (run["key"]["name"], run["key"]["epsilon"]) == (name, at)]
