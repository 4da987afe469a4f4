"""Forecasts against what came of releases, over a grid of tables, numbers of rows and ε.

    python benchmarks/forecast.py                       # measure what is not there yet, forecast everything anew
    python benchmarks/forecast.py --tables housing --rows 1000 --epsilons 1
    python benchmarks/forecast.py --tables              # measure nothing; forecast anew beside what was measured

A run releases some rows of a table by the public function, fits and samples as many rows, and measures the two errors
that a report shows and a forecast foretells: of single columns (total variation of listed ones, Kolmogorov–Smirnov
distance of measured ones, mean over columns) and of pairs of columns (total variation of two-way tables, measured
columns in 16 quantile bins, mean over pairs). Noise is new in every run. What was measured is kept in
``results/forecast.json``, beside its forecast in ``results/forecast_agreement.json``.

The constants of pairs were chosen on housing, Adult and the California samples, all declared. The bands were read off
all points, so they describe these and are no test on tables that nobody had seen.
"""

from __future__ import annotations

import argparse
import json
import time
from itertools import product
from typing import Any

import numpy as np

from forecast_tables import TABLES, UNSEEN, Case, load_case
from microtome.api import release
from microtome.evaluation.comparable_table import code_tables
from microtome.evaluation.dependence import pair_error
from microtome.evaluation.fidelity import column_scores
from microtome.evaluation.pairs import compare_pairs
from microtome.evaluation.tables import read_table
from microtome.forecasting import forecast
from microtome.forecasting.columns import LOST
from microtome.forecasting.prediction import BAND, BAND_BELOW, BAND_LEARNT
from microtome.progress import untold
from microtome.settings import RunSettings
from microtome.synthesis import Synthesizer
from microtome.whole_file import write_text
from results import FOLDER, ResultFile, environment

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
    points = [point_of(run) for run in results.runs]
    document = {"environment": environment(), "bands": bands(points), "points": points}
    write_text(FOLDER / "forecast_agreement.json", json.dumps(document, indent=1) + "\n")


def measured(case: Case, epsilon: float) -> dict[str, Any]:
    """Release, fit, sample and compare once."""
    clock = time.perf_counter()
    made = release(case.rows, case.schema, epsilon=epsilon, delta=DELTA, anyway=True, run=RunSettings(tell=untold))
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
            "pair_error": pair_error((pair.real, pair.synthetic) for pair in pairs.pairs.values()),
            "levels": {block.name: block.width for block in made.codebook.blocks},
        },
        "seconds": {"release": released, "fit": fitted},
    }


def point_of(run: dict[str, Any]) -> dict[str, Any]:
    """What was measured in a run, and what had been foretold of it."""
    key, found = run["key"], run["measured"]
    schema = TABLES[key["table"]]()[1]
    foretold = forecast(schema, rows=key["rows"], epsilon=key["epsilon"], delta=key["delta"])
    assert foretold.pairs is not None
    return {
        **key,
        "unseen": key["table"] in UNSEEN,
        "declared": all(column.is_declared for column in schema.columns),
        "verdict": str(foretold.verdict),
        "measured": {
            "margins": found["margins"],
            "pairs": found["pairs"],
            "kept": max(1.0 - found["pair_error"], 0.0),
            "lost": [name for name, error in found["columns"].items() if not error < LOST],
        },
        "forecast": {
            "margins": foretold.margins,
            "pairs": foretold.pairs.error,
            "kept": max(foretold.pairs.kept, 0.0),
            "lost": [column.name for column in foretold.lost],
        },
    }


def bands(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How many measured errors lie within the stated band of their forecast."""
    found = []
    for unseen, (declared, band) in product((False, True), ((True, BAND), (False, BAND_LEARNT))):
        chosen = [point for point in points if (point["declared"], point["unseen"]) == (declared, unseen)]
        shares = {error: _share_within(chosen, error, band) for error in ("margins", "pairs")}
        group = {"declared": declared, "unseen": unseen, "factor": band, "below": BAND_BELOW, "points": len(chosen)}
        found.append({**group, **shares})
    return found


def _share_within(points: list[dict[str, Any]], error: str, band: float) -> float | None:
    measured, foretold = (np.array([point[side][error] for point in points]) for side in ("measured", "forecast"))
    if not points:
        return None
    apart = np.abs(np.log(measured / foretold))
    return float(np.mean((apart <= np.log(band)) | (np.abs(measured - foretold) <= BAND_BELOW)))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="*", choices=TABLES, default=list(TABLES))
    parser.add_argument("--rows", nargs="+", type=int, default=list(ROWS))
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    return parser.parse_args()


if __name__ == "__main__":
    main()
