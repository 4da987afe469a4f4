"""The book of what was spent on which data set (``docs/privacy.md``, sections 4 and 6).

A reservation is on the disk before the noise is drawn: a crash may overcharge, it never undercharges. A set budget is
enforced by the exact accountant on the composition of all entries that count, whatever accountant planned them. A spent
budget refuses; it never warns.
"""

import os
import threading
import unicodedata
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from microtome.accounting.account import Account, Remaining, remaining_after
from microtome.accounting.accountant import Accountant
from microtome.accounting.accountant import delta as delta_of
from microtome.accounting.accountant import epsilon as epsilon_of
from microtome.accounting.events import Event, event_from_dict
from microtome.accounting.ledger_file import read_book, write_book
from microtome.accounting.ledger_place import anchored, locked, real_path
from microtome.accounting.ledger_records import (
    CANCELLED,
    RELEASED,
    Book,
    Budget,
    Cancel,
    Entry,
    Record,
    Reserve,
    SetBudget,
    Settle,
)
from microtome.accounting.neighbours import Neighbours
from microtome.accounting.ranges import require_probability
from microtome.card import LedgerCard
from microtome.errors import BudgetError, ParameterError

_PATIENCE = 60.0


class Ledger(LedgerCard):
    """What was spent on which data set, in a file or, without a path, in memory.

    Example:
        >>> from microtome import Ledger
        >>> from microtome.accounting import Accountant, GaussianEvent, Neighbours
        >>> ledger = Ledger()
        >>> ledger.set_budget("town", epsilon=1.0, delta=1e-6)
        >>> under = {"neighbours": Neighbours.BLANK_ONE, "accountant": Accountant.EXACT}
        >>> entry = ledger.reserve("town", [GaussianEvent(mu=0.1)], purpose="a survey", **under)
        >>> round(ledger.account("town", delta=1e-6).spent, 3)
        0.397
        >>> ledger.reserve("town", [GaussianEvent(mu=0.3)], purpose="another", **under)
        Traceback (most recent call last):
            ...
        microtome.errors.BudgetError: ...
    """

    def __init__(self, path: str | Path | None = None, *, patience: float = _PATIENCE) -> None:
        """Open the ledger at ``path``, which need not exist yet; a damaged one is refused at once.

        Args:
            path: where the book is; a link leads to the book that it points to.
            patience: seconds to wait for another writer.
        """
        self._path = None if path is None else anchored(path)
        self._patience = patience
        self._memory = Book()
        self._guard = threading.RLock()  # Ctrl-C can come before it is left, and the same thread then takes back
        self._read()

    @classmethod
    def of(cls, given: "Ledger | str | Path | None") -> "Ledger":
        """The ledger that is given, itself or by its path; without either one that is kept in memory."""
        match given:
            case Ledger():
                return given
            case str() | Path() | None:
                return cls(given)

    @property
    def path(self) -> Path | None:
        """Where the book is kept; None for one in memory."""
        return self._path

    def set_budget(self, dataset: str, *, epsilon: float, delta: float) -> None:
        """Set the most that may be spent on ``dataset`` from now on.

        A budget below what is spent already freezes the data set: nothing further fits, until the budget is raised.

        Raises:
            BudgetError: the entries are under different neighbouring relations.
        """
        _require_name("dataset", dataset)
        budget = Budget(epsilon=epsilon, delta=delta)

        def record(book: Book) -> SetBudget:
            _require_one_relation(dataset, [entry.neighbours for entry in _counted(book, dataset)])
            return SetBudget(dataset=dataset, budget=budget, time=_now())

        self._append(record)

    def budget(self, dataset: str) -> Budget | None:
        """The budget of ``dataset``, if one is set."""
        return self._read().budgets.get(dataset)

    def check(self, dataset: str, events: Sequence[Event], *, neighbours: Neighbours) -> None:
        """Raise the ``BudgetError`` that a reservation of ``events`` would raise; record nothing."""
        book = self._read()
        entry = _entry(dataset, events, purpose="check", neighbours=neighbours, accountant=Accountant.EXACT)
        _require_room(book, entry)

    def reserve(
        self,
        dataset: str,
        events: Sequence[Event],
        *,
        purpose: str,
        neighbours: Neighbours,
        accountant: Accountant,
        unit: str | None = None,
    ) -> str:
        """Record that ``events`` are about to happen to ``dataset``; recorded when this returns.

        Args:
            dataset: name of the data set.
            events: what will be done to it.
            purpose: what for, in words.
            neighbours: the relation that the events are counted under.
            accountant: the accountant by which they were planned; a set budget is enforced by the exact one.
            unit: the column that says whose a row is, where people are protected and not rows.

        Returns:
            The id of the entry, for ``settle`` or ``cancel``.

        Raises:
            BudgetError: a set budget would be exceeded, or relations would be mixed under it; or people and rows, or
                two units, would be mixed, with a budget or without.
        """
        entry = _entry(dataset, events, purpose=purpose, neighbours=neighbours, accountant=accountant, unit=unit)

        def record(book: Book) -> Reserve:
            _require_room(book, entry)
            return Reserve(entry=entry)

        try:
            self._append(record)
        except BudgetError:
            raise
        except BaseException as error:  # it may have got as far as the disk before
            error.add_note(self._taken_back(entry.id))
            raise
        return entry.id

    def settle(self, entry_id: str, *, artefact: str) -> None:
        """Mark an entry as released, with the checksum of what was written. One that is never settled still counts."""
        _require_name("artefact", artefact)
        self._close(Settle(id=entry_id, artefact=artefact, time=_now()), RELEASED, artefact)

    def cancel(self, entry_id: str) -> None:
        """Take back an entry whose work ended before any noise was drawn, so that nothing can have been published.

        It stays in the book as "cancelled" and no longer counts. A settled entry cannot be cancelled.
        """
        self._close(Cancel(id=entry_id, time=_now()), CANCELLED, None)

    def _taken_back(self, entry_id: str) -> str:
        """See to it that an entry does not count whose writer was stopped; gives the state of the book in words."""
        try:
            if any(entry.id == entry_id for entry in self.entries()):
                self.cancel(entry_id)
        except Exception as error:
            return f"Nothing was done, but what was to be reserved may stay charged in the ledger: {error}"
        return "Nothing was spent."

    def _close(self, record: Settle | Cancel, status: str, artefact: str | None) -> None:
        """Add the last record of an entry; once more is the same, and not another record."""

        def unless_done(book: Book) -> Settle | Cancel | None:
            wanted = (record.id, status, artefact)
            return None if any((one.id, one.status, one.artefact) == wanted for one in book.entries) else record

        self._append(unless_done)

    def entries(self, dataset: str | None = None) -> list[Entry]:
        """All entries, or those of one data set, cancelled ones included, oldest first."""
        return [entry for entry in self._read().entries if dataset in (None, entry.dataset)]

    def datasets(self) -> list[str]:
        """Names of all data sets with an entry or a budget, sorted."""
        book = self._read()
        return sorted({*book.budgets, *(entry.dataset for entry in book.entries)})

    def spent(self, dataset: str, *, delta: float) -> float:
        """ε at ``delta`` of all entries of ``dataset`` that count, reserved ones included, by the exact accountant.

        If entries differ in their neighbouring relation the figure holds for ``blank-one``, which both
        others imply.
        """
        require_probability("delta", delta)
        return epsilon_of(_events(_counted(self._read(), dataset)), delta)

    def remaining(self, dataset: str) -> Remaining | None:
        """What is left of the budget of ``dataset``; None if no budget is set.

        "Left" is the largest Gaussian mechanism that still fits: its μ, and its own ε at the budget's δ.
        """
        book = self._read()
        budget = book.budgets.get(dataset)
        return None if budget is None else remaining_after(_events(_counted(book, dataset)), budget)

    def account(self, dataset: str, *, delta: float, planned: Sequence[Event] = ()) -> Account:
        """What ``dataset`` has cost in all, at its budget's δ or else at ``delta``, and what is left.

        ``planned`` events count as if they had happened.
        """
        require_probability("delta", delta)
        book = self._read()
        events, budget = [*_events(_counted(book, dataset)), *planned], book.budgets.get(dataset)
        at = delta if budget is None else budget.delta
        return Account(
            dataset=dataset,
            spent=epsilon_of(events, at),
            delta=at,
            budget=budget,
            left=None if budget is None else remaining_after(events, budget),
            frozen=budget is not None and not _fits(events, budget),
            entries=tuple(entry for entry in book.entries if entry.dataset == dataset),
            budgets=tuple(change for change in book.budget_changes if change.dataset == dataset),
        )

    def _read(self) -> Book:
        return self._memory if self._path is None else read_book(real_path(self._path))

    def _append(self, record: Callable[[Book], Record | None]) -> None:
        """Add what ``record`` makes of the book as it is now, with all other writers kept out until it is written."""
        with self._guard:
            if self._path is None:
                self._memory = _with(self._memory, record(self._memory))
                return
            real = real_path(self._path)
            with locked(real, patience=self._patience):
                before = read_book(real)
                after = _with(before, record(before))
                if after is not before:
                    write_book(real, after)


