"""Spark's daemon of Python workers, which has this package loaded before it makes them: every worker starts with it.

``spark.python.daemon.module`` names it; to load the package takes a worker longer than to count 100,000 rows.
"""

import pyarrow as pa
from pyspark import daemon

import microtome.private.engines.spark  # noqa: F401

pa.array([])  # the first array has Arrow load pandas, where that is installed: here once, and not in every worker

if __name__ == "__main__":
    daemon.manager()
