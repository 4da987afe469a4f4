"""Whatever a table is kept in, its release is the same, bit by bit; what is read only once leaves nothing behind."""

import os
import re
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import fsspec
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.dataset as pads
import pyarrow.feather as feather
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

import microtome as mt
from microtome.accounting import Ledger
from microtome.errors import OutputError, ParameterError, TableError
from microtome.private import open_table
from microtome.private.parquet import BATCH_ROWS
from microtome.private.spool import read_again
from microtome.published import AggregatesRelease
from support import people, people_schema, publish

ROWS = 400
PARTS = ((0, 150), (150, 1), (151, 249))


def parts() -> list[pa.Table]:
    return [people(ROWS).slice(*part) for part in PARTS]


def split(folder: Path, ending: str, write: Callable[[pa.Table, Any], Any]) -> list[Path]:
    folder.mkdir()
    paths = [folder / f"part-{number}.{ending}" for number in range(len(PARTS))]
    for path, part in zip(paths, parts(), strict=True):
        write(part, path)
    return paths


def hive(folder: Path) -> Path:
    """Files by town and grade, which only folders' names tell: with letters that are escaped, and missing values."""
    table = people(ROWS)
    told = pa.schema([table.schema.field(name) for name in ("town", "grade")])
    pads.write_dataset(
        table,
        folder / "people",
        format="parquet",
        partitioning=pads.partitioning(told, flavor="hive"),
    )
    (folder / "people" / "_SUCCESS").touch()
    return folder / "people"


def arrow_file(folder: Path, maker: Callable[..., Any], name: str) -> Path:
    with pa.OSFile(str(folder / name), "wb") as sink, maker(sink, people(ROWS).schema) as writer:
        for part in parts():
            writer.write_table(part)
    return folder / name


def mock_data_set() -> pads.Dataset:
    """A data set in a file system of Arrow's that is no disk."""
    system = pafs._MockFileSystem()
    for number, part in enumerate(parts()):
        with system.open_output_stream(f"part-{number}.parquet") as sink:
            pq.write_table(part, sink)
    return pads.dataset("", format="parquet", filesystem=system)


def in_fsspec() -> str:
    system = fsspec.filesystem("memory")
    for number, part in enumerate(parts()):
        with system.open(f"/town/sub/part-{number}.csv", "wb") as sink:
            pacsv.write_csv(part, sink)
    return "memory://town"


def in_sqlite(folder: Path) -> mt.Query:
    frame = people(ROWS).to_pandas()
    with sqlite3.connect(folder / "town.db") as connection:
        frame.to_sql("people", connection, index=False)
    connection.close()
    return mt.Query(connection=f"sqlite:///{folder / 'town.db'}", text="select * from people")


def in_duckdb(folder: Path) -> mt.Query:
    rows = people(ROWS)  # noqa: F841  (DuckDB finds it by its name)
    with duckdb.connect(str(folder / "town.duckdb")) as connection:
        connection.execute("create table people as select * from rows")
    return mt.Query(connection=f"duckdb:///{folder / 'town.duckdb'}", text="select * from people")


FORMS: dict[str, Callable[[Path], Any]] = {
    "text files": lambda folder: split(folder / "text", "csv", pacsv.write_csv),
    "a pattern": lambda folder: str(split(folder / "text", "csv", pacsv.write_csv)[0].parent / "part-*.csv"),
    "a folder": lambda folder: split(folder / "parquet", "parquet", pq.write_table)[0].parent,
    "partitions": hive,
    "an Arrow file": lambda folder: arrow_file(folder, pa.ipc.new_file, "people.arrow"),
    "an Arrow stream": lambda folder: arrow_file(folder, pa.ipc.new_stream, "people.arrows"),
    "Feather": lambda folder: split(folder / "feather", "feather", feather.write_feather),
    "an address": lambda folder: f"file://{split(folder / 'parquet', 'parquet', pq.write_table)[0].parent}",
    "an address with a star": lambda folder: in_fsspec() + "/*/part-*.csv",
    "fsspec": lambda folder: in_fsspec(),
    "a data set": lambda folder: mock_data_set(),
    "a scanner": lambda folder: mock_data_set().scanner(),
    "a data set in memory": lambda folder: pads.dataset(people(ROWS)),
    "a reader": lambda folder: people(ROWS).to_reader(max_chunksize=37),
    "a lazy frame": lambda folder: pl.from_arrow(people(ROWS)).lazy(),
    "a frame of polars": lambda folder: pl.from_arrow(people(ROWS)),
    "a frame of pandas": lambda folder: people(ROWS).to_pandas(),
    "a relation": lambda folder: duckdb.from_arrow(people(ROWS)),
    "SQLite": in_sqlite,
    "DuckDB": in_duckdb,
}


