"""Tables of hundreds of columns: seconds and memory of release, fit and sample, and what is learnt of pairs.

    python benchmarks/wide_tables.py -o benchmarks/results/wide_tables.json

The table is simulated: columns of four kinds (six categories, booleans, whole numbers, floats), ten to a group, each
leaning on the hidden number of its group (r = 0.64 between two of a group, before they are cut), groups independent.
Each run is a process of its own, so that peak memory (``ru_maxrss``) is that of one run. Core seconds are given beside
seconds, which other work on the machine disturbs more. Similarity is that of two-way tables of nine bins at most, mean
total variation between real and synthetic ones, over the pairs within groups and over random pairs; beside it that of
the product of the synthetic margins, which is what independent columns would have.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from results import FOLDER, environment

GROUP = 10
BINS = 9
RANDOM_PAIRS = 4000
DELTA = 1e-6
SEED = 0
Codes = list[NDArray[np.int64]]


def table(rows: int, columns: int) -> pd.DataFrame:
    """Groups of ten columns that lean on one hidden number each."""
    rng = np.random.default_rng(SEED)
    found: dict[str, Any] = {}
    for number in range(columns):
        if number % GROUP == 0:
            hidden = rng.normal(size=rows)
        place = 0.8 * hidden + 0.6 * rng.normal(size=rows)
        match number % 4:
            case 0:
                found[f"c{number}"] = np.array(list("abcdef"))[np.clip(((place / 4 + 0.5) * 6).astype(int), 0, 5)]
            case 1:
                found[f"c{number}"] = place > 0.3
            case 2:
                found[f"c{number}"] = np.clip(np.round(40 + 15 * place), 0, 99).astype(np.int64)
            case _:
                found[f"c{number}"] = np.clip(np.exp(place), 0.0, 50.0)
    return pd.DataFrame(found)


def schema(columns: int) -> Any:
    from microtome.schema import Column, Kind, Schema

    kinds: list[dict[str, Any]] = [
        {"kind": Kind.CATEGORICAL, "categories": tuple("abcdef")},
        {"kind": Kind.BOOLEAN},
        {"kind": Kind.INTEGER, "bounds": (0, 99)},
        {"kind": Kind.FLOAT, "bounds": (0.0, 50.0)},
    ]
    made = [Column(name=f"c{number}", missing=False, **kinds[number % 4]) for number in range(columns)]
    return Schema(columns=tuple(made), target="c1")


def measure(rows: int, columns: int, epsilon: float) -> dict[str, Any]:
    """One table released, fitted and sampled by default settings."""
    from microtome import Synthesizer, release

    frame, figures = table(rows, columns), {}

    def timed(what: str, work: Any) -> Any:
        clock, cores = time.perf_counter(), time.process_time()
        done = work()
        figures[what] = {"seconds": time.perf_counter() - clock, "core_seconds": time.process_time() - cores}
        return done

    released = timed("release", lambda: release(frame, schema(columns), epsilon=epsilon, delta=DELTA, anyway=True))
    model = timed("fit", lambda: Synthesizer(random_state=SEED).fit(released))
    drawn = timed("sample", lambda: model.sample(rows, random_state=SEED))
    figures["peak_mebibytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    figures["levels"] = released.codebook.dim
    figures["best_step"] = model.fit_.best_step
    return {**figures, "pairs": _pairs(frame, drawn)}


def _pairs(real: pd.DataFrame, drawn: pd.DataFrame) -> dict[str, dict[str, float]]:
    rng, columns = np.random.default_rng(SEED), real.shape[1]
    codes = [_codes(real[name], drawn[name]) for name in real.columns]
    within = [pair for start in range(0, columns, GROUP) for pair in combinations(range(start, start + GROUP), 2)]
    others = [(int(a), int(b)) for a, b in rng.integers(0, columns, (RANDOM_PAIRS, 2)) if a // GROUP != b // GROUP]
    return {
        name: {
            "synthetic": float(np.mean([_apart(codes[a], codes[b]) for a, b in pairs])),
            "independent columns": float(np.mean([_apart(codes[a], codes[b], alone=True) for a, b in pairs])),
        }
        for name, pairs in (("within groups", within), ("across groups", others))
    }


def _codes(real: pd.Series, drawn: pd.Series) -> Codes:
    """Values as categories, or as bins of the real ones."""
    if real.dtype.kind in "if":
        edges = np.unique(np.quantile(real, np.arange(1, BINS) / BINS))
        return [np.searchsorted(edges, np.asarray(one, dtype=float), side="right") for one in (real, drawn)]
    names = sorted(set(real))
    return [np.asarray(one.map(names.index), dtype=np.int64) for one in (real, drawn)]


def _apart(first: Codes, second: Codes, *, alone: bool = False) -> float:
    """Total variation between the real table of two columns and the synthetic one, or the product of its margins."""
    tables = [np.bincount(a * BINS + b, minlength=BINS**2) / len(a) for a, b in zip(first, second, strict=True)]
    if alone:
        margins = [np.bincount(one[1], minlength=BINS) / len(one[1]) for one in (first, second)]
        tables[1] = np.outer(*margins).ravel()
    return float(np.abs(tables[0] - tables[1]).sum() / 2)


def main() -> None:
    options = _options()
    if options.columns is not None:
        print(json.dumps(measure(options.rows, options.columns, options.epsilon)))
        return
    runs: list[dict[str, Any]] = []
    for columns, epsilon in options.runs:
        command = [sys.executable, __file__, f"--columns={columns:g}", f"--epsilon={epsilon}", f"--rows={options.rows}"]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        runs.append({"columns": int(columns), "epsilon": epsilon, **json.loads(done.stdout.splitlines()[-1])})
        document = {
            "what": " ".join((__doc__ or "").split("\n\n")[-1].split()),
            "configuration": {"rows": options.rows, "delta": DELTA, "seed": SEED, "group": GROUP},
            "sizes": runs,
            "environment": environment(),
        }
        options.output.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        print(json.dumps(runs[-1]), flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument(
        "--runs",
        type=lambda text: tuple(map(float, text.split(":"))),
        nargs="+",
        default=[(400, 1), (400, 5), (100, 1)],
        help="columns:ε of each run",
    )
    parser.add_argument("-o", "--output", type=Path, default=FOLDER / "wide_tables.json")
    parser.add_argument("--columns", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--epsilon", type=float, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
