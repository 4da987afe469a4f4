"""A database's counts are ours, to the last one, whatever its values, settings and collations are."""

import datetime as dt
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from postgres_server import postgres
from test_spark import NASTY, NASTY_SCHEMA

from microtome import sql_table
from microtome.errors import TableError
from microtome.private.histograms import bucket_histogram, cell_histogram, number_histogram, rounding_histogram
from microtome.private.table import PrivateTable
from microtome.published import ReleaseKind
from microtome.schema import Column, Kind, Schema, initial_cells, rounding_classes
from support import FixedRandomness, people, people_schema, publish

AGGREGATES: dict[str, Any] = {"kind": ReleaseKind.AGGREGATES, "epsilon": 3.0}
Open = Callable[[pa.Table], Any]
_POSTGRES_TYPES = {
    pa.string(): "text",
    pa.bool_(): "boolean",
    pa.int64(): "bigint",
    pa.float64(): "double precision",
    pa.date32(): "date",
    pa.timestamp("us"): "timestamp",
    pa.time64("us"): "time",
}


def in_duckdb(table: pa.Table) -> Any:
    connection = duckdb.connect()
    connection.register("given", table)
    connection.execute("CREATE TABLE private AS SELECT * FROM given")
    connection.unregister("given")
    return connection


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres() as address:
        yield address


@pytest.fixture(params=["duckdb", "postgres"])
def load(request: pytest.FixtureRequest) -> Iterator[Open]:
    if request.param == "duckdb":
        yield in_duckdb
        return
    import psycopg

    with psycopg.connect(request.getfixturevalue("server"), autocommit=True) as connection:
        # What a server may be set to, and must not matter.
        connection.execute("SET TimeZone = 'Asia/Kolkata'")
        connection.execute("SET standard_conforming_strings = off")
        connection.execute("SET DateStyle = 'German'")

        def in_postgres(table: pa.Table) -> Any:
            columns = ", ".join(f'"{field.name}" {_POSTGRES_TYPES[field.type]}' for field in table.schema)
            connection.execute("DROP TABLE IF EXISTS private")
            connection.execute(f"CREATE TABLE private ({columns})")
            marks = ", ".join(["%s"] * table.num_columns)
            with connection.cursor() as cursor:
                cursor.executemany(
                    f"INSERT INTO private VALUES ({marks})", [tuple(row.values()) for row in table.to_pylist()]
                )
            return connection

        yield in_postgres


@pytest.mark.parametrize("options", [{}, {"pivot": "flag"}, {"focus": "flag"}, {"neighbours": "add-remove"}], ids=str)
def test_a_query_gives_the_same_file(load: Open, options: dict[str, Any], tmp_path: Path) -> None:
    publish(NASTY, NASTY_SCHEMA, tmp_path / "here.release", randomness=FixedRandomness(1), **AGGREGATES, **options)
    asked = sql_table(load(NASTY), "SELECT * FROM private")
    publish(asked, NASTY_SCHEMA, tmp_path / "sql.release", randomness=FixedRandomness(1), **AGGREGATES, **options)
    assert (tmp_path / "sql.release").read_bytes() == (tmp_path / "here.release").read_bytes()


def test_all_kinds_and_the_second_round_give_the_same_file(load: Open, tmp_path: Path) -> None:
    table, schema = people(2500), people_schema()
    options: dict[str, Any] = {"kind": ReleaseKind.AGGREGATES, "epsilon": 50.0, "randomness": FixedRandomness(2)}
    here = publish(table, schema, tmp_path / "here.release", **options)
    assert here.manifest.mechanism.triples is not None
    publish(sql_table(load(table), "private"), schema, tmp_path / "sql.release", **options)
    assert (tmp_path / "sql.release").read_bytes() == (tmp_path / "here.release").read_bytes()