def tables(source: Any, output: Path) -> dict[str, Any]:
    """All noisy numbers of a release with known noise."""
    with read_again(source) as rows:
        release = publish(rows, people_schema(), output, kind="aggregates")
    assert isinstance(release, AggregatesRelease)
    return {"second": release.second, "margins": np.concatenate([code.counts for code in release.codebook.codes])}


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The system's place for temporary files."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


@pytest.mark.parametrize("form", FORMS)
def test_a_release_does_not_depend_on_where_its_rows_are(form: str, tmp_path: Path, temporary: Path) -> None:
    wanted = tables(people(ROWS), tmp_path / "wanted.release")
    found = tables(FORMS[form](tmp_path), tmp_path / "found.release")
    for name, numbers in wanted.items():
        assert np.array_equal(found[name], numbers), name
    assert not list(temporary.iterdir())


# Read once


def test_a_stream_is_kept_where_nobody_else_can_read_it(temporary: Path) -> None:
    with read_again(people(ROWS).to_reader()) as copy:
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
        assert stat.S_IMODE(copy.parent.stat().st_mode) == 0o700
        assert open_table(copy).num_rows == ROWS
    assert not list(temporary.iterdir())


def endless(fail: BaseException, after: int = 3) -> pa.RecordBatchReader:
    """A stream that breaks off."""

    def batches() -> Iterator[pa.RecordBatch]:
        for _ in range(after):
            yield people(ROWS).to_batches()[0]
        raise fail

    return pa.RecordBatchReader.from_batches(people(ROWS).schema, batches())


def test_a_stream_that_breaks_off_writes_and_spends_nothing(tmp_path: Path, temporary: Path) -> None:
    book = Ledger(tmp_path / "book.json")
    with pytest.raises(TableError, match=r"RecordBatchReader stopped after 1,200 rows: .*server closed the connection"):
        mt.release(
            endless(OSError("server closed the connection")),
            people_schema(),
            epsilon=1,
            output=tmp_path / "r",
            ledger=book,
            dataset="people",
        )
    assert not (tmp_path / "r").exists()
    assert not list(temporary.iterdir())
    assert book.spent("people", delta=1e-6) == 0


def test_ctrl_c_leaves_no_copy_behind(tmp_path: Path, temporary: Path) -> None:
    def stop(stage: str, done: int, total: int | None, note: str = "") -> None:
        assert stage == "copy"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mt.release(
            people(ROWS).to_reader(),
            people_schema(),
            epsilon=1,
            output=tmp_path / "r",
            run=mt.RunSettings(progress=stop),
        )
    assert not list(temporary.iterdir())
    assert not (tmp_path / "r").exists()


def test_dictionaries_may_differ_from_batch_to_batch(tmp_path: Path) -> None:
    batches = [pa.record_batch({"a": pa.array(words).dictionary_encode()}) for words in (["x", "y"], ["z", "x"])]
    with read_again(pa.RecordBatchReader.from_batches(batches[0].schema, batches)) as copy:
        table = open_table(copy)
        found = [value for batch in table.stream([mt.Column(name="a", kind="categorical")]) for value in batch["a"]]
    assert [value.as_py() for value in found] == ["x", "y", "z", "x"]


