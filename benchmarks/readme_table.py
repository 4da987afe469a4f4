"""The table of README.md: what a release keeps at ε = 1, beside the methods that a user would pick instead."""

from __future__ import annotations

from pathlib import Path
from statistics import mean

from comparison import Comparison, Row

README = Path(__file__).resolve().parents[1] / "README.md"
BEGIN, END = "<!-- figures: rendered by benchmarks/render.py -->", "<!-- end of figures -->"
EPSILON = 1.0
SHOWN = {
    "real": "real rows (not private)",
    "aggregates": "**Microtome**",
    "aim": "AIM",
    "mst": "MST",
    "sdv": "SDV's Gaussian copula (not private)",
    "independent": "independent columns",
}
METRICS = {
    "pair_error": "pair error ↓",
    "auc": "predicting (linear), AUC ↑",
    "trees": "predicting (trees), AUC ↑",
    "detector_auc": "told from real ↓",
}


def rendered(comparison: Comparison) -> str:
    """The table: means over tasks, the smallest and largest of them in brackets."""
    lines = [
        f"| ε = {EPSILON:g} | {' | '.join(METRICS.values())} | processor time |",
        "| --- " * (len(METRICS) + 2) + "|",
    ]
    for method, title in SHOWN.items():
        rows = [row for task in comparison.tasks for row in comparison.rows(task, EPSILON) if row.method == method]
        if not rows:
            continue
        cells = [_cell(rows, metric) for metric in METRICS]
        seconds = mean(mean(row.processor_seconds) for row in rows)
        lines.append(f"| {title} | {' | '.join(cells)} | {seconds:,.0f} s |")
    sizes = [run["train_rows"] for run in comparison.runs if run.get("train_rows")]
    told = (
        f"Means over {len(comparison.tasks)} census tables of 14 US states ({min(sizes):,} to {max(sizes):,} training "
        "rows), 1 to 3 seeds each; in brackets the smallest and the largest of a table."
    )
    return "\n".join([BEGIN, *lines, "", told, END])


def update(comparison: Comparison) -> None:
    """Put the table where the page has it."""
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    README.write_text(before + rendered(comparison) + rest.split(END)[1], encoding="utf-8")


def _cell(rows: list[Row], metric: str) -> str:
    values = [value for row in rows if (value := row.mean(metric)) is not None]
    if len(values) < len(rows):  # a mean over some of the tables would not be one of the others'
        return "–"
    return f"{mean(values):.2f} ({min(values):.2f}–{max(values):.2f})"
