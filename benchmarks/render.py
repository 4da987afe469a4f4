"""Writes docs/benchmarks.md and docs/benchmarks.html from the result files: every figure is that of runs.

python benchmarks/render.py
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from adaptation_page import section as adaptation_section
from ceiling import ceiling_section
from census import Source
from comparison import METRICS as ALL_METRICS
from comparison import Comparison
from comparison_page import sections, table
from comparison_plots import page
from drafted_page import section as drafted_section
from image_routes_page import section as image_routes_section
from linked_results import section as linked_section
from mnist_page import section as mnist_section
from quality_plot import section as quality_section
from readme_table import update as update_readme
from results import FOLDER

METRICS = {name: title for name, title in ALL_METRICS.items() if name not in ("trees", "detector_auc", "triples")}
"""What the runs of single losses were measured by."""
PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
_SOURCES = (Source.STATES, Source.CALIFORNIA, Source.ADULT, Source.HOUSING, Source.GERMAN_CREDIT)
Run = dict[str, Any]


def main() -> None:
    records = _runs("records_quality")
    comparison, *others = (Comparison(source) for source in _SOURCES)
    parts = [_INTRODUCTION, _machine(records), *sections([comparison, *others])]
    parts += quality_section(comparison)
    parts += drafted_section()
    parts += linked_section()
    parts += ceiling_section([comparison, *others])
    parts += _choices()
    parts += _losses(records)
    parts += mnist_section()
    parts += image_routes_section()
    parts += adaptation_section()
    parts += _throughput()
    parts += _sampling()
    parts += _counting()
    parts += _width()
    parts += _large()
    parts += _engines()
    parts += _kernel()
    PAGE.write_text("\n\n".join(part.strip() for part in parts if part) + "\n", encoding="utf-8")
    if comparison.runs:
        update_readme(comparison)
        PAGE.with_suffix(".html").write_text(page(comparison), encoding="utf-8")


_INTRODUCTION = """
# Benchmarks

Rendered by `benchmarks/render.py` from the JSON files in `benchmarks/results`. Nothing here is typed by hand.

The data are the five ACS prediction tasks of 14 whole US states (2018), 80 % of the rows for training; they are not the
California tables of the paper. δ = 1e-5, `blank-one` neighbours, the profile inside ε. A seed chooses the split and the
training's randomness; the release's noise is new in every run. Figures are mean ± standard deviation over the seeds.
KSComp, TVComp, ContSim, CorrSim and LR F1 are sdmetrics' KSComplement, TVComplement, ContingencySimilarity,
CorrelationSimilarity and BinaryLogisticRegression; LR AUC is the ROC-AUC on real test rows of a logistic regression
trained on synthetic ones; *trees* is the same of boosted trees (R² of housing, whose target is a number), which runs
from before it was measured do not have. *Pair error* is the error of what pairs of columns share beyond their margins,
relative to the size of that: 0 is perfect, 1 is what independent columns have, more than 1 is worse than these. Figures
of classifiers are in brackets where they are chance (pair error 0.98 or more, AUC below 0.6): one that was taught
nothing may be far below one half too. Code lists are declared as public; for want of the survey's code book they are
the codes that occur anywhere in the file. Numeric are the columns that the paper counts as such (in Mobility AGEP and
PINCP; WKHP and JWMNP are categories there).

To repeat: `make bench-env`, then `make bench` (all of it takes a day of processor time; `TASKS`, `METHODS`, `EPSILONS`
and `SEEDS` choose, and what is there is not run again), then `make bench-report`. `make bench SOURCE=folktables` takes
the paper's own tables where there is internet.

