"""The ledger's file: what is written is read again, and what was not written by a ledger is refused."""

import copy
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ledger_support import reserve

from microtome.accounting import (
    Accountant,
    Budget,
    FailureEvent,
    GaussianEvent,
    Ledger,
    Neighbours,
    RepeatedEvent,
    SubsampledEvent,
)
from microtome.accounting.ledger_file import read_book
from microtome.errors import BudgetError, ParameterError

GOLDEN = Path(__file__).parent / "golden" / "ledger-version-1.json"
GOLDEN_2 = GOLDEN.with_name("ledger-version-2.json")
Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def path(tmp_path: Path, slices) -> Path:
    """A book with every kind of record."""
    path = tmp_path / "ledger.json"
    ledger = Ledger(path)
    ledger.set_budget("people", epsilon=9.0, delta=1e-6)
    first = reserve(ledger, slices("orthogonal", 4, 6, 3.3), FailureEvent(probability=1e-9, reason="é"))
    second = reserve(ledger, GaussianEvent(mu=0.1))
    reserve(ledger, SubsampledEvent(rate=0.5, event=slices("gaussian", 4, 6, 9.0), symmetric=False))
    reserve(ledger, RepeatedEvent(count=3, event=GaussianEvent(mu=0.1)), dataset="houses")
    ledger.settle(first, artefact="ab12")
    ledger.cancel(second)
    ledger.set_budget("people", epsilon=8.0, delta=1e-6)
    return path


def edit(path: Path, change: Change) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def refused(path: Path, match: str = "damaged or was edited") -> None:
    before = path.read_bytes()
    with pytest.raises(BudgetError, match=match) as caught:
        Ledger(path)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before


def test_file_is_readable_json_and_survives(path: Path) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    assert (content["format"], content["version"]) == ("microtome-ledger", 2)
    kinds = ["budget", "reserve", "reserve", "reserve", "reserve", "settle", "cancel", "budget"]
    assert [record["kind"] for record in content["records"]] == kinds
    assert "é" in path.read_text(encoding="utf-8")
    again = Ledger(str(path))
    assert [entry.status for entry in again.entries()] == ["released", "cancelled", "reserved", "reserved"]
    assert again.budget("people") == Budget(epsilon=8.0, delta=1e-6)
    assert again.datasets() == ["houses", "people"]
    assert path.stat().st_mode & 0o007 == 0
    assert {file.name for file in path.parent.iterdir()} == {"ledger.json", "ledger.json.lock"}


def test_records_once_written_stay_as_they_are(path: Path) -> None:
    before = json.loads(path.read_text(encoding="utf-8"))["records"]
    reserve(Ledger(path), GaussianEvent(mu=1))
    after = json.loads(path.read_text(encoding="utf-8"))["records"]
    assert after[:-1] == before
    last = {**after[-1]}
    assert last["events"] == [{"kind": "gaussian", "mu": 1.0}]
    line = json.dumps(before[-1], sort_keys=True, separators=(",", ":"))
    assert last["previous"] == hashlib.sha256(line.encode()).hexdigest()


def test_a_new_ledger_writes_nothing_until_something_is_spent(tmp_path: Path) -> None:
    assert Ledger(tmp_path / "ledger.json").entries() == []
    assert list(tmp_path.iterdir()) == []


def test_the_golden_book_of_version_2_is_read() -> None:
    ledger = Ledger(GOLDEN_2)
    statuses = ["released", "released", "released", "cancelled", "reserved"]
    assert [entry.status for entry in ledger.entries()] == statuses
    account = ledger.account("people.csv", delta=1e-6)
    assert [(change.budget.epsilon, change.time is None) for change in account.budgets] == [(8.0, True), (5.0, False)]
    assert account.frozen
    assert account.spent == pytest.approx(5.500294156758402)


# Version 1


