"""The driver of releases on a cluster, run by ``test_spark_cluster``: master, table, traces of tasks, output.

Aggregates, then records, both slowly, so that executors can be killed meanwhile; then records once more, undisturbed.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spark_support import session

from microtome.private import RunSettings
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


def released(kind: str, name: str, seconds: float) -> None:
    """A release, and traces of its tasks by stage."""
    traces = Path(sys.argv[3]) / name
    traces.mkdir()

    def progress(stage: str, done: int, total: int | None, note: str = "") -> None:
        (traces.parent / f"{name}-{stage}").touch()

    frame = spark.read.parquet(table).repartition(6)
    frame = frame.mapInArrow(slowly(str(traces), seconds), frame.schema)
    run = RunSettings(threads=1, progress=progress, block_entries=1 << 14, bin_entries=1 << 13)
    options: dict[str, Any] = {"epsilon": 3.0, "randomness": FixedRandomness(5), "run": run}
    publish(frame, people_schema(), Path(output) / f"{name}.release", kind=kind, **options)


if __name__ == "__main__":
    master, table, _, output = sys.argv[1:]
    spark = session(master, **{"spark.executor.memory": "512m", "spark.executor.cores": "1"})
    released("aggregates", "aggregates", 2.0)
    released("records", "disturbed", 2.0)
    released("records", "undisturbed", 0.0)
    spark.stop()
