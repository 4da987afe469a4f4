"""Tables of different tools are compared by value, whatever their types; what cannot be compared is refused by name."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from microtome.errors import SchemaError, TableError
from microtome.evaluation.comparable_table import MISSING, code_tables, sampled, shuffled_columns
from microtome.evaluation.drafting import schema_of
from microtome.evaluation.tables import RawTable, read_table
from microtome.schema import Column, Kind, Schema


def raw(columns: dict[str, object], origin: str = "a table") -> RawTable:
    return RawTable(origin=origin, data=pa.table(columns))


def drafted(columns: dict[str, object], target: str | None = None) -> tuple[dict[str, str], list[str]]:
    schema, notes = schema_of(raw(columns), schema=None, target=target)
    return {column.name: str(column.kind) for column in schema.columns}, notes


LISTED = Schema(columns=(Column(name="v", kind=Kind.CATEGORICAL),))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([1, 2, None], pa.array([1.0, 2.0, float("nan")])),
        ([1, 2, None], ["1", "2", None]),
        ([True, False, None], ["true", "false", None]),
        (pa.array(["a", "b", None]).dictionary_encode(), ["a", "b", None]),
        ([0.5, 2.0, None], ["0.5", "2", None]),
        ([dt.date(2020, 1, 1), dt.date(2021, 1, 1), None], ["2020-01-01", "2021-01-01", None]),
    ],
    ids=["float", "text", "boolean", "dictionary", "fractions", "date"],
)
def test_equal_values_of_different_types_have_one_label(first: object, second: object) -> None:
    (one, other), _ = code_tables([raw({"v": first}), raw({"v": second})], LISTED)
    assert len(one.labels["v"]) == 2
    assert one.values["v"].tolist() == other.values["v"].tolist()
    assert one.values["v"][2] == MISSING
    assert one.missing("v").tolist() == [False, False, True]


def test_booleans_of_other_tools_are_booleans() -> None:
    schema = Schema(columns=(Column(name="v", kind=Kind.BOOLEAN),))
    sides = [raw({"v": [True, False]}), raw({"v": ["True", "False"]}), raw({"v": [1, 0]})]
    tables, _ = code_tables(sides, schema)
    assert [table.values["v"].tolist() for table in tables] == [[1, 0]] * 3
    assert tables[0].labels["v"] == ("false", "true")


def test_dates_and_times_become_numbers_whatever_their_type() -> None:
    for kind, unit in ((Kind.DATE, 1.0), (Kind.DATETIME, 86_400e6)):
        schema = Schema(columns=(Column(name="v", kind=kind),))
        days = [dt.date(1970, 1, 2), None]
        sides = [
            raw({"v": days}),
            raw({"v": ["1970-01-02", None]}),
            raw({"v": pa.array(days).cast(pa.timestamp("ns"))}),
        ]
        for table in code_tables(sides, schema)[0]:
            assert table.values["v"][0] == unit
            assert table.missing("v").tolist() == [False, True]


def test_declared_categories_come_first_and_numbers_in_order() -> None:
    schema = Schema(
        columns=(
            Column(name="v", kind=Kind.ORDERED, categories=("low", "high")),
            Column(name="w", kind=Kind.CATEGORICAL),
        )
    )
    (table,), _ = code_tables([raw({"v": ["odd", "high"], "w": ["10", "9"]})], schema)
    assert table.labels == {"v": ("low", "high", "odd"), "w": ("9", "10")}


def test_infinite_numbers_are_missing() -> None:
    schema = Schema(columns=(Column(name="v", kind=Kind.FLOAT),))
    (table,), _ = code_tables([raw({"v": [1.0, float("inf"), float("nan")]})], schema)
    assert table.missing("v").tolist() == [False, True, True]


def test_every_way_to_give_a_table_gives_the_same(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": ["x", "y", None], "n": [1, 2, 3]}, index=[5, 6, 7])
    table = pa.Table.from_pandas(frame, preserve_index=False)
    pq.write_table(table, tmp_path / "t.parquet")
    pacsv.write_csv(table, tmp_path / "t.csv")
    sources = [frame, table, pl.from_arrow(table), tmp_path / "t.parquet", str(tmp_path / "t.csv")]
    for source in sources:
        found = read_table(source, "the table")
        assert found.data.column_names == ["a", "n"]
        assert found.data.to_pydict() == {"a": ["x", "y", None], "n": [1, 2, 3]}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("no.csv", None, "no such file"),
        ("empty.csv", "", "the file is empty"),
        ("header.csv", "a,b\n", "no rows"),
        ("twice.csv", "a,a\n1,2\n", "'a' occurs twice"),
        ("ragged.csv", "a,b\n1\n2,3,4\n", "Expected 2 columns"),
        ("bad.parquet", "not parquet", "cannot be read"),
        ("table.xlsx", "x", "give a schema"),
        ("table.xls", "x", "give one of the files .csv"),
    ],
)
def test_bad_files_are_refused_by_name(tmp_path: Path, name: str, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(TableError, match=message) as caught:
        read_table(tmp_path / name, "the table")
    assert name in str(caught.value)


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(TableError, match="the real table is a int"):
        read_table(3, "the real table")
    with pytest.raises(TableError, match="cannot be turned into Arrow"):
        read_table(pd.DataFrame({"a": [1, "x"]}), "the real table")


def test_columns_that_do_not_match_are_named() -> None:
    schema = schema_of(raw({"a": ["x"], "b": ["y"]}), schema=None, target=None)[0]
    with pytest.raises(TableError, match=r"made.csv: no column 'b'; it has a, c\. Both tables need the same"):
        code_tables([raw({"a": ["x"], "b": ["y"]}), raw({"a": ["x"], "c": ["z"]}, "made.csv")], schema)
    _, notes = code_tables([raw({"a": ["x"], "b": ["y"]}), raw({"a": ["x"], "b": ["y"], "c": [1]}, "made.csv")], schema)
    assert notes == ["made.csv has columns that are not compared: c."]


def test_text_where_numbers_are_wanted_is_refused_by_column() -> None:
    schema = Schema(columns=(Column(name="age", kind=Kind.INTEGER),))
    with pytest.raises(TableError, match=r"made\.csv: column 'age' is string"):
        code_tables([raw({"age": [1]}), raw({"age": ["old"]}, "made.csv")], schema)


def test_drafted_kinds() -> None:
    many = range(1500)
    kinds, notes = drafted(
        {
            "code": [number % 12 for number in many],
            "age": [number % 90 for number in many],
            "coded float": [float(number % 3) for number in many],
            "size": [number / 7 for number in many],
            "name": [f"person {number}" for number in many],
            "row": list(many),
            "day": [dt.date(2020, 1, 1)] * 1500,
            "seen": [dt.datetime(2020, 1, 1)] * 1500,
            "yes": [True] * 1500,
            "town": ["a"] * 1500,
            "gone": pa.nulls(1500),
        }
    )
    assert kinds == {
        "code": "categorical", "age": "integer", "coded float": "categorical", "size": "float", "day": "date",
        "seen": "datetime", "yes": "boolean", "town": "categorical",
    }  # fmt: skip
    assert [note.split("'")[1] for note in notes] == ["name", "row", "gone"]


def test_a_target_that_is_no_column_is_refused() -> None:
    with pytest.raises(SchemaError, match="target 'income' is not a column; columns are a"):
        drafted({"a": ["x"]}, target="income")


def test_samples_and_shuffles_keep_what_they_should() -> None:
    (table,), _ = code_tables([raw({"v": [str(number % 7) for number in range(700)]})], LISTED)
    rng = np.random.default_rng(0)
    assert sampled(table, 700, rng) is table
    assert sampled(table, 100, rng).num_rows == 100
    mixed = shuffled_columns(table, rng)
    assert np.bincount(mixed.values["v"]).tolist() == [100] * 7
    assert (mixed.values["v"] != table.values["v"]).any()
