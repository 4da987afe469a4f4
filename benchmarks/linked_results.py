"""The section of docs/benchmarks.md on linked tables."""

from __future__ import annotations

import json
from statistics import mean, stdev
from typing import Any

from comparison_page import table
from results import FOLDER

Run = dict[str, Any]
_TEXT = """
`benchmarks/linked.py`: the Czech bank (clients, their links to accounts, accounts, cards, loans, standing orders;
districts are public), ε = {epsilon:g} and δ = {delta:g} for a client and everything behind. *One by one* releases
every table by itself for the same people, ε split so that all releases together promise the same, and hangs rows on
parents at random; *children independent* are the tables of *linked* with rows dealt out to parents at random.{hma}
*Rows of a parent* is 1 − KS of their number, the worst of all links. *Across links* is the mean total variation of
tables of an ancestor's column with a column of a row, and of a parent's columns with the number of its rows, mean
over links; by chance alone, between two samples of one bank, it would be {chance:.3f}. *Dependence kept* is 1 − Σ‖R −
R̂‖² / Σ‖R‖² over these tables, R being a table minus the product of its margins, mean over links: what independent
children cannot fake. *Within tables* is the total variation of pairs of columns of one table. *People told apart* is
the AUC of a detector of clients by all that is behind them. *Loans* is the AUC on real loans of whether they end
badly, learnt from accounts and orders of synthetic ones; learnt from the real ones themselves by cross-validation it
is {loans:.3f}. Means over seeds, ± one standard deviation.
"""
_HMA = " *HMA* is SDV's model without any privacy, and without cards, since it takes five tables at most."
_HEADS = (
    *("method", "rows of a parent", "across links", "dependence kept", "within tables", "people told apart", "loans"),
    *("broken keys", "seeds"),
)


def section() -> list[str]:
    """The tables, if there are runs."""
    path = FOLDER / "linked.json"
    runs: list[Run] = json.loads(path.read_text())["runs"] if path.exists() else []
    if not runs:
        return []
    private = next(run for run in runs if run["epsilon"] is not None)
    text = _TEXT.format(
        epsilon=private["epsilon"],
        delta=private["delta"],
        chance=mean(_mean_of(run, "chance") for run in runs),
        loans=mean(run["figures"]["loan_auc_real"] for run in runs),
        hma=_HMA if any(run["key"]["method"] == "HMA" for run in runs) else "",
    )
    methods = list(dict.fromkeys(run["key"]["method"] for run in runs))
    rows = [_row(method, [run for run in runs if run["key"]["method"] == method]) for method in methods]
    links = list(private["figures"]["pair_tv"])
    by_link = [_by_link(method, [run for run in runs if run["key"]["method"] == method], links) for method in methods]
    chance = ["by chance", *(f"{_chance(runs, link):.3f}" for link in links)]
    return [
        "## Linked tables",
        text,
        table(list(_HEADS), rows),
        _aim(runs),
        "Across links, link by link:",
        table(["method", *links], [*by_link, chance]),
    ]


def _aim(runs: list[Run]) -> str:
    """How far the tables of one release are below the two others, in words."""
    found = {}
    for method in ("linked", "one by one", "children independent"):
        found[method] = [_mean_of(run, "pair_tv") for run in runs if run["key"]["method"] == method]
    if not all(found.values()):
        return ""
    below = {name: 1.0 - mean(found["linked"]) / mean(values) for name, values in found.items()}
    return (
        f"Across links *linked* is {below['one by one']:.0%} below *one by one* and "
        f"{below['children independent']:.0%} below *children independent*; the aim is a third."
    )


def _chance(runs: list[Run], link: str) -> float:
    return mean(run["figures"]["chance"][link] for run in runs if link in run["figures"]["chance"])


def _mean_of(run: Run, what: str) -> float:
    return mean(value for value in run["figures"][what].values() if value is not None)


def _row(method: str, runs: list[Run]) -> list[Any]:
    worst = [min(run["figures"]["cardinality"].values()) for run in runs]
    cells = [worst, *([_mean_of(run, what) for run in runs] for what in ("pair_tv", "kept", "within_tv"))]
    cells += [[run["figures"][what] for run in runs] for what in ("detector_auc", "loan_auc")]
    broken = sum(run["figures"]["broken_keys"] for run in runs)
    return [method, *(_spread(values) for values in cells), broken, len(runs)]


def _by_link(method: str, runs: list[Run], links: list[str]) -> list[Any]:
    known = [[run["figures"]["pair_tv"].get(link) for run in runs] for link in links]
    return [method, *("" if None in values else _spread(values) for values in known)]


def _spread(values: list[float]) -> str:
    return f"{mean(values):.3f}" + (f" ± {stdev(values):.3f}" if len(values) > 1 else "")
