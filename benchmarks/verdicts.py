"""Does the verdict from a release alone rank synthetic tables as the one from the real rows does?

    python benchmarks/verdicts.py                   # every table, 300 to 4,000 rows, three ε, declared and drafted
    python benchmarks/verdicts.py --rows 16000      # the same of more rows, which takes longer
    python benchmarks/verdicts.py --render          # the table of docs/report.md from what was measured

Each run takes some rows of a table, releases them, fits the default model with default settings and draws as many rows.
Both verdicts are then given, by the same formula: on the real rows, and on the release alone. The rows and the model's
randomness go by the seed; the release's noise is new each time, as it has to be. Runs that are in the result file are
not run again. The formulas were settled on housing, Adult and California with seed 0; what is committed is seed 1.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from microtome.api import release
from microtome.evaluation.comparable_table import code_tables
from microtome.evaluation.distributions import compare_column
from microtome.evaluation.pairs import compare_pairs
from microtome.evaluation.released_pairs import compare_with_release
from microtome.evaluation.tables import read_table
from microtome.evaluation.verdict import Verdict, judge
from microtome.published import Release
from microtome.synthesis import Synthesizer
from results import FOLDER, ResultFile
from verdict_tables import TABLES, load

RESULTS = FOLDER / "verdicts.json"
PAGE = Path(__file__).resolve().parents[1] / "docs" / "report.md"
BEGIN, END = "<!-- from benchmarks/results/verdicts.json -->", "<!-- end -->"
_DELTA = 1e-6
_SETTLED_ON = ("housing", "adult", "california")
"""Tables that the formulas were settled on, with other rows and other noise."""


def main() -> None:
    options = _options()
    results = ResultFile(options.results)
    if not options.render:
        for name in options.tables:
            _run_table(name, options, results)
    if options.results == RESULTS:
        _write_page(results.runs)


def _run_table(name: str, options: argparse.Namespace, results: ResultFile) -> None:
    table = load(name)
    for rows, declared, epsilon in product(options.rows, (True, False), options.epsilons):
        key = {"table": name, "rows": rows, "declared": declared, "epsilon": epsilon, "seed": options.seed}
        if rows > len(table.frame) or results.has(key):
            continue
        frame = table.some(rows, options.seed)
        schema = table.schema(frame, declared=declared)
        published = release(frame, schema, epsilon=epsilon, delta=_DELTA, anyway=True)
        made = Synthesizer(random_state=options.seed).fit(published).sample(rows)
        both = verdicts(frame, made, published)
        results.put(key, {side: asdict(verdict) for side, verdict in both.items()})
        print(key, *(f"{side} {verdict.score:.3f}" for side, verdict in both.items()), flush=True)


def verdicts(real: pd.DataFrame, made: pd.DataFrame, published: Release) -> dict[str, Verdict]:
    """The verdict on real rows, and the one on the release alone."""
    raw = [read_table(real, "the real table"), read_table(made, "the synthetic table")]
    (true, synthetic), _ = code_tables(raw, published.schema)
    columns = [compare_column(column, true, synthetic) for column in published.schema.columns]
    (alone,), _ = code_tables(raw[1:], published.schema)
    released, pairs = compare_with_release(published, alone, np.random.default_rng(0))
    return {
        "private": judge(columns, compare_pairs(true, synthetic), from_real_rows=True),
        "public": judge(released, "none" if pairs is None else pairs, from_real_rows=False),
    }


def _write_page(runs: list[dict[str, Any]]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{rendered(runs)}\n{END}{rest.split(END, 1)[1]}", encoding="utf-8")


def rendered(runs: list[dict[str, Any]]) -> str:
    """What was tried, and how alike both verdicts rank, over all runs and by table."""
    chosen = {
        "all": runs,
        "of tables that nothing was settled on": [run for run in runs if run["key"]["table"] not in _SETTLED_ON],
        **{name: [run for run in runs if run["key"]["table"] == name] for name in TABLES},
        "declared": [run for run in runs if run["key"]["declared"]],
        "drafted": [run for run in runs if not run["key"]["declared"]],
        **{f"{rows:,} rows": [run for run in runs if run["key"]["rows"] == rows] for rows in _tried(runs, "rows")},
    }
    heads = "runs | number | rank correlation | difference | apart | inside the band | same word | praised wrongly"
    lines = [_grid(runs), "", f"| {heads} |", "|---" * (heads.count("|") + 1) + "|"]
    lines += [_line(name, found) for name, found in chosen.items() if found]
    return "\n".join(lines)


def _grid(runs: list[dict[str, Any]]) -> str:
    tables, rows, epsilons = (_tried(runs, what) for what in ("table", "rows", "epsilon"))
    return (
        f"{len(runs)} runs: {rows[0]:,} to {rows[-1]:,} rows of {len(tables)} tables, at ε of "
        f"{', '.join(f'{epsilon:g}' for epsilon in epsilons)}, with columns declared and merely drafted."
    )


def _tried(runs: list[dict[str, Any]], what: str) -> list[Any]:
    return sorted({run["key"][what] for run in runs})


def _line(name: str, runs: list[dict[str, Any]]) -> str:
    both = [(run["private"], run["public"]) for run in runs]
    scores = np.array([(true["score"], told["score"]) for true, told in both])
    inside = np.mean([told["band"][0] <= true["score"] <= told["band"][1] for true, told in both])
    same = np.mean([true["level"] == told["level"] for true, told in both])
    wrongly = sum(true["level"] in ("poor", "little") and told["level"] == "good" for true, told in both)
    rank, apart = spearmanr(scores).statistic, np.diff(scores)
    shares = (f"{100 * share:.0f} %" for share in (inside, same))
    distances = f"{apart.mean():+.3f}".replace("-", "−"), f"{np.abs(apart).mean():.3f}"
    cells = (name, len(runs), f"{rank:.3f}", *distances, *shares, wrongly)
    return f"| {' | '.join(map(str, cells))} |"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--rows", nargs="+", type=int, default=[300, 1_000, 4_000])
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.3, 1.0, 4.0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--render", action="store_true", help="only write the table")
    return parser.parse_args()


if __name__ == "__main__":
    main()
