"""Speed of ``sample``: rows a core second, as a ratio to writing the same rows with Arrow in the same process.

    OMP_NUM_THREADS=1 python benchmarks/sample_speed.py -o benchmarks/results/sample_speed.json

A model of each table is fitted in a hundred steps: how long it was trained makes no difference to the speed. Rows are
drawn as a stream of Arrow tables, which are dropped (*draw*), and to a Parquet file (*to file*); then the rows of that
file are written once more by Arrow, in row groups of the same size (*Arrow*). All three take turns in one process and
on one thread, and the least core seconds of the repeats count. Peak memory is that of a process of its own that draws
to a file.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from results import FOLDER, environment

TABLES = ("the simulated town", "housing", "Adult")
EPSILON, DELTA, STEPS, SEED = 1.0, 1e-6, 100, 0


def fitted(name: str) -> Any:
    from forecast_tables import TABLES as KNOWN
    from microtome import Synthesizer, release
    from microtome.training import FitSettings

    frame, schema = KNOWN[name]()
    released = release(frame, schema, epsilon=EPSILON, delta=DELTA)
    return Synthesizer(FitSettings(steps=STEPS), random_state=SEED).fit(released)


def measure(model: Any, rows: int, repeats: int, folder: Path) -> dict[str, Any]:
    """Core seconds of drawing, drawing to a file, and writing the same rows by Arrow."""
    import pyarrow.parquet as pq

    path, seconds = folder / "rows.parquet", {"draw": [], "to file": [], "Arrow": []}

    def timed(what: str, work: Callable[[], object]) -> None:
        clock = time.process_time()
        work()
        seconds[what].append(time.process_time() - clock)

    for _ in range(repeats):
        timed("draw", lambda: sum(table.num_rows for table in model.sample_tables(rows, random_state=SEED)))
        timed("to file", lambda: model.sample_to_file(path, rows, random_state=SEED, force=True))
        group = pq.ParquetFile(path).metadata.row_group(0).num_rows
        table = pq.read_table(path, use_threads=False)
        timed("Arrow", lambda t=table, g=group: pq.write_table(t, folder / "again.parquet", row_group_size=g))
    least = {what: min(times) for what, times in seconds.items()}
    return {
        "rows": rows,
        "columns": table.num_columns,
        "core_seconds": least,
        "rows_a_core_second": {what: rows / one for what, one in least.items()},
        "ratio_to_arrow": {what: least[what] / least["Arrow"] for what in ("draw", "to file")},
    }


def peak(model_path: str, rows: int) -> float:
    """Mebibytes that a process takes to draw so many rows to a file."""
    command = [sys.executable, __file__, "--model", model_path, "--rows", str(rows)]
    return float(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main() -> None:
    options = _options()
    if options.model:
        from microtome import Synthesizer

        Synthesizer.load(options.model).sample_to_file(
            Path(options.model).with_suffix(".parquet"), options.rows[0], random_state=SEED, force=True
        )
        print(_high_water_mebibytes())
        return
    runs: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        for table in TABLES:
            model, path = fitted(table), str(Path(name) / "one.model")
            model.save(path, force=True)
            for rows in options.rows:
                figures = measure(model, rows, options.repeats, Path(name))
                runs.append({"table": table, **figures, "peak_mebibytes": peak(path, rows)})
                _write(options, runs)


def _high_water_mebibytes() -> float:
    """The most memory of this program: ``ru_maxrss`` of a child begins with what its parent had."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def _write(options: argparse.Namespace, runs: list[dict[str, Any]]) -> None:
    """The result file with what was measured by now."""
    document = {
        "what": " ".join((__doc__ or "").split("\n\n")[-1].split()),
        "configuration": {"epsilon": EPSILON, "steps": STEPS, "repeats": options.repeats, "seed": SEED},
        "targets": {"rows_a_core_second": 400_000, "ratio_to_arrow": 4.0},
        "sizes": runs,
        "environment": environment(),
    }
    options.output.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(runs[-1]), flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_100_000])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("-o", "--output", type=Path, default=FOLDER / "sample_speed.json")
    parser.add_argument("--model", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
