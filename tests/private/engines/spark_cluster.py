"""A cluster of Spark's on this machine, a master and two workers, for as long as it is needed."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from spark_support import environment


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
