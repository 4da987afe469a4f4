"""The driver of a release on a cluster, run by ``test_spark_cluster``: master, table, traces of tasks, release."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spark_support import session

from support import FixedRandomness, people_schema, publish


def slowly(folder: str) -> Any:
    def pass_on(batches: Iterator[Any]) -> Iterator[Any]:
        import time
        import uuid
        from pathlib import Path

        from pyspark import TaskContext

        task = TaskContext.get()
        (Path(folder) / f"{task.partitionId()}-{task.attemptNumber()}-{uuid.uuid4()}").touch()
        time.sleep(2)
        yield from batches

    return pass_on


if __name__ == "__main__":
    master, table, traces, output = sys.argv[1:]
    spark = session(master, **{"spark.executor.memory": "512m", "spark.executor.cores": "1"})
    frame = spark.read.parquet(table).repartition(6)
    frame = frame.mapInArrow(slowly(traces), frame.schema)
    publish(frame, people_schema(), Path(output), kind="aggregates", epsilon=3.0, randomness=FixedRandomness(5))
    spark.stop()
