"""How fast and how large is a release? Time, memory and file size against a floor measured in the same run.

The table is simulated into a Parquet file, row group by row group. Each release, each floor and each
simulation is a process of its own, so that peak memory (``ru_maxrss``) is that of one run; times are inside
the process, after the imports. Floor and release take turns, and the medians of the repeats are reported;
core seconds (user and system, all threads) are given too, which other work on the machine disturbs less, and
how much of that there was (``other_core_seconds``; among it the kernel's writing to disk).

The floor is the work that no release of this shape can do without, on as many threads as the release:

* the same columns of the same file are read once, in batches, into Arrow memory;
* for every batch, in blocks, one matrix product of rows (block × d) with directions (d × m'), in float64;
* one standard normal a number (block × m'), by numpy's default generator, in float64.

The main thread reads while the workers multiply and draw, with one BLAS thread each and into buffers that are
allocated once. Nothing is encoded, clipped, rounded, shuffled, hashed or written.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

EPSILON, DELTA = 5.0, 1e-8
GROUP_ROWS = 1 << 17
BATCH_ROWS = 1 << 16
FLOOR_BLOCK_ROWS = 1 << 12
CATEGORY_SIZES = {
    "sex": 2,
    "status": 3,
    "region": 4,
    "education": 5,
    "sector": 6,
    "shift": 8,
    "trade": 12,
    "canton": 50,
}
LEARNT = ("trade", "income")
BOOLEANS = ("owner", "insured", "smoker", "urban", "target")
RESULTS = Path(__file__).parent / "results" / "release_throughput.json"


def schema() -> Any:
    """Twenty columns: eight categorical, five boolean, four integer, two float, one date."""
    from microtome.schema import Column, Kind, Schema

    def categories(name: str) -> tuple[str, ...] | None:
        return None if name in LEARNT else tuple(f"{name}-{level:02d}" for level in range(CATEGORY_SIZES[name]))

    columns = [
        *[Column(name=name, kind=Kind.CATEGORICAL, categories=categories(name)) for name in CATEGORY_SIZES],
        *[Column(name=name, kind=Kind.BOOLEAN, missing=name == "smoker") for name in BOOLEANS],
        Column(name="age", kind=Kind.INTEGER, bounds=(18, 99), missing=False),
        Column(name="household", kind=Kind.INTEGER, dtype="int32", bounds=(1, 8)),
        Column(name="children", kind=Kind.INTEGER, dtype="int32", bounds=(0, 6), missing=False),
        Column(name="quarters", kind=Kind.INTEGER, dtype="int32", bounds=(0, 4), missing=False),
        Column(name="income", kind=Kind.FLOAT),
        Column(name="score", kind=Kind.FLOAT, bounds=(0.0, 1.0)),
        Column(name="joined", kind=Kind.DATE, bounds=("2000-01-01", "2025-12-31")),
    ]
    return Schema(columns=tuple(columns), target="target")


def simulate(path: Path, rows: int, seed: int) -> dict[str, Any]:
    """Write the table; memory does not grow with it."""
    import pyarrow.parquet as pq

    writer = None
    for group, first in enumerate(range(0, rows, GROUP_ROWS)):
        table = _group(min(GROUP_ROWS, rows - first), seed, group)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()
    return {"input_bytes": path.stat().st_size}


def _group(rows: int, seed: int, group: int) -> Any:
    """A row group: all columns lean on one hidden number, so that they depend on one another."""
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng([seed, group])
    hidden = rng.standard_normal(rows)
    arrays: dict[str, Any] = {}
    for name, size in CATEGORY_SIZES.items():
        index = np.clip((0.4 + 0.15 * hidden + 0.2 * rng.standard_normal(rows)) * size, 0, size - 1).astype(np.int32)
        values = pa.array([f"{name}-{level:02d}" for level in range(size)])
        arrays[name] = values.take(pa.array(index, mask=rng.random(rows) < 0.02))
    for name in BOOLEANS:
        mask = rng.random(rows) < 0.05 if name == "smoker" else None
        arrays[name] = pa.array(hidden + rng.standard_normal(rows) > 0.5, mask=mask)
    age = np.clip(45 + 15 * hidden + 8 * rng.standard_normal(rows), 18, 99).astype(np.int64)
    income = np.where(rng.random(rows) < 0.15, 0.0, np.exp(10 + 0.5 * hidden + 0.4 * rng.standard_normal(rows)))
    days = (10957 + 9495 * rng.beta(3, 2, rows)).astype(np.int32)
    arrays |= {
        "age": pa.array(age),
        "household": pa.array(rng.integers(1, 9, rows, dtype=np.int32), mask=rng.random(rows) < 0.02),
        "children": pa.array(np.minimum(rng.geometric(0.4, rows) - 1, 6).astype(np.int32)),
        "quarters": pa.array(rng.integers(0, 5, rows, dtype=np.int32)),
        "income": pa.array(income, mask=rng.random(rows) < 0.05),
        "score": pa.array(rng.beta(2, 5, rows)),
        "joined": pa.array(days, mask=rng.random(rows) < 0.05).cast(pa.date32()),
    }
    return pa.table(arrays)


def measure_release(path: Path, output: Path, threads: int) -> dict[str, Any]:
    """One release; the file is deleted once it is weighed."""
    from microtome import RunSettings, release

    start = time.perf_counter()
    released = release(
        path, schema(), epsilon=EPSILON, delta=DELTA, kind="records", output=output, run=RunSettings(threads=threads)
    )
    seconds = time.perf_counter() - start
    size = output.stat().st_size
    output.unlink()
    return {
        "seconds": seconds,
        "rows": released.num_rows,
        "dim": released.codebook.dim,
        "num_directions": released.manifest.mechanism.directions.count,
        "file_bytes": size,
    }


def measure_floor(path: Path, dim: int, threads: int) -> dict[str, Any]:
    """Read, multiply, draw: see the head of this file."""
    from concurrent.futures import ThreadPoolExecutor
    from queue import SimpleQueue

    import numpy as np
    from threadpoolctl import threadpool_limits

    start = time.perf_counter()
    rng = np.random.default_rng(0)
    directions = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    rows = rng.standard_normal((FLOOR_BLOCK_ROWS, dim))
    buffers: SimpleQueue[Any] = SimpleQueue()
    for stream in rng.spawn(threads):
        buffers.put((stream, np.empty_like(rows), np.empty_like(rows)))

    def work(count: int) -> None:
        stream, product, noise = buffers.get()
        for first in range(0, count, FLOOR_BLOCK_ROWS):
            size = min(FLOOR_BLOCK_ROWS, count - first)
            np.matmul(rows[:size], directions, out=product[:size])
            stream.standard_normal(out=noise[:size])
        buffers.put((stream, product, noise))

    with threadpool_limits(limits=1), ThreadPoolExecutor(threads) as pool:
        waiting = []
        for batch in _batches(path):
            waiting.append(pool.submit(work, batch.num_rows))
            if len(waiting) > threads:
                waiting.pop(0).result()
        for future in waiting:
            future.result()
    return {"seconds": time.perf_counter() - start}


def _batches(path: Path) -> Iterator[Any]:
    import pyarrow.parquet as pq

    yield from pq.ParquetFile(path, pre_buffer=False).iter_batches(BATCH_ROWS, columns=schema().names)


def in_process(action: str, path: Path, **values: Any) -> dict[str, Any]:
    """Run one action of this script in a process of its own."""
    arguments = [f"--{name}={value}" for name, value in values.items()]
    command = [sys.executable, __file__, "--action", action, "--path", str(path), *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(done.stdout))


def run_size(rows: int, repeats: int, arguments: argparse.Namespace, workdir: Path) -> dict[str, Any]:
    """All runs of one table size."""
    path, output = workdir / f"{rows}.parquet", workdir / f"{rows}.release"
    simulated = in_process("simulate", path, rows=rows, seed=arguments.seed)
    threads = arguments.threads
    releases: list[dict[str, Any]] = []
    floors: list[dict[str, Any]] = []
    for _ in range(repeats):
        releases.append(in_process("release", path, output=output, threads=threads))
        floors.append(in_process("floor", path, dim=releases[0]["dim"], threads=threads))
        print(f"{rows:>10,} rows: release {releases[-1]['seconds']:.2f} s, floor {floors[-1]['seconds']:.2f} s")
    path.unlink()
    seconds, core_seconds = _median(releases, "seconds"), _median(releases, "core_seconds")
    floor_seconds, floor_core_seconds = _median(floors, "seconds"), _median(floors, "core_seconds")
    return {
        "rows": rows,
        "dim": releases[0]["dim"],
        "seconds": seconds,
        "rows_per_second": rows / seconds,
        "floor_seconds": floor_seconds,
        "ratio_to_floor": seconds / floor_seconds,
        "core_seconds": core_seconds,
        "floor_core_seconds": floor_core_seconds,
        "core_ratio_to_floor": core_seconds / floor_core_seconds,
        "peak_mebibytes": max(run["peak_mebibytes"] for run in releases),
        "imports_mebibytes": releases[0]["imports_mebibytes"],
        "floor_peak_mebibytes": max(run["peak_mebibytes"] for run in floors),
        "file_bytes": releases[0]["file_bytes"],
        "input_bytes": simulated["input_bytes"],
        "runs": {"release": releases, "floor": floors},
    }


def _median(runs: list[dict[str, Any]], figure: str) -> float:
    return float(statistics.median(run[figure] for run in runs))


def report(arguments: argparse.Namespace, sizes: list[dict[str, Any]]) -> dict[str, Any]:
    """The results with everything that is needed to repeat them."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True)
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    packages = ("microtome", "numpy", "pyarrow", "randomgen", "safetensors", "scipy")
    return {
        "benchmark": "release_throughput",
        "date": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "commit": commit.stdout.strip(),
        "configuration": {
            "epsilon": EPSILON,
            "delta": DELTA,
            "columns": 20,
            "threads": arguments.threads,
            "repeats": arguments.repeats,
            "seed": arguments.seed,
            "floor_block_rows": FLOOR_BLOCK_ROWS,
            "batch_rows": BATCH_ROWS,
        },
        "floor": " ".join("".join((__doc__ or "").partition("The floor is")[1:]).split()),
        "targets": {"ratio_to_floor": 2.5, "peak_mebibytes": 2048},
        "versions": {"python": platform.python_version(), **{name: metadata.version(name) for name in packages}},
        "machine": {
            "processor": _processor(),
            "cores": len(os.sched_getaffinity(0)),
            "memory_gibibytes": round(pages / 2**30, 1),
            "system": platform.platform(),
        },
        "sizes": sizes,
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**5, 10**6, 10**7], help="table sizes, in rows")
    parser.add_argument("--repeats", type=int, nargs="+", default=[3, 3, 2], help="repeats of each size")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="threads of both")
    parser.add_argument("--workdir", type=Path, help="where to put the temporary directory (6 GB at 10^7 rows)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where to write the JSON")
    parser.add_argument("--seed", type=int, default=0, help="seed of the simulated table")
    parser.add_argument("--action", choices=["simulate", "release", "floor"], help=argparse.SUPPRESS)
    for name, kind in (("path", Path), ("output", Path), ("rows", int), ("dim", int)):
        parser.add_argument(f"--{name}", type=kind, help=argparse.SUPPRESS)
    return parser.parse_args()


