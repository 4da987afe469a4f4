"""The book of what was spent: arithmetic, refusal, freezing, and what becomes of a reservation."""

import math
from datetime import UTC, datetime
from pathlib import Path

import pytest
from ledger_support import reserve

from microtome import whole_file
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


@pytest.fixture(params=["memory", "file"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "deep" / "ledger.json" if request.param == "file" else None)


def test_entries_tell_the_story(ledger: Ledger, slices) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    sampled = SubsampledEvent(rate=0.5, event=slices("gaussian", 4, 6, 1.0), symmetric=True)
    first = reserve(ledger, GaussianEvent(mu=0.1), sampled, neighbours="replace-one")
    second = reserve(ledger, GaussianEvent(mu=0.2), dataset="houses")
    ledger.settle(first, artefact="sha256:ab")
    assert [entry.id for entry in ledger.entries()] == [first, second]
    (entry,) = ledger.entries("people")
    assert entry.events == (GaussianEvent(mu=0.1), sampled)
    assert (entry.status, entry.artefact, entry.purpose) == ("released", "sha256:ab", "test")
    assert (entry.neighbours, entry.accountant) == (Neighbours.REPLACE_ONE, Accountant.EXACT)
    assert before <= datetime.fromisoformat(entry.time) <= datetime.now(UTC)
    assert ledger.entries("houses")[0].status == "reserved"
    assert ledger.datasets() == ["houses", "people"]


def test_spending_adds_in_squares(ledger: Ledger) -> None:
    assert ledger.spent("people", delta=1e-6) == 0.0
    reserve(ledger, GaussianEvent(mu=0.3))
    reserve(ledger, GaussianEvent(mu=0.4))
    assert ledger.spent("people", delta=1e-6) == pytest.approx(gaussian_epsilon(1e-6, 0.5), rel=1e-9)


def test_a_release_planned_for_the_whole_budget_fits_it_once(ledger: Ledger, slices) -> None:
    ledger.set_budget("people", epsilon=2.0, delta=1e-6)

    def build(sigma: float) -> list[Event]:
        return [slices("gaussian", 20, 30, sigma), GaussianEvent(mu=0.2)]

    events = build(calibrate_noise(build, epsilon=2.0, delta=1e-6))
    reserve(ledger, *events)
    left = ledger.remaining("people")
    assert left is not None
    assert left.mu < 0.01
    with pytest.raises(BudgetError, match=r"'people'.*epsilon=2 at delta=1e-06.*spent 2.*asked 2.*left"):
        reserve(ledger, *events)
    assert len(ledger.entries()) == 1
    reserve(ledger, *events, dataset="others")


def test_remaining(ledger: Ledger) -> None:
    assert ledger.remaining("people") is None
    ledger.set_budget("people", epsilon=1.0, delta=1e-5)
    whole = gaussian_mu(1.0, 1e-5)
    assert ledger.remaining("people").mu == pytest.approx(whole)
    assert ledger.remaining("people").epsilon == pytest.approx(1.0, rel=1e-4)
    reserve(ledger, GaussianEvent(mu=0.6 * whole))
    left = ledger.remaining("people")
    assert left.mu == pytest.approx(0.8 * whole, rel=1e-5)
    assert left.epsilon == pytest.approx(gaussian_epsilon(1e-5, left.mu))
    reserve(ledger, GaussianEvent(mu=left.mu))
    assert ledger.spent("people", delta=1e-5) <= 1.0 + 1e-9
    with pytest.raises(BudgetError):
        reserve(ledger, GaussianEvent(mu=0.1 * whole))


def test_nothing_is_left_when_failures_use_up_delta(ledger: Ledger) -> None:
    ledger.set_budget("people", epsilon=1.0, delta=1e-5)
    reserve(ledger, FailureEvent(probability=1e-5, reason="threshold"))
    assert ledger.remaining("people").mu == 0.0
    assert ledger.remaining("people").epsilon == 0.0


def test_a_budget_below_what_is_spent_freezes_the_data_set(ledger: Ledger) -> None:
    reserve(ledger, GaussianEvent(mu=1.0))
    ledger.set_budget("people", epsilon=1.0, delta=1e-5)
    assert ledger.budget("people") == Budget(epsilon=1.0, delta=1e-5)
    account = ledger.account("people", delta=0.1)
    assert account.frozen
    assert account.spent == pytest.approx(gaussian_epsilon(1e-5, 1.0))
    assert account.left.mu == 0.0
    with pytest.raises(BudgetError, match=r"'people'.*epsilon=1 .*frozen.*raised.*nothing was spent"):
        reserve(ledger, GaussianEvent(mu=1e-9))
    with pytest.raises(BudgetError, match="frozen"):
        ledger.check("people", [GaussianEvent(mu=1e-9)], neighbours=Neighbours.BLANK_ONE)
    ledger.set_budget("people", epsilon=10.0, delta=1e-5)
    reserve(ledger, GaussianEvent(mu=0.1))
    account = ledger.account("people", delta=0.1)
    assert not account.frozen
    assert [change.budget.epsilon for change in account.budgets] == [1.0, 10.0]
    assert ledger.budget("others") is None


def test_a_spent_budget_is_not_a_frozen_one(ledger: Ledger, slices) -> None:
    ledger.set_budget("people", epsilon=2.0, delta=1e-6)

    def build(sigma: float) -> list[Event]:
        return [slices("gaussian", 20, 30, sigma)]

    reserve(ledger, *build(calibrate_noise(build, epsilon=2.0, delta=1e-6)))
    assert not ledger.account("people", delta=1e-6).frozen


def test_an_account_states_epsilon_at_the_budgets_delta_or_the_given_one(ledger: Ledger) -> None:
    settled, open_one = reserve(ledger, GaussianEvent(mu=0.3)), reserve(ledger, GaussianEvent(mu=0.4))
    ledger.settle(settled, artefact="a")
    ledger.cancel(reserve(ledger, GaussianEvent(mu=9.0)))
    account = ledger.account("people", delta=1e-4)
    assert (account.budget, account.left, account.frozen, account.delta) == (None, None, False, 1e-4)
    assert account.spent == ledger.spent("people", delta=1e-4) == pytest.approx(gaussian_epsilon(1e-4, 0.5))
    assert [entry.id for entry in account.unsettled] == [open_one]
    assert [entry.status for entry in account.entries] == ["released", "reserved", "cancelled"]
    ledger.set_budget("people", epsilon=5.0, delta=1e-7)
    account = ledger.account("people", delta=1e-4)
    assert (account.delta, account.left) == (1e-7, ledger.remaining("people"))
    assert account.spent == pytest.approx(gaussian_epsilon(1e-7, 0.5))


def test_an_account_can_be_had_as_if_more_were_spent(ledger: Ledger) -> None:
    planned = [GaussianEvent(mu=0.4)]
    ledger.set_budget("a", epsilon=5.0, delta=1e-6)
    reserve(ledger, GaussianEvent(mu=0.3), dataset="a")
    foreseen = ledger.account("a", delta=1e-6, planned=planned)
    assert len(foreseen.entries) == 1
    reserve(ledger, *planned, dataset="a")
    spent = ledger.account("a", delta=1e-6)
    assert (foreseen.spent, foreseen.left, foreseen.frozen) == (spent.spent, spent.left, spent.frozen)
    assert ledger.account("a", delta=1e-6, planned=[GaussianEvent(mu=9.0)]).frozen


def test_a_cancelled_reservation_counts_no_longer(ledger: Ledger) -> None:
    ledger.set_budget("people", epsilon=1.0, delta=1e-5)
    whole = ledger.remaining("people").mu
    entry = reserve(ledger, GaussianEvent(mu=whole))
    with pytest.raises(BudgetError):
        reserve(ledger, GaussianEvent(mu=whole))
    ledger.cancel(entry)
    assert ledger.spent("people", delta=1e-5) == 0.0
    reserve(ledger, GaussianEvent(mu=whole), neighbours="add-remove")


def test_relations_do_not_mix_under_a_budget(ledger: Ledger) -> None:
    ledger.set_budget("people", epsilon=5.0, delta=1e-5)
    reserve(ledger, GaussianEvent(mu=0.1))
    with pytest.raises(BudgetError, match="blank-one and replace-one"):
        reserve(ledger, GaussianEvent(mu=0.1), neighbours="replace-one")
    reserve(ledger, GaussianEvent(mu=0.1), dataset="free")
    reserve(ledger, GaussianEvent(mu=0.1), dataset="free", neighbours="add-remove")
    with pytest.raises(BudgetError, match="relation"):
        ledger.set_budget("free", epsilon=5.0, delta=1e-5)


def test_what_is_settled_is_not_cancelled_and_the_other_way_round(ledger: Ledger) -> None:
    settled, cancelled = reserve(ledger, GaussianEvent(mu=0.1)), reserve(ledger, GaussianEvent(mu=0.2))
    for _ in range(2):
        ledger.settle(settled, artefact="a")
        ledger.cancel(cancelled)
    with pytest.raises(ParameterError, match="released already"):
        ledger.cancel(settled)
    with pytest.raises(ParameterError, match="released already"):
        ledger.settle(settled, artefact="b")
    with pytest.raises(ParameterError, match="cancelled already"):
        ledger.settle(cancelled, artefact="a")
    for close in (ledger.cancel, lambda name: ledger.settle(name, artefact="a")):
        with pytest.raises(ParameterError, match="no entry 'x'"):
            close("x")
    assert [(entry.status, entry.artefact) for entry in ledger.entries()] == [("released", "a"), ("cancelled", None)]


@pytest.mark.parametrize("name", ["", "  ", "broken \udcff name", None])
def test_data_sets_need_a_name(ledger: Ledger, name: str) -> None:
    with pytest.raises(ParameterError, match="dataset"):
        reserve(ledger, GaussianEvent(mu=0.1), dataset=name)
    with pytest.raises(ParameterError, match="dataset"):
        ledger.set_budget(name, epsilon=1.0, delta=1e-6)
    assert ledger.datasets() == []


def test_a_reservation_needs_events_that_can_be_written(ledger: Ledger) -> None:
    with pytest.raises(ParameterError, match="event"):
        reserve(ledger)
    with pytest.raises(ParameterError, match="event"):
        ledger.check("people", [], neighbours=Neighbours.BLANK_ONE)
    assert ledger.datasets() == []


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.0, 0.1), (math.inf, 0.1), (1.0, 0.0), (1.0, 1.0), ("5", 0.1), (1.0, True)]
)
def test_bad_budgets(ledger: Ledger, epsilon: float, delta: float) -> None:
    with pytest.raises(ParameterError):
        ledger.set_budget("people", epsilon=epsilon, delta=delta)


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), KeyboardInterrupt(), MemoryError()])
def test_a_reservation_that_is_stopped_after_it_was_written_does_not_count(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The book is in its place when syncing its folder fails: whoever asked for the reservation never learns its id."""
    sync, failing = whole_file._sync, [error]

    def stopped(place: Path) -> None:
        if failing:
            raise failing.pop()
        sync(place)

    ledger = Ledger(tmp_path / "book.json")
    monkeypatch.setattr(whole_file, "_sync", stopped)
    with pytest.raises((OutputError, KeyboardInterrupt, MemoryError)) as raised:
        reserve(ledger, GaussianEvent(mu=1.0))
    assert raised.value.__notes__ == ["Nothing was spent."]
    assert [entry.status for entry in ledger.entries()] == ["cancelled"]


@pytest.mark.parametrize("name", ["cafe\u0301.csv", " people", "people ", "peo\u200bple", "peo\nple"])
def test_names_that_look_like_another_are_refused(name: str) -> None:
    """A budget on one of them would not hold for the other."""
    ledger = Ledger()
    with pytest.raises(ParameterError, match="plain name"):
        ledger.set_budget(name, epsilon=1.0, delta=1e-6)


def test_a_stop_before_the_guard_is_left_holds_up_nobody_who_takes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C can come when the record is written and the guard not yet left: the same thread then cancels."""
    ledger = Ledger()
    guard = ledger._guard

    class Stopped:
        def __enter__(self) -> None:
            guard.acquire()

        def __exit__(self, *raised: object) -> None:
            monkeypatch.setattr(ledger, "_guard", guard)
            raise KeyboardInterrupt

    monkeypatch.setattr(ledger, "_guard", Stopped())
    with pytest.raises(KeyboardInterrupt) as stopped:
        ledger.reserve(
            "a", [GaussianEvent(mu=1.0)], purpose="p", neighbours=Neighbours.BLANK_ONE, accountant=Accountant.EXACT
        )
    assert stopped.value.__notes__ == ["Nothing was spent."]
    assert [entry.status for entry in ledger.entries()] == ["cancelled"]


ROWS_THEN_PEOPLE = [(None, "patient"), ("patient", None), ("patient", "household")]


@pytest.mark.parametrize(("before", "after"), ROWS_THEN_PEOPLE)
@pytest.mark.parametrize("budget", [True, False])
def test_people_and_rows_are_not_added_up(before: str | None, after: str | None, budget: bool, tmp_path: Path) -> None:
    book = Ledger(tmp_path / "book.json")
    if budget:
        book.set_budget("people", epsilon=9.0, delta=1e-6)
    reserve(book, GaussianEvent(mu=0.1), unit=before)
    spent = book.spent("people", delta=1e-6)
    with pytest.raises(BudgetError, match=r"do not add up to one promise.*--dataset.*nothing was spent") as refused:
        reserve(book, GaussianEvent(mu=0.1), unit=after)
    assert "each row by itself" in str(refused.value) or "unit 'household'" in str(refused.value)
    assert book.spent("people", delta=1e-6) == spent
    reserve(book, GaussianEvent(mu=0.1), unit=before)
    reserve(book, GaussianEvent(mu=0.1), unit=after, dataset="others")
    assert [entry.unit for entry in Ledger(tmp_path / "book.json").entries()] == [before, before, after]


def test_what_came_to_nothing_stands_in_nobodys_way() -> None:
    book = Ledger()
    book.cancel(reserve(book, GaussianEvent(mu=0.1), unit="patient"))
    reserve(book, GaussianEvent(mu=0.1))


def test_a_book_from_before_units_were_named_tells_people_by_the_purpose() -> None:
    book = Ledger()
    how = {"neighbours": Neighbours.BLANK_ONE, "accountant": Accountant.EXACT}
    book.reserve("people", [GaussianEvent(mu=0.1)], purpose="release of aggregates, a person's rows together", **how)
    with pytest.raises(BudgetError, match="protects people, all of their rows together, and this one"):
        reserve(book, GaussianEvent(mu=0.1))
    reserve(book, GaussianEvent(mu=0.1), unit="patient")
