"""What does it cost to have Spark count? Releases of aggregates of one table by this process and on Spark.

The table of ``release_throughput`` (20 columns), in Parquet files. There are two floors, both jobs of Spark's own that
read the same columns once. The *bare* one counts the values of each column that are not missing. The other counts the
*values*: how often each occurs, a group-by for each column, floats in as many bins as a release might take. Every run
is a process of its own. Spark is warm by then: the bare floor has run on one of the files. Workers of Python start
within the release, so there is a second release in the same session too, where that is asked for. Beside seconds there
are core seconds, of all processes of the run, which other work on the machine disturbs less, and the most memory that
these have at a time.

    python benchmarks/engines.py                    # 10⁶ rows: here, Spark on this machine, a cluster of two workers
    python benchmarks/engines.py --rows 10000000    # ten times as long
    python benchmarks/engines.py --rows 100000000 --engines "2 threads" "local[2]" --add    # beside what is there
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from shutil import rmtree
from typing import Any

import psutil

from large_tables import simulate
from release_throughput import schema
from results import FOLDER, environment

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "private" / "engines"))

EPSILON, DELTA = 1.0, 1e-9
RESULTS = FOLDER / "engines.json"
BINS = 100
HERE, ON_SPARK, ON_CLUSTER = "2 threads", "local[2]", "cluster"
_SECONDS_BETWEEN = 0.5


@contextmanager
def measured(root: psutil.Process, found: dict[str, float]) -> Iterator[None]:
    """Seconds, core seconds and peak memory of a process and all below it."""
    done, peak = threading.Event(), [0.0]

    def look() -> None:
        while not done.wait(_SECONDS_BETWEEN):
            peak[0] = max(peak[0], _memory(root))

    looking, start, cores = threading.Thread(target=look), time.perf_counter(), _core_seconds(root)
    looking.start()
    try:
        yield
    finally:
        found |= {"seconds": time.perf_counter() - start, "core_seconds": _core_seconds(root) - cores}
        done.set()
        looking.join()
        found["peak_mebibytes"] = peak[0]


def _family(root: psutil.Process) -> list[psutil.Process]:
    return [root, *root.children(recursive=True)]


def _core_seconds(root: psutil.Process) -> float:
    """Of processes that run, and of those that they have waited for."""
    total = 0.0
    for one in _family(root):
        try:
            total += sum(one.cpu_times()[:4])
        except psutil.Error:
            continue
    return total


def _memory(root: psutil.Process) -> float:
    """MiB, what is shared between processes counted once."""
    total = 0
    for one in _family(root):
        try:
            total += one.memory_full_info().pss
        except psutil.Error:
            continue
    return total / 2**20


def measure(folder: Path, engine: str, master: str | None, *, twice: bool, bare_alone: bool) -> dict[str, Any]:
    """One release, and, on Spark, the floors beside it, and perhaps a second one."""
    from microtome import RunSettings, release

    stages: list[str] = []

    def progress(stage: str, done: int, total: int | None, note: str = "") -> None:
        if done == total:
            stages.append(stage)

    root = psutil.Process(os.getppid() if engine == ON_CLUSTER else os.getpid())
    run = RunSettings(threads=2, force=True, tell=lambda *_: None, progress=progress)
    options: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "output": folder.with_suffix(".release"), "run": run}
    found: dict[str, Any] = {}
    if master is None:
        with measured(root, found):
            release(folder, schema(), **options)
        return found
    from spark_support import session

    from microtome.private.engines.spark import DAEMON

    workers = {"spark.executor.memory": "512m", "spark.executor.cores": "1", "spark.python.daemon.module": DAEMON}
    spark = session(master, **workers)
    frame, one_file = spark.read.parquet(str(folder)), spark.read.parquet(str(next(iter(folder.iterdir()))))
    _count(one_file)
    bare: dict[str, float] = {}
    with measured(root, bare):
        _count(frame)
    values: dict[str, float] = {}
    if not bare_alone:
        _count_values(one_file)
        with measured(root, values):
            _count_values(frame)
    with measured(root, found):
        release(frame, schema(), **options)
    found["passes"] = len(stages)
    again: dict[str, float] = {}
    if twice:
        with measured(root, again):
            release(frame, schema(), **options)
    spark.stop()
    named = {"floor": bare, "values": values, "again": again}
    return {**found, **{f"{name}_{figure}": value for name, one in named.items() for figure, value in one.items()}}


def _count(frame: Any) -> None:
    """The bare floor. A frame of its own each time: of the same one again Spark reads what its first stage has left."""
    from pyspark.sql import functions

    frame.agg(*(functions.count(f"`{name}`") for name in schema().names)).collect()


def _count_values(frame: Any) -> None:
    """The other floor."""
    from pyspark.sql import functions

    for column in schema().columns:
        value = functions.col(f"`{column.name}`")
        if column.dtype.startswith("float"):
            low, high = column.number_bounds() or (None, None)
            even = None if low is None or high is None else (value - low) * (BINS / (high - low))
            value = functions.floor(functions.log2(1.0 + functions.abs(value)) if even is None else even)
        frame.groupBy(value.alias("value")).count().collect()


def in_process(folder: Path, engine: str, master: str | None, options: list[str]) -> dict[str, Any]:
    from spark_support import environment as spark_environment

    command = [sys.executable, __file__, "--folder", str(folder), "--engine", engine]
    command += [] if master is None else ["--master", master]
    command += options
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=spark_environment())
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6])
    parser.add_argument("--files", type=int, default=16)
    parser.add_argument("--engines", nargs="+", default=[HERE, ON_SPARK, ON_CLUSTER])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--twice", action="store_true", help="a second release in every session")
    parser.add_argument("--bare", action="store_true", help="leave out the other floor, which takes longest")
    parser.add_argument("--add", action="store_true", help="keep the runs that the results have")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workdir", type=Path)
    parser.add_argument("--tables", type=Path, help="a folder in which tables are kept from run to run")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    parser.add_argument("--master", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.folder is not None:
        options = {"twice": arguments.twice, "bare_alone": arguments.bare}
        print(json.dumps(measure(arguments.folder, arguments.engine, arguments.master, **options)))
        return
    from spark_cluster import cluster

    chosen = [f"--{name}" for name in ("twice", "bare") if getattr(arguments, name)]
    configuration = {"epsilon": EPSILON, "delta": DELTA, "seed": arguments.seed, "bins": BINS}
    found: list[dict[str, Any]] = []
    if arguments.add:
        before = json.loads(arguments.results.read_text())
        if before["configuration"] != configuration:
            raise SystemExit(f"{arguments.results} is of another configuration: {before['configuration']}")
        found = before["runs"]
    with tempfile.TemporaryDirectory(dir=arguments.workdir) as place:
        for rows in arguments.rows:
            folder = (arguments.tables or Path(place)) / f"rows-{rows}"
            if not folder.exists():
                simulate(folder, rows, arguments.seed, arguments.files)
            for engine in arguments.engines * arguments.repeats:
                started = cluster(Path(place)) if engine == ON_CLUSTER else nullcontext((engine, []))
                load = os.getloadavg()[0]
                with started as (master, _):
                    one = in_process(folder, engine, None if engine == HERE else master, chosen)
                around = environment()
                run = {
                    "rows": rows,
                    "files": arguments.files,
                    "engine": engine,
                    "load": load,
                    "commit": around["commit"],
                }
                found.append({**run, **one})
                print(f"{rows:>12,} rows, {engine}: {json.dumps(one)}", flush=True)
                document = {"configuration": configuration, "runs": found, "environment": around}
                arguments.results.write_text(json.dumps(document, indent=1) + "\n")
            if arguments.tables is None:
                rmtree(folder)


if __name__ == "__main__":
    main()
