"""The runs of ``compare.py`` as rows of tables: what every method gave on a task at an ε, and what it cost."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from census import Source
from methods import METHODS
from results import FOLDER

Run = dict[str, Any]
PAPER = Path(__file__).resolve().parent / "paper_tables.json"
METRICS = {
    "ks": "KSComp",
    "tv": "TVComp",
    "contingency": "ContSim",
    "correlation": "CorrSim",
    "f1": "LR F1",
    "auc": "LR AUC",
    "trees": "trees",
    "pair_error": "pair error",
    "detector_auc": "detector AUC",
    "triples": "3-way",
}
LOWER_IS_BETTER = frozenset({"pair_error", "detector_auc"})
NOTHING_LEARNT = 0.98
CHANCE_BELOW = 0.6
"""Pair error from which on, and AUC up to which, rows have taught a classifier nothing: what it then makes of the test
rows is chance, and may be far below one half as well."""
_OF_CLASSIFIERS = frozenset({"f1", "auc", "trees"})
WHOLE_TABLES = (5.1, 8.1, 1.0)
"""The ε with a whole table a task, in this order: the paper's two, and one that a privacy officer might sign."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """All seeds of a method on a task at an ε.

    Attributes:
        method: Its name.
        runs: The runs that ended well.
        failures: The others.
    """

    method: str
    runs: tuple[Run, ...]
    failures: tuple[Run, ...]

    @property
    def title(self) -> str:
        """What to call it."""
        return METHODS[self.method].title

    def values(self, metric: str) -> list[float]:
        """A metric of every run that has it."""
        found = [run["metrics"].get(metric) for run in self.runs]
        return [value for value in found if value is not None]

    def mean(self, metric: str) -> float | None:
        """Its mean, if any run has it."""
        values = self.values(metric)
        return mean(values) if values else None

    @property
    def processor_seconds(self) -> list[float]:
        """Processor time of every run, its process from start to end."""
        return [run["processor_seconds"] for run in self.runs]

    @property
    def mebibytes(self) -> list[float]:
        """Peak memory of every run."""
        return [run["peak_mebibytes"] for run in self.runs]

    @property
    def reasons(self) -> str:
        """Why runs failed, each reason once."""
        kinds = {f"{run['outcome']}: {run['reason']}" for run in self.failures}
        return "; ".join(sorted(kinds)).replace("|", "/")


class Comparison:
    """The runs of one source, whole tables only."""

    def __init__(self, source: Source = Source.STATES, folder: Path = FOLDER / "comparison") -> None:
        files = sorted(folder.glob("*.json"))
        runs: list[Run] = [run for path in files for run in json.loads(path.read_text())["runs"]]
        self.source = source
        self.runs = [run for run in runs if run["key"]["source"] == source and run["key"]["rows"] is None]

    @property
    def tasks(self) -> list[str]:
        """Tasks that were run, in their usual order."""
        return [task for task in self.source.tasks if any(run["key"]["task"] == task for run in self.runs)]

    @property
    def epsilons(self) -> list[float]:
        """All ε that were run."""
        return sorted({run["key"]["epsilon"] for run in self.runs} - {None})

    def rows(self, task: str, epsilon: float) -> list[Row]:
        """A row for every method that was run on a task at an ε, references first."""
        found = defaultdict(list)
        for run in self.runs:
            if run["key"]["task"] == task and run["key"]["epsilon"] in (epsilon, None):
                found[run["key"]["method"]].append(run)
        return [_row(method, found[method]) for method in METHODS if method in found]

    def averages(self, epsilon: float) -> dict[str, dict[str, float]]:
        """Means over all tasks of every metric, of methods that ended well on each of them."""
        tables = [{row.method: row for row in self.rows(task, epsilon)} for task in self.tasks]
        return {
            method: {
                metric: mean(values)
                for metric in METRICS
                if (values := _present(table[method].mean(metric) for table in tables))
            }
            for method in METHODS
            if tables and all(method in table and table[method].runs for table in tables)
        }


def paper_rows(task: str, epsilon: float) -> list[tuple[str, dict[str, list[float] | None]]]:
    """The printed figures of the paper on a task: method and (mean, standard deviation) of its metrics."""
    rows = json.loads(PAPER.read_text())["rows"]
    return [(row["method"], row["metrics"]) for row in rows if row["task"] == task and row["epsilon"] == epsilon]


def spread(values: Sequence[float], form: str = "{:.3f}") -> str:
    """Mean ± standard deviation, for people."""
    if not values:
        return "–"
    return form.format(mean(values)) + (f" ± {form.format(stdev(values))}" if len(values) > 1 else "")


def doubted(metric: str, cell: str, pair_error: float | None, auc: float | None) -> str:
    """The cell of a metric, in brackets where it is chance: that of a classifier whose rows taught it nothing."""
    known = pair_error is not None and auc is not None
    is_chance = known and metric in _OF_CLASSIFIERS and pair_error >= NOTHING_LEARNT and auc < CHANCE_BELOW
    return f"({cell})" if is_chance else cell


def _row(method: str, runs: list[Run]) -> Row:
    ended_well = tuple(run for run in runs if run["outcome"] == "ok")
    return Row(method=method, runs=ended_well, failures=tuple(run for run in runs if run["outcome"] != "ok"))


def _present(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]
