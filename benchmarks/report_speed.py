"""Speed of the report: a whole one of 200,000 × 20, and its metrics against sdmetrics' in the same process.

    python benchmarks/report_speed.py -o benchmarks/results/report_speed.json
    python benchmarks/report_speed.py --render        # only write the figures of the result file into docs/report.md

Both compute the same numbers from the same tables, in turns, and the differences between the numbers are written down
too. sdmetrics is timed on text categories, as tables come from files, and on pandas' category type, its fastest input;
ours includes the coding of the table. The made-up tables have twelve listed columns of 2 to 60 values and eight
measured ones, some with missing values, all leaning on one hidden number.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sdmetrics.single_table import (
    BinaryLogisticRegression,
    ContingencySimilarity,
    CorrelationSimilarity,
    KSComplement,
    TVComplement,
)

from microtome.evaluation import report
from microtome.evaluation.comparable_table import ComparableTable, code_tables
from microtome.evaluation.fidelity import distribution_metrics
from microtome.evaluation.tables import read_table
from microtome.evaluation.utility import binary_logistic_regression
from microtome.schema import Column, Kind, Schema
from results import FOLDER, environment

PAGE = Path(__file__).resolve().parents[1] / "docs" / "report.md"
MARKS = ("<!-- from benchmarks/results/report_speed.json -->", "<!-- end -->")
WIDTHS = (2, 2, 3, 4, 5, 6, 8, 10, 16, 24, 40, 60)
NUMBERS = 8
TARGET = "listed 0"
LISTED = [f"listed {index}" for index in range(len(WIDTHS))]
MEASURED = [f"measured {index}" for index in range(NUMBERS)]
SDMETRICS = {
    "KSComplement": KSComplement,
    "TVComplement": TVComplement,
    "ContingencySimilarity": ContingencySimilarity,
    "CorrelationSimilarity": CorrelationSimilarity,
}


def main() -> None:
    options = _options()
    if not options.render:
        _measure(options)
    _render(json.loads(options.output.read_text(encoding="utf-8")))


def _measure(options: argparse.Namespace) -> None:
    warnings.simplefilter("ignore")
    real, made = table(options.rows, 1), table(options.rows, 2, lean=0.8)
    metrics = _metrics(real, made, options.repeats)
    learnt = _logistic(real, made, options.learner_rows)
    whole = _whole(real, made)
    result = {
        "what": "seconds; metrics in turns in one process, median over repeats; differences: ours minus sdmetrics'",
        "report": whole,
        "metrics": metrics,
        "binary_logistic_regression": learnt,
        "configuration": {
            "rows": options.rows,
            "columns": len(WIDTHS) + NUMBERS,
            "learner_rows": options.learner_rows,
            "repeats": options.repeats,
        },
        "environment": environment(),
    }
    options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


def _render(result: dict[str, Any]) -> None:
    """Put the figures between their marks in the document."""
    whole, metrics, learnt = result["report"], result["metrics"], result["binary_logistic_regression"]
    largest = max(abs(value) for value in (*metrics["differences"].values(), learnt["difference"]))
    parts = ", ".join(f"{name} {seconds:.0f} s" for name, seconds in whole["parts"].items() if seconds >= 0.5)
    text = (
        f"A whole report of {whole['rows']:,} × {result['configuration']['columns']} with held-out rows took "
        f"{whole['seconds']:.0f} s on {result['environment']['cores']} shared cores ({parts}); the page has "
        f"{whole['page_bytes'] / 2**20:.1f} MiB. On the same tables, in the same process, the four metrics of "
        f"distributions took {metrics['seconds']['all four']['ours']:.1f} s, reading and coding included, "
        f"{metrics['ratio_all_four']:.1f} times less than by sdmetrics; the pairwise contingency on coded tables "
        f"{metrics['ratio_contingency']:.0f} times less, and {metrics['ratio_contingency_category_type']:.0f} times "
        f"less than sdmetrics on pandas' category type. No metric differs by more than {largest:.0e}."
    )
    before, rest = PAGE.read_text(encoding="utf-8").split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    PAGE.write_text(f"{before}{MARKS[0]}\n{text}\n{MARKS[1]}{after}", encoding="utf-8")


def table(rows: int, seed: int, lean: float = 1.0) -> pd.DataFrame:
    """Columns that lean on one hidden number."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=rows)
    columns: dict[str, Any] = {}
    for name, width in zip(LISTED, WIDTHS, strict=True):
        place = lean * hidden + rng.normal(size=rows)
        codes = np.clip(((place / 4.0 + 0.5) * width).astype(int), 0, width - 1)
        columns[name] = np.array([f"value {code}" for code in range(width)], dtype=object)[codes]
    for index, name in enumerate(MEASURED):
        values = np.exp(lean * hidden + rng.normal(size=rows)) if index % 2 else lean * hidden + rng.normal(size=rows)
        columns[name] = np.where(rng.random(rows) < 0.03 * (index % 3), np.nan, values)
    return pd.DataFrame(columns)


