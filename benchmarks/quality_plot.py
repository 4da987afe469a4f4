"""Quality against ε for both kinds of release, beside independent columns and the real rows: docs/quality.svg."""

from __future__ import annotations

from pathlib import Path

import matplotlib

from comparison import METRICS, Comparison

matplotlib.use("svg")
import matplotlib.pyplot as plt

PLOT = Path(__file__).resolve().parents[1] / "docs" / "quality.svg"
LINES = {"aggregates": "C0", "records": "C1", "independent": "C2"}
SHOWN = ("contingency", "auc", "pair_error")
LEVELS = {"real": ("real rows", "black"), "shuffled": ("independent columns, exact margins", "grey")}


def section(comparison: Comparison) -> list[str]:
    """Draw the plot; a heading and the picture, if there is anything to draw."""
    if len(comparison.epsilons) < 3:
        return []
    figure, axes = plt.subplots(
        len(SHOWN), len(comparison.tasks), figsize=(3 * len(comparison.tasks), 2.6 * len(SHOWN)), sharex=True
    )
    for down, metric in enumerate(SHOWN):
        for across, task in enumerate(comparison.tasks):
            _draw(axes[down, across], comparison, task, metric)
            if down == 0:
                axes[down, across].set_title(task)
        axes[down, 0].set_ylabel(METRICS[metric])
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(labels), frameon=False)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    with plt.rc_context({"svg.hashsalt": "microtome"}):
        figure.savefig(PLOT, metadata={"Date": None})
    plt.close(figure)
    return [
        "## Both kinds of release against ε",
        "Mean and range over seeds; ε on a logarithmic scale. Pair error: lower is better.",
        f"![Similarity of two-way tables, AUC and pair error against ε, task by task]({PLOT.name})",
    ]


def _draw(axis: plt.Axes, comparison: Comparison, task: str, metric: str) -> None:
    for method, colour in LINES.items():
        points = [
            (epsilon, row.values(metric))
            for epsilon in comparison.epsilons
            for row in comparison.rows(task, epsilon)
            if row.method == method and row.values(metric)
        ]
        means = [sum(values) / len(values) for _, values in points]
        at = [epsilon for epsilon, _ in points]
        below = [mean - min(values) for mean, (_, values) in zip(means, points, strict=True)]
        above = [max(values) - mean for mean, (_, values) in zip(means, points, strict=True)]
        axis.errorbar(at, means, yerr=[below, above], color=colour, marker="o", markersize=3, label=method)
    rows = {row.method: row for row in comparison.rows(task, comparison.epsilons[0])}
    for method, (label, colour) in LEVELS.items():
        value = rows[method].mean(metric) if method in rows else None
        if value is not None:
            axis.axhline(value, color=colour, linestyle=":", linewidth=1, label=label)
    axis.set_xscale("log")
    axis.grid(alpha=0.2)
