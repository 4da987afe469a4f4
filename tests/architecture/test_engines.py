"""What docs/engines.md prints runs as printed, block after block, with a store and a server of our own."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import microtome
import postgresql
from microtome.demo import population

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(python|bash)\n(.*?)```", PAGE, flags=re.DOTALL)
STORE, SERVER = "s3://town-data", "postgresql://reader@db.example/town"


@pytest.fixture
def server() -> Iterator[str]:
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="no driver for PostgreSQL here")
    with postgresql.server() as address:
        with dbapi.connect(address) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest("people", population(9000), mode="create")
            connection.commit()
        yield address


def test_the_page_shows_every_source() -> None:
    for name in (
        *("scan_parquet", "duckdb.sql", "mt.Query", STORE, "to_reader", "q*.csv", "--connect", "microtome pool"),
        *("--engine sql", "mt.sql_table", "--engine spark", "SparkSession"),
    ):
        assert any(name in block for _, block in BLOCKS), name


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
@pytest.mark.skipif(shutil.which("java") is None, reason="no Java here, which Spark needs")
def test_the_page_runs_as_printed(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    own = {"PYTHONPATH": str(Path(microtome.__file__).parents[1]), "PATH": path}
    own |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    for language, block in BLOCKS:
        text = block.replace(STORE, f"file://{tmp_path}").replace(SERVER, server)
        if language == "python":
            exec(compile(text, "docs/engines.md", "exec"), names)
        else:
            done = subprocess.run(["bash", "-e", "-c", text], capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
    assert "Pooled from 3 releases" in done.stdout
