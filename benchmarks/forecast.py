"""Forecasts against what came of releases, over a grid of tables, numbers of rows and ε.

    python benchmarks/forecast.py                       # measure what is not there yet, forecast everything anew
    python benchmarks/forecast.py --tables housing --rows 1000 --epsilons 1
    python benchmarks/forecast.py --no-measuring        # forecast anew, beside what was measured before

A run releases some rows of a table by the public function, fits and samples as many rows, and measures the two errors
that a report shows and a forecast foretells: of single columns (total variation of listed ones, Kolmogorov–Smirnov
distance of measured ones, mean over columns) and of pairs of columns (total variation of two-way tables, measured
columns in 16 quantile bins, mean over pairs). Noise is new in every run.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from forecast_tables import TABLES, Case, load_case
from microtome.evaluation.coded import code_tables
from microtome.evaluation.fidelity import column_scores
from microtome.evaluation.pairs import compare_pairs
from microtome.evaluation.tables import read_table
from microtome.private import RunSettings, release
from microtome.synthesis import Synthesizer
from results import FOLDER, ResultFile

ROWS = (300, 1000, 3000, 10_000, 30_000)
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
DELTA = 1e-6


def main() -> None:
    options = _options()
    results = ResultFile(FOLDER / "forecast.json")
    for name, rows in product(options.tables, options.rows):
        case = load_case(name, rows)
        for epsilon in options.epsilons if case is not None else ():
            key = {"table": name, "rows": rows, "epsilon": epsilon, "delta": DELTA}
            if not results.has(key):
                results.put(key, measured(case, epsilon))


def measured(case: Case, epsilon: float) -> dict[str, Any]:
    """Release, fit, sample and compare once."""
    clock = time.perf_counter()
    made = release(case.rows, case.schema, epsilon=epsilon, delta=DELTA, anyway=True, run=RunSettings(tell=_in_silence))
    released, clock = time.perf_counter() - clock, time.perf_counter()
    model = Synthesizer(random_state=0).fit(made)
    fitted = time.perf_counter() - clock
    raw = [read_table(case.rows, "real"), read_table(model.sample(len(case.rows)), "synthetic")]
    real, synthetic = code_tables(raw, case.schema)[0]
    columns = {name: 1.0 - score for name, score in column_scores(real, synthetic).items()}
    pairs = compare_pairs(real, synthetic)
    return {
        "measured": {
            "columns": columns,
            "margins": float(np.nanmean(list(columns.values()))),
            "pairs": float(np.mean([1.0 - pair.similarity for pair in pairs.pairs.values()])),
            "pair_error": pairs.error,
            "levels": {block.name: block.width for block in made.codebook.blocks},
        },
        "seconds": {"release": released, "fit": fitted},
    }


def _in_silence(expected: str, cautions: Sequence[str]) -> None:
    """Poor releases are wanted here."""


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    parser.add_argument("--rows", nargs="+", type=int, default=list(ROWS))
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    return parser.parse_args()


if __name__ == "__main__":
    main()
