"""Writes docs/choosing-epsilon.md: what an attacker learns, by the exact accounting, and what the data lose, by runs.

python benchmarks/choosing_epsilon.py
"""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

from comparison_page import table
from microtome.accounting import GaussianEvent, gaussian_mu
from microtome.forecasting import verdict
from microtome.forecasting.attacker import strongest_attacker
from results import FOLDER

PAGE = Path(__file__).resolve().parents[1] / "docs" / "choosing-epsilon.md"
_EPSILONS = (0.05, 0.1, 0.3, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0)
_DELTA = 1e-6
Point = dict[str, Any]


def main() -> None:
    agreement = json.loads((FOLDER / "forecast_agreement.json").read_text(encoding="utf-8"))
    points = agreement["points"]
    parts = [_INTRODUCTION, _attacker_table(), _BETWEEN, *_losses(points), _READING, _bands(agreement["bands"])]
    parts += [_false_refusals(points), _lost_columns(points), _FIXED]
    PAGE.write_text("\n\n".join(part.strip() for part in parts) + "\n", encoding="utf-8")


def _attacker_table() -> str:
    rows = []
    for epsilon in _EPSILONS:
        found = strongest_attacker([GaussianEvent(mu=gaussian_mu(epsilon, _DELTA))])
        rows.append([f"{epsilon:g}", f"{found.best_guess:.1%}", f"{found.caught:.1%}"])
    return table(["ε", "best guess, at even odds", "found, at 5 % false accusations"], rows)


def _losses(points: list[Point]) -> list[str]:
    """A table of measured errors by ε and number of rows, for each kind of schema."""
    parts = []
    for declared, title in ((True, "Everything declared"), (False, "Categories or bounds to be learnt")):
        chosen = [point for point in points if point["declared"] is declared and not point["unseen"]]
        names = sorted({point["table"] for point in chosen})
        epsilons = sorted({point["epsilon"] for point in chosen})
        rows = []
        for number in sorted({point["rows"] for point in chosen}):
            rows.append([f"{number:,}", *(_cell(chosen, number, epsilon) for epsilon in epsilons)])
        parts += [f"**{title}** ({', '.join(names)}):", table(["rows", *(f"ε = {one:g}" for one in epsilons)], rows)]
    return parts


def _cell(points: list[Point], rows: int, epsilon: float) -> str:
    found = [point["measured"] for point in points if (point["rows"], point["epsilon"]) == (rows, epsilon)]
    if not found:
        return ""
    return " / ".join(f"{median(one[error] for one in found):.2g}" for error in ("margins", "pairs"))


def _bands(bands: list[Point]) -> str:
    rows = [
        [
            ("everything declared" if band["declared"] else "something to be learnt")
            + (", not looked at" if band["unseen"] else ""),
            f"{band['factor']:g}",
            f"{band['margins']:.0%}",
            f"{band['pairs']:.0%}",
            band["points"],
        ]
        for band in bands
    ]
    return table(["", "factor", "columns within", "pairs within", "releases"], rows)


def _lost_columns(points: list[Point]) -> str:
    named = [(set(point["forecast"]["lost"]), set(point["measured"]["lost"])) for point in points]
    foretold, right = (sum(map(len, sets)) for sets in ([a for a, _ in named], [a & b for a, b in named]))
    missed = sum(len(b - a) for a, b in named)
    return (
        f"Of {foretold} columns that were foretold not to be learnt, {right} came out with an error of 0.35 or more; "
        f"{missed} others did as well without having been named."
    )


