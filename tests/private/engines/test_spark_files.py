"""Parquet files of a Spark frame, which executors read for themselves: what is counted, and what is refused."""

import datetime as dt
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_support import environment, require_spark, session
from test_spark import AGGREGATES, NASTY, NASTY_SCHEMA, filled

from microtome.accounting import Ledger
from microtome.errors import MicrotomeError, ParameterError, TableError
from microtome.private import RunSettings
from microtome.private.engines import spark_files
from microtome.private.engines.spark import open_spark, parquet_on_spark
from microtome.private.engines.spark_files import ParquetPart, counted_parts, dealt
from microtome.private.engines.spark_messages import merged
from microtome.private.engines.spark_packing import PackedRows
from microtome.private.profile import Tally
from microtome.schema import Column, Kind, Schema
from support import FixedRandomness, people, people_schema, publish

FLAG = Schema(columns=(NASTY_SCHEMA["flag"],))
ODD = pa.table(
    {
        "listed": pa.array(["a", None, "b", "a"] * 50).dictionary_encode(),
        "large": pa.array(["x", "y", None, ""] * 50, pa.large_string()),
        "small": pa.array([1, -1, None, 127] * 50, pa.int8()),
        "single": pa.array([0.1, float("nan"), None, -0.0] * 50, pa.float32()),
        "moment": pa.array(
            [dt.datetime(2020, 1, 1), None, dt.datetime(1969, 12, 31, 23), dt.datetime(2021, 1, 1)] * 50
        ),
    }
)
"""As other writers than Spark store columns that it reads."""
ODD_SCHEMA = Schema(
    columns=(
        Column(name="listed", kind=Kind.CATEGORICAL, categories=("a", "b")),
        Column(name="large", kind=Kind.CATEGORICAL),
        Column(name="small", kind=Kind.INTEGER, dtype="int8", bounds=(-1, 127)),
        Column(name="single", kind=Kind.FLOAT, dtype="float32", bounds=(-1.0, 1.0)),
        Column(name="moment", kind=Kind.DATETIME),
    )
)


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    require_spark()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        running = session("local[2]")
        yield running
        running.stop()