def run_action(arguments: argparse.Namespace) -> None:
    """What a process of its own does: one action, its figures as JSON on standard output."""
    import microtome.private  # noqa: F401

    actions: dict[str, Callable[[], dict[str, Any]]] = {
        "simulate": lambda: simulate(arguments.path, arguments.rows, arguments.seed),
        "release": lambda: measure_release(arguments.path, arguments.output, arguments.threads),
        "floor": lambda: measure_floor(arguments.path, arguments.dim, arguments.threads),
    }
    imports = _peak_mebibytes()
    before, machine = time.process_time(), _machine_seconds()
    figures = actions[arguments.action]()
    figures |= {"core_seconds": time.process_time() - before}
    busy, waiting = (after - start for after, start in zip(_machine_seconds(), machine, strict=True))
    figures |= {"other_core_seconds": busy - figures["core_seconds"], "disk_wait_seconds": waiting}
    print(json.dumps({**figures, "imports_mebibytes": imports, "peak_mebibytes": _peak_mebibytes()}))


def _machine_seconds() -> tuple[float, float]:
    """Core seconds that the whole machine has worked, and waited for disks with nothing else to do."""
    user, nice, system, _, waiting, interrupts, soft, stolen = map(int, Path("/proc/stat").read_text().split()[1:9])
    ticks = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + interrupts + soft + stolen) / ticks, waiting / ticks


def _peak_mebibytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    arguments = parse_arguments()
    if arguments.action:
        run_action(arguments)
        return
    with tempfile.TemporaryDirectory(prefix="microtome-bench-", dir=arguments.workdir) as name:
        pairs = zip(arguments.sizes, arguments.repeats, strict=True)
        sizes = [run_size(rows, repeats, arguments, Path(name)) for rows, repeats in pairs]
    arguments.results.parent.mkdir(parents=True, exist_ok=True)
    arguments.results.write_text(json.dumps(report(arguments, sizes), indent=1) + "\n")
    for size in sizes:
        print(
            f"{size['rows']:>10,} rows  {size['rows_per_second']:>9,.0f} rows/s  {size['ratio_to_floor']:.2f} × floor "
            f"({size['core_ratio_to_floor']:.2f} in core seconds)  "
            f"{size['peak_mebibytes']:>6,.0f} MiB  {size['file_bytes'] / 2**20:>6,.0f} MiB file"
        )


if __name__ == "__main__":
    main()