FLOATS = st.one_of(
    st.none(),
    st.floats(width=64),
    st.sampled_from([0.0, -0.0, 5e-324, -5e-324, math.inf, -math.inf, math.nan, 1e308, 4503599627.370497, 0.1, 1e15]),
    st.integers(-(10**7), 10**7).map(lambda number: number / 100),
    st.integers(2**50, 2**53).map(lambda number: number / 10**6),
)
TEXTS = st.one_of(
    st.none(),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4),
    st.sampled_from(["", " ", "a", "A", "ä", "a\u0308", "ß", "ss", "\\", "\\n", "'", "''", "%s", "--", "NULL"]),
)
COLUMNS = {
    "float": (FLOATS, pa.float64(), Column(name="x", kind=Kind.FLOAT, bounds=(-1e10, 1e10), outside="clamp")),
    "narrow": (FLOATS, pa.float64(), Column(name="x", kind=Kind.FLOAT, bounds=(-0.5, 0.75), outside="clamp")),
    "refused": (FLOATS, pa.float64(), Column(name="x", kind=Kind.FLOAT, bounds=(-1e300, 1e300), missing=False)),
    "category": (FLOATS, pa.float64(), Column(name="x", kind="categorical", dtype="float64", categories=(0.0, 0.1))),
    "whole": (
        st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.integers(-50, 50)),
        pa.int64(),
        Column(name="x", kind=Kind.INTEGER, bounds=(-(2**53) + 1, 2**53 - 1), outside="clamp"),
    ),
    "small": (
        st.one_of(st.none(), st.integers(-300, 300)),
        pa.int64(),
        Column(name="x", kind=Kind.INTEGER, dtype="int8", bounds=(-100, 100), outside="clamp"),
    ),
    "text": (
        TEXTS,
        pa.string(),
        Column(name="x", kind="categorical", categories=("a", "ä", "", "\\", "'"), outside="clamp"),
    ),
    "listed": (TEXTS, pa.string(), Column(name="x", kind="categorical", categories=("a", "A"), missing=False)),
    "flag": (st.sampled_from([None, True, False]), pa.bool_(), Column(name="x", kind="boolean", missing=False)),
    "day": (
        st.one_of(st.none(), st.dates()),
        pa.date32(),
        Column(name="x", kind=Kind.DATE, bounds=(dt.date(1, 1, 1), dt.date(2000, 1, 1)), outside="clamp"),
    ),
    "moment": (
        st.one_of(st.none(), st.datetimes()),
        pa.timestamp("us"),
        Column(name="x", kind=Kind.DATETIME, bounds=("1900-01-01", "2100-01-01"), outside="clamp"),
    ),
    "time": (st.one_of(st.none(), st.times()), pa.time64("us"), Column(name="x", kind=Kind.TIME)),
}


def counted_by(counter: Any, histogram: Any, schema: Schema) -> Any:
    """What a database counts of the one column, in a round of one question."""
    from microtome.private.domain import Question
    from microtome.private.searching import SearchTally

    tally = SearchTally(())
    tally._findings, tally.asked = [type("One", (), {"index": 0})()], [[Question("one", histogram)]]
    with counter.held():
        counter.fill(tally, schema, 1)
    return histogram.counts


def outcome(count: Callable[[], Any]) -> Any:
    """What was counted, or that it was refused."""
    try:
        found = count()
    except TableError:
        return "refused"
    return found.tolist() if isinstance(found, np.ndarray) else dict(found)


@pytest.mark.parametrize("name", COLUMNS)
def test_every_value_is_in_its_own_cell(load: Open, name: str) -> None:
    values, arrow_type, column = COLUMNS[name]
    schema, cells, classes = Schema(columns=(column,)), initial_cells(column), rounding_classes(column)
    makers = [lambda: cell_histogram(column, cells)]
    if not column.kind.is_categorical:
        every = np.ones(1 << 12, dtype=bool)
        makers += [lambda: bucket_histogram(column), lambda: number_histogram(column, every)]
        makers += [] if classes is None else [lambda: rounding_histogram(column, classes)]

    @settings(max_examples=25, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(values, min_size=1, max_size=30))
    def same(drawn: list[Any]) -> None:
        table = pa.table({"x": pa.array(drawn, arrow_type)})
        counter = sql_table(load(table), "private").counter
        own = PrivateTable(origin="here", types={"x": arrow_type}, num_rows=None, stream=lambda _: table.to_batches())

        def here(make: Callable[[], Any]) -> Any:
            histogram = make()
            for block in own.blocks(schema, 1 << 16):
                histogram.add(block.column(0).combine_chunks())
            return histogram.counts

        wanted = outcome(lambda: here(makers[0]))
        assert outcome(lambda: counted_by(counter, makers[0](), schema)) == wanted
        if wanted != "refused":
            for make in makers[1:]:
                assert outcome(lambda: counted_by(counter, make(), schema)) == outcome(lambda: here(make))

    same()