def _with(book: Book, record: Record | None) -> Book:
    return book if record is None else book.adding(record)


def _entry(
    dataset: str,
    events: Sequence[Event],
    *,
    purpose: str,
    neighbours: Neighbours,
    accountant: Accountant,
    unit: str | None = None,
) -> Entry:
    """A new entry; events are taken as a reader of the book will find them."""
    _require_name("dataset", dataset)
    _require_name("purpose", purpose)
    return Entry(
        id=uuid.uuid4().hex,
        dataset=dataset,
        time=_now(),
        purpose=purpose,
        neighbours=Neighbours(neighbours),
        accountant=Accountant(accountant),
        events=tuple(event_from_dict(event.to_dict()) for event in events),
        unit=unit,
    )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _counted(book: Book, dataset: str) -> list[Entry]:
    return [entry for entry in book.entries if entry.dataset == dataset and entry.counts]


def _events(entries: Sequence[Entry]) -> list[Event]:
    return [event for entry in entries for event in entry.events]


def dataset_name(path: str | Path) -> str:
    """The name in the book of the data in a file: that of the file itself, by whatever link it is reached."""
    name = unicodedata.normalize("NFC", Path(os.path.realpath(path)).name.strip())
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in name)


def _require_name(parameter: str, value: str) -> None:
    """Refuse what is no text, and names that look like another: a budget on one would not hold for the other."""
    if not isinstance(value, str) or not value.strip():
        raise ParameterError(f"{parameter} must be a text that is not empty, got {value!r}")
    if value != value.strip() or not value.isprintable() or unicodedata.normalize("NFC", value) != value:
        raise ParameterError(
            f"{parameter} {value!r} has blanks at an end, or characters that cannot be seen or can be written in two "
            "ways; give a plain name (--dataset)"
        )


