"""Releases on a real cluster, two workers on this machine, executors of which are killed in the middle."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from spark_support import environment, require_spark

from microtome.private import RunSettings
from support import FixedRandomness, people, people_schema, publish

DRIVER = Path(__file__).parent / "cluster_driver.py"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def wait_for(what: Callable[[], bool], seconds: float, name: str) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, f"waited {seconds} s for {name}"
        time.sleep(0.1)


def listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def children(parent: int) -> list[int]:
    """Processes that a process has started."""
    tasks = Path(f"/proc/{parent}/task")
    return [int(pid) for task in tasks.iterdir() for pid in (task / "children").read_text().split()]


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    import pyspark

    home, port = Path(pyspark.__file__).parent, free_port()
    master = f"spark://127.0.0.1:{port}"
    own = {**environment(), "SPARK_HOME": str(home), "SPARK_WORKER_DIR": str(folder / "work")}
    running: list[subprocess.Popen[bytes]] = []

    def start(name: str, *arguments: str) -> None:
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1"]
        with (folder / f"{len(running)}.log").open("wb") as log:
            running.append(
                subprocess.Popen([*command, *arguments], env=own, stdout=log, stderr=log, start_new_session=True)
            )

    try:
        start("master.Master", "--port", str(port), "--webui-port", str(free_port()))
        wait_for(lambda: listens(port), 60, "the master")
        for _ in range(2):
            start("worker.Worker", "--cores", "1", "--memory", "600m", "--webui-port", str(free_port()), master)
        yield master, running[1:]
    finally:
        for process in reversed(running):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def kill_executors(worker: subprocess.Popen[bytes]) -> None:
    executors = children(worker.pid)
    assert executors
    for executor in executors:
        os.kill(executor, signal.SIGKILL)


def was_tried_again(traces: Path) -> bool:
    return any(trace.name.split("-")[1] != "0" for trace in traces.iterdir())


@pytest.mark.slow
def test_killed_executors_change_nothing(tmp_path: Path) -> None:
    """One is killed in a pass that counts, and one while noisy rows are made."""
    require_spark()
    if not Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").exists():
        pytest.skip("the system does not tell which process has started which")
    table, traces = people(900), tmp_path / "traces"
    traces.mkdir()
    pq.write_table(table, tmp_path / "people.parquet")
    run = RunSettings(threads=1, block_entries=1 << 14, bin_entries=1 << 13)
    options: dict[str, Any] = {"kind": "aggregates", "epsilon": 3.0, "randomness": FixedRandomness(5), "run": run}
    publish(table, people_schema(), tmp_path / "here.release", **options)
    with cluster(tmp_path) as (master, workers), (tmp_path / "driver.log").open("wb") as log:
        command = [sys.executable, str(DRIVER), master, str(tmp_path / "people.parquet"), str(traces), str(tmp_path)]
        driver = subprocess.Popen(command, env=environment(), stdout=log, stderr=log)
        try:
            counting, making = traces / "aggregates", traces / "disturbed"
            wait_for(lambda: counting.exists() and len(list(counting.iterdir())) >= 3, 400, "tasks")
            kill_executors(workers[0])
            wait_for((traces / "disturbed-slices").exists, 600, "noisy rows")
            before = len(list(making.iterdir()))
            wait_for(lambda: len(list(making.iterdir())) > before, 200, "tasks that make them")
            kill_executors(workers[1])
            assert driver.wait(timeout=500) == 0, (tmp_path / "driver.log").read_text()[-3000:]
        finally:
            driver.kill()
            driver.wait()
    assert was_tried_again(counting), "the executor was not killed in the middle"
    assert was_tried_again(making), "the executor was not killed in the middle"
    assert (tmp_path / "aggregates.release").read_bytes() == (tmp_path / "here.release").read_bytes()
    disturbed, undisturbed = tmp_path / "disturbed.release", tmp_path / "undisturbed.release"
    names = sorted(path.name for path in disturbed.iterdir())
    assert len(names) > 2
    assert names == sorted(path.name for path in undisturbed.iterdir())
    assert all((disturbed / name).read_bytes() == (undisturbed / name).read_bytes() for name in names)
