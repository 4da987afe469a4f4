"""What does it cost to have Spark count? Releases of aggregates of one table by this process and on Spark.

The table of ``release_throughput`` (20 columns), in Parquet files. The floor is a job of Spark's own that reads the
same columns and counts the values of each, once. A release reads the files once too, and its passes then count what
executors hold of them: there are as many looks at all rows as passes, and one more for their number. Every run is a
process of its own, after a floor that warms Spark up. Beside seconds there are core seconds, of all processes of the
run, which other work on the machine disturbs less, and the most memory that these have at a time.

    python benchmarks/engines.py                    # 10⁶ rows: here, Spark on this machine, a cluster of two workers
    python benchmarks/engines.py --rows 10000000    # ten times as long
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
from typing import Any

import psutil

from large_tables import simulate
from release_throughput import schema
from results import FOLDER, environment

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "private" / "engines"))

EPSILON, DELTA = 1.0, 1e-9
RESULTS = FOLDER / "engines.json"
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


def measure(folder: Path, engine: str, master: str | None) -> dict[str, Any]:
    """One release, and, on Spark, the floor beside it."""
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
    from pyspark.sql import functions
    from spark_support import session

    from microtome.private.engines.spark import DAEMON

    workers = {"spark.executor.memory": "512m", "spark.executor.cores": "1", "spark.python.daemon.module": DAEMON}
    spark = session(master, **workers)
    frame = spark.read.parquet(str(folder))

    def count() -> None:
        # A frame of its own each time: to ask the same one again, Spark reads what its first stage has left.
        frame.agg(*(functions.count(f"`{name}`") for name in schema().names)).collect()

    count()
    floor: dict[str, float] = {}
    with measured(root, floor):
        count()
    with measured(root, found):
        release(frame, schema(), **options)
    spark.stop()
    return {**found, "passes": len(stages) + 1, **{f"floor_{name}": value for name, value in floor.items()}}


def in_process(folder: Path, engine: str, master: str | None) -> dict[str, Any]:
    from spark_support import environment as spark_environment

    command = [sys.executable, __file__, "--folder", str(folder), "--engine", engine]
    command += [] if master is None else ["--master", master]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=spark_environment())
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6])
    parser.add_argument("--files", type=int, default=16)
    parser.add_argument("--engines", nargs="+", default=[HERE, ON_SPARK, ON_CLUSTER])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workdir", type=Path)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--engine", help=argparse.SUPPRESS)
    parser.add_argument("--master", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.folder is not None:
        print(json.dumps(measure(arguments.folder, arguments.engine, arguments.master)))
        return
    from spark_cluster import cluster

    configuration = {"epsilon": EPSILON, "delta": DELTA, "files": arguments.files, "seed": arguments.seed}
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=arguments.workdir) as place:
        for rows in arguments.rows:
            folder = Path(place) / f"rows-{rows}"
            simulate(folder, rows, arguments.seed, arguments.files)
            for engine in arguments.engines:
                started = cluster(Path(place)) if engine == ON_CLUSTER else nullcontext((engine, []))
                with started as (master, _):
                    one = in_process(folder, engine, None if engine == HERE else master)
                found.append({"rows": rows, "engine": engine, "load": os.getloadavg()[0], **one})
                print(f"{rows:>12,} rows, {engine}: {json.dumps(one)}", flush=True)
                document = {"configuration": configuration, "runs": found, "environment": environment()}
                arguments.results.write_text(json.dumps(document, indent=1) + "\n")


if __name__ == "__main__":
    main()
