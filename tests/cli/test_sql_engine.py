"""``microtome release --engine sql``: the database counts, and a connection that is lost loses nothing."""

import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from cli_support import Command

import postgresql
from microtome.accounting import Ledger
from microtome.published import AggregatesRelease, Release
from microtome.schema import Column, Kind, Schema

SCHEMA = Schema(
    columns=(
        Column(name="age", kind=Kind.INTEGER, bounds=(18, 99), missing=False),
        Column(name="owner", kind=Kind.BOOLEAN, missing=False),
    )
)
ROWS = "SELECT i % 60 + 20 AS age, i % 3 = 0 AS owner FROM"


@pytest.fixture
def options(tmp_path: Path) -> list[object]:
    (tmp_path / "schema.yaml").write_text(SCHEMA.to_yaml(), encoding="utf-8")
    given = ["--schema", "schema.yaml", "--epsilon", 3, "-o", "town.release", "--ledger", "book.json"]
    places = [tmp_path / one if str(one).endswith((".yaml", ".release", ".json")) else one for one in given]
    return [*places, "--dataset", "town", "--anyway", "--engine", "sql"]


@pytest.fixture
def in_duckdb(tmp_path: Path) -> str:
    with duckdb.connect(str(tmp_path / "town.duckdb")) as connection:
        connection.execute(f"CREATE TABLE people AS {ROWS} range(3000) AS t(i)")
    return f"duckdb:///{tmp_path / 'town.duckdb'}"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    with postgresql.server() as address:
        yield address


def spent(folder: Path) -> float:
    return Ledger(folder / "book.json").account("town", delta=1e-6).spent


@pytest.mark.parametrize("query", ["people", "select owner, age from people"])
def test_a_file_of_duckdb_counts(
    query: str, in_duckdb: str, options: list[object], tmp_path: Path, microtome: Command
) -> None:
    done = microtome("release", "--connect", in_duckdb, "--query", query, *options)
    assert done.code == 0, done.err
    assert re.search(r"profile: (\d+) of \1 queries", done.err)
    made = Release.load(tmp_path / "town.release")
    assert isinstance(made, AggregatesRelease)
    assert made.num_records == 3000
    assert made.manifest.promise.private
    assert spent(tmp_path) > 0


def test_a_server_counts_what_it_holds(server: str, options: list[object], tmp_path: Path, microtome: Command) -> None:
    import psycopg

    with psycopg.connect(server, autocommit=True) as holder:
        holder.execute(f"CREATE TABLE people AS {ROWS} generate_series(1, 2000) AS t(i)")
    done = microtome("release", "--connect", server, "--query", "people", *options)
    assert done.code == 0, done.err
    assert Release.load(tmp_path / "town.release").num_records == 2000


@pytest.mark.parametrize(("count", "charged"), [(1, False), (4, True)], ids=["before noise", "after noise"])
def test_a_connection_that_is_lost_halfway_loses_nothing(
    count: int, charged: bool, server: str, options: list[object], tmp_path: Path, microtome: Command
) -> None:
    """The server ends the connection while it answers the first question that takes long, or a later one."""
    import psycopg

    with psycopg.connect(server, autocommit=True) as holder:
        holder.execute(
            "CREATE OR REPLACE FUNCTION slowly() RETURNS boolean STABLE LANGUAGE sql "
            "AS 'SELECT true FROM pg_sleep(0.5)'"
        )
        holder.execute(f"CREATE OR REPLACE VIEW slow AS {ROWS} generate_series(1, 2000) AS t(i) WHERE slowly()")
        over = threading.Event()

        def cut() -> None:
            seen: set[object] = set()
            with psycopg.connect(server, autocommit=True) as other:
                while not over.is_set():
                    found = other.execute(
                        "SELECT pid, query_start FROM pg_stat_activity WHERE state = 'active' "
                        "AND query NOT LIKE '%LIMIT 0%'"
                        " AND pid <> pg_backend_pid() AND clock_timestamp() - query_start > interval '100 ms'"
                    ).fetchall()
                    seen |= {start for _, start in found}
                    if found and len(seen) >= count:
                        other.execute("SELECT pg_terminate_backend(%s)", [found[0][0]])
                        return
                    time.sleep(0.02)

        cutting = threading.Thread(target=cut)
        cutting.start()
        try:
            done = microtome("release", "--connect", server, "--query", "slow", *options)
        finally:
            over.set()
            cutting.join()
    assert done.code == 1
    assert "the database says" in done.err
    assert not (tmp_path / "town.release").exists()
    assert (spent(tmp_path) > 0) is charged
    assert ("stays charged in the ledger" if charged else "Nothing was spent") in done.err


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["people.csv"], "give --connect and --query"),
        (["--connect", "sqlite:///town.db", "--query", "people"], "PostgreSQL and DuckDB only"),
        (["--connect", "duckdb:///nowhere.duckdb", "--query", "people"], "cannot connect"),
        (["--connect", "postgresql://me:pass-word@127.0.0.1:1/town", "--query", "people"], "cannot connect"),
        (["--connect", "DUCKDB", "--query", "select * from people limit 5"], "LIMIT 5"),
        (["--connect", "DUCKDB", "--query", "select age from people"], "no column 'owner'"),
        (["--connect", "DUCKDB", "--query", "nobody"], "nobody"),
        (["--connect", "DUCKDB", "--query", "people", "--kind", "records"], "take kind aggregates"),
        (["--connect", "DUCKDB", "--query", "people", "--master", "local"], "--engine spark"),
    ],
)
def test_what_cannot_be_counted_there_is_refused_and_costs_nothing(
    given: list[str], told: str, in_duckdb: str, options: list[object], tmp_path: Path, microtome: Command
) -> None:
    (tmp_path / "people.csv").write_text("age,owner\n20,true\n")
    given = [in_duckdb if one == "DUCKDB" else str(tmp_path / one) if one.endswith(".csv") else one for one in given]
    done = microtome("release", *given, *options)
    assert done.code == 1
    assert told in done.err
    assert "pass-word" not in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "town.release").exists()
    assert not (tmp_path / "book.json").exists() or spent(tmp_path) == 0


def test_a_missing_driver_is_named(
    server: str, options: list[object], microtome: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    done = microtome("release", "--connect", server, "--query", "people", *options)
    assert done.code == 1
    assert "pip install" in done.err
    assert "microtome[sql]" in done.err
