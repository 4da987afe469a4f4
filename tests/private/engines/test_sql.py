"""A database's counts are ours, to the last one, whatever its values, settings and collations are."""

import datetime as dt
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from databases import Open, in_duckdb
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_spark import NASTY, NASTY_SCHEMA

from microtome import release, sql_table
from microtome.accounting import Ledger
from microtome.errors import ParameterError, TableError
from microtome.private.engines.sql_dialect import BIGQUERY, DUCKDB, POSTGRES, SNOWFLAKE, SPARK, SqlDialect
from microtome.private.engines.sql_people import PeopleInSql
from microtome.private.engines.sql_queries import Questions
from microtome.private.histograms import bucket_histogram, cell_histogram, number_histogram, rounding_histogram
from microtome.private.table import PrivateTable
from microtome.published import ReleaseKind
from microtome.schema import Column, Kind, Schema, initial_cells, rounding_classes
from microtome.schema.unit import Unit
from microtome.schema.view import view_of
from support import FixedRandomness, people, people_schema, publish

AGGREGATES: dict[str, Any] = {"kind": ReleaseKind.AGGREGATES, "epsilon": 3.0}
_SHARE = {"profile_share": 0.25}
"""By default the share follows the number of records, which nobody asks a database for before the reservation."""


@pytest.mark.parametrize("options", [{}, {"pivot": "flag"}, {"focus": "flag"}, {"neighbours": "add-remove"}], ids=str)
def test_a_query_gives_the_same_file(load: Open, options: dict[str, Any], tmp_path: Path) -> None:
    given = {**AGGREGATES, **_SHARE, **options}
    publish(NASTY, NASTY_SCHEMA, tmp_path / "here.release", randomness=FixedRandomness(1), **given)
    asked = sql_table(load(NASTY), "SELECT * FROM private")
    publish(asked, NASTY_SCHEMA, tmp_path / "sql.release", randomness=FixedRandomness(1), **given)
    assert (tmp_path / "sql.release").read_bytes() == (tmp_path / "here.release").read_bytes()


def test_all_kinds_and_the_second_round_give_the_same_file(load: Open, tmp_path: Path) -> None:
    table, schema = people(2500), people_schema()
    options: dict[str, Any] = {
        "kind": ReleaseKind.AGGREGATES,
        "epsilon": 50.0,
        "randomness": FixedRandomness(2),
    } | _SHARE
    here = publish(table, schema, tmp_path / "here.release", **options)
    assert here.manifest.mechanism.triples is not None
    publish(sql_table(load(table), "private"), schema, tmp_path / "sql.release", **options)
    assert (tmp_path / "sql.release").read_bytes() == (tmp_path / "here.release").read_bytes()


FINITE = st.one_of(
    st.none(),
    st.floats(width=64, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 5e-324, -5e-324, math.nan, 1e308, 4503599627.370497, 0.1, 1e15]),
    st.integers(-(10**7), 10**7).map(lambda number: number / 100),
    st.integers(2**50, 2**53).map(lambda number: number / 10**6),
)
FLOATS = st.one_of(FINITE, st.sampled_from([math.inf, -math.inf]))
TEXTS = st.one_of(
    st.none(),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4),
    st.sampled_from(["", " ", "a", "A", "ä", "a\u0308", "ß", "ss", "\\", "\\n", "'", "''", "%s", "--", "NULL"]),
)
COLUMNS = {
    "float": (FINITE, pa.float64(), Column(name="x", kind=Kind.FLOAT, bounds=(-1e10, 1e10), outside="clamp")),
    "narrow": (FINITE, pa.float64(), Column(name="x", kind=Kind.FLOAT, bounds=(-0.5, 0.75), outside="clamp")),
    "refused": (FLOATS, pa.float64(), Column(name="x", kind=Kind.FLOAT, bounds=(-1e300, 1e300), missing=False)),
    "category": (
        FINITE,
        pa.float64(),
        Column(name="x", kind="categorical", dtype="float64", categories=(0.0, 0.1), outside="clamp"),
    ),
    "endless": (FLOATS, pa.float64(), Column(name="x", kind=Kind.FLOAT, bounds=(-1e10, 1e10), outside="clamp")),
    "whole": (
        st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.integers(-50, 50)),
        pa.int64(),
        Column(name="x", kind=Kind.INTEGER, bounds=(-(2**53) + 1, 2**53 - 1), outside="clamp"),
    ),
    "small": (
        st.one_of(st.none(), st.integers(-128, 127), st.sampled_from([-128, 127, 128])),
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
        counter.fill(tally, schema, 1, lambda done, total: None)
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
                assert outcome(partial(counted_by, counter, make(), schema)) == outcome(partial(here, make))

    same()


ONE = Schema(columns=(Column(name="x", kind=Kind.INTEGER, bounds=(0, 9), missing=False),))
NUMBERS = pa.table({"x": pa.array([1, 2, 3] * 50)})


def test_collations_and_names_of_a_table_do_not_matter(tmp_path: Path) -> None:
    connection = duckdb.connect()
    connection.execute('CREATE TABLE private ("a""b; --" VARCHAR COLLATE NOCASE)')
    connection.executemany("INSERT INTO private VALUES (?)", [["a"], ["A"], ["a"], ["B"]] * 30)
    schema = Schema(columns=(Column(name='a"b; --', kind="categorical", categories=("a", "A", "b", "B")),))
    table = pa.table({'a"b; --': ["a", "A", "a", "B"] * 30})
    publish(sql_table(connection, "private"), schema, tmp_path / "sql.release", **AGGREGATES)
    publish(table, schema, tmp_path / "here.release", **AGGREGATES)
    assert (tmp_path / "sql.release").read_bytes() == (tmp_path / "here.release").read_bytes()


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("SELECT * FROM private LIMIT 5", "LIMIT 5"),
        ("SELECT * FROM private TABLESAMPLE 5%", "matter of chance"),
        ("SELECT x FROM private WHERE random() < 0.5", "matter of chance"),
        ("DELETE FROM private", "one SELECT"),
        ("SELECT 1; SELECT 2", "one SELECT"),
        ("SELEC x FROM private", "one SELECT|not understood"),
    ],
)
def test_a_query_that_is_no_table_is_refused(query: str, told: str) -> None:
    with pytest.raises(ParameterError, match=told):
        sql_table(in_duckdb(NUMBERS), query)