def _require_one_relation(dataset: str, relations: Sequence[Neighbours]) -> None:
    names = sorted({relation.value for relation in relations})
    if len(names) > 1:
        raise BudgetError(
            f"a budget holds for one neighbouring relation, and data set {dataset!r} would have "
            f"{' and '.join(names)}; use the same --neighbours for all its releases"
        )


def _require_one_unit(entries: Sequence[Entry], entry: Entry) -> None:
    """Refuse what protects something else than the entries before: the sum would be true of neither."""
    others = [other for other in entries if other.is_of_people != entry.is_of_people]
    others += [other for other in entries if None not in (other.unit, entry.unit) and other.unit != entry.unit]
    if others:
        raise BudgetError(
            f"data set {entry.dataset!r} has a release that protects {_protected(others[0])}, and this one would "
            f"protect {_protected(entry)}: their costs do not add up to one promise. Release it in the same way, or "
            "under a name of its own (--dataset), with a budget of its own; nothing was spent"
        )


def _protected(entry: Entry) -> str:
    if not entry.is_of_people:
        return "each row by itself"
    return "people, all of their rows together" + ("" if entry.unit is None else f" (unit {entry.unit!r})")


def _require_room(book: Book, entry: Entry) -> None:
    entries, budget = _counted(book, entry.dataset), book.budgets.get(entry.dataset)
    _require_one_unit(entries, entry)
    if budget is None:
        return
    _require_one_relation(entry.dataset, [other.neighbours for other in (*entries, entry)])
    before = _events(entries)
    if _fits([*before, *entry.events], budget):
        return
    limit = f"data set {entry.dataset!r} has a budget of epsilon={budget.epsilon:g} at delta={budget.delta:g}"
    spent = epsilon_of(before, budget.delta)
    if not _fits(before, budget):
        raise BudgetError(
            f"{limit} and has spent {spent:.6g} already: it is frozen, and nothing further may be spent on it unless "
            "its budget is raised ('microtome ledger set-budget'); nothing was spent"
        )
    asked = epsilon_of(entry.events, budget.delta)
    left = remaining_after(before, budget).epsilon
    raise BudgetError(f"{limit}: spent {spent:.6g}, asked {asked:.6g}, left {left:.6g}; nothing was spent")


def _fits(events: Sequence[Event], budget: Budget) -> bool:
    return delta_of(events, budget.epsilon) <= budget.delta
