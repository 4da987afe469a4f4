"""Reading the private table from everything it may come in, in blocks of the wanted size."""

import datetime as dt
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microtome.errors import TableError
from microtome.private import open_table
from microtome.private.table import PrivateTable
from microtome.schema import Column, Kind, Schema
from support import people, people_schema


def to_csv(table: pa.Table, folder: Path) -> Path:
    pacsv.write_csv(table, folder / "people.csv")
    return folder / "people.csv"


def to_gzip(table: pa.Table, folder: Path) -> Path:
    path = folder / "people.csv.gz"
    path.write_bytes(gzip.compress(to_csv(table, folder).read_bytes()))
    return path


def to_parquet(table: pa.Table, folder: Path) -> Path:
    pq.write_table(table, folder / "people.parquet", row_group_size=37)
    return folder / "people.parquet"


SOURCES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "csv": to_csv,
    "csv as text": lambda table, folder: str(to_csv(table, folder)),
    "csv.gz": to_gzip,
    "parquet": to_parquet,
    "pandas": lambda table, folder: table.to_pandas(),
    "pandas, nullable": lambda table, folder: table.to_pandas(types_mapper=pd.ArrowDtype),
    "pandas, category dtype": lambda table, folder: table.to_pandas().astype({"town": "category", "grade": "category"}),
    "pandas, own index": lambda table, folder: table.to_pandas().set_index(np.arange(len(table))[::-1]),
    "polars": lambda table, folder: pl.from_arrow(table),
    "polars, categorical": lambda table, folder: pl.DataFrame(table).with_columns(
        pl.col("town").cast(pl.Categorical), pl.col("grade").cast(pl.Enum(["low", "mid", "high"]))
    ),
    "arrow": lambda table, folder: table,
    "arrow batch": lambda table, folder: table.combine_chunks().to_batches()[0],
    "arrow dictionary": lambda table, folder: table.set_column(0, "town", table.column("town").dictionary_encode()),
    "arrow large text": lambda table, folder: table.set_column(0, "town", table.column("town").cast(pa.large_string())),
    "arrow text views": lambda table, folder: table.set_column(0, "town", table.column("town").cast(pa.string_view())),
}


@pytest.mark.parametrize("form", SOURCES)
def test_every_form_gives_the_same_rows(form: str, tmp_path: Path) -> None:
    table, schema = people(100), people_schema()
    opened = open_table(SOURCES[form](table, tmp_path))
    assert list(opened.types) == schema.names
    blocks = list(opened.blocks(schema, 30))
    assert [block.num_rows for block in blocks] == [30, 30, 30, 10]
    read = pa.concat_tables(blocks)
    assert [_of_values(field.type) for field in read.schema] == [column.arrow_type for column in schema.columns]
    assert read.to_pydict() == table.to_pydict()


def _of_values(kind: pa.DataType) -> pa.DataType:
    """Texts of categories come as places in a list of them."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


@given(batches=st.lists(st.integers(0, 50), min_size=1, max_size=8), rows=st.integers(1, 60))
def test_blocks_are_exact_and_complete(batches: list[int], rows: int) -> None:
    values = iter(range(sum(batches)))
    pieces = [pa.record_batch({"x": pa.array([next(values) for _ in range(size)], pa.int64())}) for size in batches]
    table = PrivateTable(origin="t", types={"x": pa.int64()}, num_rows=None, stream=lambda columns: iter(pieces))
    blocks = list(table.blocks(Schema(columns=(Column(name="x", kind=Kind.INTEGER),)), rows))
    assert all(block.num_rows == rows for block in blocks[:-1])
    assert all(1 <= block.num_rows <= rows for block in blocks)
    assert [value for block in blocks for value in block.column("x").to_pylist()] == list(range(sum(batches)))


def read_column(values: Any, column: Column) -> list:
    blocks = open_table(pa.table({column.name: values})).blocks(Schema(columns=(column,)), 10)
    return [value for block in blocks for value in block.column(0).to_pylist()]


@pytest.mark.parametrize(
    ("values", "column", "wanted"),
    [
        (pa.array([1.0, float("nan"), 3.0]), Column(name="x", kind=Kind.INTEGER), [1, None, 3]),
        (pa.array([1, 0, None]), Column(name="x", kind=Kind.BOOLEAN), [True, False, None]),
        (pa.array([1.0, 0.0]), Column(name="x", kind=Kind.BOOLEAN), [True, False]),
        (pa.array(["7", "-1"]), Column(name="x", kind=Kind.INTEGER, dtype="int8"), [7, -1]),
        (pa.array([7, 8], pa.uint8()), Column(name="x", kind=Kind.FLOAT), [7.0, 8.0]),
        (
            pa.array([dt.datetime(2020, 1, 1, 5)], pa.timestamp("ns")),
            Column(name="x", kind=Kind.DATETIME),
            [dt.datetime(2020, 1, 1, 5)],
        ),
        (
            pa.array([dt.datetime(2020, 1, 1)], pa.timestamp("s")),
            Column(name="x", kind=Kind.DATE),
            [dt.date(2020, 1, 1)],
        ),
    ],
)
def test_values_are_cast_to_what_the_schema_says(values: pa.Array, column: Column, wanted: list) -> None:
    assert read_column(values, column) == wanted


@pytest.mark.parametrize(
    ("values", "column", "value"),
    [
        (pa.array(["1", "one"]), Column(name="my x", kind=Kind.INTEGER), "one"),
        (pa.array([1.5]), Column(name="my x", kind=Kind.INTEGER), "1.5"),
        (pa.array([300]), Column(name="my x", kind=Kind.INTEGER, dtype="int8"), "300"),
        (pa.array([-1]), Column(name="my x", kind=Kind.INTEGER, dtype="uint8"), "-1"),
        (pa.array([7]), Column(name="my x", kind=Kind.BOOLEAN), "7"),
        (pa.array(["maybe"]), Column(name="my x", kind=Kind.BOOLEAN), "maybe"),
        (pa.array([5]), Column(name="my x", kind=Kind.CATEGORICAL), "int64"),
        (pa.array([[1]]), Column(name="my x", kind=Kind.FLOAT), "my x"),
    ],
)
def test_values_of_another_type_are_refused_by_name(values: pa.Array, column: Column, value: str) -> None:
    with pytest.raises(TableError) as refused:
        read_column(values, column)
    assert "'my x'" in str(refused.value)
    assert value in str(refused.value)


def test_csv_errors_name_the_column_even_if_others_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("first,second,third\na,1,2\nb,1,oops\n")
    schema = Schema(columns=(Column(name="third", kind=Kind.INTEGER),))
    with pytest.raises(TableError, match=r"t\.csv: column 'third'.*oops"):
        list(open_table(path).blocks(schema, 10))
    with pytest.raises(TableError, match="no column 'fourth'; it has first, second, third"):
        list(open_table(path).blocks(Schema(columns=(Column(name="fourth", kind=Kind.INTEGER),)), 10))


def test_missing_values_of_a_csv(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("\ufeffcity,size\nKöln,1.5\n,nan\nNA,\n".encode())
    schema = Schema(columns=(Column(name="city", kind=Kind.CATEGORICAL), Column(name="size", kind=Kind.FLOAT)))
    (block,) = open_table(path).blocks(schema, 10)
    assert block.to_pydict() == {"city": ["Köln", None, None], "size": [1.5, None, None]}


def test_pandas_index_is_not_a_column() -> None:
    frame = pd.DataFrame({"age": [1, 2]}, index=pd.Index(["Ada", "Bob"], name="person"))
    assert list(open_table(frame).types) == ["age"]


class StreamOnly:
    """Something that only speaks Arrow's stream protocol."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


