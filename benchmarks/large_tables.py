"""Does memory stay flat? Peak memory and rows a second of releases of aggregates, over sizes and kinds of sources.

The table of ``release_throughput`` (20 columns) is written as a data set of many Parquet files. Every release is a
process of its own, so that its peak memory (``ru_maxrss``) is that of one run; imports alone are measured too.

    python benchmarks/large_tables.py                        # 10⁶ and 10⁷ rows, some minutes
    python benchmarks/large_tables.py --rows 100000000       # 10⁸ rows, about ten times as long; some 7 GB of disk
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from release_throughput import GROUP_ROWS, _group, schema
from results import FOLDER, environment

EPSILON, DELTA = 1.0, 1e-9
RESULTS = FOLDER / "large_tables.json"
SOURCES = ("folder", "data set", "stream")


def simulate(folder: Path, rows: int, seed: int, files: int) -> dict[str, Any]:
    """Write a data set of several files; memory does not grow with it."""
    import pyarrow.parquet as pq

    folder.mkdir()
    groups = -(-rows // GROUP_ROWS)
    for number in range(min(files, groups)):
        writer: Any = None
        for group in range(number, groups, files):
            table = _group(min(GROUP_ROWS, rows - group * GROUP_ROWS), seed, group)
            writer = writer or pq.ParquetWriter(folder / f"part-{number:03d}.parquet", table.schema)
            writer.write_table(table)
        writer.close()
    return {"input_bytes": sum(path.stat().st_size for path in folder.iterdir())}


def opened(folder: Path, source: str) -> Any:
    import pyarrow.dataset as pads

    match source:
        case "folder":
            return folder
        case "data set":
            return pads.dataset(folder)
        case "stream":  # of which nobody can have the rows twice
            return pads.dataset(folder).scanner(batch_readahead=2, fragment_readahead=1).to_reader()
    raise ValueError(source)


def measure_release(folder: Path, output: Path, source: str, threads: int) -> dict[str, Any]:
    from microtome import RunSettings, release

    imported = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    run = RunSettings(threads=threads, force=True, tell=lambda *_: None)
    released = release(opened(folder, source), schema(), epsilon=EPSILON, delta=DELTA, output=output, run=run)
    seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_SELF)
    return {
        "rows": int(released.num_records),
        "seconds": seconds,
        "core_seconds": used.ru_utime + used.ru_stime,
        "rows_a_second": released.num_records / seconds,
        "peak_mebibytes": used.ru_maxrss / 1024,
        "imports_mebibytes": imported / 1024,
        "levels": released.codebook.dim,
    }


def in_process(action: str, folder: Path, **values: Any) -> dict[str, Any]:
    arguments = [f"--{name}={value}" for name, value in values.items()]
    command = [sys.executable, __file__, "--action", action, "--folder", str(folder), *arguments]
    return dict(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[10**6, 10**7])
    parser.add_argument("--sources", nargs="+", default=list(SOURCES), choices=SOURCES)
    parser.add_argument("--files", type=int, default=16)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workdir", type=Path)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--action", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--source", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.action == "simulate":
        print(json.dumps(simulate(arguments.folder, arguments.rows[0], arguments.seed, arguments.files)))
        return
    if arguments.action == "release":
        output = arguments.folder.with_suffix(".release")
        print(json.dumps(measure_release(arguments.folder, output, arguments.source, arguments.threads)))
        return
    found = []
    with tempfile.TemporaryDirectory(dir=arguments.workdir) as place:
        for rows in arguments.rows:
            folder = Path(place) / f"rows-{rows}"
            written = in_process("simulate", folder, rows=rows, seed=arguments.seed, files=arguments.files)
            for source in arguments.sources:
                one = in_process("release", folder, source=source, threads=arguments.threads)
                found.append({"source": source, **written, **one})
                print(f"{rows:>12,} rows, {source}: {one['seconds']:.1f} s, {one['peak_mebibytes']:,.0f} MiB")
    document = {
        "configuration": {
            "epsilon": EPSILON,
            "delta": DELTA,
            "files": arguments.files,
            "threads": arguments.threads,
            "seed": arguments.seed,
        },
        "environment": environment(),
        "runs": found,
    }
    arguments.results.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
