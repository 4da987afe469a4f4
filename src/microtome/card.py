"""What objects say of themselves: one line on a console, and in a notebook a small table that needs no scripts."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from microtome.accounting import Account, Ledger

_MOST_ROWS = 60
_DELTA = 1e-6
"""At which a ledger states ε where no budget sets δ."""


@dataclass(frozen=True, kw_only=True)
class Card:
    """What is to be shown.

    Attributes:
        title: What it is.
        lines: What is to be known of it, a sentence each.
        headings: Of the table below, if there is one.
        rows: Of that table.
    """

    title: str
    lines: Sequence[str] = ()
    headings: Sequence[str] = ()
    rows: Sequence[Sequence[object]] = ()

    def html(self) -> str:
        """As a piece of a page, with everything escaped that came from a file."""
        parts = [f"<strong>{escape(self.title)}</strong>", *(f"<div>{escape(line)}</div>" for line in self.lines)]
        if self.headings:
            shown = [_row("td", row) for row in self.rows[:_MOST_ROWS]]
            parts.append(f"<table>{_row('th', self.headings)}{''.join(shown)}</table>")
        if len(self.rows) > _MOST_ROWS:
            parts.append(f"<div>… and {len(self.rows) - _MOST_ROWS:,} more</div>")
        return f"<div>{''.join(parts)}</div>"


class Carded(ABC):
    """Objects with a card."""

    @abstractmethod
    def card(self) -> Card:
        """What there is to be shown."""

    def __repr__(self) -> str:
        return f"<{self.card().title}>"

    def _repr_html_(self) -> str:
        return self.card().html()


class LedgerCard(Carded):
    """A ledger's card: what was spent on which data set, and what is left."""

    def __repr__(self: Ledger) -> str:  # type: ignore[misc]
        return f"<Ledger {'in memory' if self.path is None else self.path}>"

    def card(self: Ledger) -> Card:  # type: ignore[misc]
        """An account a data set."""
        where = "in memory" if self.path is None else str(self.path)
        accounts = [self.account(name, delta=_DELTA) for name in self.datasets()]
        return Card(
            title=f"Ledger {where}: {len(accounts)} data set{'' if len(accounts) == 1 else 's'}",
            headings=("data set", "spent ε", "at δ", "budget ε", "entries"),
            rows=[_account_row(account) for account in accounts],
        )


def account_in_words(account: Account) -> list[str]:
    """What a data set has cost in all, what is left of its budget, and what was never settled."""
    lines = [f"{account.dataset}: spent {_stated(account.spent)} at δ = {account.delta:g} in all"]
    if account.budget is None or account.left is None:
        lines.append("no budget is set; 'microtome ledger set-budget' sets one and enforces it")
    elif account.frozen:
        lines.append(
            f"frozen: that is more than the budget of ε = {account.budget.epsilon:g} at δ = {account.budget.delta:g}; "
            "nothing further is spent unless 'microtome ledger set-budget' raises it"
        )
    else:
        lines.append(
            f"budget ε = {account.budget.epsilon:g} at δ = {account.budget.delta:g}; what still fits is one Gaussian "
            f"mechanism with ε = {account.left.epsilon:.4g} (budgets add in squares, so this is more than the "
            "difference)"
        )
    if account.unsettled:
        number = len(account.unsettled)
        lines.append(
            f"{number} reservation{'s were' if number > 1 else ' was'} never settled: a run that crashed, or one that "
            "is under way. Noise may have been drawn, so they count"
        )
    return lines


def _stated(value: float) -> str:
    return f"ε = {value:.4g}" if math.isfinite(value) else "without bound"


def _account_row(account: Account) -> list[str]:
    budget = "none" if account.budget is None else f"{account.budget.epsilon:g}"
    spent = f"{account.spent:.4g}" if math.isfinite(account.spent) else "without bound"
    frozen = " (frozen)" if account.frozen else ""
    return [account.dataset, spent, f"{account.delta:g}", budget + frozen, str(len(account.entries))]


def _row(tag: str, values: Sequence[object]) -> str:
    cells = "".join(f'<{tag} style="text-align: left">{escape(str(value))}</{tag}>' for value in values)
    return f"<tr>{cells}</tr>"
