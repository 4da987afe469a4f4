"""The comparison as Markdown: a table for every task and ε, the paper's figures beside ours, costs, failures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from comparison import LOWER_IS_BETTER, METRICS, WHOLE_TABLES, Comparison, Row, Run, doubted, paper_rows, spread
from comparison_summary import Contest, contests, in_short
from methods import METHODS

GRID_METRICS = ("contingency", "auc", "pair_error", "detector_auc")


def sections(comparisons: list[Comparison]) -> list[str]:
    """All parts of the page that come from the comparison; the first has plots and the paper's figures."""
    present = [one for one in comparisons if one.runs]
    if not present:
        return []
    first = present[0]
    parts = [*in_short(present), _INTRODUCTION.format(title=first.source.title), _methods(first)]
    for comparison in present:
        parts += [] if comparison is first else [f"## The same on other tables: {comparison.source.title}"]
        for epsilon in WHOLE_TABLES:
            if epsilon in comparison.epsilons:
                parts += _at_epsilon(comparison, epsilon, printed=comparison is first)
        parts += _grid(comparison)
    return [*parts, *_costs(first)]


_INTRODUCTION = """
## Against everything a user might pick instead

{title}. All methods see the same rows, declared schema, split and δ, for `blank-one` neighbours, and ε is the whole of
what each spends: nothing is read off the table for free. Every run is a process of its own on one thread, with a limit
on processor time and memory; one that fails or exceeds a limit keeps its row, with the reason. Figures in *italics* are
the paper's printed ones: **California, all rows** (not these tables), with 0.5 of preprocessing outside of ε.
*Detector AUC* is how well boosted trees tell synthetic rows from real test rows (0.5: not at all); *3-way* is 1 minus
the total variation of three-way tables, over 60 random triples of columns.
"""


def _methods(comparison: Comparison) -> str:
    present = {run["key"]["method"] for run in comparison.runs}
    rows = [[entry.title, entry.remark] for name, entry in METHODS.items() if name in present]
    return table(["method", "what it is here"], rows)


def _at_epsilon(comparison: Comparison, epsilon: float, *, printed: bool) -> list[str]:
    where = f"{comparison.source.title}, ε = {epsilon:g}"
    parts = [f"### {where}", *_winners(comparison, epsilon), *_who_wins_where(comparison, epsilon)]
    heading = ["", *METRICS.values(), "processor time, s", "memory, MiB", "seeds"]
    for task in comparison.tasks:
        lines = [_line(row) for row in comparison.rows(task, epsilon)]
        if printed:
            lines += [_paper_line(method, metrics) for method, metrics in paper_rows(task, epsilon)]
        parts += [f"#### {task}, ε = {epsilon:g}", table(heading, lines)]
    return parts


def _who_wins_where(comparison: Comparison, epsilon: float) -> list[str]:
    """The best private method of every task and metric, and the next."""
    held = {(contest.metric, contest.task): contest for contest in contests(comparison, epsilon)}
    if not held:
        return []
    lines = []
    for metric, title in METRICS.items():
        found = [held.get((metric, task)) for task in comparison.tasks]
        lines.append([title, *["" if contest is None else _first_two(contest) for contest in found]])
    return ["The best private method and the next, by means over seeds:", table(["", *comparison.tasks], lines)]


def _first_two(contest: Contest) -> str:
    return " > ".join(f"{row.title} {contest.value(row):.3f}" for row in contest.rows[:2])


def _winners(comparison: Comparison, epsilon: float) -> list[str]:
    """Means over the tasks, the best private one of every metric in bold."""
    averages = comparison.averages(epsilon)
    private = [method for method in averages if METHODS[method].uses_epsilon]
    if len(private) < 2:
        return []
    best = {
        metric: (min if metric in LOWER_IS_BETTER else max)(
            averages[method][metric] for method in private if metric in averages[method]
        )
        for metric in METRICS
        if any(metric in averages[method] for method in private)
    }
    lines = []
    for method, means in averages.items():
        cells = [f"{means[metric]:.3f}" if metric in means else "–" for metric in METRICS]
        known = means.get("pair_error"), means.get("auc")
        cells = [doubted(metric, cell, *known) for metric, cell in zip(METRICS, cells, strict=True)]
        if method in private:
            won = [metric in means and means[metric] == best[metric] for metric in METRICS]
            cells = [f"**{cell}**" if is_best else cell for cell, is_best in zip(cells, won, strict=True)]
        lines.append([METHODS[method].title, *cells])
    tasks = "1 task" if len(comparison.tasks) == 1 else f"{len(comparison.tasks)} tasks"
    sentence = f"Means over {tasks}, of methods that ended well on each; the best private one of every metric in bold."
    return [sentence, table(["", *METRICS.values()], lines)]