def test_any_stream_of_arrow_is_a_table() -> None:
    assert open_table(StreamOnly(people(5))).num_rows == 5


def repeated_parquet(folder: Path) -> Path:
    path = folder / "t.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), path)
    return path


def repeated_csv(folder: Path) -> Path:
    path = folder / "t.csv"
    path.write_text("a,b,a\n1,2,3\n")
    return path


@pytest.mark.parametrize(
    "make",
    [
        repeated_parquet,
        repeated_csv,
        lambda folder: pd.DataFrame([[1, 2]], columns=["a", "a"]),
        lambda folder: pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]),
        lambda folder: StreamOnly(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])),
    ],
)
def test_repeated_column_names_are_refused(make: Callable[[Path], Any], tmp_path: Path) -> None:
    with pytest.raises(TableError, match="column 'a' occurs twice"):
        open_table(make(tmp_path))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "empty"),
        ("t.parquet", b"", "empty"),
        ("t.csv", b"\n1,2\n", "first line"),
        ("t.csv", b",,\n1,2,3\n", "first line"),
        ("t.csv", b"\xff\xfe\x00\n", "UTF-8"),
        ("t.csv.gz", b"a,b\n1,2\n", "gzip"),
        ("t.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 99, mtime=0)[:30], "[Tt]runcated"),
        ("t.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 99, mtime=0)[:9], "[Tt]runcated|first line"),
        ("t.parquet", b"PAR1 or not", "Parquet"),
        ("t.xls", b"a,b", r"\.csv"),
        ("t.xlsx", b"a,b", "not a readable Excel workbook"),
        ("t.csv", b"a,b\n1,2\n1,2,3\n", "Expected 2 columns, got 3"),
    ],
)
def test_files_that_are_no_tables(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(TableError, match=message) as refused:
        open_table(path)
    assert str(path) in str(refused.value)


def test_things_that_are_no_tables(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="no such file"):
        open_table(tmp_path / "absent.csv")
    with pytest.raises(TableError, match="directory"):
        open_table(tmp_path)
    with pytest.raises(TableError, match="list"):
        open_table([1, 2, 3])
    with pytest.raises(TableError, match="column a"):
        open_table(pd.DataFrame({"a": [1, "x"]}))


def test_parquet_cut_short_after_it_was_opened(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(people(5000), path)
    opened = open_table(path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(TableError, match=r"t\.parquet"):
        list(opened.blocks(people_schema(), 100))


@pytest.mark.parametrize("last", [2**53 + 1, None])
def test_whole_numbers_that_a_gap_would_round_are_refused(last: int | None) -> None:
    """In pandas one missing value turns whole numbers into floats: everybody's value would depend on one record."""
    frame = pd.DataFrame({"code": [2**53 + 1] * 5 + [last]})
    schema = Schema(columns=(Column(name="code", kind=Kind.INTEGER),))
    if last is None:
        with pytest.raises(TableError, match="cannot hold exactly"):
            list(open_table(frame).blocks(schema, 10))
    else:
        (block,) = open_table(frame).blocks(schema, 10)
        assert set(block["code"].to_pylist()) == {2**53 + 1}


def test_cells_with_line_breaks_are_read_wherever_a_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    path.write_text("note,age\n" + '"two\nlines",3\n' * 700_000)
    schema = Schema(columns=(Column(name="age", kind=Kind.INTEGER),))
    assert sum(block.num_rows for block in open_table(path).blocks(schema, 1 << 16)) == 700_000
