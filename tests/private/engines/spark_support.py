"""Spark for tests: a session on this machine, and a word where there is none."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
CONF = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
}


def require_spark() -> None:
    pytest.importorskip("pyspark", reason="pyspark is not installed (pip install 'microtome[spark]')")
    if shutil.which("java") is None:
        pytest.skip("there is no Java, which Spark needs")


def environment() -> dict[str, str]:
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests"), str(Path(__file__).parent)])
    own = {"PYTHONPATH": paths, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    return {**os.environ, **own}


def session(master: str, **conf: str) -> Any:
    from pyspark.sql import SparkSession

    os.environ.update({name: environment()[name] for name in ("PYSPARK_PYTHON", "SPARK_LOCAL_IP", "PYTHONPATH")})
    builder = SparkSession.builder.master(master)
    for name, value in {**CONF, **conf}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