def test_a_book_of_version_1_is_read_and_goes_over_whole(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    shutil.copy(GOLDEN, path)
    old = Ledger(path)
    entries = old.entries()
    assert [entry.status for entry in entries] == ["released", "released", "reserved", "reserved", "reserved"]
    assert [entry.artefact for entry in entries[:3]] == ["ab" * 32, "ab" * 32, None]
    assert (entries[3].dataset, entries[3].neighbours) == ("Häuser", Neighbours.REPLACE_ONE)
    assert entries[3].accountant == Accountant.RENYI
    assert old.budget("people.csv") == Budget(epsilon=8.0, delta=1e-6)
    assert old.spent("people.csv", delta=1e-6) == pytest.approx(5.500294156758402)
    assert old.spent("Häuser", delta=1e-6) == pytest.approx(0.8509181524722618)
    assert path.read_bytes() == GOLDEN.read_bytes()
    with pytest.raises(BudgetError, match="epsilon=8"):
        reserve(old, GaussianEvent(mu=2.0), dataset="people.csv")
    old.settle(entries[2].id, artefact="cd")
    assert json.loads(path.read_text(encoding="utf-8"))["version"] == 2
    expected = [vars(entry) for entry in entries]
    expected[2] |= {"status": "released", "artefact": "cd"}
    assert [vars(entry) for entry in Ledger(path).entries()] == expected
    assert Ledger(path).budget("people.csv") == Budget(epsilon=8.0, delta=1e-6)


@pytest.mark.parametrize(
    "change",
    [
        lambda book: book.update(note="x"),
        lambda book: book.pop("budgets"),
        lambda book: book["budgets"]["people.csv"].update(epsilon="8"),
        lambda book: book["budgets"]["people.csv"].update(epsilon=True),
        lambda book: book["budgets"]["people.csv"].update(delta=-1),
        lambda book: book["budgets"]["people.csv"].update(note=1),
        lambda book: book["entries"].append(book["entries"][0]),
        lambda book: book["entries"].append({}),
        lambda book: book["entries"].append(7),
        lambda book: book["entries"][0].update(events=[]),
        lambda book: book["entries"][0].update(events={}),
        lambda book: book["entries"][0].update(events=[3]),
        lambda book: book["entries"][0].update(events=[{"kind": "laplace"}]),
        lambda book: book["entries"][0].update(events=[{"kind": "gaussian", "mu": 10**400}]),
        lambda book: book["entries"][0].update(neighbours="friends"),
        lambda book: book["entries"][0].update(accountant="moments"),
        lambda book: book["entries"][0].update(status="undone"),
        lambda book: book["entries"][0].update(status="pending"),
        lambda book: book["entries"][0].update(artefact=None),
        lambda book: book["entries"][0].update(artefact=3),
        lambda book: book["entries"][0].update(dataset=None),
        lambda book: book["entries"][0].update(note="x"),
    ],
)
def test_a_book_of_version_1_that_none_can_have_written(tmp_path: Path, change: Change) -> None:
    path = tmp_path / "ledger.json"
    shutil.copy(GOLDEN, path)
    edit(path, change)
    refused(path)


# Edits


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"format": "microtome-led',
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"format": "microtome-ledger", "version": 2, "records": [], "head": NaN}',
        b'{"format": "microtome-ledger", "version": 2, "records": [], "records": [], "head": ""}',
        b'{"format": "microtome-ledger", "version": 2, "records": {}, "head": ""}',
        b'{"format": "microtome-ledger", "version": 2, "records": [], "head": ""}',
        b'{"format": "microtome-ledger", "version": 2}',
        b'{"format": "microtome-ledger", "version": 1}',
        b'{"format": "microtome-ledger", "version": 1, "budgets": {}, "entries": ' + b"9" * 5000 + b"}",
    ],
)
def test_damaged_files(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ledger.json"
    path.write_bytes(content)
    refused(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[1, 2]", "not a ledger"),
        ("null", "not a ledger"),
        ('{"format": "other"}', "not a ledger"),
        ('{"format": "microtome-ledger", "version": 3}', "version 3 .* newer"),
        ('{"format": "microtome-ledger", "version": "2"}', "version '2'"),
        ('{"format": "microtome-ledger", "version": true}', "version True"),
        ('{"format": "microtome-ledger"}', "version None"),
    ],
)
def test_foreign_and_future_files(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "ledger.json"
    path.write_text(content)
    refused(path, message)


def test_a_file_larger_than_any_ledger_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    with path.open("wb") as file:
        file.truncate(1 << 29)
    with pytest.raises(BudgetError, match="larger than any ledger"):
        Ledger(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda book: book["records"][2]["events"][0].update(mu=0.01),
        lambda book: book["records"][0].update(epsilon=99.0),
        lambda book: book["records"][0].update(epsilon=9),
        lambda book: book["records"][-1].update(epsilon=99.0),
        lambda book: book["records"][1].update(dataset="others"),
        lambda book: book["records"].pop(),
        lambda book: book["records"].pop(0),
        lambda book: book["records"].pop(3),
        lambda book: book["records"].reverse(),
        lambda book: book["records"].append(book["records"][-1]),
        lambda book: book["records"].clear(),
        lambda book: book.pop("head"),
        lambda book: book.update(head=book["records"][-1]["previous"]),
        lambda book: book.update(note="x"),
        lambda book: book["records"][5].update(kind="cancel"),
        lambda book: book["records"][1].update(note="x"),
        lambda book: book["records"][1].pop("previous"),
    ],
)
def test_edits_are_noticed(path: Path, change: Change) -> None:
    edit(path, change)
    refused(path)
    with pytest.raises(BudgetError):
        read_book(path)


