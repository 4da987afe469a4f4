"""A Spark frame is released as the same rows are here: before the noise, to the last bit."""

import datetime as dt
import math
import subprocess
import sys
import warnings
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import nbformat
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from nbclient import NotebookClient
from spark_support import ROOT, environment, require_spark, session

from microtome import FitSettings, Synthesizer, release, spark_sample
from microtome.accounting import Ledger
from microtome.errors import MicrotomeError, TableError
from microtome.private import RunSettings
from microtome.private.engines import shared_key
from microtome.private.engines.sent_counts import add_bytes, to_bytes
from microtome.private.engines.spark import counted_partition
from microtome.private.engines.spark_messages import merged, merged_group
from microtome.private.engines.spark_packing import packed_partition
from microtome.private.profile import Tally
from microtome.published import RecordsRelease, ReleaseKind
from microtome.schema import Column, Kind, Schema
from support import FixedRandomness, people, people_schema, publish

AGGREGATES: dict[str, Any] = {"kind": ReleaseKind.AGGREGATES, "epsilon": 3.0}
NASTY = pa.table(
    {
        "text": pa.array(["", " ", "ä", "a\u0308", "NULL", None, "𝛿", "a'b\"c"] * 40),
        "number": pa.array([0.0, -0.0, 1e-300, -1.5, None, math.nan, 2.5, 1.0] * 40),
        "huge": pa.array([2**52, -(2**52), 0, 1, None, 7, 2**40, -1] * 40),
        "day": pa.array([dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(2024, 2, 29), None] * 80),
        "flag": pa.array([True, False, None, True] * 80),
    }
)
NASTY_SCHEMA = Schema(
    columns=(
        Column(name="text", kind=Kind.CATEGORICAL),
        Column(name="number", kind=Kind.FLOAT, bounds=(-2.0, 3.0)),
        Column(name="huge", kind=Kind.INTEGER, bounds=(-(2**52), 2**52)),
        Column(name="day", kind=Kind.DATE),
        Column(name="flag", kind=Kind.BOOLEAN),
    )
)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where Spark writes what it wants to write: its log of events, and whatever it keeps on disks."""
    return tmp_path_factory.mktemp("spark-logs")


@pytest.fixture(scope="module")
def spark(logs: Path) -> Iterator[Any]:
    require_spark()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        events = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": logs.as_uri()}
        running = session("local[2]", **events, **{"spark.eventLog.compress": "false", "spark.local.dir": str(logs)})
        yield running
        running.stop()


def on_spark(spark: Any, table: pa.Table, folder: Path, partitions: int) -> Any:
    pq.write_table(table, folder / "table.parquet")
    return spark.read.parquet(str(folder / "table.parquet")).repartition(partitions)


def filled(table: pa.Table, schema: Schema) -> Tally:
    tally = Tally(schema, {})
    tally.add(table)
    return tally


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("table", "schema"), [(people(900), people_schema()), (NASTY, NASTY_SCHEMA)], ids=["people", "nasty"]
)
def test_a_spark_frame_gives_the_same_file(spark: Any, table: pa.Table, schema: Schema, tmp_path: Path) -> None:
    publish(table, schema, tmp_path / "here.release", randomness=FixedRandomness(1), **AGGREGATES)
    frame = on_spark(spark, table, tmp_path, 3)
    publish(frame, schema, tmp_path / "spark.release", randomness=FixedRandomness(1), **AGGREGATES)
    assert (tmp_path / "spark.release").read_bytes() == (tmp_path / "here.release").read_bytes()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_many_partitions_are_merged_on_the_way(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("microtome.private.engines.spark_messages._MOST_AT_ONCE", 3)
    table, schema = people(300).select(["owner", "grade"]), people_schema()
    schema = Schema(columns=(schema["owner"], schema["grade"]))
    publish(table, schema, tmp_path / "here.release", **AGGREGATES)
    publish(on_spark(spark, table, tmp_path, 5), schema, tmp_path / "spark.release", **AGGREGATES)
    assert (tmp_path / "spark.release").read_bytes() == (tmp_path / "here.release").read_bytes()


@pytest.mark.filterwarnings("ignore")
def test_records_become_a_folder_and_their_key_is_written_nowhere(
    spark: Any, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = bytes(range(200, 232))
    monkeypatch.setattr(shared_key.secrets, "token_bytes", lambda size: half)
    stages: list[tuple[str, int, int | None]] = []
    run = RunSettings(progress=lambda stage, done, total, note="": stages.append((stage, done, total)))
    schema = Schema(columns=(people_schema()["owner"], people_schema()["age"]))
    frame, output = on_spark(spark, people(600), tmp_path, 2), tmp_path / "rows.release"
    made = publish(frame, schema, output, randomness=FixedRandomness(3), run=run, neighbours="add-remove", capacity=800)
    assert isinstance(made, RecordsRelease)
    assert made.rows().shape[0] == 800
    assert sorted(path.name for path in output.iterdir()) == ["manifest.release", "rows-00000.safetensors"]
    ends = [(stage, done) for stage, done, total in stages if done == total]
    assert {stage for stage, _ in ends} == {"profile", "slices"} | {stage for stage, _ in ends if stage == "search"}
    key = FixedRandomness(3).subkey("rows")
    other = bytes(one ^ two for one, two in zip(key, half, strict=True))
    written = b"".join(path.read_bytes() for path in logs.rglob("*") if path.is_file())
    assert b"SparkListenerJobStart" in written, "there is a log of events"
    for secret in (key, other):
        assert secret not in written
        assert secret.hex().encode() not in written.lower()


@pytest.mark.filterwarnings("ignore")
def test_a_wrong_value_is_named_and_nothing_is_spent(spark: Any, tmp_path: Path) -> None:
    schema = Schema(columns=(Column(name="age", kind=Kind.INTEGER, bounds=(0, 50), missing=False),))
    frame, book = on_spark(spark, people(300), tmp_path, 2), Ledger(tmp_path / "book.json")
    with pytest.raises(TableError, match=r"column 'age': value \d+ is outside the declared bounds") as raised:
        release(frame, schema, epsilon=1.0, anyway=True, output=tmp_path / "no.release", ledger=book, dataset="people")
    assert "Traceback" not in str(raised.value)
    assert not (tmp_path / "no.release").exists()
    assert book.account("people", delta=1e-6).spent == 0


@pytest.mark.filterwarnings("ignore")
def test_what_spark_cannot_do_is_refused_before_a_job_runs(spark: Any, tmp_path: Path) -> None:
    frame = spark.range(10)
    schema = Schema(columns=(Column(name="id", kind=Kind.INTEGER, bounds=(0, 50), missing=False),))
    with pytest.raises(TableError, match="leave subsample out"):
        release(frame, schema, epsilon=1.0, kind="records", subsample=0.5, anyway=True)
    with pytest.raises(TableError, match="never ends"):
        release(spark.readStream.format("rate").load(), schema, epsilon=1.0, anyway=True)
    missing = Schema(columns=(Column(name="idd", kind=Kind.INTEGER, bounds=(0, 50), missing=False),))
    with pytest.raises(TableError, match="no column 'idd'; it has id"):
        release(frame, missing, epsilon=1.0, anyway=True)


def test_a_copy_that_is_sent_arrives_empty_and_comes_back_whole() -> None:
    table, schema = NASTY.select(["flag"]), Schema(columns=(NASTY_SCHEMA["flag"],))
    tally, other = filled(table, schema), deepcopy(filled(table, schema))
    assert other.num_rows == 0
    add_bytes(other, to_bytes(tally))
    assert [part.to_pylist() for part in other.parts()] == [part.to_pylist() for part in tally.parts()]


def test_a_partition_counts_once_however_often_it_is_sent() -> None:
    table, schema = NASTY.select(["flag"]), Schema(columns=(NASTY_SCHEMA["flag"],))
    packs = [list(packed_partition(table.slice(n * 160, 160).to_batches(), schema)) for n in (0, 1)]
    sent = [counted_partition(n, packs[n], Tally(schema, {}), 64) for n in (0, 1)]
    tally = Tally(schema, {})
    rows = [row for batch in (sent[0], sent[1], sent[0], sent[1]) for row in batch.to_pylist()]
    assert merged(tally, rows) == ({0, 1}, 320)
    assert [part.to_pylist() for part in tally.parts()] == [part.to_pylist() for part in filled(table, schema).parts()]
    group = merged_group(sent, Tally(schema, {}))
    assert merged(Tally(schema, {}), group.to_pylist() * 2) == ({0, 1}, 320)
    with pytest.raises(MicrotomeError, match="in two groups"):
        merged(Tally(schema, {}), [*sent[0].to_pylist(), *group.to_pylist()])


@pytest.mark.parametrize("damage", [lambda sent: sent[:40], lambda sent: b"", lambda sent: sent.replace(b"\x01", b"")])
def test_damaged_messages_are_refused(damage: Any) -> None:
    schema = Schema(columns=(NASTY_SCHEMA["flag"],))
    sent = damage(to_bytes(filled(NASTY.select(["flag"]), schema)))
    with pytest.raises(MicrotomeError, match="nothing is released"):
        add_bytes(Tally(schema, {}), sent)


def test_counts_of_another_question_are_refused() -> None:
    sent = to_bytes(filled(NASTY.select(["flag"]), Schema(columns=(NASTY_SCHEMA["flag"],))))
    with pytest.raises(MicrotomeError, match="does not fit"):
        add_bytes(Tally(Schema(columns=(NASTY_SCHEMA["flag"], NASTY_SCHEMA["huge"])), {}), sent)
    days = Schema(columns=(Column(name="day", kind=Kind.CATEGORICAL, dtype="date", categories=(dt.date.min,)),))
    with pytest.raises(MicrotomeError, match="does not fit"):
        add_bytes(Tally(days, {}), sent)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_sampled_rows_are_the_same_however_the_work_is_shared(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("microtome.synthesis.spark_rows._PIECE_ROWS", 400)
    released = publish(people(600), people_schema(), tmp_path / "people.release", **AGGREGATES)
    model = Synthesizer(FitSettings(steps=10), random_state=0).fit(released)
    drawn = spark_sample(model, spark, 1000, random_state=7)
    assert drawn.columns == people_schema().names
    spread, gathered = (frame.toArrow() for frame in (drawn, drawn.coalesce(1)))
    assert spread.num_rows == 1000
    assert spread.equals(gathered)
    other = spark_sample(model, spark, 1000, random_state=8).toArrow()
    assert not spread.equals(other)
    assert not spread.slice(0, 200).equals(spread.slice(400, 200)), "pieces have seeds of their own"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_command_has_spark_count(tmp_path: Path) -> None:
    require_spark()
    pq.write_table(people(300).select(["owner", "age"]), tmp_path / "people.parquet")
    schema = Schema(columns=(people_schema()["owner"], people_schema()["age"]))
    (tmp_path / "schema.yaml").write_text(schema.to_yaml(), encoding="utf-8")
    start = [sys.executable, "-c", "from microtome.cli.main import run; run()", "release"]
    table, output = tmp_path / "people.parquet", tmp_path / "people.release"

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        given = [str(table), "--anyway", "--schema", str(tmp_path / "schema.yaml"), "--epsilon", "3", "--force"]
        return subprocess.run([*start, *given, *options], capture_output=True, text=True, env=environment())

    wrong = run("-o", str(output), "--master", "local[1]")
    assert wrong.returncode != 0
    assert "--engine spark" in wrong.stderr
    done = run("-o", str(output), "--engine", "spark", "--master", "local[1]")
    assert done.returncode == 0, done.stderr
    assert output.exists()
    again = run("-o", str(table), "--engine", "spark", "--master", "local[1]")
    assert again.returncode != 0
    assert "is the data" in again.stderr


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_page_runs_as_printed(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "engines-spark.md"
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in page.read_text(encoding="utf-8").split("```python")[1:]:
        exec(block.split("```")[0], names)
    assert (tmp_path / "people.release").is_file()
    assert (tmp_path / "rows.release").is_dir()


@pytest.mark.slow
def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_spark()
    notebook = nbformat.read(ROOT / "examples" / "spark.ipynb", as_version=4)
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    done = NotebookClient(notebook, timeout=900, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in done.cells for output in cell.get("outputs", ()) if "data" in output]
    assert any("differentially private" in output["data"].get("text/html", "") for output in shown)
    drawn = shown[-1]["data"]["text/plain"]
    assert "old" in drawn
    assert "young" in drawn
