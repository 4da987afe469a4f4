"""The driver of releases on a cluster, run by ``test_spark_cluster``: master, table, traces of tasks, output.

Aggregates, then records, both slowly, so that executors can be killed meanwhile; then records once more, undisturbed;
then aggregates of files that executors read, slowly again.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from slow_daemon import TRACES
from spark_support import session

from microtome.private import RunSettings
from microtome.private.engines import spark_files
from support import FixedRandomness, people_schema, publish


def slowly(folder: str, seconds: float) -> Any:
    def pass_on(batches: Iterator[Any]) -> Iterator[Any]:
        import time
        import uuid
        from pathlib import Path

        from pyspark import TaskContext

        task = TaskContext.get()
        (Path(folder) / f"{task.partitionId()}-{task.attemptNumber()}-{uuid.uuid4()}").touch()
        time.sleep(seconds)
        yield from batches

    return pass_on


def released(kind: str, name: str, seconds: float | None) -> None:
    """A release, and traces of its tasks by stage; ``None`` for files, whose tasks make them themselves."""
    traces = Path(sys.argv[3]) / name
    traces.mkdir(exist_ok=True)

    def progress(stage: str, done: int, total: int | None, note: str = "") -> None:
        (traces.parent / f"{name}-{stage}").touch()

    frame = spark.read.parquet(table)
    if seconds is not None:
        frame = frame.repartition(6)
        frame = frame.mapInArrow(slowly(str(traces), seconds), frame.schema)
    run = RunSettings(threads=1, progress=progress, block_entries=1 << 14, bin_entries=1 << 13)
    options: dict[str, Any] = {"epsilon": 3.0, "randomness": FixedRandomness(5), "run": run}
    publish(frame, people_schema(), Path(output) / f"{name}.release", kind=kind, **options)


if __name__ == "__main__":
    master, table, _, output = sys.argv[1:]
    conf = {"spark.executor.memory": "512m", "spark.executor.cores": "1", "spark.python.daemon.module": "slow_daemon"}
    conf[f"spark.executorEnv.{TRACES}"] = str(Path(sys.argv[3]) / "files")
    spark_files._ROWS_A_TASK = 100
    spark = session(master, **conf)
    released("aggregates", "aggregates", 2.0)
    released("records", "disturbed", 2.0)
    released("records", "undisturbed", 0.0)
    released("aggregates", "files", None)
    spark.stop()