def test_other_connections_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"duckdb\.connect"):
        sql_table(object(), "private")


def test_types_that_we_have_not_are_named_all_at_once() -> None:
    table = sql_table(duckdb.connect(), "SELECT 1.5 AS a, [1] AS b")
    columns = (Column(name="a", kind=Kind.FLOAT, bounds=(0, 9)), Column(name="b", kind=Kind.INTEGER, bounds=(0, 9)))
    with pytest.raises(TableError, match=r"(?s)column 'a'.*cast it in the query.*column 'b'"):
        release(table, Schema(columns=columns), epsilon=1.0, anyway=True)


def test_a_query_that_gives_other_columns_the_second_time_is_refused(tmp_path: Path) -> None:
    connection, book = in_duckdb(NUMBERS), Ledger(tmp_path / "book.json")
    table, columns = sql_table(connection, "SELECT * FROM private"), NUMBERS.column_names
    connection.execute(f"ALTER TABLE private RENAME COLUMN {columns[0]} TO other")
    schema = Schema(columns=(Column(name=columns[0], kind=Kind.INTEGER, bounds=(0, 9)),))
    with pytest.raises(TableError, match=f"gives no column '{columns[0]}' any more"):
        publish(table, schema, tmp_path / "no.release", ledger=book, **AGGREGATES)
    assert not (tmp_path / "no.release").exists()
    assert book.account("people", delta=1e-5).spent == 0


def test_somebody_elses_transaction_is_neither_joined_nor_ended(load: Open) -> None:
    connection = load(NUMBERS)
    connection.execute("BEGIN")
    connection.execute("INSERT INTO private VALUES (4)")
    with pytest.raises(TableError, match="transaction"):
        sql_table(connection, "private")
    connection.execute("COMMIT")
    assert connection.execute("SELECT COUNT(*) FROM private").fetchone()[0] == 151


def test_all_passes_see_one_table_though_others_write(server: str, tmp_path: Path) -> None:
    import psycopg

    with psycopg.connect(server, autocommit=True) as writer, psycopg.connect(server) as reader:
        writer.execute("DROP TABLE IF EXISTS steady")
        writer.execute("CREATE TABLE steady AS SELECT i % 10 AS x, i % 3 AS y FROM generate_series(1, 300) AS i")
        schema = Schema(columns=tuple(Column(name=n, kind="integer", bounds=(0, 9), missing=False) for n in "xy"))
        table = sql_table(reader, "steady")

        class Writing(FixedRandomness):
            def stream(self, purpose: str, block: int = 0) -> np.random.Generator:
                writer.execute("INSERT INTO steady VALUES (1, 1)")
                return super().stream(purpose, block)

        options: dict[str, Any] = {"kind": ReleaseKind.AGGREGATES, "epsilon": 3.0}
        publish(table, schema, tmp_path / "sql.release", randomness=Writing(), **options)
        same = pa.table({"x": [i % 10 for i in range(1, 301)], "y": [i % 3 for i in range(1, 301)]})
        publish(same, schema, tmp_path / "here.release", randomness=FixedRandomness(), **options)
        assert (tmp_path / "sql.release").read_bytes() == (tmp_path / "here.release").read_bytes()
        assert reader.info.transaction_status.name == "IDLE"