def _metrics(real: pd.DataFrame, made: pd.DataFrame, repeats: int) -> dict[str, Any]:
    """All four metrics of distributions, by both."""
    listed = {"columns": {name: {"sdtype": "categorical"} for name in LISTED}}
    all_columns = {"columns": {**listed["columns"], **{name: {"sdtype": "numerical"} for name in MEASURED}}}
    typed = [frame.astype(dict.fromkeys(LISTED, "category")) for frame in (real, made)]
    seconds: dict[str, dict[str, list[float]]] = {}
    found: dict[str, dict[str, float]] = {}

    def timed(who: str, what: str, work: Callable[[], float]) -> None:
        clock = time.perf_counter()
        found.setdefault(what, {})[who] = float(work())
        seconds.setdefault(what, {}).setdefault(who, []).append(time.perf_counter() - clock)

    for _ in range(repeats):
        clock = time.perf_counter()
        tables = _coded(real, made)
        ours = distribution_metrics(*tables)
        seconds.setdefault("all four", {}).setdefault("ours", []).append(time.perf_counter() - clock)
        for name, metric in SDMETRICS.items():
            pair = [frame[LISTED] if name == "ContingencySimilarity" else frame for frame in (real, made)]
            kinds = listed if name == "ContingencySimilarity" else all_columns
            timed("sdmetrics", name, lambda m=metric, p=pair, k=kinds: m.compute(*p, k))
            found[name]["ours"] = float(ours[name] or np.nan)
        pair = [frame[LISTED] for frame in typed]
        name = "ContingencySimilarity"
        timed("sdmetrics, category type", name, lambda p=pair: ContingencySimilarity.compute(*p, listed))
        narrow = [_only(one, LISTED) for one in tables]
        timed("ours, tables coded", "ContingencySimilarity", lambda n=narrow: _contingency(*n))
    medians = {what: {who: float(np.median(times)) for who, times in parts.items()} for what, parts in seconds.items()}
    theirs = sum(medians[name]["sdmetrics"] for name in SDMETRICS)
    pairs = medians["ContingencySimilarity"]
    return {
        "seconds": medians,
        "ratio_all_four": theirs / medians["all four"]["ours"],
        "ratio_contingency": pairs["sdmetrics"] / pairs["ours, tables coded"],
        "ratio_contingency_category_type": pairs["sdmetrics, category type"] / pairs["ours, tables coded"],
        "values": {name: values["ours"] for name, values in found.items()},
        "differences": {name: values["ours"] - values["sdmetrics"] for name, values in found.items()},
    }


def _contingency(real: ComparableTable, made: ComparableTable) -> float:
    return float(distribution_metrics(real, made)["ContingencySimilarity"] or np.nan)


def _only(whole: ComparableTable, names: list[str]) -> ComparableTable:
    """Some columns of a table."""
    return ComparableTable(
        origin=whole.origin,
        columns=tuple(column for column in whole.columns if column.name in names),
        labels=whole.labels,
        values={name: whole.values[name] for name in names},
        num_rows=whole.num_rows,
    )


def _logistic(real: pd.DataFrame, made: pd.DataFrame, rows: int) -> dict[str, float]:
    """BinaryLogisticRegression by both, on as many rows as a report uses."""
    test, train = real[:rows], made[:rows]
    kinds = {**dict.fromkeys(LISTED, "categorical"), **dict.fromkeys(MEASURED, "numerical"), TARGET: "boolean"}
    metadata = {"columns": {name: {"sdtype": kind} for name, kind in kinds.items()}}
    clock = time.perf_counter()
    flagged = [frame.assign(**{TARGET: frame[TARGET] == "value 1"}) for frame in (test, train)]
    theirs = float(BinaryLogisticRegression.compute(*flagged, metadata, target=TARGET))
    middle = time.perf_counter()
    tables = _coded(test, train)
    ours = binary_logistic_regression(tables[1], tables[0], TARGET)
    end = time.perf_counter()
    value = float(ours or 0.0)
    return {"sdmetrics": middle - clock, "ours": end - middle, "value": value, "difference": value - theirs}


def _whole(real: pd.DataFrame, made: pd.DataFrame) -> dict[str, Any]:
    """A whole report with held-out rows, part by part, the page included."""
    start = last = time.perf_counter()
    parts: dict[str, float] = {}

    def progress(stage: str, done: int, total: int | None, note: str = "") -> None:
        nonlocal last
        del stage, total
        if done:
            parts[note] = time.perf_counter() - last
        last = time.perf_counter()

    holdout = table(len(real) // 4, 3)
    made_report = report(real, made, holdout=holdout, target=TARGET, progress=progress)
    parts["page"] = time.perf_counter() - last
    size = len(made_report.html.encode())
    return {"seconds": time.perf_counter() - start, "parts": parts, "page_bytes": size, "rows": len(real)}


def _coded(real: pd.DataFrame, made: pd.DataFrame) -> list[ComparableTable]:
    schema = Schema(
        columns=(
            *(Column(name=name, kind=Kind.CATEGORICAL) for name in LISTED),
            *(Column(name=name, kind=Kind.FLOAT) for name in MEASURED),
        )
    )
    return code_tables([read_table(real, "real"), read_table(made, "made")], schema)[0]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--learner-rows", type=int, default=50_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--render", action="store_true", help="measure nothing")
    parser.add_argument("-o", "--output", type=Path, default=FOLDER / "report_speed.json")
    return parser.parse_args()


if __name__ == "__main__":
    main()
