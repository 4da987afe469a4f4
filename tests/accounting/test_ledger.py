"""The book of what was spent: arithmetic, refusal, persistence, damage, crashes and concurrency."""

import json
import math
import multiprocessing
import os
import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from microtome.accounting import (
    Accountant,
    Budget,
    Event,
    FailureEvent,
    GaussianEvent,
    Ledger,
    Neighbours,
    SubsampledEvent,
    calibrate_noise,
    gaussian_epsilon,
    gaussian_mu,
)
from microtome.errors import BudgetError, OutputError, ParameterError


def debit(ledger: Ledger, *events: Event, dataset: str = "people", neighbours: str = "blank-one") -> str:
    return ledger.debit(dataset, events, purpose="test", neighbours=Neighbours(neighbours), accountant=Accountant.EXACT)


@pytest.fixture(params=["memory", "file"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "deep" / "ledger.json" if request.param == "file" else None)


def test_entries_tell_the_story(ledger: Ledger, slices) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    sampled = SubsampledEvent(rate=0.5, event=slices("gaussian", 4, 6, 1.0), symmetric=True)
    first = debit(ledger, GaussianEvent(mu=0.1), sampled, neighbours="replace-one")
    second = debit(ledger, GaussianEvent(mu=0.2), dataset="houses")
    ledger.complete(first, artefact="sha256:ab")
    assert [entry.id for entry in ledger.entries()] == [first, second]
    (entry,) = ledger.entries("people")
    assert entry.events == (GaussianEvent(mu=0.1), sampled)
    assert (entry.status, entry.artefact, entry.purpose) == ("released", "sha256:ab", "test")
    assert (entry.neighbours, entry.accountant) == (Neighbours.REPLACE_ONE, Accountant.EXACT)
    assert before <= datetime.fromisoformat(entry.time) <= datetime.now(UTC)
    assert ledger.entries("houses")[0].status == "pending"
    assert ledger.datasets() == ["houses", "people"]


def test_spending_adds_in_squares(ledger: Ledger) -> None:
    assert ledger.spent("people", delta=1e-6) == 0.0
    debit(ledger, GaussianEvent(mu=0.3))
    debit(ledger, GaussianEvent(mu=0.4))
    assert ledger.spent("people", delta=1e-6) == pytest.approx(gaussian_epsilon(1e-6, 0.5), rel=1e-9)


def test_a_release_planned_for_the_whole_budget_fits_it_once(ledger: Ledger, slices) -> None:
    ledger.set_budget("people", epsilon=2.0, delta=1e-6)

    def build(sigma: float) -> list[Event]:
        return [slices("gaussian", 20, 30, sigma), GaussianEvent(mu=0.2)]

    events = build(calibrate_noise(build, epsilon=2.0, delta=1e-6))
    debit(ledger, *events)
    left = ledger.remaining("people")
    assert left is not None
    assert left.mu < 0.01
    with pytest.raises(BudgetError, match=r"'people'.*epsilon=2 at delta=1e-06.*spent 2.*asked 2.*left"):
        debit(ledger, *events)
    assert len(ledger.entries()) == 1
    debit(ledger, *events, dataset="others")


def test_remaining(ledger: Ledger) -> None:
    assert ledger.remaining("people") is None
    ledger.set_budget("people", epsilon=1.0, delta=1e-5)
    whole = gaussian_mu(1.0, 1e-5)
    assert ledger.remaining("people").mu == pytest.approx(whole)
    assert ledger.remaining("people").epsilon == pytest.approx(1.0, rel=1e-4)
    debit(ledger, GaussianEvent(mu=0.6 * whole))
    left = ledger.remaining("people")
    assert left.mu == pytest.approx(0.8 * whole, rel=1e-5)
    assert left.epsilon == pytest.approx(gaussian_epsilon(1e-5, left.mu))
    debit(ledger, GaussianEvent(mu=left.mu))
    assert ledger.spent("people", delta=1e-5) <= 1.0 + 1e-9
    with pytest.raises(BudgetError):
        debit(ledger, GaussianEvent(mu=0.1 * whole))


def test_nothing_is_left_when_failures_use_up_delta(ledger: Ledger) -> None:
    ledger.set_budget("people", epsilon=1.0, delta=1e-5)
    debit(ledger, FailureEvent(probability=1e-5, reason="threshold"))
    assert ledger.remaining("people").mu == 0.0
    assert ledger.remaining("people").epsilon == 0.0


def test_budget_cannot_be_set_below_what_is_spent(ledger: Ledger) -> None:
    debit(ledger, GaussianEvent(mu=1.0))
    with pytest.raises(BudgetError, match="already"):
        ledger.set_budget("people", epsilon=1.0, delta=1e-5)
    assert ledger.budget("people") is None
    ledger.set_budget("people", epsilon=10.0, delta=1e-5)
    assert ledger.budget("people") == Budget(epsilon=10.0, delta=1e-5)
    assert ledger.budget("others") is None


def test_relations_do_not_mix_under_a_budget(ledger: Ledger) -> None:
    ledger.set_budget("people", epsilon=5.0, delta=1e-5)
    debit(ledger, GaussianEvent(mu=0.1))
    with pytest.raises(BudgetError, match="blank-one and replace-one"):
        debit(ledger, GaussianEvent(mu=0.1), neighbours="replace-one")
    debit(ledger, GaussianEvent(mu=0.1), dataset="free")
    debit(ledger, GaussianEvent(mu=0.1), dataset="free", neighbours="add-remove")
    with pytest.raises(BudgetError, match="relation"):
        ledger.set_budget("free", epsilon=5.0, delta=1e-5)


def test_completing(ledger: Ledger) -> None:
    entry = debit(ledger, GaussianEvent(mu=0.1))
    ledger.complete(entry, artefact="a")
    ledger.complete(entry, artefact="a")
    with pytest.raises(ParameterError, match="before"):
        ledger.complete(entry, artefact="b")
    with pytest.raises(ParameterError, match="no entry 'x'"):
        ledger.complete("x", artefact="a")


@pytest.mark.parametrize("name", ["", "  "])
def test_data_sets_need_a_name(ledger: Ledger, name: str) -> None:
    with pytest.raises(ParameterError, match="dataset"):
        debit(ledger, GaussianEvent(mu=0.1), dataset=name)
    with pytest.raises(ParameterError, match="event"):
        debit(ledger)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.1), (math.inf, 0.1), (1.0, 0.0), (1.0, 1.0)])
