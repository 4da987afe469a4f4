"""The section of docs/benchmarks.md on drafted schemas."""

from __future__ import annotations

import json
from statistics import mean
from typing import Any

from comparison_page import table
from results import FOLDER

Run = dict[str, Any]
_TEXT = """
`benchmarks/drafted.py`: tables of which nothing is declared but the target, beside the same with bounds and code
lists declared; ε = 1, δ = 1e-6. *Pair TV* is the mean total variation of tables of two columns, numbers in 16 quantile
bins of the real rows. *Ratio* is drafted to declared; the aim is at most 1.25 on tables of 10,000 rows or more, and
KSComp of at least 0.97. *Widest* is the width of learnt bounds over that of the values, at its largest; *outside* the
share of values beyond learnt bounds, likewise. *Not learnt* counts columns, a release, that the release itself reports.
The constants of the search and of its budget were chosen on these very tables.
"""

_ALARMS = """
`benchmarks/domains.py`: {} searches and profiles of drafted tables at ε = 1, each with new noise. *Widest* is as above;
*wider than twice* counts bounds of more than twice the width of the values, one octave that holds all longitudes among
them; a *false alarm* is a bound farther beyond the values than they are wide, or than they are from zero.
"""


def section() -> list[str]:
    """The table, if there are runs."""
    path = FOLDER / "drafted.json"
    runs: list[Run] = json.loads(path.read_text())["runs"] if path.exists() else []
    tables = dict.fromkeys(run["key"]["table"] for run in runs)
    rows = [_row(name, [run for run in runs if run["key"]["table"] == name]) for name in tables]
    heads = ["table", "rows", "pair TV declared", "drafted", "ratio", "KSComp declared", "drafted", "TVComp declared"]
    heads += ["drafted", "widest", "outside", "spurious missing", "not learnt", "seeds", "commit"]
    return ["## Drafted schemas", _TEXT, table(heads, rows), *_alarms()] if rows else []


def _alarms() -> list[str]:
    """Bounds of many profiles, if there are runs."""
    path = FOLDER / "domains.json"
    runs: list[Run] = json.loads(path.read_text())["runs"] if path.exists() else []
    heads = ["table", "rows", "profiles", "bounds learnt", "not learnt", "widest", "wider than twice", "false alarms"]
    figures = ("releases", "bounds", "not_learnt", "widest", "wider_than_twice", "false_alarms")
    rows = [[run["key"]["table"], f"{run['key']['rows']:,}", *(_short(run[name]) for name in figures)] for run in runs]
    return [_ALARMS.format(sum(run["releases"] for run in runs)), table(heads, rows)] if rows else []


def _short(value: float) -> str:
    return f"{value:.2f}" if isinstance(value, float) else f"{value:,}"


def _row(name: str, runs: list[Run]) -> list[Any]:
    declared, drafted = ([run for run in runs if run["key"]["schema"] == schema] for schema in ("declared", "drafted"))

    def figure(found: list[Run], key: str) -> float:
        return mean(run["figures"][key] for run in found)

    pairs = [figure(found, "pair_tv") for found in (declared, drafted)]
    cells = [f"{pairs[0]:.4f}", f"{pairs[1]:.4f}", f"{pairs[1] / pairs[0]:.2f}"]
    cells += [f"{figure(found, key):.3f}" for key in ("ks", "tv") for found in (declared, drafted)]
    learnt = [column for run in drafted for column in run["columns"].values()]
    cells.append(f"{max(column.get('width', 0.0) for column in learnt):.2f}")
    cells.append(f"{max(column.get('outside', 0.0) for column in learnt):.1%}")
    cells.append(f"{figure(drafted, 'spurious_missing'):.0f}")
    cells.append(f"{mean(len(run['unlearnt']) for run in drafted):.1f}")
    commits = sorted({str(run["environment"]["commit"])[:7] for run in runs})
    return [name, f"{drafted[0]['rows']:,}", *cells, len(drafted), " ".join(commits)]