def test_large_batches_are_worked_on_in_pieces(tmp_path: Path) -> None:
    numbers = pa.table({"a": pa.array(range(2 * BATCH_ROWS + 1))})
    feather.write_feather(numbers, tmp_path / "t.feather", chunksize=10 * BATCH_ROWS)
    sizes = [len(batch) for batch in open_table(tmp_path / "t.feather").stream([mt.Column(name="a", kind="integer")])]
    assert sizes == [BATCH_ROWS, BATCH_ROWS, 1]


# Changes between passes


@pytest.mark.parametrize("form", ["text files", "a folder", "an Arrow file", "partitions"])
def test_a_file_that_changes_between_passes_is_refused(form: str, tmp_path: Path) -> None:
    source = FORMS[form](tmp_path)
    table = open_table(source)
    schema = people_schema()
    before = sum(len(block) for block in table.blocks(schema, 100))
    assert before == ROWS
    file = next(path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size)
    content = file.read_bytes()
    replacement = file.with_name("replacement")
    replacement.write_bytes(content)  # the same bytes and the same number of rows: but somebody was at it
    os.replace(replacement, file)
    with pytest.raises(TableError, match=r"changed while it was read; start again with a fixed copy"):
        list(table.blocks(schema, 100))


def test_a_data_set_that_changes_between_passes_is_refused(tmp_path: Path) -> None:
    paths = split(tmp_path / "p", "parquet", pq.write_table)
    table = open_table(pads.dataset(tmp_path / "p"))
    pq.write_table(people(150), paths[0], compression="none")
    with pytest.raises(TableError, match=r"part-0\.parquet changed while it was read"):
        list(table.blocks(people_schema(), 100))


def test_rows_that_are_added_while_a_file_is_read_are_noticed(tmp_path: Path) -> None:
    pacsv.write_csv(people(ROWS), tmp_path / "t.csv")
    blocks = open_table(tmp_path / "t.csv").blocks(people_schema(), 100)
    next(blocks)
    with (tmp_path / "t.csv").open("ab") as file:
        file.write(b"\n")
    with pytest.raises(TableError, match="changed while it was read"):
        list(blocks)


# Bad input


def refused(source: Any) -> str:
    with pytest.raises(TableError) as told:
        open_table(source)
    return str(told.value)


def test_a_lazy_frame_that_cannot_be_streamed_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(pl.LazyFrame, "collect_batches")
    assert "polars does that from version 1.34 on" in refused(pl.LazyFrame({"a": [1]}))


