"""The book of what was spent on which data set (``docs/privacy.md``, sections 4 and 6).

A debit is on the disk before the noise is drawn: a crash may overcharge, it never undercharges. A set budget
is enforced by the exact accountant on the composition of all entries, whatever accountant planned them. A
spent budget refuses; it never warns.
"""

import math
import threading
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from scipy.optimize import brentq

from microtome.accounting.accountant import Accountant
from microtome.accounting.accountant import delta as delta_of
from microtome.accounting.accountant import epsilon as epsilon_of
from microtome.accounting.events import Event, GaussianEvent
from microtome.accounting.gaussian import gaussian_epsilon, gaussian_mu
from microtome.accounting.inversion import log_excess
from microtome.accounting.ledger_file import (
    RELEASED,
    Book,
    Budget,
    Entry,
    locked,
    read_book,
    write_book,
)
from microtome.accounting.neighbours import Neighbours
from microtome.accounting.ranges import require_probability
from microtome.errors import BudgetError, ParameterError


@dataclass(frozen=True, kw_only=True)
class Remaining:
    """What is left of a budget.

    Attributes:
        mu: the largest μ of one further Gaussian mechanism that still fits, after all that was spent.
        epsilon: the ε which that mechanism has by itself at the budget's δ. It is not the budget's ε less
            the ε spent: budgets add in μ², so it is more than that.
    """

    mu: float
    epsilon: float


class Ledger:
    """What was spent on which data set, in a file or, without a path, in memory."""

    def __init__(self, path: str | Path | None = None) -> None:
        """Open the ledger at ``path``, which need not exist yet; a damaged one is refused at once."""
        self._path = None if path is None else Path(path)
        self._memory = Book()
        self._guard = threading.Lock()
        self._read()

    def set_budget(self, dataset: str, *, epsilon: float, delta: float) -> None:
        """Set the most that may ever be spent on ``dataset``.

        Raises:
            BudgetError: more is spent already, or under different neighbouring relations.
        """
        _require_name("dataset", dataset)
        budget = Budget(epsilon=epsilon, delta=delta)
        with self._writing() as book:
            entries = _of(book, dataset)
            _require_one_relation(dataset, [entry.neighbours for entry in entries])
            events = _events(entries)
            if delta_of(events, epsilon) > delta:
                spent = epsilon_of(events, delta)
                raise BudgetError(
                    f"data set {dataset!r} has spent epsilon={spent:.6g} at delta={delta:g} already, "
                    f"more than the budget of epsilon={epsilon:g}"
                )
            self._write(replace(book, budgets={**book.budgets, dataset: budget}))

    def budget(self, dataset: str) -> Budget | None:
        """The budget of ``dataset``, if one is set."""
        return self._read().budgets.get(dataset)

    def check(self, dataset: str, events: Sequence[Event], *, neighbours: Neighbours) -> None:
        """Raise the ``BudgetError`` that a debit of ``events`` would raise; record nothing."""
        book = self._read()
        if dataset in book.budgets:
            entry = _entry(dataset, events, purpose="check", neighbours=neighbours, accountant=Accountant.EXACT)
            _require_room(book.budgets[dataset], _of(book, dataset), entry)

    def debit(
        self,
        dataset: str,
        events: Sequence[Event],
        *,
        purpose: str,
        neighbours: Neighbours,
        accountant: Accountant,
    ) -> str:
        """Record that ``events`` are about to happen to ``dataset``; recorded when this returns.

        Args:
            dataset: name of the data set.
            events: what will be done to it.
            purpose: what for, in words.
            neighbours: the relation that the events are counted under.
            accountant: the accountant by which they were planned; a set budget is enforced by the exact one.

        Returns:
            The id of the entry, for ``complete``.

        Raises:
            BudgetError: a set budget would be exceeded, or relations would be mixed under it.
        """
        _require_name("dataset", dataset)
        if not events:
            raise ParameterError(f"a debit of data set {dataset!r} needs at least one event, got none")
        entry = _entry(dataset, events, purpose=purpose, neighbours=neighbours, accountant=accountant)
        with self._writing() as book:
            if dataset in book.budgets:
                _require_room(book.budgets[dataset], _of(book, dataset), entry)
            self._write(replace(book, entries=(*book.entries, entry)))
        return entry.id

    def complete(self, entry_id: str, *, artefact: str) -> None:
        """Mark an entry as released, with the checksum of what was written. One never completed still counts."""
        _require_name("artefact", artefact)
        with self._writing() as book:
            entry = next((entry for entry in book.entries if entry.id == entry_id), None)
            if entry is None:
                raise ParameterError(f"the ledger has no entry {entry_id!r}")
            if entry.artefact not in (None, artefact):
                raise ParameterError(f"entry {entry_id!r} was completed before, with artefact {entry.artefact!r}")
            done = replace(entry, status=RELEASED, artefact=artefact)
            entries = tuple(done if other is entry else other for other in book.entries)
            self._write(replace(book, entries=entries))

    def entries(self, dataset: str | None = None) -> list[Entry]:
        """All entries, or those of one data set, oldest first."""
        book = self._read()
        return list(book.entries) if dataset is None else _of(book, dataset)

    def datasets(self) -> list[str]:
        """Names of all data sets with an entry or a budget, sorted."""
        book = self._read()
        return sorted({*book.budgets, *(entry.dataset for entry in book.entries)})

    def spent(self, dataset: str, *, delta: float) -> float:
        """ε at ``delta`` of all entries of ``dataset`` together, pending ones included, by the exact accountant.

        If entries differ in their neighbouring relation the figure holds for ``blank-one``, which both
        others imply.
        """
        require_probability("delta", delta)
        return epsilon_of(_events(self.entries(dataset)), delta)

    def remaining(self, dataset: str) -> Remaining | None:
        """What is left of the budget of ``dataset``; None if no budget is set.

        "Left" is the largest Gaussian mechanism that still fits: its μ, and its own ε at the budget's δ.
        """
        book = self._read()
        budget = book.budgets.get(dataset)
        if budget is None:
            return None
        mu = _largest_mu(_events(_of(book, dataset)), budget)
        return Remaining(mu=mu, epsilon=gaussian_epsilon(budget.delta, mu))

    def _read(self) -> Book:
        return self._memory if self._path is None else read_book(self._path)

    def _write(self, book: Book) -> None:
        if self._path is None:
            self._memory = book
        else:
            write_book(self._path, book)

    @contextmanager
    def _writing(self) -> Iterator[Book]:
        """The book as it is now, with all other writers kept out until the end."""
        with self._guard:
            if self._path is None:
                yield self._memory
            else:
                with locked(self._path):
                    yield read_book(self._path)


