"""Queries on a PostgreSQL server: the same release as of the table itself, one read, and nothing left after a loss."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import microtome as mt
import postgresql
from microtome.accounting import Ledger
from microtome.errors import ParameterError, TableError
from microtome.private import open_table
from microtome.private.spool import read_again
from microtome.published import AggregatesRelease
from support import people, people_schema, publish

dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="no driver for PostgreSQL here")


@pytest.fixture(scope="module")
def town() -> Iterator[str]:
    """A server with the people of a town."""
    with postgresql.server() as address:
        with dbapi.connect(address) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest("people", people(), mode="create")
            connection.commit()
        yield address


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    return place


def test_a_query_gives_the_release_of_its_rows(town: str, tmp_path: Path, temporary: Path) -> None:
    wanted = publish(people(), people_schema(), tmp_path / "wanted", kind="aggregates")
    with read_again(mt.Query(connection=town, text="select * from people order by random()")) as rows:
        found = publish(rows, people_schema(), tmp_path / "found", kind="aggregates")
    assert isinstance(wanted, AggregatesRelease)
    assert isinstance(found, AggregatesRelease)
    assert np.array_equal(found.second, wanted.second)
    assert not list(temporary.iterdir())


def test_the_query_is_run_once(town: str, tmp_path: Path) -> None:
    """Rows that are others at every reading: what all passes see is one reading."""
    query = mt.Query(
        connection=town, text="select random() < 0.5 as owner, floor(random() * 9)::int as age from people"
    )
    schema = mt.Schema(
        columns=(mt.Column(name="owner", kind="boolean"), mt.Column(name="age", kind="integer", bounds=(0, 9)))
    )
    with read_again(query) as rows:
        table = open_table(rows)
        first, second = (pa.concat_tables(table.blocks(schema, 100)) for _ in range(2))
    assert first.equals(second)


def test_types_of_the_server(town: str, tmp_path: Path) -> None:
    text = """select 12.50::numeric as income, '2021-02-03'::date as joined, 'NaN'::float8 as seen, 7::int2 as age,
              '10.0.0.1'::inet as town, gen_random_uuid() as id"""
    schema = mt.Schema(
        columns=(
            mt.Column(name="income", kind="float"),
            mt.Column(name="joined", kind="date"),
            mt.Column(name="age", kind="integer"),
        )
    )
    with read_again(mt.Query(connection=town, text=text)) as rows:
        (block,) = open_table(rows).blocks(schema, 10)
        assert block.to_pylist()[0]["income"] == 12.5
        odd = mt.Schema(columns=(mt.Column(name="town", kind="categorical"), mt.Column(name="id", kind="float")))
        with pytest.raises(TableError, match="column 'id'"):
            list(open_table(rows).blocks(odd, 10))


def test_a_query_cannot_write(town: str) -> None:
    with (
        pytest.raises(TableError, match="read-only transaction"),
        read_again(mt.Query(connection=town, text="delete from people returning *")),
    ):
        pass


def test_a_connection_that_is_lost_halfway(town: str, tmp_path: Path, temporary: Path) -> None:
    def cut(stage: str, done: int, total: int | None, note: str = "") -> None:
        assert stage == "copy"
        with dbapi.connect(town) as connection, connection.cursor() as cursor:
            cursor.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity "
                "where pid <> pg_backend_pid() and query like '%generate_series%'"
            )
            assert cursor.fetchall() == [(True,)]

    text = "select p.* from people p, generate_series(1, 5000)"
    book = Ledger(tmp_path / "book.json")
    with pytest.raises(TableError, match=r"the query stopped after [\d,]+ rows: .*terminat"):
        mt.release(
            mt.Query(connection=town, text=text),
            people_schema(),
            epsilon=1,
            output=tmp_path / "r",
            ledger=book,
            dataset="people",
            run=mt.RunSettings(progress=cut),
        )
    assert not (tmp_path / "r").exists()
    assert not list(temporary.iterdir())
    assert book.spent("people", delta=1e-6) == 0


def refused(connection: str, text: str) -> str:
    with pytest.raises((TableError, ParameterError)) as told, read_again(mt.Query(connection=connection, text=text)):
        pass
    return str(told.value)


def test_wrong_queries_and_addresses(town: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "the query was refused" in refused(town, "select nothing from nowhere")
    told = refused("postgresql://holder:se,cret@127.0.0.1:1/postgres", "select 1")
    assert "cannot connect" in told
    assert "se,cret" not in told
    assert "must begin with postgresql://" in refused("oracle://x", "select 1")
    with (
        pytest.raises(TableError, match="no column 'town'"),
        read_again(mt.Query(connection=town, text="select age from people")) as rows,
    ):
        open_table(rows).check_columns(people_schema())
    with (
        pytest.raises(TableError, match="'age' occurs twice"),
        read_again(mt.Query(connection=town, text="select age, age from people")) as rows,
    ):
        open_table(rows)


def test_a_missing_driver_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "adbc_driver_postgresql.dbapi", None)
    assert "pip install 'microtome[databases]'" in refused("postgresql://127.0.0.1/postgres", "select 1")
