"""A daemon of Python workers whose tasks on files are slow and leave traces, so that executors can be killed meanwhile.

The folder of traces is in the environment of executors.
"""

import os
import time
import uuid
from pathlib import Path
from typing import Any

from pyspark import TaskContext, daemon

from microtome.private.engines import spark_files

TRACES = "MICROTOME_TRACES"
_SECONDS = 2.0
_sound = spark_files.counted_parts


def slowly(number: int, *rest: Any) -> Any:
    task = TaskContext.get()
    assert task is not None
    (Path(os.environ[TRACES]) / f"{number}-{task.attemptNumber()}-{uuid.uuid4()}").touch()
    time.sleep(_SECONDS)
    return _sound(number, *rest)


if __name__ == "__main__":
    spark_files.counted_parts = slowly
    daemon.manager()
