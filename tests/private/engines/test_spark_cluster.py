"""Releases on a real cluster, two workers on this machine, executors of which are killed in the middle."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from spark_cluster import cluster, wait_for
from spark_support import environment, require_spark

from microtome.private import RunSettings
from support import FixedRandomness, people, people_schema, publish

DRIVER = Path(__file__).parent / "cluster_driver.py"


def children(parent: int) -> list[int]:
    """Processes that a process has started."""
    tasks = Path(f"/proc/{parent}/task")
    return [int(pid) for task in tasks.iterdir() for pid in (task / "children").read_text().split()]


def kill_executors(worker: subprocess.Popen[bytes]) -> None:
    executors = children(worker.pid)
    assert executors
    for executor in executors:
        os.kill(executor, signal.SIGKILL)


def was_tried_again(traces: Path) -> bool:
    return any(trace.name.split("-")[1] != "0" for trace in traces.iterdir())


@pytest.mark.slow
def test_killed_executors_change_nothing(tmp_path: Path) -> None:
    """While rows are read; one that holds rows, before noisy ones are made of them; while it reads files itself."""
    require_spark()
    if not Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").exists():
        pytest.skip("the system does not tell which process has started which")
    table, traces = people(900), tmp_path / "traces"
    traces.mkdir()
    pq.write_table(table, tmp_path / "people.parquet", row_group_size=100)
    run = RunSettings(threads=1, block_entries=1 << 14, bin_entries=1 << 13)
    options: dict[str, Any] = {"kind": "aggregates", "epsilon": 3.0, "randomness": FixedRandomness(5), "run": run}
    publish(table, people_schema(), tmp_path / "here.release", **options)
    with cluster(tmp_path) as (master, workers), (tmp_path / "driver.log").open("wb") as log:
        command = [sys.executable, str(DRIVER), master, str(tmp_path / "people.parquet"), str(traces), str(tmp_path)]
        driver = subprocess.Popen(command, env=environment(), stdout=log, stderr=log)
        try:
            counting, making, reading = (traces / name for name in ("aggregates", "disturbed", "files"))
            reading.mkdir()
            wait_for(lambda: counting.exists() and len(list(counting.iterdir())) >= 3, 400, "tasks")
            kill_executors(workers[0])
            wait_for((traces / "disturbed-profile").exists, 600, "rows that executors hold")
            before = len(list(making.iterdir()))
            kill_executors(workers[1])
            wait_for(lambda: len(list(reading.iterdir())) >= 3, 600, "tasks on files")
            kill_executors(workers[0])
            assert driver.wait(timeout=500) == 0, (tmp_path / "driver.log").read_text()[-3000:]
        finally:
            driver.kill()
            driver.wait()
    assert was_tried_again(counting), "the executor was not killed in the middle"
    assert len(list(making.iterdir())) > before, "what the executor held was not read again"
    assert was_tried_again(reading), "the executor was not killed while it read files"
    assert (tmp_path / "aggregates.release").read_bytes() == (tmp_path / "here.release").read_bytes()
    assert (tmp_path / "files.release").read_bytes() == (tmp_path / "here.release").read_bytes()
    disturbed, undisturbed = tmp_path / "disturbed.release", tmp_path / "undisturbed.release"
    names = sorted(path.name for path in disturbed.iterdir())
    assert len(names) > 2
    assert names == sorted(path.name for path in undisturbed.iterdir())
    assert all((disturbed / name).read_bytes() == (undisturbed / name).read_bytes() for name in names)