Read these with two reservations. The training recipe of records (the target's share of the unit ball, the denoising,
bins, weights and steps) was chosen while looking at test metrics of the California sample and also of Employment,
PublicCoverage and TravelTime of these same 14 states, so its figures of those tasks are somewhat optimistic. The
recipe of aggregates (mixture, prior, budget shares, no pivot, margins, correlations, pooling, bins, balanced draws,
rounding) was chosen on the California samples of Income, PublicCoverage and Mobility and on Adult. Of the 14 states
the numeric margins of TravelTime were looked at, for the smoothing of tails, and tables and correlations of
TravelTime, Income and Mobility, to see what was missing; the figures of earlier recipes were known. The number of
components was looked into after AIM's larger model had won the detector on PublicCoverage here, and was settled on
California and Adult. That records leave out dependence within the noise, and how large that noise is, was settled by
derivation, on tables without dependence and on California and Adult, after figures on the 14 states had shown the need.
Members, neighbours and the number of components were settled on California, Adult and housing; that 200 steps do where
the noise is strong was seen there first, but taken up after 400 had been tried on a few of these 14 states.
The settings of rival methods were chosen on the California sample and on Employment; MST, AIM and PrivBayes, which
take categories, have 32 quantile bins of numbers, common values apart, and rounding as Microtome has it, for a tenth
of ε (that bins share what common values leave, as those of aggregates do, was tried with AIM on Adult, and did not
help it). Seeds were not chosen. And rows with one or two seeds say so; each run's commit is in the JSON.
"""


def _machine(runs: list[Run]) -> str:
    last = runs[-1]["environment"]
    versions = ", ".join(f"{name} {value}" for name, value in last["versions"].items() if value)
    return f"Machine: {last['cores']} cores, no GPU, shared with other work; Python {last['python']}, {versions}."


def _choices() -> list[str]:
    runs = _runs("aggregate_choices")
    tasks = sorted({run["key"]["task"] for run in runs})
    rows = []
    for choice in dict.fromkeys(run["key"]["choice"] for run in runs if "similarity" in run["metrics"]):
        wanted = {"choice": choice, "epsilon": _CHOICES_EPSILON}
        chosen = [_matching(runs, {**wanted, "task": task}) for task in tasks]
        cells = [_spread([run["metrics"]["similarity"] for run in found], "{:.4f}") for found in chosen]
        rows.append([choice, *cells, min(len(found) for found in chosen)])
    if not rows:
        return []
    metrics = {
        "contingency": "ContSim",
        "pair_error": "pair error",
        "f1": "F1",
        "auc": "AUC",
        "detector_auc": "detector",
        "triples": "3-way",
    }
    whole = []
    for task, epsilon, choice in product(tasks, sorted({run["key"]["epsilon"] for run in runs}), _WHOLE):
        found = _matching(runs, {"task": task, "epsilon": epsilon, "choice": choice})
        cells = [_spread([run["metrics"][one] for run in found], "{:.3f}") for one in metrics]
        whole += [[task, epsilon, choice, *cells, len(found)]] if found else []
    return [
        "## What aggregates were chosen by",
        _CHOICES,
        table(["", *tasks, "seeds"], rows),
        "Synthetic rows of the default (1,024 components), with the target as pivot, with 16 bins of numbers as in "
        "records, with fewer and more components, with components that are trained together as one, and with bins of "
        "numbers that do not learn from those next to them. Rows of other dates in the JSON are of other code:",
        table(["task", "ε", "", *metrics.values(), "seeds"], whole),
    ]


_CHOICES_EPSILON = 1.0
_WHOLE = (
    "default",
    "the target as pivot",
    "16 bins of numbers",
    "256 components",
    "2048 components",
    "one member",
    "no smoothness",
    "one member, no smoothness",
    "no likeness",
)
_CHOICES = """
California samples and Adult, ε = 1. Similarity (1 − total variation, mean over pairs of columns) between the true
tables of the coded levels and those of the fitted mixture, before any row is drawn. A tenth of the information is held
out, in three ways, or nothing. The budget is shared among pairs of columns by the size of their tables; sharing it by
their *true* dependence shows what a second round, which has to guess that through noise, could gain at most. Below,
one thing at a time is taken from the default.
"""


_LOSSES = """
These runs are older than those of the comparison above: the default did not yet leave out dependence within the noise.
"""


def _losses(runs: list[Run]) -> list[str]:
    known = {"real rows", "independent columns", "default"}
    tasks = sorted({run["key"]["task"] for run in runs if run["key"]["method"] not in known})
    parts = ["## What each loss gives, alone and combined (records)", _LOSSES] if tasks else []
    for task in tasks:
        methods = sorted({run["key"]["method"] for run in runs if run["key"]["task"] == task} - known)
        rows = []
        for method in ["independent columns", "default", *methods]:
            chosen = _matching(runs, {"task": task, "method": method})
            seconds = [run["seconds"]["fit"] for run in chosen if "seconds" in run]
            title = "moments (the default)" if method == "default" else method
            rows.append([title, *_cells(chosen), _spread(seconds, "{:.0f}") if seconds else "", len(chosen)])
        parts += [f"### {task}, ε = 5.1", table(["", *METRICS.values(), "fit, s", "seeds"], rows)]
    return parts


def _throughput() -> list[str]:
    document = _read("release_throughput")
    if document is None:
        return []
    rows = [
        [
            f"{size['rows']:,}",
            f"{size['rows_per_second']:,.0f}",
            f"{size['ratio_to_floor']:.2f}",
            f"{size['core_ratio_to_floor']:.2f}",
            f"{size['peak_mebibytes']:,.0f}",
            f"{size['file_bytes'] / 2**20:,.0f}",
        ]
        for size in document["sizes"]
    ]
    heading = ["rows", "rows/s", "time / floor", "core seconds / floor", "peak memory, MiB", "file, MiB"]
    return ["## Throughput of `release`", document["floor"], table(heading, rows)]


def _sampling() -> list[str]:
    document = _read("sample_speed")
    if document is None:
        return []
    rows = [
        [
            size["table"],
            size["columns"],
            f"{size['rows']:,}",
            f"{size['rows_a_core_second']['draw']:,.0f}",
            f"{size['ratio_to_arrow']['draw']:.1f}",
            f"{size['rows_a_core_second']['to file']:,.0f}",
            f"{size['ratio_to_arrow']['to file']:.1f}",
            f"{size['peak_mebibytes']:,.0f}" if "peak_mebibytes" in size else "–",
        ]
        for size in document["sizes"]
    ]
    heading = [
        "table",
        "columns",
        "rows",
        "rows drawn a core second",
        "time / Arrow's writing",
        "to a file",
        "time / Arrow's",
    ]
    return ["## Speed of `sample`", document["what"], table([*heading, "peak memory, MiB"], rows)]


def _counting() -> list[str]:
    document = _read("count_speed")
    if document is None:
        return []
    share = "one-hot product, a fiftieth of the rows"
    rows = [
        [
            name,
            *(f"{run['core_seconds'][way]:.2f}" for way in ("ours", "DuckDB", share)),
            f"{run['ratio_to_duckdb']:.2f}",
            "yes" if run["counts_agree"] else "no",
        ]
        for name, run in document["tables"].items()
    ]
    size = document["configuration"]
    return [
        f"## Counting all pairs of {size['columns']} columns, {size['rows']:,} rows",
        document["what"] + " Core seconds:",
        table(["", "ours", "DuckDB", share, "ours / DuckDB", "counts agree"], rows),
    ]


def _width() -> list[str]:
    document = _read("wide_tables")
    if document is None:
        return []
    rows = [
        [
            size["columns"],
            f"{size['epsilon']:g}",
            size["levels"],
            *(
                f"{size[part]['seconds']:.0f} ({size[part]['core_seconds']:.0f})"
                for part in ("release", "fit", "sample")
            ),
            f"{size['peak_mebibytes']:,.0f}",
            *(f"{pairs['synthetic']:.3f} / {pairs['independent columns']:.3f}" for pairs in size["pairs"].values()),
        ]
        for size in document["sizes"]
    ]
    heading = ["columns", "ε", "levels", "release, s (core s)", "fit", "sample", "peak memory, MiB"]
    heading += ["pair TV within groups / independent", "across groups / independent"]
    return [f"## Wide tables, {document['configuration']['rows']:,} rows", document["what"], table(heading, rows)]


def _large() -> list[str]:
    document = _read("large_tables")
    if document is None:
        return []
    rows = [
        [
            f"{run['rows']:,}",
            run["source"],
            f"{run['input_bytes'] / 2**20:,.0f}",
            f"{run['seconds']:.0f} ({run['core_seconds']:.0f})",
            f"{run['rows_a_second']:,.0f}",
            f"{run['peak_mebibytes']:,.0f}",
        ]
        for run in document["runs"]
    ]
    size = document["configuration"]
    return [
        "## Tables larger than memory",
        f"Releases of aggregates of 20 columns in {size['files']} Parquet files, {size['threads']} threads, a process "
        "each: a folder, a data set of pyarrow, and a stream that is copied first. Memory does not grow with the rows; "
        "time does, in proportion. `benchmarks/large_tables.py --rows 100000000` runs ten times the largest.",
        table(["rows", "source", "files, MiB", "release, s (core s)", "rows/s", "peak memory, MiB"], rows),
    ]


def _engines() -> list[str]:
    document = _read("engines")
    if document is None:
        return []
    alike: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for run in document["runs"]:
        alike.setdefault((run["rows"], run["engine"]), []).append(run)
    rows = [
        [
            f"{number:,}",
            engine,
            str(len(runs)),
            *(_over_runs(_figures(runs, f"{job}core_seconds")) for job in ("", "again_", "floor_", "values_")),
            *(_ratio(runs, job, floor) for floor in ("floor", "values") for job in ("", "again_")),
            _over_runs(_figures(runs, "seconds")),
            f"{max(_figures(runs, 'peak_mebibytes')):,.0f}",
            f"{mean(_figures(runs, 'load')):.0f}",
        ]
        for (number, engine), runs in alike.items()
    ]
    bins = document["configuration"]["bins"]
    return [
        "## Counting on Spark",
        "Releases of aggregates of 20 columns in Parquet files: by this process, on Spark on this machine or on a "
        "cluster of two workers of one core. Executors read the files themselves. There are two floors, jobs of "
        "Spark's own that read the same columns once. The *bare* one counts the values of each column that are not "
        "missing. The other counts the *values*: how often each occurs, a group-by for each column, floats in "
        f"{bins} bins or by octaves. A release looks at all columns twice, at those that it has to search more often, "
        "and counts all pairs of columns and sets of three. Spark is warm by then; the workers of Python are not, and "
        "start within the first release of a session. *Again* is a second release in the same session. Ratios are of "
        "core seconds, of all processes, Java's included, each to the floor of its own run; with several runs there is "
        "the standard deviation over them. *Load* says how many processes wanted one of the two cores: core seconds "
        "say more than seconds, though a crowded core takes more of them too.",
        table(
            [
                *("rows", "engine", "runs", "core s", "again", "bare floor", "values floor", "ratio to bare"),
                *("again", "ratio to values", "again", "s", "peak memory, MiB", "load"),
            ],
            rows,
        ),
    ]


def _figures(runs: list[dict[str, Any]], name: str) -> list[float]:
    return [run[name] for run in runs if name in run]


def _over_runs(found: list[float]) -> str:
    """The mean, and the standard deviation where there are several."""
    if not found:
        return ""
    digits = 1 if mean(found) < 100 else 0
    return f"{mean(found):.{digits}f}" + (f" ± {stdev(found):.{digits}f}" if len(found) > 1 else "")


def _ratio(runs: list[dict[str, Any]], job: str, floor: str) -> str:
    both = f"{job}core_seconds", f"{floor}_core_seconds"
    return _over_runs([run[both[0]] / run[both[1]] for run in runs if all(figure in run for figure in both)])


_KERNEL = """
## The kernel estimators