def test_a_connection_that_is_lost_halfway_is_told_and_charged_as_it_was(server: str, tmp_path: Path) -> None:
    import psycopg

    with psycopg.connect(server, autocommit=True) as writer:
        writer.execute("DROP TABLE IF EXISTS lost")
        writer.execute("CREATE TABLE lost AS SELECT i % 10 AS x, i % 3 AS y FROM generate_series(1, 300) AS i")
        schema = Schema(columns=tuple(Column(name=n, kind="integer", bounds=(0, 9), missing=False) for n in "xy"))
        book, reader = Ledger(tmp_path / "book.json"), psycopg.connect(server)
        table = sql_table(reader, "lost")

        class Cutting(FixedRandomness):
            def stream(self, purpose: str, block: int = 0) -> np.random.Generator:
                writer.execute("SELECT pg_terminate_backend(%s)", [reader.info.backend_pid])
                return super().stream(purpose, block)

        with pytest.raises(TableError, match="the database says"):
            publish(table, schema, tmp_path / "no.release", ledger=book, randomness=Cutting(), **AGGREGATES)
        reader.close()
    assert not (tmp_path / "no.release").exists()
    assert book.account("people", delta=1e-5).spent > 0, "noise was drawn: it counts"


def test_the_promise_is_reserved_before_the_first_row_is_asked_for(tmp_path: Path) -> None:
    connection, book = in_duckdb(NUMBERS), Ledger(tmp_path / "book.json")
    asked: list[tuple[str, float]] = []

    class Watched:
        __module__ = "duckdb"

        def execute(self, statement: str) -> Any:
            asked.append((statement, book.account("people", delta=1e-5).spent))
            return connection.execute(statement)

        def rollback(self) -> Any:
            return connection.rollback()

    publish(sql_table(Watched(), "private"), ONE, tmp_path / "sql.release", ledger=book, **AGGREGATES)
    before = [statement for statement, spent in asked if spent == 0]
    assert "SELECT * FROM (SELECT * FROM private) AS asked LIMIT 0" in before
    assert not [statement for statement in before if "private" in statement and "LIMIT 0" not in statement]
    assert [statement for statement, spent in asked if spent > 0 and "COUNT(*)" in statement]


GOLDEN = Path(__file__).parent / "golden"
SOLD = Schema(
    columns=(
        Column(name="town", kind="categorical", categories=("Åbo", "O'Neil", "C:\\x"), outside="clamp"),
        Column(name="age", kind=Kind.INTEGER, bounds=(0, 3), missing=False),
        Column(name="joined", kind=Kind.DATE, bounds=(dt.date(2020, 1, 1), dt.date(2020, 1, 3))),
        Column(name="owner", kind="boolean"),
    )
)


BOUGHT = (Column(name="bought", kind=Kind.DATE, bounds=(dt.date(2020, 1, 1), dt.date(2020, 1, 3)), missing=False),)


def compiled(dialect: SqlDialect) -> str:
    """The queries of a profile, and those of two tables of pairs."""
    asked = Questions.of("SELECT * FROM people", SOLD, ["text", "whole", "date", "boolean"], dialect)
    cells = [asked.cell(place, initial_cells(column)) for place, column in enumerate(SOLD.columns)]
    queries = [asked.rows, *map(asked.dense, cells), asked.tables(cells, "0", [(0, 1), (1, 3)], [0, 1, 3])]
    return printed(queries, dialect)


def compiled_people(dialect: SqlDialect) -> str:
    """The queries of people with several rows: what is checked, a histogram, and a table with steps."""
    schema = replace(SOLD, columns=(SOLD["town"], *BOUGHT), unit=Unit(key="who", max_rows=3, order="bought"))
    families = ["text", "date", "text"]
    people = PeopleInSql.of("SELECT * FROM sales", schema, view_of(schema), families, bytes(32), dialect)
    asked = Questions.of_people(people)
    town = asked.cell(0, initial_cells(schema["town"]))
    tables = asked.tables([town], "0", [(0, 1)], [0, 1], [(0, 4)])
    checks = [people.unowned(), people.several_spellings(), people.changes("town")]
    return printed([*checks, asked.rows, asked.dense(town), tables], dialect)


def printed(queries: list[str], dialect: SqlDialect) -> str:
    import sqlglot

    return "\n".join(
        str(sqlglot.parse_one(one, dialect.name).sql(dialect.name, pretty=True)) + ";\n" for one in queries
    )


@pytest.mark.parametrize("dialect", [DUCKDB, POSTGRES, SPARK, BIGQUERY, SNOWFLAKE], ids=lambda one: one.name)
def test_queries_are_those_that_were_read(dialect: SqlDialect) -> None:
    for name, asked in ((dialect.name, compiled(dialect)), (f"{dialect.name}-people", compiled_people(dialect))):
        assert asked == (GOLDEN / f"{name}.sql").read_bytes().decode()


@pytest.mark.parametrize("dialect", [SPARK, BIGQUERY, SNOWFLAKE], ids=lambda one: one.name)
def test_what_a_dialect_cannot_say_is_refused(dialect: SqlDialect) -> None:
    column = Column(name="x", kind=Kind.FLOAT, bounds=(0, 1))
    one = Questions.of("private", Schema(columns=(column,)), ["double"], dialect).columns[0]
    with pytest.raises(TableError, match="cannot be counted in"):
        one.bucket(16)
    with pytest.raises(TableError, match="lots of rows cannot be counted in"):
        assert one.as_plain_text


def test_the_page_runs_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "engines-sql.md"
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in page.read_text(encoding="utf-8").split("```python")[1:]:
        exec(block.split("```")[0], names)
    assert (tmp_path / "people.release").exists()
