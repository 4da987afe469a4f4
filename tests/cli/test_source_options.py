"""Releases of several files, folders, pipes and queries, and pools, from the command line."""

import json
import sqlite3
from pathlib import Path

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from cli_support import Command, Desk

from microtome.accounting import Ledger
from microtome.published import Release
from support import people


@pytest.fixture
def parts(desk: Desk) -> Path:
    """The table of the desk in two files of a folder."""
    folder = desk.folder / "quarter"
    folder.mkdir()
    pq.write_table(people(400).slice(0, 300), folder / "a.parquet")
    pq.write_table(people(400).slice(300), folder / "b.parquet")
    return folder


def options(desk: Desk, **more: object) -> list[object]:
    return desk.arguments(kind="aggregates", **more)[1:]


def test_a_folder_has_its_own_name_and_book(desk: Desk, parts: Path, microtome: Command) -> None:
    done = microtome("release", parts, *options(desk))
    assert done.code == 0, done.err
    assert Release.load(desk.output).num_records == 400
    assert Ledger(desk.folder / "quarter.ledger.json").spent("quarter", delta=1e-3) > 0


def test_several_files_need_a_name_and_a_book(desk: Desk, parts: Path, microtome: Command) -> None:
    files = [parts / "a.parquet", parts / "b.parquet"]
    for given in (files, [f"{parts}/*.parquet"]):
        done = microtome("release", *given, *options(desk))
        assert done.code == 1
        assert "give --ledger and --dataset, the same for all releases of the same people" in done.err
        assert not desk.output.exists()
    book = desk.folder / "book.json"
    done = microtome("release", *files, *options(desk, ledger=book, dataset="people"))
    assert done.code == 0, done.err
    assert Release.load(desk.output).num_records == 400
    assert Ledger(book).spent("people", delta=1e-3) > 0


def test_all_wrong_files_are_named(desk: Desk, parts: Path, microtome: Command) -> None:
    done = microtome("release", parts / "a.parquet", parts / "c.parquet", *options(desk, schema="nothing.yaml"))
    assert done.code == 1
    assert "c.parquet: no such file" in done.err
    assert "nothing.yaml" in done.err
    assert "--ledger" in done.err


def in_sqlite(desk: Desk) -> str:
    people(400).to_pandas().to_sql("people", connection := sqlite3.connect(desk.folder / "town.db"), index=False)
    connection.close()
    return f"sqlite:///{desk.folder / 'town.db'}"


def test_a_query_is_drafted_and_released(desk: Desk, microtome: Command) -> None:
    asked = ["--connect", in_sqlite(desk), "--query", "select * from people"]
    drafted = microtome("schema", "draft", *asked, "-o", desk.folder / "drafted.yaml")
    assert drafted.code == 0, drafted.err
    book = desk.folder / "book.json"
    done = microtome("release", *asked, *options(desk, ledger=book, dataset="people"))
    assert done.code == 0, done.err
    assert Release.load(desk.output).num_records == 400


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--connect", "sqlite:///x.db"], "give both"),
        (["--query", "select 1"], "give both"),
        (["t.csv", "--connect", "sqlite:///x.db", "--query", "select 1"], "two sources"),
        ([], "no table is given"),
        (["--connect", "mysql://x", "--query", "select 1"], "must begin with"),
        (["s3:://x", "-"], "give it alone"),
    ],
)
def test_sources_that_are_none(given: list[str], told: str, desk: Desk, microtome: Command) -> None:
    done = microtome("release", *given, *options(desk, ledger="b.json", dataset="people"))
    assert done.code == 1
    assert told in done.err
    assert not desk.output.exists()


def test_a_schema_or_a_release_to_be_like_is_needed(desk: Desk, microtome: Command) -> None:
    done = microtome("release", desk.table, "--epsilon", 1, "-o", desk.output)
    assert done.code == 1
    assert "--schema is missing" in done.err


def test_quarters_are_released_alike_and_pooled(desk: Desk, microtome: Command) -> None:
    first = microtome("release", *desk.arguments(kind="aggregates"))
    assert first.code == 0, first.err
    table, second = desk.folder / "second.csv", desk.folder / "second.release"
    pacsv.write_csv(people(300, seed=5), table)
    like = microtome("release", table, "--like", desk.output, "--epsilon", 3, "-o", second, "--anyway")
    assert like.code == 0, like.err
    assert "There is no profile" in like.out
    pooled = desk.folder / "all.release"
    done = microtome("pool", desk.output, second, "-o", pooled)
    assert done.code == 0, done.err
    assert "700 records" in done.out
    assert "Pooled from 2 releases" in done.out
    shown = microtome("inspect", pooled, "--json")
    assert len(json.loads(shown.out)["pool"]["holders"]) == 2
    assert microtome("inspect", pooled).code == 0
    assert microtome("fit", pooled, "-o", desk.folder / "m", "--steps", 2).code == 0
    assert microtome("sample", desk.folder / "m", "-n", 50, "-o", desk.folder / "s.csv").code == 0
    page = desk.folder / "page.html"
    done = microtome("report", desk.folder / "s.csv", "--release", pooled, "-o", page)
    assert done.code == 0, done.err
    again = microtome("pool", desk.output, second, "-o", pooled)
    assert again.code == 1
    assert "exists" in again.err
    apart = microtome("pool", desk.output, second, "-o", pooled, "--overlapping", "--force")
    assert "what these cost is added up" in apart.out
