"""The comparison as one HTML page with plots, everything inside it: no script, no network.

Written to ``docs/benchmarks.html`` by ``render.py``, from the same JSON as the Markdown page.
"""

from __future__ import annotations

import html
import io
import math
import re
from typing import Any

import matplotlib

from comparison import LOWER_IS_BETTER, METRICS, WHOLE_TABLES, Comparison, spread
from comparison_summary import points
from methods import METHODS

matplotlib.use("svg")
import matplotlib.pyplot as plt

_PALETTE = plt.get_cmap("tab20").colors
_COLOURS = dict(zip(METHODS, [*_PALETTE[::2], *_PALETTE[1::2], *plt.get_cmap("tab20b").colors], strict=False))
"""Strong colours first, then their pale relatives."""
_LEGEND_COLUMN, _LEGEND_LINE = 2.6, 0.16
"""Inches of a column and of a line of a legend."""
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 90rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 13px; display: block; overflow-x: auto; }
td, th { padding: 3px 8px; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }
td:first-child, th:first-child { text-align: left; white-space: normal; min-width: 13rem; }
figure { margin: 1.5rem 0; } figcaption { color: #555; } svg { max-width: 100%; height: auto; }
.failed { color: #a00; text-align: left; }
"""


def page(comparison: Comparison) -> str:
    """The whole page."""
    parts = ["<h1>Microtome against everything a user might pick instead</h1>"]
    parts.append(
        f"<p>{html.escape(comparison.source.title)}. Rendered by <code>benchmarks/render.py</code>; how to read it is "
        "in <code>docs/benchmarks.md</code>. Points are means over seeds, bars their range.</p>"
    )
    parts += ["<h2>In short</h2><ul>", *[f"<li>{_emphasised(point)}</li>" for point in points([comparison])], "</ul>"]
    whole = [epsilon for epsilon in WHOLE_TABLES if epsilon in comparison.epsilons] or comparison.epsilons
    for epsilon in whole:
        parts += [f"<h2>ε = {epsilon:g}</h2>", _figure(_dots(comparison, epsilon), "Every metric, task by task.")]
    if len(comparison.epsilons) > 1:
        parts.append("<h2>Against ε</h2>")
        for metric in ("auc", "pair_error", "contingency", "detector_auc"):
            caption = f"{METRICS[metric]} against ε; the dotted line is what the real rows give."
            parts.append(_figure(_curves(comparison, metric), caption))
    parts.append("<h2>What it costs</h2>")
    parts.append(_figure(_cost(comparison), "What a run costs and what it gives, all tasks and ε."))
    parts.append("<h2>All figures</h2>")
    for epsilon in comparison.epsilons:
        for task in comparison.tasks:
            parts += [f"<h3>{task}, ε = {epsilon:g}</h3>", _table(comparison, task, epsilon)]
    head = f'<meta charset="utf-8"><title>Microtome benchmarks</title><style>{_STYLE}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>\n'


def _dots(comparison: Comparison, epsilon: float) -> Any:
    """A small plot for every metric: tasks along one axis, a dot for every method."""
    figure, axes = plt.subplots(5, 2, figsize=(11, 16), sharex=True)
    for axis, (metric, title) in zip(axes.flat, METRICS.items(), strict=True):
        for place, task in enumerate(comparison.tasks):
            rows = [row for row in comparison.rows(task, epsilon) if row.values(metric)]
            for index, row in enumerate(rows):
                shift = 0.7 * (index / max(len(rows) - 1, 1) - 0.5)
                values = row.values(metric)
                centre = sum(values) / len(values)
                axis.plot([place + shift] * 2, [min(values), max(values)], color=_COLOURS[row.method], lw=1)
                axis.plot(place + shift, centre, "o", ms=5, color=_COLOURS[row.method], label=_plain(row.title))
        axis.set_title(f"{title} ({'lower' if metric in LOWER_IS_BETTER else 'higher'} is better)", fontsize=10)
        axis.set_xticks(range(len(comparison.tasks)), comparison.tasks, rotation=20, fontsize=8)
        axis.grid(axis="y", alpha=0.3)
    _legend(figure, axes.flat)
    return figure


def _curves(comparison: Comparison, metric: str) -> Any:
    """A small plot for every task: a metric against ε."""
    figure, axes = plt.subplots(1, len(comparison.tasks), figsize=(3.2 * len(comparison.tasks), 3.6), squeeze=False)
    for axis, task in zip(axes.flat, comparison.tasks, strict=True):
        points: dict[str, list[tuple[float, float]]] = {}
        for epsilon in comparison.epsilons:
            for row in comparison.rows(task, epsilon):
                value = row.mean(metric)
                if value is not None:
                    points.setdefault(row.method, []).append((epsilon, value))
        for method, line in points.items():
            if METHODS[method].uses_epsilon:
                axis.plot(
                    *zip(*line, strict=True), "o-", ms=4, color=_COLOURS[method], label=_plain(METHODS[method].title)
                )
            elif method == "real":
                axis.axhline(line[0][1], ls=":", color="black")
        axis.set_xscale("log")
        axis.set_title(task, fontsize=10)
        axis.set_xlabel("ε")
        axis.grid(alpha=0.3)
    axes.flat[0].set_ylabel(METRICS[metric])
    _legend(figure, axes.flat)
    return figure


def _cost(comparison: Comparison) -> Any:
    """Processor time against the classifier's AUC, a dot a run."""
    figure, axis = plt.subplots(figsize=(8, 5))
    for run in comparison.runs:
        method = run["key"]["method"]
        if run["outcome"] == "ok" and METHODS[method].uses_epsilon:
            cost, gain = run["processor_seconds"], run["metrics"]["auc"]
            axis.plot(cost, gain, "o", ms=5, color=_COLOURS[method], label=_plain(METHODS[method].title), alpha=0.7)
    axis.set(xscale="log", xlabel="processor time, s", ylabel=METRICS["auc"])
    axis.grid(alpha=0.3)
    _legend(figure, [axis])
    return figure


def _legend(figure: Any, axes: Any) -> None:
    """One legend for all small plots, every method once."""
    entries = {label: handle for axis in axes for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    columns = int(figure.get_figwidth() / _LEGEND_COLUMN)
    lines = math.ceil(len(entries) / columns) + 1
    figure.tight_layout(rect=(0, lines * _LEGEND_LINE / figure.get_figheight(), 1, 1))
    figure.legend(entries.values(), entries.keys(), loc="lower center", ncol=columns, fontsize=8, frameon=False)


def _figure(figure: Any, caption: str) -> str:
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "microtome", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    plt.close(figure)
    svg = buffer.getvalue()
    return f"<figure>{svg[svg.index('<svg') :]}<figcaption>{html.escape(caption)}</figcaption></figure>"


def _table(comparison: Comparison, task: str, epsilon: float) -> str:
    heading = ["", *METRICS.values(), "processor time, s", "memory, MiB", "seeds"]
    lines = ["".join(f"<th>{html.escape(cell)}</th>" for cell in heading)]
    for row in comparison.rows(task, epsilon):
        title = f"<td>{html.escape(_plain(row.title))}</td>"
        if not row.runs:
            lines.append(f'{title}<td class="failed" colspan="{len(heading) - 1}">{html.escape(row.reasons)}</td>')
            continue
        cells = [spread(row.values(metric)) for metric in METRICS]
        cells += [spread(row.processor_seconds, "{:.0f}"), f"{max(row.mebibytes):.0f}", str(len(row.runs))]
        lines.append(title + "".join(f"<td>{cell}</td>" for cell in cells))
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def _emphasised(text: str) -> str:
    return re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", html.escape(text))


def _plain(title: str) -> str:
    return title.replace("**", "")
