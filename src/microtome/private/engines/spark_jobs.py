"""What all jobs on a Spark frame share: its columns, its partitions as tables, bars over tasks, and errors of ours."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any

import pyarrow as pa

from microtome.errors import MicrotomeError, TableError
from microtome.private.passes import Told
from microtome.private.table import PrivateTable
from microtome.schema import Schema

ORIGIN = "the Spark frame"
Batches = Iterable[pa.RecordBatch]
_GROUP = ("spark.jobGroup.id", "spark.job.description")
_SECONDS_BETWEEN = 0.5
TWICE = "Spark has sent a block twice; nothing is released, start again"
UNSTEADY = (
    f"{ORIGIN} gave other rows, or the same in another order, when a task was run again; write it to Parquet and "
    "release that"
)


def columns_of(frame: Any, names: Sequence[str]) -> Any:
    """The frame with some of its columns, so that Spark reads no others."""
    return frame.select([f"`{name.replace('`', '``')}`" for name in names])


def record_batch(schema: pa.Schema, rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
    """What a task sends, row by row."""
    columns = zip(*rows, strict=True)
    return pa.RecordBatch.from_arrays(
        [pa.array(values, kind) for values, kind in zip(columns, schema.types, strict=True)], schema=schema
    )


def partition_table(batches: Batches, schema: Schema) -> PrivateTable:
    """The rows of a partition as a table, on an executor; they can be read once."""
    types: dict[str, pa.DataType] = dict.fromkeys(schema.names, pa.null())
    return PrivateTable(origin=ORIGIN, types=types, num_rows=None, stream=lambda _: iter(batches))


def task_context() -> Any:
    """What a task knows of itself."""
    from pyspark import TaskContext

    task = TaskContext.get()
    if task is None:
        raise MicrotomeError("this is no task of Spark's; nothing is released")
    return task


def run(action: Callable[[], Any]) -> Any:
    """Run a job; one that Spark gives up is an error of ours, without its trace."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        return action()
    except (Py4JError, PySparkException, OSError) as error:
        first = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise TableError(
            f"{ORIGIN}: Spark gave up: {first.strip()}; nothing was written. Spark's own log says more; executors need "
            "the same version of microtome, numpy and pyarrow as the driver"
        ) from error


@contextmanager
def watched(context: Any, told: Told) -> Iterator[None]:
    """Tell how many tasks of the jobs that are started here are done."""
    group, done = f"microtome-{uuid.uuid4()}", Event()
    before = [context.getLocalProperty(name) for name in _GROUP]
    for name, value in zip(_GROUP, (group, "microtome release"), strict=True):
        context.setLocalProperty(name, value)
    tracker = context.statusTracker()

    def tell() -> None:
        while not done.wait(_SECONDS_BETWEEN):
            with suppress(Exception):  # a session that has ended is told of by the job itself
                finished, planned = _tasks(tracker, group)
                if finished < planned:
                    told(finished, planned)

    teller = Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
        total = max(run(lambda: _tasks(tracker, group))[1], 1)
    finally:
        done.set()
        teller.join()
        for name, value in zip(_GROUP, before, strict=True):
            with suppress(Exception):
                context.setLocalProperty(name, value)
    told(total, total)


def _tasks(tracker: Any, group: str) -> tuple[int, int]:
    """Tasks of a group of jobs that are done, and all of them as far as Spark has planned."""
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
    known = [stage for stage in stages if stage is not None]
    return sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known)