_INTRODUCTION = """
# Choosing ε

*Rendered by `benchmarks/choosing_epsilon.py` from the accounting and from `benchmarks/results/forecast_agreement.json`.
No figure is typed by hand.*

ε is a price. A small one protects each person better and leaves less of the table. Whoever chooses it should look at
both sides first, and neither needs the data: `microtome forecast --schema people.yaml --rows 800 --epsilon 1` says what
a release would be worth before anything is spent ([cli.md](cli.md)).

1. **Start from the person.** How sure may an outsider become that one person is in the table, or of what their record
   says? Read the largest ε that you would defend off the first table below.
2. **Then ask the forecast** what the table would be worth at that ε, and from which ε on it becomes useful.
3. **If the two do not meet, do not raise ε first.** Declare what is public anyway: code lists, bounds, compulsory
   fields. Leave columns out that nobody will ask for. Join rare categories. Find more records. Each costs nobody any
   privacy.
4. **Count what was spent before.** Releases of the same people add up; the ledger knows ([privacy.md](privacy.md),
   section 4).

Above 10 and below 0.05 `release` has a word to say.

## What an attacker learns

Somebody knows everybody's record but one, sees the file, and wants to know whether that one person's record is in the
table (or was replaced by an empty one). No attack, whatever its means, does better than this:
"""

_BETWEEN = f"""
The *best guess* is how often they are right if they found both equally likely before; 50 % is a coin. The last column
is for whoever wants to be sure: they accuse 5 % of those who are not in the table, and find at most that share of those
who are. Both are bounds for Gaussian noise that just keeps ε at δ = {_DELTA:g}; the first is attained, the second to
within 0.2 percentage points. A person with several records in the table is protected less: two count about twice ε.

Whoever does not have everybody else's record knows less than this attacker, and whoever sees synthetic rows instead of
the file can find no more.

## What the data lose

Median over the tables of what releases with aggregates came to: error of single columns / error of tables of two
columns (total variation or Kolmogorov–Smirnov distance; 0 is perfect, 1 is nothing in common). One release of each
table, number of rows and ε; `blank-one`, δ = {_DELTA:g}, no pivot. Lines are medians over different tables, for not all
have so many rows: German credit has 1,000 and housing 20,640.
"""

_READING = """
Ten times the records do about what ten times ε does. With few hundred rows, many columns and nothing declared, no
reasonable ε gives a table worth having: `release` then refuses, before anything is spent, unless it is told `--anyway`.

## How well this can be foretold

The forecast plans the release as `release` would, and tries its noise on public shapes in place of the private
columns: the search for what is not declared is asked the questions that a release would ask. How much was chosen by
looking, and on what:

- the two constants of pairs (typical dependence, and how much noise disturbs a fit) on housing, Adult and Income and
  PublicCoverage of California, declared, among several hundred settings, for the error of pairs and then for the
  dependence kept. German credit, the simulated town and all drafted schemas had no part in that;
- the usual shapes of columns after a look at how skewed the categories of all these tables are, German credit and the
  town included; how many values columns of unknown categories are taken to have, among four choices, on Adult, drafted;
- **the factors on all releases of the first two lines**, so these lines describe what was looked at. The lines *not
  looked at* are other tables, by which nothing was chosen, and are the ones to go by.

Only releases of aggregates under `blank-one` and without a pivot were made. For records, pivots and other relations the
forecast is computed by the same rules, but nothing was held against it, and it says so. Measured errors within the
stated factor of the forecast, or within 0.01 of it:
"""


def _false_refusals(points: list[Point]) -> str:
    """Releases that would have been refused and came out better than that."""
    chosen = [point for point in points if not point["declared"]]
    refused = [point for point in chosen if point["verdict"] == "nothing"]
    wrong = [point for point in refused if point["measured"]["margins"] < verdict.NOTHING]
    worst = max(point["forecast"]["margins"] / point["measured"]["margins"] for point in chosen)
    return (
        f"Of {len(refused)} releases with something to be learnt that would have been refused, {len(wrong)} came out "
        f"with an error of columns below the limit of {verdict.NOTHING:g}. Where columns have fewer values than those "
        f"that stand for them the forecast is too gloomy, by up to {worst:.1f} times: declare such columns, or say "
        "`--anyway`."
    )


_FIXED = """
Where categories are to be learnt, their number is private, and a forecast can only take usual ones: a column with
hundreds of values comes out worse than foretold, one with two values better.

## δ

δ bounds the probability with which ε may fail. It has to be well below one over the number of records, or a mechanism
that publishes some record whole would pass. Unless you give one, it is the power of ten at or below a tenth of 1/n, at
most 10⁻⁶; where the number of records is protected, the capacity stands for n, and without one δ is 10⁻⁸.
"""


if __name__ == "__main__":
    main()