def _line(row: Row) -> list[Any]:
    if not row.runs:
        return [row.title, row.reasons, *[""] * (len(METRICS) - 1), "", "", 0]
    title = f"{row.title} ({len(row.failures)} failed: {row.reasons})" if row.failures else row.title
    title += _epochs(row.runs)
    cost = [spread(row.processor_seconds, "{:.0f}"), f"{max(row.mebibytes):.0f}"]
    cells = [doubted(metric, spread(row.values(metric)), row.mean("pair_error"), row.mean("auc")) for metric in METRICS]
    return [title, *cells, *cost, len(row.runs)]


def _epochs(runs: Sequence[Run]) -> str:
    """How many of the paper's epochs were run, for the methods that follow its training."""
    epochs = [run["notes"]["epochs"] for run in runs if "epochs" in run["notes"]]
    if not epochs:
        return ""
    wanted, seconds = runs[0]["notes"]["epochs_of_the_paper"], max(run["limits"]["seconds"] for run in runs)
    older = "" if "epsilon_of_profile" in runs[0]["notes"] else ", an earlier run of the training"
    noise = spread([run["notes"]["noise_scale"] for run in runs], "{:.2f}").split(" ")[0]
    if min(epochs) >= wanted:
        return f", σ = {noise}, all {wanted} epochs{older}"
    return f", σ = {noise}, {min(epochs):.1f} of {wanted} epochs fit {seconds:.0f} s{older}"


def _paper_line(method: str, metrics: dict[str, list[float] | None]) -> list[Any]:
    cells = []
    for metric in METRICS:
        printed = metrics.get(metric)
        cells.append("" if printed is None else f"*{printed[0]:.2f} ± {printed[1]:.2f}*")
    return [f"*the paper, California: {METHODS[method].title}*", *cells, "", "", ""]


def _grid(comparison: Comparison) -> list[str]:
    """Quality against ε, mean over the tasks, of methods that were run on all of them at more than two ε."""
    averages = {epsilon: comparison.averages(epsilon) for epsilon in comparison.epsilons}
    methods = [
        method
        for method in METHODS
        if METHODS[method].uses_epsilon and sum(method in found for found in averages.values()) > 2
    ]
    if not methods:
        return []
    parts = ["### Quality against ε", "Means over the tasks; the plot below and the HTML page have every task."]
    for metric in GRID_METRICS:
        lines = [
            [METHODS[m].title, *[_figure(found[m].get(metric)) if m in found else "" for found in averages.values()]]
            for m in methods
        ]
        parts += [f"{METRICS[metric]}:", table(["ε =", *[f"{epsilon:g}" for epsilon in averages]], lines)]
    return parts


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _costs(comparison: Comparison) -> list[str]:
    """Processor time and memory of every method, over everything it was run on."""
    lines = []
    for method, entry in METHODS.items():
        runs = [run for run in comparison.runs if run["key"]["method"] == method]
        if runs and entry.uses_epsilon:
            seconds = [run["processor_seconds"] for run in runs]
            memory = max(run["peak_mebibytes"] for run in runs)
            failed = sum(run["outcome"] != "ok" for run in runs)
            lines.append(
                [entry.title, f"{min(seconds):.0f} – {max(seconds):.0f}", f"{memory:.0f}", len(runs), failed or ""]
            )
    heading = ["", "processor time a run, s", "most memory, MiB", "runs", "of these failed or over a limit"]
    return ["### What it costs", _COSTS, table(heading, lines)]


_COSTS = """
Over all runs above. They were made over several days on shared machines of different speed, so read them as orders of
magnitude.
"""


def table(heading: list[Any], rows: list[list[Any]]) -> str:
    """A Markdown table."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)