def test_files_that_do_not_go_together(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    paths = split(folder, "csv", pacsv.write_csv)
    assert "are one file; give it once" in refused([paths[0], folder / ".." / "data" / "part-0.csv"])
    os.link(paths[0], tmp_path / "link.csv")
    assert "are one file" in refused([paths[0], tmp_path / "link.csv"])
    pq.write_table(people(10), folder / "t.parquet")
    assert "files of different kinds" in refused(folder)
    (folder / "t.parquet").unlink()
    (folder / "notes.md").write_text("hello")
    assert "holds other files than tables" in refused(folder)
    assert "no file matches" in refused(str(folder / "*.parquet"))
    assert "no file is given" in refused([])
    (tmp_path / "empty").mkdir()
    assert "a directory without a table" in refused(tmp_path / "empty")
    pacsv.write_csv(people(10).drop_columns(["age"]), tmp_path / "other.csv")
    assert "have different columns: only" in refused([paths[0], tmp_path / "other.csv"])
    assert "'age'" in refused([tmp_path / "other.csv", paths[0]])


def test_a_wrong_value_is_told_with_the_file_that_it_is_in(tmp_path: Path) -> None:
    tables = parts()
    tables[2] = tables[2].set_column(tables[2].column_names.index("age"), "age", pa.array(["old"] * len(tables[2])))
    paths = [tmp_path / f"{number}.parquet" for number in range(3)]
    for path, part in zip(paths, tables, strict=True):
        pq.write_table(part, path)
    with pytest.raises(TableError, match=r"2\.parquet: column 'age', row [0-9]+: 'old' is not a whole number"):
        list(open_table(paths).blocks(people_schema(), 100))


def test_places_that_nothing_reads() -> None:
    assert "nothing is installed that reads nowhere://" in refused("nowhere://bucket/t.csv")
    assert "nothing is there" in refused("memory://absent/t.csv")
    assert "no file matches" in refused("memory://absent/*.csv")


def test_types_that_an_engine_has_and_we_do_not(tmp_path: Path) -> None:
    relation = duckdb.sql("select interval 3 days as age, [1, 2] as sex")
    schema = mt.Schema(columns=(mt.Column(name="age", kind="integer"), mt.Column(name="sex", kind="categorical")))
    with read_again(relation) as rows, pytest.raises(TableError) as told:
        list(open_table(rows).blocks(schema, 10))
    assert "column 'age'" in str(told.value)
    assert "column 'sex'" in str(told.value)


@pytest.mark.parametrize(
    ("connection", "shown", "said"),
    [
        ("postgresql://reader:p@ss@db/town", "postgresql://reader:…@db/town", 'no host "ss@db"'),
        (
            "postgresql://reader:se/cret@db/town",
            "postgresql://reader:…@db/town",
            'no port "se", nor "cret@db/town"',
        ),
        ("postgresql://reader:p%40ss@db/town", "postgresql://reader:…@db/town", "p@ss is wrong"),
        ("postgresql://reader:token=ss@db/town", "postgresql://reader:…", "token=ss is wrong"),
        ("postgresql://db/town?user=r&password=se%cret", "postgresql://db/town?user=r&password=…", 'bad: "se%cret"'),
        ("postgresql://db:1/town?sslpassword=p@ss", "postgresql://db:…", "p@ss is wrong"),
        ("postgresql://db/town?password=p&ss&user=r", "postgresql://db/town?password=…&user=r", 'no "=" in "ss"'),
        ("duckdb:md:db?motherduck_token=cret", "duckdb:md:db?motherduck_token=…", "cannot open md:db?t=cret"),
        ("postgresql://reader@db:1/town?password=", "postgresql://reader@db:1/town?password=", "no such host: db"),
    ],
)
def test_no_password_is_shown_however_it_is_written(connection: str, shown: str, said: str) -> None:
    def connect(_: str) -> Any:
        raise OSError(said)

    query = mt.Query(connection=connection, text="select 1")
    assert repr(query) == f"Query(connection={shown!r}, text='select 1')"
    with pytest.raises(TableError) as told, query.connected(connect):
        pass
    words = str(told.value)
    assert words.startswith(f"{shown}: cannot connect: ")
    assert not {"p", "ss", "se", "cret"} & set(re.findall(r"\w+", words))
    assert words.endswith(said) == ("host: db" in said)


def test_data_without_a_name_need_one_in_the_book(tmp_path: Path) -> None:
    paths = split(tmp_path / "data", "csv", pacsv.write_csv)
    for source in (
        paths,
        str(tmp_path / "data" / "*.csv"),
        people(ROWS).to_reader(),
        pads.dataset(tmp_path, format="csv"),
    ):
        with pytest.raises(ParameterError, match=r"no name of their own in the book; give one"):
            mt.release(source, people_schema(), epsilon=1, ledger=tmp_path / "book.json")
    book = Ledger()
    mt.release(tmp_path / "data", people_schema(), epsilon=1, delta=1e-4, ledger=book, anyway=True)
    assert book.spent("data", delta=1e-3) > 0


def test_the_output_is_none_of_the_files(tmp_path: Path) -> None:
    paths = split(tmp_path / "data", "csv", pacsv.write_csv)
    for source in (paths, tmp_path / "data", str(tmp_path / "data" / "*.csv")):
        with pytest.raises(OutputError, match="is the data"):
            mt.release(source, people_schema(), epsilon=1, output=paths[1], run=mt.RunSettings(force=True))
