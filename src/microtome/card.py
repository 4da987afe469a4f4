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


def _account_row(account: Account) -> list[str]:
    budget = "none" if account.budget is None else f"{account.budget.epsilon:g}"
    spent = f"{account.spent:.4g}" if math.isfinite(account.spent) else "without bound"
    frozen = " (frozen)" if account.frozen else ""
    return [account.dataset, spent, f"{account.delta:g}", budget + frozen, str(len(account.entries))]


def _row(tag: str, values: Sequence[object]) -> str:
    cells = "".join(f'<{tag} style="text-align: left">{escape(str(value))}</{tag}>' for value in values)
    return f"<tr>{cells}</tr>"