def _entry(
    dataset: str, events: Sequence[Event], *, purpose: str, neighbours: Neighbours, accountant: Accountant
) -> Entry:
    return Entry(
        id=uuid.uuid4().hex,
        dataset=dataset,
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        purpose=purpose,
        neighbours=Neighbours(neighbours),
        accountant=Accountant(accountant),
        events=tuple(events),
    )


def _of(book: Book, dataset: str) -> list[Entry]:
    return [entry for entry in book.entries if entry.dataset == dataset]


def _events(entries: Sequence[Entry]) -> list[Event]:
    return [event for entry in entries for event in entry.events]


def _require_name(parameter: str, value: str) -> None:
    if not isinstance(value, str) or not value.strip():
        raise ParameterError(f"{parameter} must be a text that is not empty, got {value!r}")


def _require_one_relation(dataset: str, relations: Sequence[Neighbours]) -> None:
    names = sorted({relation.value for relation in relations})
    if len(names) > 1:
        raise BudgetError(
            f"a budget holds for one neighbouring relation, and data set {dataset!r} would have "
            f"{' and '.join(names)}; use the same --neighbours for all its releases"
        )


def _require_room(budget: Budget, entries: Sequence[Entry], entry: Entry) -> None:
    _require_one_relation(entry.dataset, [other.neighbours for other in (*entries, entry)])
    before = _events(entries)
    if delta_of([*before, *entry.events], budget.epsilon) <= budget.delta:
        return
    spent = epsilon_of(before, budget.delta)
    asked = epsilon_of(entry.events, budget.delta)
    left = gaussian_epsilon(budget.delta, _largest_mu(before, budget))
    raise BudgetError(
        f"data set {entry.dataset!r} has a budget of epsilon={budget.epsilon:g} at delta={budget.delta:g}: "
        f"spent {spent:.6g}, asked {asked:.6g}, left {left:.6g}; nothing was spent"
    )


def _largest_mu(events: Sequence[Event], budget: Budget) -> float:
    """Largest μ, rounded down, of a Gaussian mechanism that fits after ``events``."""

    def excess(mu: float) -> float:
        return log_excess(delta_of([*events, GaussianEvent(mu=mu)], budget.epsilon), budget.delta)

    high = gaussian_mu(budget.epsilon, budget.delta)
    if excess(high) <= 0:
        return high
    if excess(0.0) >= 0:
        return 0.0
    return max(0.0, float(brentq(excess, 0.0, high, xtol=1e-7 * high)) - math.ldexp(high, -22))
