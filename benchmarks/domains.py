"""Are bounds ever learnt far beyond the numbers there are? Searches and profiles of the shared tables, drafted.

    python benchmarks/domains.py
    python benchmarks/domains.py --tables german_credit --releases 10

Nothing is declared but the target. Only the passes up to the profile are made, over and over, each with new noise: what
follows has no part in bounds. *Width* is that of learnt bounds over that of the values. A *false alarm* is a bound
farther beyond the values than they are wide, or than they are from zero: an octave that holds them all is coarse, and
still where they are. Columns that a release reports as not learnt have one cell and are counted apart.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import pandas as pd

from drafted import DELTA, TABLES, Example
from microtome.private import SystemRandomness, TableSource, open_table
from microtome.schema import Codebook, NumberCells
from microtome.settings import PrivacySettings, RunSettings
from results import FOLDER, ResultFile

ROWS = (800, 4_000)
CHOSEN = ("housing", "Adult", "Income (California)", "german_credit")
_SEED = 0


def profiled(source: TableSource, settings: PrivacySettings) -> Codebook:
    """The codebook that a release would have, by its search and profile alone."""
    table = source.table
    assert table.num_rows is not None
    blocks = list(source.blocks(table.num_rows))
    randomness, current = SystemRandomness(), source.plan(settings, RunSettings()).first
    while True:
        for block in blocks:
            current.add(block)
        published = current.publish(randomness, table.num_rows)
        if published.codebook:
            return Codebook.from_parts(source.schema, published.codebook, published.arrays)
        current = published.following


@dataclass(frozen=True)
class Learnt:
    """Learnt bounds of one column."""

    width: float
    is_false: bool


def bounds(codebook: Codebook, frame: pd.DataFrame) -> tuple[list[Learnt], int]:
    """The bounds of all columns whose bounds were learnt, and of how many nothing was."""
    found, unlearnt = [], 0
    for code in codebook.codes:
        if code.column.is_declared or not isinstance(code.cells, NumberCells):
            continue
        unlearnt += not code.is_learnt
        if code.is_learnt:
            values = frame[code.column.name].dropna().astype(float)
            low, high = code.cells.edges[[0, -1]] - [0.0, float(code.cells.integral)]
            first, last = values.min(), values.max()
            reach = max(last - first, abs(first), abs(last))
            is_false = bool(low < first - reach or high > last + reach)
            found.append(Learnt(float((high - low) / (last - first)), is_false))
    return found, unlearnt


def run(example: Example, epsilon: float, releases: int) -> dict[str, Any]:
    """The widest of many profiles, and how many are false alarms."""
    source = TableSource(table=open_table(example.frame), schema=example.drafted())
    settings = PrivacySettings(epsilon=epsilon, delta=DELTA)
    found = [bounds(profiled(source, settings), example.frame) for _ in range(releases)]
    every = [one for learnt, _ in found for one in learnt]
    return {
        "releases": releases,
        "bounds": len(every),
        "not_learnt": sum(number for _, number in found),
        "widest": max((one.width for one in every), default=0.0),
        "wider_than_twice": sum(one.width > 2.0 for one in every),
        "false_alarms": sum(one.is_false for one in every),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", choices=list(TABLES), default=list(CHOSEN))
    parser.add_argument("--rows", nargs="+", type=int, default=list(ROWS))
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--releases", type=int, default=150)
    options = parser.parse_args()
    results = ResultFile(FOLDER / "domains.json")
    for rows in options.rows:
        for name in options.tables:
            whole = TABLES[name](_SEED)
            key = {"table": name, "rows": rows, "epsilon": options.epsilon}
            if rows > len(whole.frame) or results.has(key):
                continue
            frame = whole.frame.sample(rows, random_state=_SEED).reset_index(drop=True)
            found = run(Example(frame=frame, declared=whole.declared), options.epsilon, options.releases)
            results.put(key, found)
            print(key, found, flush=True)


if __name__ == "__main__":
    main()