One step, forward and backward, one thread, estimators taken in turns in one process; median. *Printed* is Algorithm 1
written out, a slice and a bandwidth at a time. *Batched* is the same estimator on all slices and bandwidths at once,
which trains in its place (`algorithm1`), with a batch of released rows for every step as printed, or with one that
serves 16 steps, the default. *Landmarks* (`kernel`) has all {rows:,} released rows summarised beforehand.
"""


def _kernel() -> list[str]:
    documents = [found for name in ("kernel_speed", "kernel_speed_paper") if (found := _read(name)) is not None]
    if not documents:
        return []
    names = {
        "reference": "printed",
        "batched": "batched",
        "batched, a batch for 16 steps": "batched, a batch for 16 steps",
        "fast": "landmarks",
    }
    heads = ["", *("{slices} slices of {slice_dim}, {batch} rows".format(**one["configuration"]) for one in documents)]
    rows = []
    for name, title in names.items():
        cells = []
        for one in documents:
            seconds, ratio = one["seconds_per_step"][name], one["ratios_to_reference"][name]
            cells.append(f"{1000 * seconds:.1f} ms" + (f", {ratio:.1f} times as fast" if name != "reference" else ""))
        rows.append([title, *cells])
    parts = [_KERNEL.format(rows=min(documents[0]["configuration"]["rows"])), table(heads, rows)]
    by_rows = documents[0]["fast_seconds_per_step_by_rows"]
    flat = ", ".join(f"{1000 * seconds:.1f} ms with {int(rows):,}" for rows, seconds in by_rows.items())
    return [*parts, f"A step with landmarks does not depend on the number of released rows: {flat}."]


def _runs(name: str) -> list[Run]:
    document = _read(name)
    return [] if document is None else document["runs"]


def _read(name: str) -> Any:
    path = FOLDER / f"{name}.json"
    return json.loads(path.read_text()) if path.exists() else None


def _matching(runs: list[Run], wanted: dict[str, Any]) -> list[Run]:
    return [run for run in runs if all(run["key"].get(name) == value for name, value in wanted.items())]


def _cells(runs: list[Run]) -> list[str]:
    return [_spread([run["metrics"][name] for run in runs]) for name in METRICS]


def _spread(values: Iterable[float | None], form: str = "{:.3f}") -> str:
    present = [value for value in values if value is not None]
    if not present:
        return "–"
    return form.format(mean(present)) + (f" ± {form.format(stdev(present))}" if len(present) > 1 else "")


if __name__ == "__main__":
    main()
