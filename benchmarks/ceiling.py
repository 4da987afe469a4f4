"""What trees learn from Microtome's rows as a share of what real rows teach them; at a large ε, what no ε can lift."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean
from typing import Any

from comparison import Comparison, Row, spread
from comparison_page import table

OURS, REAL = "aggregates", "real"
_WHAT = """
Boosted trees (scikit-learn's, as they come) are trained on synthetic rows and judged on real rows that no release has
seen: AUC, or R² of housing, whose target is a number. *Share* is of what the real training rows give. The detector
tells synthetic rows from real test rows: 0.5 is not at all. ε = 100 is no promise to speak of: it shows what the model
leaves out at any ε. Runs are those of the comparison above; `make bench-trees` makes what is missing.
"""


def ceiling_section(comparisons: list[Comparison]) -> list[str]:
    """The section of the page."""
    lines = [line for comparison in comparisons for line in _lines(comparison)]
    heading = ["source", "task", "ε", "real rows", "synthetic rows", "share", "detector", "processor time, s", "seeds"]
    return ["## Trees, and the ceiling", _WHAT, table(heading, lines)] if lines else []


def _lines(comparison: Comparison) -> Iterator[list[Any]]:
    for task in comparison.tasks:
        for epsilon in comparison.epsilons:
            rows = {row.method: row for row in comparison.rows(task, epsilon)}
            if OURS in rows and REAL in rows and rows[OURS].values("trees") and rows[REAL].values("trees"):
                yield _line(comparison, task, epsilon, rows[OURS], rows[REAL])


def _line(comparison: Comparison, task: str, epsilon: float, ours: Row, real: Row) -> list[Any]:
    learnt, possible = ours.values("trees"), real.values("trees")
    return [
        *(comparison.source.title, task, f"{epsilon:g}", spread(possible), spread(learnt)),
        *(f"{100 * mean(learnt) / mean(possible):.1f} %", spread(ours.values("detector_auc"))),
        *(spread(ours.processor_seconds, "{:.0f}"), len(learnt)),
    ]
