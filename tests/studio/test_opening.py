"""Opening a table: where it is kept, what is refused, and that nothing of it is shown unasked."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from studio_support import SECRETS, Visitor, mode, open_studio, problem, small_table

from microtome.studio.serving import Studio


def test_an_upload_lies_where_only_its_owner_can_read_it(visitor: Visitor) -> None:
    assert visitor.opened("people.csv", small_table()).status == 200
    table = visitor.studio.desk.contents.table
    assert table is not None
    private = visitor.studio.desk.places.private
    assert private in table.path.parents
    assert (mode(private), mode(table.path.parent), mode(table.path)) == (0o700, 0o700, 0o600)
    assert table.ledger == visitor.studio.desk.places.ledger


def test_another_upload_takes_its_place(visitor: Visitor) -> None:
    visitor.opened("people.csv", small_table())
    first = visitor.studio.desk.contents.table
    visitor.opened("others.csv", small_table())
    second = visitor.studio.desk.contents.table
    assert first is not None
    assert second is not None
    assert not first.path.exists()
    assert second.path.exists()


def test_uploads_go_with_the_studio_and_what_was_spent_stays(tmp_path: Path) -> None:
    with open_studio(tmp_path) as studio:
        visitor = Visitor(studio)
        visitor.opened("people.csv", small_table())
        visitor.post("/promise/budget", budget="3", budget_delta="1e-6")
        private = studio.desk.places.private
        assert list(private.rglob("people.csv"))
    assert not private.exists()
    assert (tmp_path / "book.json").is_file()


def test_no_value_of_the_table_is_on_any_page_until_the_holder_asks(visitor: Visitor) -> None:
    visitor.opened("people.csv", small_table())
    for path in (
        "/",
        "/columns",
        "/promise",
        "/promise/forecast?epsilon=1",
        "/model",
        "/report",
        "/files",
        "/under-way",
    ):
        text = visitor.get(path).text
        assert not [secret for secret in SECRETS if secret in text], path
    assert "No row or value of the table is shown" in visitor.get("/columns").text


def test_rows_and_remarks_are_shown_to_whoever_says_who_looks(visitor: Visitor) -> None:
    visitor.opened("people.csv", small_table())
    refused = visitor.post("/columns/look", looks="yes")
    assert refused.status == 422
    assert "who is looking" in problem(refused)
    assert visitor.post("/columns/look", looks="yes", alone="yes").status == 303
    text = visitor.get("/columns").text
    assert "Rows of the private table are on this screen" in text
    assert all(secret in text for secret in SECRETS)
    assert visitor.post("/columns/look").status == 303
    assert not [secret for secret in SECRETS if secret in visitor.get("/columns").text]


def test_a_large_upload_is_refused_before_and_while_it_comes(tmp_path: Path) -> None:
    with open_studio(tmp_path, largest_upload=1 << 20) as studio:
        visitor = Visitor(studio)
        for body in (b"a" * (2 << 20), iter([b"a,b\n"] + [b"x" * 65_536] * 40)):
            answer = visitor.upload("people.csv", body)
            assert answer.status == 422
            assert "larger than 1 MiB" in answer.text
        assert list(studio.desk.places.private.iterdir()) == []


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden.csv", "a\x00.csv", "x" * 300 + ".csv", "a\n.csv"])
def test_odd_names_are_refused(visitor: Visitor, name: str) -> None:
    answer = visitor.upload(name, small_table())
    assert answer.status == 422
    assert "give it a plain one" in answer.text


@pytest.mark.parametrize("name", ["../../etc/people.csv", "C:\\data\\people.csv", "/tmp/people.csv"])
def test_names_lead_nowhere_else(visitor: Visitor, name: str) -> None:
    visitor.opened(name, small_table())
    table = visitor.studio.desk.contents.table
    assert table is not None
    assert table.path.name == "people.csv"
    assert visitor.studio.desk.places.private in table.path.parents


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.csv", b"", "empty"),
        ("archive.csv", b"PK\x03\x04\x00\xff", "it is an archive"),
        ("paper.csv", b"%PDF-1.7\n1,2\n", "it is a PDF document"),
        ("picture.parquet", b"\x89PNG\r\n", ""),
        ("people.xyz", b"a,b\n1,2\n", ""),
        ("people.csv", b"17,3\n18,4\n", "name of a column"),
        ("people.csv", b"a,a\n1,2\n", "twice"),
    ],
)
def test_bad_files_are_told_of_in_words_and_removed(visitor: Visitor, name: str, content: bytes, said: str) -> None:
    visitor.opened(name, content)
    answer = visitor.get("/columns")
    assert said in problem(answer)
    assert "Traceback" not in answer.text
    assert visitor.studio.desk.contents.table is None
    assert list(visitor.studio.desk.places.private.rglob("*.*")) == []


def test_a_bad_file_leaves_the_table_that_is_open(visitor: Visitor) -> None:
    visitor.opened("people.csv", small_table())
    before = visitor.studio.desk.contents
    visitor.opened("empty.csv", b"")
    assert visitor.studio.desk.contents == before


def test_a_table_is_read_where_it_is(studio: Studio, tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"age": [1, 2, 3] * 20, "sex": ["f", "m", "m"] * 20}), path)
    visitor = Visitor(studio)
    page = visitor.done("/open/path", path=str(path))
    assert "2 columns" in page.text
    table = studio.desk.contents.table
    assert table is not None
    assert not table.is_copy
    assert list(studio.desk.places.private.iterdir()) == []


@pytest.mark.parametrize("path", ["nowhere.csv", "", "people*.csv", "s3://bucket/people", "/dev/stdin"])
def test_a_path_that_is_no_file_is_told_of(visitor: Visitor, path: str) -> None:
    answer = visitor.post("/open/path", path=path)
    assert answer.status == 422
    assert "no such file or folder" in problem(answer)


def test_without_a_ledger_of_its_own_a_table_has_its_book_beside_it(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_bytes(small_table())
    with open_studio(tmp_path, ledger=None) as studio:
        Visitor(studio).done("/open/path", path=str(tmp_path / "people.csv"))
        assert studio.desk.contents.table is not None
        assert studio.desk.contents.table.ledger == tmp_path / "people.csv.ledger.json"
        assert studio.desk.places.book_of_uploads == Path.home() / ".microtome" / "studio.ledger.json"


def test_an_upload_that_breaks_off_leaves_nothing(visitor: Visitor) -> None:
    class Broken(io.RawIOBase):
        def __iter__(self):  # type: ignore[no-untyped-def]
            yield b"a,b\n1,2\n"
            raise ConnectionError

    with pytest.raises(ConnectionError):
        visitor.upload("people.csv", iter(Broken()))
    assert visitor.get("/").status == 200
    assert visitor.studio.desk.contents.table is None