def test_bad_budgets(ledger: Ledger, epsilon: float, delta: float) -> None:
    with pytest.raises(ParameterError):
        ledger.set_budget("people", epsilon=epsilon, delta=delta)


def test_file_is_readable_json_and_survives(tmp_path: Path, slices) -> None:
    path = tmp_path / "ledger.json"
    first = Ledger(path)
    assert not path.exists()
    first.set_budget("people", epsilon=5.0, delta=1e-6)
    entry = debit(first, slices("orthogonal", 4, 6, 3.3), FailureEvent(probability=1e-9, reason="é"))
    content = json.loads(path.read_text())
    assert (content["format"], content["version"]) == ("microtome-ledger", 1)
    assert "é" in path.read_text(encoding="utf-8")
    again = Ledger(str(path))
    assert again.entries() == first.entries()
    assert again.budget("people") == Budget(epsilon=5.0, delta=1e-6)
    again.complete(entry, artefact="sum")
    assert first.entries()[0].status == "released"
    assert {file.name for file in tmp_path.iterdir()} == {"ledger.json", "ledger.json.lock"}


def crash_after_debit(path: Path) -> None:
    debit(Ledger(path), GaussianEvent(mu=1.0))
    os._exit(9)


def test_a_crash_after_the_debit_leaves_the_debit(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    process = multiprocessing.get_context("spawn").Process(target=crash_after_debit, args=(path,))
    process.start()
    process.join()
    assert process.exitcode == 9
    assert [entry.status for entry in Ledger(path).entries()] == ["pending"]
    assert Ledger(path).spent("people", delta=1e-5) == pytest.approx(gaussian_epsilon(1e-5, 1.0))


def debit_many(path: Path, times: int) -> None:
    for _ in range(times):
        debit(Ledger(path), GaussianEvent(mu=0.01))


def test_concurrent_debits_are_all_recorded(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=debit_many, args=(path, 25)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    assert len({entry.id for entry in Ledger(path).entries()}) == 50


def test_a_failed_write_keeps_the_old_book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ledger.json"
    ledger = Ledger(path)
    debit(ledger, GaussianEvent(mu=0.1))
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="No space left"):
        debit(ledger, GaussianEvent(mu=0.1))
    assert path.read_bytes() == before
    assert not list(tmp_path.glob("*.tmp"))
    assert not list(tmp_path.glob(".*.tmp"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_an_unwritable_folder(tmp_path: Path) -> None:
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(OutputError, match="ledger"):
        debit(Ledger(tmp_path / "ledger.json"), GaussianEvent(mu=0.1))


def test_a_folder_is_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(BudgetError, match="cannot read"):
        Ledger(tmp_path)


GOOD = {"format": "microtome-ledger", "version": 1, "budgets": {}, "entries": []}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "damaged"),
        ('{"format": "microtome-led', "damaged"),
        ("[1, 2]", "not a ledger"),
        ('{"format": "other"}', "not a ledger"),
        (json.dumps({**GOOD, "version": 2}), "version 2"),
        (json.dumps({**GOOD, "version": None}), "version None"),
        (json.dumps({"format": "microtome-ledger", "version": 1}), "damaged"),
        (json.dumps({**GOOD, "budgets": []}), "damaged"),
        (json.dumps({**GOOD, "budgets": {"a": {"epsilon": -1, "delta": 0.1}}}), "damaged"),
        (json.dumps({**GOOD, "entries": [{}]}), "damaged"),
        (json.dumps({**GOOD, "entries": [7]}), "damaged"),
    ],
)
def test_damaged_foreign_and_future_files(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "ledger.json"
    path.write_text(content)
    with pytest.raises(BudgetError, match=message):
        Ledger(path)
    assert path.read_text() == content


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("events", [{"kind": "laplace"}]),
        ("events", [3]),
        ("events", {}),
        ("neighbours", "friends"),
        ("accountant", "moments"),
        ("status", "undone"),
        ("artefact", 3),
        ("dataset", None),
    ],
)
def test_altered_entries(tmp_path: Path, field: str, value: object) -> None:
    path = tmp_path / "ledger.json"
    debit(Ledger(path), GaussianEvent(mu=0.1))
    content = json.loads(path.read_text())
    content["entries"][0][field] = value
    path.write_text(json.dumps(content))
    with pytest.raises(BudgetError, match="damaged"):
        Ledger(path).entries()


def test_a_repeated_entry_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    debit(Ledger(path), GaussianEvent(mu=0.1))
    content = json.loads(path.read_text())
    content["entries"] *= 2
    path.write_text(json.dumps(content))
    with pytest.raises(BudgetError, match="same id"):
        Ledger(path)