def _relinked(content: dict[str, Any]) -> None:
    """What somebody does who recomputes all digests after an edit."""
    head = hashlib.sha256(b"microtome-ledger 2").hexdigest()
    for record in content["records"]:
        record["previous"] = head
        head = hashlib.sha256(json.dumps(record, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    content["head"] = head


@pytest.mark.parametrize(
    "change",
    [
        lambda records: records.pop(1),
        lambda records: records.append(records[5]),
        lambda records: records.append({**records[6], "id": records[1]["id"]}),
        lambda records: records.append({**records[1]}),
        lambda records: records.append({"kind": "forget", "id": records[1]["id"], "time": None}),
        lambda records: records[0].update(epsilon="9"),
        lambda records: records[0].update(time=3),
        lambda records: records[1].update(events=[]),
        lambda records: records[1].update(note="x"),
        lambda records: records[5].update(artefact=None),
    ],
)
def test_a_sequence_that_no_ledger_writes_is_refused_even_with_new_digests(
    path: Path, change: Callable[[list[dict[str, Any]]], object]
) -> None:
    def both(content: dict[str, Any]) -> None:
        change(content["records"])
        content["records"] = copy.deepcopy(content["records"])
        _relinked(content)

    edit(path, _relinked)
    Ledger(path)
    edit(path, both)
    refused(path)


def test_what_json_cannot_hold_is_refused_and_nothing_is_spent(path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(ParameterError, match="nothing was spent"):
        reserve(Ledger(path), FailureEvent(probability=1e-9, reason="\udcff"))
    assert path.read_bytes() == before


# Any single edit


def _places(node: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield way
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield from _places(value, (*way, key))


def _at(node: Any, way: tuple[Any, ...]) -> Any:
    for key in way:
        node = node[key]
    return node


SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=True), st.text(max_size=5), st.just([]), st.just({})
)


def _edited(draw: st.DataObject, content: dict[str, Any]) -> str:
    """The text of the book after one random edit."""
    way = draw.draw(st.sampled_from([place for place in _places(content) if place]), label="place")
    parent, key = _at(content, way[:-1]), way[-1]
    action = draw.draw(st.sampled_from(["change", "nudge", "remove", "double", "swap", "insert"]), label="action")
    if action == "change":
        parent[key] = draw.draw(SCALARS, label="value")
    elif action == "nudge" and isinstance(parent[key], float):
        parent[key] *= draw.draw(st.floats(0.5, 2.0), label="factor")
    elif action == "remove":
        del parent[key]
    elif action == "double" and isinstance(parent, list):
        parent.insert(key, copy.deepcopy(parent[key]))
    elif action == "double":
        text = json.dumps(content)
        twice = f"{json.dumps(key)}: {json.dumps(parent[key])}"
        other = f"{json.dumps(key)}: {json.dumps(draw.draw(SCALARS, label='second value'))}"
        return text.replace(twice, f"{twice}, {other}", 1)
    elif action == "swap":
        other = draw.draw(st.sampled_from(list(parent) if isinstance(parent, dict) else range(len(parent))))
        parent[key], parent[other] = parent[other], parent[key]
    elif isinstance(parent, dict):
        parent[draw.draw(st.text(max_size=5), label="key")] = draw.draw(SCALARS, label="value")
    return json.dumps(content)


@given(draw=st.data())
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_single_edit_is_refused_or_changes_nothing(path: Path, draw: st.DataObject) -> None:
    original = read_book(path)
    copied = path.with_name("edited.json")
    copied.write_text(_edited(draw, json.loads(path.read_text(encoding="utf-8"))), encoding="utf-8")
    try:
        edited = read_book(copied)
    except BudgetError:
        return
    assert edited == original
    assert [vars(entry) for entry in edited.entries] == [vars(entry) for entry in original.entries]


@given(draw=st.data())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damage_to_the_bytes_is_refused_or_changes_nothing(path: Path, draw: st.DataObject) -> None:
    original, content = read_book(path), path.read_bytes()
    start = draw.draw(st.integers(0, len(content) - 1))
    end = draw.draw(st.integers(start, len(content)))
    copied = path.with_name("edited.json")
    copied.write_bytes(content[:start] + draw.draw(st.binary(max_size=4)) + content[end:])
    try:
        edited = read_book(copied)
    except BudgetError:
        return
    assert edited == original
