"""From the promise to the release: foretold, paid for once, refused where the budget says so, stopped when told."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from urllib.parse import quote

import pytest
from studio_support import SECRETS, Visitor, open_studio, problem, small_table

from microtome.accounting import Account, Ledger
from microtome.progress import Progress
from microtome.published import Release
from microtome.studio import work
from microtome.studio.desk import Contents, Desk
from microtome.studio.places import Places
from microtome.studio.serving import studio_at
from microtome.whole_file import scratch_folder

PROMISE = {"epsilon": "4", "neighbours": "blank-one", "kind": "aggregates"}
AGE = {"name": "age", "role": "integer", "low": "0", "high": "120", "outside": "clamp"}
SEX = {"name": "sex", "role": "categorical", "categories": "female\nmale", "outside": "clamp"}
VISITS = {"name": "visits", "role": "integer", "low": "0", "high": "9", "outside": "refuse"}


@pytest.fixture
def visitor(visitor: Visitor) -> Visitor:
    """Somebody whose schema is confirmed."""
    visitor.opened("people.csv", small_table())
    for column in (AGE, SEX, VISITS):
        assert visitor.post("/columns/change", **column).status == 303
    assert visitor.post("/columns/confirm", suggestions="keep", public="yes").status == 303
    return visitor


def account(visitor: Visitor) -> Account:
    return Ledger(visitor.studio.desk.places.ledger).account("people.csv", delta=1e-6)


def test_a_forecast_says_what_is_learnt_what_is_given_away_and_what_is_left(visitor: Visitor) -> None:
    text = visitor.get("/promise/forecast?epsilon=4").text
    for part in ("What will be learnt", "What an attacker gains", "The ledger afterwards", "600 records of 3 columns"):
        assert part in text
    assert "spent ε = 4 at" in text
    later = visitor.get("/promise/curve?epsilon=4").text
    for part in ("useful", "<svg", "The curve in figures"):
        assert part in later
    assert "epsilon is" in visitor.get("/promise/curve?epsilon=x").text
    assert account(visitor).entries == ()


def test_all_that_is_wrong_with_a_promise_is_told_at_once(visitor: Visitor) -> None:
    text = visitor.get("/promise/forecast?epsilon=x&delta=y&rows=many").text
    assert all(word in text for word in ("epsilon is", "delta is", "rows:"))
    answer = visitor.post("/promise/release", epsilon="x", delta="y")
    assert answer.status == 422
    assert "epsilon is" in problem(answer)
    assert "delta is" in problem(answer)


def test_a_protected_number_of_records_is_not_shown(visitor: Visitor) -> None:
    text = visitor.get("/promise/forecast?epsilon=4&neighbours=add-remove").text
    assert "600" not in text
    assert "name a number" in text
    assert "1,000 records" in visitor.get("/promise/forecast?epsilon=4&neighbours=add-remove&rows=1e3").text


def test_a_release_is_made_paid_for_and_told_of(visitor: Visitor) -> None:
    page = visitor.done("/promise/release", **PROMISE)
    assert "(ε = 4, δ = 1e-06)-differentially private" in page.text
    released = visitor.studio.desk.contents.released
    assert released is not None
    assert Release.load(released.path).manifest.promise.private
    (entry,) = account(visitor).entries
    assert entry.artefact == Release.load(released.path).fingerprint
    assert not [secret for secret in SECRETS if secret in page.text + visitor.get("/files").text]


def test_what_is_made_of_a_table_with_any_name_can_be_taken_away(visitor: Visitor) -> None:
    visitor.opened("люди.csv", small_table())
    for column in (AGE, SEX, VISITS):
        visitor.post("/columns/change", **column)
    visitor.post("/columns/confirm", suggestions="keep", public="yes")
    assert visitor.done("/promise/release", **PROMISE).status == 200
    for key, name in (("release", "люди.release"), ("schema", "люди.schema.yaml"), ("statement", "люди.statement.md")):
        answer = visitor.get(f"/files/{key}")
        assert answer.status == 200
        assert answer.headers["content-disposition"] == f"attachment; filename*=utf-8''{quote(name)}"


def test_two_tabs_release_once(visitor: Visitor) -> None:
    seen = visitor.studio.desk.version
    answers = []

    def press() -> None:
        answers.append(visitor.post("/promise/release", version=seen, **PROMISE).status)

    tabs = [threading.Thread(target=press) for _ in range(4)]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join()
    visitor.studio.desk.wait()
    assert sorted(answers) == [303, 422, 422, 422]
    assert len(account(visitor).entries) == 1
    late = visitor.post("/promise/release", version=seen, **PROMISE)
    assert "another tab" in problem(late)
    assert len(account(visitor).entries) == 1


def test_two_studios_share_the_book(visitor: Visitor, tmp_path: Path) -> None:
    visitor.post("/promise/budget", budget="5", budget_delta="1e-6")
    visitor.done("/promise/release", **PROMISE)
    with open_studio(tmp_path) as other:
        second = Visitor(other)
        second.opened("people.csv", small_table())
        second.post("/columns/confirm", suggestions="keep", public="yes")
        assert "It would be refused" in second.get("/promise/forecast?epsilon=4").text
        assert "nothing was spent" in problem(second.done("/promise/release", **PROMISE))
    assert len(account(visitor).entries) == 1


def test_a_budget_refuses_before_anything_is_spent(visitor: Visitor) -> None:
    assert visitor.post("/promise/budget", budget="0.5", budget_delta="1e-6").status == 303
    assert "It would be refused" in visitor.get("/promise/forecast?epsilon=4").text
    answer = visitor.done("/promise/release", **PROMISE)
    assert "has a budget of epsilon=0.5" in problem(answer)
    assert account(visitor).entries == ()
    assert visitor.studio.desk.contents.released is None
    assert visitor.post("/promise/budget", budget="-1", budget_delta="x").status == 422


def test_a_budget_is_not_set_from_a_tab_that_shows_another_table(visitor: Visitor) -> None:
    seen = visitor.studio.desk.version
    visitor.opened("others.csv", small_table())
    answer = visitor.post("/promise/budget", version=seen, budget="5", budget_delta="1e-6")
    assert "nothing was done" in problem(answer)
    ledger = Ledger(visitor.studio.desk.places.ledger)
    assert ledger.budget("people.csv") is None
    assert ledger.budget("others.csv") is None
    assert visitor.post("/promise/budget", budget="5", budget_delta="1e-6").status == 303
    assert ledger.budget("people.csv") is None
    assert ledger.budget("others.csv") is not None


def test_no_release_takes_a_draft(visitor: Visitor) -> None:
    visitor.opened("people.csv", small_table())
    answer = visitor.done("/promise/release", **PROMISE)
    assert "draft" in problem(answer)
    assert account(visitor).entries == ()


def test_a_value_that_breaks_the_schema_gives_everything_back(visitor: Visitor) -> None:
    visitor.post("/columns/change", **{**AGE, "outside": "refuse"})
    answer = visitor.done("/promise/release", **PROMISE)
    assert "age" in problem(answer)
    assert "Nothing was spent, and no release was written." in problem(answer)
    assert account(visitor).spent == 0.0


def test_a_release_that_is_stopped_spends_nothing(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    told = work.Work._progress

    def stopped(self: work.Work, stage: str, done: int, total: int | None, note: str = "") -> None:
        if self.standing.title == "The release":
            visitor.post("/under-way/stop")
        told(self, stage, done, total, note)

    monkeypatch.setattr(work.Work, "_progress", stopped)
    answer = visitor.done("/promise/release", **PROMISE)
    assert "Nothing was spent, and no release was written." in problem(answer)
    assert "was stopped" in answer.text
    assert account(visitor).spent == 0.0


def test_ending_the_studio_ends_a_release(tmp_path: Path) -> None:
    begun = threading.Event()

    def endless(progress: Progress) -> Contents:
        while True:
            begun.set()
            progress("rows", 1, None)

    with open_studio(tmp_path) as studio:
        studio.desk.start(str(studio.desk.version), title="The release", page="/promise", work=endless)
        begun.wait()
        assert "is under way" in Visitor(studio).get("/columns").text
        refused = Visitor(studio).post("/open/town")
        assert "under way" in problem(refused)
    assert studio.desk.standing is not None
    assert not studio.desk.standing.is_running


def test_impatience_takes_no_table_away_under_a_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    presses, may_end, told, seen = iter(range(3)), threading.Event(), [], []
    usual = Desk.wait

    def pressed(self: Desk) -> None:
        if next(presses, None) is not None:
            raise KeyboardInterrupt
        may_end.set()
        usual(self)

    monkeypatch.setattr(Desk, "wait", pressed)
    with scratch_folder("microtome-studio-test") as private:
        desk = Desk(Places(private=private, results=tmp_path))

        def slow(progress: Progress) -> Contents:
            may_end.wait()
            seen.append(private.is_dir())
            return Contents()

        with studio_at(0, desk) as studio:
            desk.start(str(desk.version), title="The release", page="/promise", work=slow)
            studio.finish(told.append)
            assert not desk.is_busy
    assert seen == [True]
    assert len(told) == 3
    assert "still being ended" in told[0]


def test_rows_of_a_table_are_not_counted_on_the_page(visitor: Visitor) -> None:
    standings: list[dict[str, object]] = []
    told = work.Work._progress

    def watched(self: work.Work, stage: str, done: int, total: int | None, note: str = "") -> None:
        told(self, stage, done, total, note)
        standings.append(json.loads(visitor.get("/under-way").text))

    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(work.Work, "_progress", watched)
        visitor.done("/promise/release", **PROMISE)
    assert standings
    assert not [one for one in standings if "600" in str(one["words"])]
    assert all("done" not in one and "total" not in one for one in standings)


def test_a_damaged_ledger_is_told_of_in_words(visitor: Visitor) -> None:
    ledger = visitor.studio.desk.places.ledger
    assert ledger is not None
    ledger.write_text("{")
    answer = visitor.get("/promise")
    assert str(ledger) in problem(answer)
    assert "Traceback" not in answer.text
    assert str(ledger) in visitor.get("/promise/forecast?epsilon=1").text
    visitor.done("/promise/release", **PROMISE)
    assert visitor.studio.desk.contents.released is None


def test_results_are_never_replaced(visitor: Visitor) -> None:
    for _ in range(2):
        visitor.done("/promise/release", **PROMISE)
    names = sorted(path.name for path in visitor.studio.desk.places.results.iterdir())
    assert names == ["people-2.release", "people.release"]
    assert len(account(visitor).entries) == 2
