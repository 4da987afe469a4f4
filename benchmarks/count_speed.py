"""Speed of counting all pairs of columns: against DuckDB's grouping sets and a one-hot product, on one thread.

    OMP_NUM_THREADS=1 python benchmarks/count_speed.py -o benchmarks/results/count_speed.json

All start from the same coded levels in memory, ours in blocks of the size that a release has, DuckDB from a table of
its own with the smallest type. They take turns in one process, and the least core seconds of the repeats count. The
counts are compared too. The one-hot product, which is what counted before, is timed on a fiftieth of the rows.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microtome.private.pair_counts import pair_counts
from results import FOLDER, environment

WIDTHS = {
    "mixed, 2 to 32 levels": (2, 2, 3, 4, 5, 6, 8, 10, 16, 24, 32, 32),
    "2 levels each": (2,) * 12,
    "32 levels each": (32,) * 12,
    "100 levels each": (100,) * 12,
}
BLOCK_ROWS, PRODUCT_ROWS = 1 << 16, 1 << 12
SEED = 0
Ints = NDArray[np.int64]


def levels_of(rows: int, widths: tuple[int, ...]) -> Ints:
    """Columns that lean on one hidden number."""
    rng = np.random.default_rng(SEED)
    hidden = rng.normal(size=rows)
    places = [hidden + rng.normal(size=rows) for _ in widths]
    return np.stack(
        [np.clip((p / 6 + 0.5) * w, 0, w - 1).astype(np.int64) for p, w in zip(places, widths, strict=True)]
    )


def ours(levels: Ints, widths: tuple[int, ...]) -> Ints:
    starts = range(0, levels.shape[1], BLOCK_ROWS)
    total: Ints = sum(pair_counts(levels[:, start : start + BLOCK_ROWS], widths) for start in starts)
    return total


def one_hot(levels: Ints, widths: tuple[int, ...]) -> Ints:
    starts, total = np.cumsum([0, *widths]), np.zeros((sum(widths), sum(widths)))
    for first in range(0, levels.shape[1], PRODUCT_ROWS):
        block = levels[:, first : first + PRODUCT_ROWS].T
        rows = np.zeros((len(block), starts[-1]), np.float32)
        rows[np.arange(len(block))[:, None], starts[:-1] + block] = 1.0
        total += rows.T @ rows
    return total.astype(np.int64)


def duck(table: pa.Table, connection: duckdb.DuckDBPyConnection) -> pa.Table:
    pairs = ", ".join(f"({a}, {b})" for a, b in combinations(table.column_names, 2))
    names = ", ".join(table.column_names)
    return connection.sql(f"SELECT {names}, count(*) AS n FROM coded GROUP BY GROUPING SETS ({pairs})").to_arrow_table()


def measure(rows: int, widths: tuple[int, ...], repeats: int) -> dict[str, Any]:
    """Least core seconds of each way, and whether the counts agree."""
    levels = levels_of(rows, widths)
    coded = pa.table({f"c{number}": one.astype(np.uint8) for number, one in enumerate(levels)})
    connection = duckdb.connect(config={"threads": 1})
    connection.register("coded", coded)
    connection.sql("CREATE TABLE kept AS SELECT * FROM coded")
    connection.unregister("coded")
    connection.sql("ALTER TABLE kept RENAME TO coded")
    few = levels[:, : rows // 50]
    ways: dict[str, Callable[[], Any]] = {
        "ours": lambda: ours(levels, widths),
        "DuckDB": lambda: duck(coded, connection),
        "one-hot product, a fiftieth of the rows": lambda: one_hot(few, widths),
    }
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    found: dict[str, Any] = {}
    for _ in range(repeats):
        for way, work in ways.items():
            clock = time.process_time()
            found[way] = work()
            seconds[way].append(time.process_time() - clock)
    least = {way: min(times) for way, times in seconds.items()}
    product = found["one-hot product, a fiftieth of the rows"]
    return {
        "core_seconds": least,
        "ratio_to_duckdb": least["ours"] / least["DuckDB"],
        "counts_agree": _agree(found["ours"], found["DuckDB"], widths) and bool((ours(few, widths) == product).all()),
    }


def _agree(counts: Ints, groups: pa.Table, widths: tuple[int, ...]) -> bool:
    """Whether every group of DuckDB's has our count, and all groups together have all of ours."""
    starts = np.cumsum([0, *widths])
    columns = np.stack(
        [groups.column(number).cast(pa.int64()).fill_null(-1).to_numpy() for number in range(len(widths))], 1
    )
    present = columns >= 0
    first, second = present.argmax(axis=1), len(widths) - 1 - present[:, ::-1].argmax(axis=1)
    every, wanted = np.arange(len(columns)), groups.column("n").to_numpy()
    found = counts[starts[first] + columns[every, first], starts[second] + columns[every, second]]
    pairs = len(widths) * (len(widths) - 1) // 2
    return bool((found == wanted).all()) and int(wanted.sum()) == pairs * int(np.diag(counts)[: widths[0]].sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("-o", "--output", type=Path, default=FOLDER / "count_speed.json")
    options = parser.parse_args()
    runs = {name: measure(options.rows, widths, options.repeats) for name, widths in WIDTHS.items()}
    document = {
        "what": " ".join((__doc__ or "").split("\n\n")[-1].split()),
        "configuration": {"rows": options.rows, "columns": 12, "repeats": options.repeats, "seed": SEED},
        "duckdb": duckdb.__version__,
        "tables": runs,
        "environment": environment(),
    }
    options.output.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(runs, indent=1))


if __name__ == "__main__":
    main()