def stored(table: pa.Table, folder: Path, files: int = 3) -> Path:
    """A table in several files of several row groups, one of which is empty."""
    folder.mkdir(exist_ok=True)
    step = -(-table.num_rows // files)
    for number in range(files + 1):
        pq.write_table(table.slice(number * step, step), folder / f"part-{number}.parquet", row_group_size=70)
    return folder


def parts_of(folder: Path) -> list[ParquetPart]:
    return [ParquetPart.whole(str(path))[0] for path in sorted(folder.iterdir())]


# What is counted


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("table", "schema"),
    [
        (people(900), people_schema()),
        (NASTY, NASTY_SCHEMA),
        (ODD, ODD_SCHEMA),
    ],
    ids=["people", "nasty", "odd"],
)
def test_files_give_the_same_release_and_no_row_passes_through_java(
    spark: Any, table: pa.Table, schema: Schema, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(table, schema, tmp_path / "here.release", randomness=FixedRandomness(1), **AGGREGATES)
    frame = spark.read.parquet(str(stored(table, tmp_path / "table")))
    monkeypatch.setattr(PackedRows, "packed", lambda *_: pytest.fail("rows were handed over by Java"))
    monkeypatch.setattr(spark_files, "_ROWS_A_TASK", 100)
    publish(frame, schema, tmp_path / "spark.release", randomness=FixedRandomness(1), **AGGREGATES)
    assert (tmp_path / "spark.release").read_bytes() == (tmp_path / "here.release").read_bytes()


@pytest.mark.parametrize("rows_a_task", [1, 100, 10**9])
def test_every_row_group_is_dealt_once(rows_a_task: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_files, "_ROWS_A_TASK", rows_a_task)
    parts = parts_of(stored(NASTY, tmp_path / "table"))
    tasks = dealt(parts, 2)
    given = [(part.path, group) for task in tasks for part in task for group in part.groups]
    assert given == [(part.path, group) for part in parts for group in part.groups]
    assert len(tasks) == (2 if rows_a_task == 10**9 else 4 if rows_a_task == 100 else len(given))
    tally = Tally(FLAG, {})
    messages = [counted_parts(number, task, tally, FLAG, 64) for number, task in enumerate(tasks)]
    rows = [row for batch in (*messages, *messages) for row in batch.to_pylist()]
    assert merged(tally, rows) == (set(range(len(tasks))), NASTY.num_rows)
    whole = filled(NASTY.select(["flag"]), FLAG)
    assert [part.to_pylist() for part in tally.parts()] == [part.to_pylist() for part in whole.parts()]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("most_at_once", [3, 64])
def test_many_tasks_are_merged_on_the_way_and_nothing_that_they_send_is_unpickled(
    spark: Any, most_at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_files, "_ROWS_A_TASK", 1)
    monkeypatch.setattr("microtome.private.engines.spark_messages._MOST_AT_ONCE", most_at_once)
    monkeypatch.setattr("pyspark.serializers.CPickleSerializer.loads", lambda *_: pytest.fail("unpickled"))
    folder = stored(people(900), tmp_path / "table")
    publish(folder, people_schema(), tmp_path / "here.release", **AGGREGATES)
    publish(spark.read.parquet(str(folder)), people_schema(), tmp_path / "spark.release", **AGGREGATES)
    assert (tmp_path / "spark.release").read_bytes() == (tmp_path / "here.release").read_bytes()


def test_no_rows_are_no_work() -> None:
    assert dealt([], 2) == []


# What files a frame is


@pytest.mark.filterwarnings("ignore")
def test_a_frame_that_may_be_anything_else_is_not_taken_for_its_files(spark: Any, tmp_path: Path) -> None:
    folder = stored(NASTY.select(["number", "flag"]), tmp_path / "a table")
    read = spark.read.parquet(str(folder))
    (tmp_path / "year=2024").mkdir()
    pq.write_table(NASTY, tmp_path / "year=2024" / "part.parquet")
    several = spark.read.parquet(str(folder), str(folder))
    assert open_spark(read).counter.files.rows == NASTY.num_rows
    assert open_spark(several).counter.files.rows == several.count() == 2 * NASTY.num_rows, "a file twice is two files"
    read.createOrReplaceTempView("numbers")
    for frame in (
        read.filter("flag"),
        read.select("flag", "number"),
        read.withColumn("flag", read["number"] > 0),
        read.limit(10),
        read.sample(0.5),
        read.union(read),
        read.repartition(3),
        read.distinct(),
        spark.table("numbers"),
        spark.range(10),
        spark.read.parquet(str(tmp_path / "year=2024" / ".."), recursiveFileLookup=True),
        spark.read.option("basePath", str(tmp_path)).parquet(str(tmp_path / "year=2024")),
        spark.read.option("mergeSchema", "true").parquet(str(folder)),
    ):
        assert open_spark(frame).counter.files is None
    held = spark.read.parquet(str(folder)).persist()
    try:
        assert open_spark(held).counter.files is None, "what Spark holds of them may be older than the files"
    finally:
        held.unpersist()


@pytest.mark.filterwarnings("ignore")
def test_columns_that_arrow_may_read_otherwise_are_left_to_spark(spark: Any, tmp_path: Path) -> None:
    table = pa.table(
        {"a": [1, 2], "zone": pa.array([0, 1], pa.timestamp("us", "UTC")), "day": [dt.date(1500, 1, 1)] * 2}
    )
    pq.write_table(table, tmp_path / "new.parquet")
    assert open_spark(spark.read.parquet(str(tmp_path / "new.parquet"))).counter.files.columns == {"a", "day"}
    told = table.replace_schema_metadata({"org.apache.spark.version": "2.4.8"})
    pq.write_table(told, tmp_path / "old.parquet")
    assert open_spark(spark.read.parquet(str(tmp_path / "old.parquet"))).counter.files.columns == {"a"}
    wider = spark.read.schema("a long, day date, more string").parquet(str(tmp_path / "new.parquet"))
    assert open_spark(wider).counter.files.columns == {"a", "day"}, "a column that a file has not"
    pq.write_table(table.set_column(0, "a", pa.array([1, 2], pa.int32())), tmp_path / "old.parquet")
    both = spark.read.schema("a long").parquet(str(tmp_path))
    assert open_spark(both).counter.files.columns == set(), "a column of another type in one file"
    narrow = Schema(columns=(Column(name="zone", kind=Kind.DATETIME, bounds=("1960-01-01", "2000-01-01")),))
    assert not open_spark(spark.read.parquet(str(tmp_path / "new.parquet"))).counter.files.have(narrow)


# What is refused


def rewritten(path: Path) -> None:
    table = pq.read_table(path)
    pq.write_table(table.take(pa.array(np.arange(table.num_rows)[::-1])), path)


def rewritten_unseen(path: Path) -> None:
    """Other values, with the size and the time of before."""
    before, table = path.stat(), pq.read_table(path)
    values = [False, False, None, False] * (table.num_rows // 4)
    pq.write_table(table.set_column(0, "flag", pa.array(values)), path, row_group_size=70)
    assert path.stat().st_size == before.st_size
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("change", [rewritten, rewritten_unseen])
def test_a_file_that_is_another_one_by_now_is_refused(change: Callable[[Path], None], tmp_path: Path) -> None:
    folder = stored(NASTY.select(["flag"]), tmp_path / "table", files=1)
    part = parts_of(folder)[0]
    change(Path(part.path))
    (message,) = counted_parts(0, [part], Tally(FLAG, {}), FLAG, 64).to_pylist()
    assert "changed while it was read" in message["problem"]
    assert message["counts"] is None


def test_fewer_rows_than_the_driver_has_seen_are_refused(tmp_path: Path) -> None:
    part = parts_of(stored(NASTY.select(["flag"]), tmp_path / "table", files=1))[0]
    more = replace(part, groups=(*part.groups[:-1], (part.groups[-1][0], part.groups[-1][1] + 1)))
    (message,) = counted_parts(0, [more], Tally(FLAG, {}), FLAG, 64).to_pylist()
    assert "changed while it was read" in message["problem"]


def test_a_file_that_is_gone_is_left_to_spark_to_try_again(tmp_path: Path) -> None:
    part = parts_of(stored(NASTY.select(["flag"]), tmp_path / "table", files=1))[0]
    Path(part.path).unlink()
    with pytest.raises(TableError, match="executors must reach the files"):
        counted_parts(0, [part], Tally(FLAG, {}), FLAG, 64)


def with_other_columns(path: Path) -> None:
    pq.write_table(pq.read_table(path).rename_columns(["texts", "number", "huge", "day", "flag"]), path)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("when", "change", "told"),
    [
        ("search", rewritten, r"part-1.parquet changed while it was read"),
        ("profile", with_other_columns, r"part-1.parquet changed while it was read"),
        ("profile", Path.unlink, r"Spark gave up.*nothing was written"),
    ],
    ids=["other rows", "other columns", "lost"],
)
def test_files_that_change_between_passes_are_refused_and_charged_as_they_were(
    spark: Any, when: str, change: Callable[[Path], None], told: str, tmp_path: Path
) -> None:
    folder, book = stored(NASTY, tmp_path / "table"), Ledger(tmp_path / "book.json")

    def progress(stage: str, done: int, total: int | None, note: str = "") -> None:
        if stage == when and done == total and (folder / "part-1.parquet").exists():
            change(folder / "part-1.parquet")

    with pytest.raises(TableError, match=told):
        publish(
            spark.read.parquet(str(folder)),
            NASTY_SCHEMA,
            tmp_path / "no.release",
            run=RunSettings(threads=1, progress=progress),
            ledger=book,
            **AGGREGATES,
        )
    assert not (tmp_path / "no.release").exists()
    assert book.account("people", delta=1e-5).spent > 0, "noise was drawn by then"


def test_spark_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(ParameterError, match=r"Spark is not installed.*Java 17"), parquet_on_spark(tmp_path, None):
        pass


def test_java_that_is_not_there_is_named(tmp_path: Path) -> None:
    require_spark()
    start = "from pathlib import Path; from microtome.private.engines.spark import parquet_on_spark as open_it\n"
    start += "with open_it(Path('.'), 'local[1]'): pass"
    own = {**environment(), "JAVA_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True, env=own, cwd=tmp_path)
    assert done.stderr.splitlines()[-1].startswith("microtome.errors.ParameterError: Spark does not start")


@pytest.mark.filterwarnings("ignore")
def test_a_wrong_value_in_a_file_is_named_and_nothing_is_spent(spark: Any, tmp_path: Path) -> None:
    folder, book = stored(people(300).select(["age"]), tmp_path / "table"), Ledger(tmp_path / "book.json")
    schema = Schema(columns=(Column(name="age", kind=Kind.INTEGER, bounds=(0, 50), missing=False),))
    with pytest.raises(TableError, match=r"column 'age': value \d+ is outside the declared bounds"):
        publish(spark.read.parquet(str(folder)), schema, tmp_path / "no.release", ledger=book, **AGGREGATES)
    assert book.account("people", delta=1e-5).spent == 0


@pytest.mark.filterwarnings("ignore")
def test_a_task_that_is_left_out_is_missed(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_files, "gathered", lambda *_: ({0}, NASTY.num_rows))
    folder = stored(NASTY, tmp_path / "table")
    with pytest.raises(MicrotomeError, match="not counted every part once"):
        publish(spark.read.parquet(str(folder)), NASTY_SCHEMA, tmp_path / "no.release", **AGGREGATES)
