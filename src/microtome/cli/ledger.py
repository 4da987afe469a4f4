"""``microtome ledger``: what was spent on which data set, and what is left."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from microtome.card import account_in_words
from microtome.cli.screen import console, plain, print_json
from microtome.cli.verb import Quiet, Verb
from microtome.errors import ParameterError
from microtome.file_kind import mistaken_for

if TYPE_CHECKING:
    from microtome.accounting import Account, Entry

app = typer.Typer(help="What was spent on which data set, and what is left.", no_args_is_help=True)
Book = Annotated[Path, typer.Argument(help="Ledger file.")]


@app.command(cls=Verb)
def show(
    ledger: Book,
    dataset: Annotated[str | None, typer.Option(help="Only this data set.")] = None,
    delta: Annotated[float, typer.Option(help="δ at which to state ε where no budget sets one.")] = 1e-6,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """List what was spent, data set by data set."""
    from microtome.accounting import Ledger

    _refuse_other_files(ledger)
    book = Ledger(ledger)
    known = book.datasets()
    if not ledger.exists():
        raise ParameterError(f"{ledger}: no such ledger")
    if dataset is not None and dataset not in known:
        raise ParameterError(f"{ledger} has no data set {dataset!r}; it has {', '.join(map(repr, known)) or 'none'}")
    accounts = [book.account(name, delta=delta) for name in ([dataset] if dataset is not None else known)]
    if as_json:
        print_json([_as_json(account) for account in accounts], indent=2)
        return
    for account in accounts:
        _print(account)


@app.command("set-budget", cls=Verb)
def set_budget(
    ledger: Book,
    dataset: Annotated[str, typer.Argument(help="The data set's name.")],
    epsilon: Annotated[float, typer.Option(help="Most ε that may be spent on it.")],
    delta: Annotated[float, typer.Option(help="At this δ.")],
    quiet: Quiet = False,
) -> None:
    """Set the most that may be spent on a data set; releases beyond it are refused.

    A budget below what is spent already freezes the data set.
    """
    from microtome.accounting import Ledger

    _refuse_other_files(ledger)
    book = Ledger(ledger)
    book.set_budget(dataset, epsilon=epsilon, delta=delta)
    console.print(f"{plain(dataset)}: at most ε = {epsilon:g} at δ = {delta:g}, from now on enforced.", soft_wrap=True)
    for line in account_in_words(book.account(dataset, delta=delta)):
        console.print(plain(line), soft_wrap=True)


def _refuse_other_files(ledger: Path) -> None:
    """Refuse the table, or another file, in place of its ledger. A damaged ledger is told of by whoever reads it."""
    from microtome.accounting.ledger_place import ledger_beside

    wrong = mistaken_for(ledger, "a ledger") if ledger.is_file() and ledger.suffix != ".json" else None
    if wrong is not None:
        beside = ledger_beside(ledger)
        where = f"; its ledger is {beside.name}, beside it" if beside.exists() else ""
        raise ParameterError(f"{ledger}: {wrong}{where}")


def _as_json(account: Account) -> dict[str, Any]:
    budget, left = account.budget, account.left
    return {
        "dataset": account.dataset,
        "budget": None if budget is None else {"epsilon": budget.epsilon, "delta": budget.delta},
        "spent": {"epsilon": _finite(account.spent), "delta": account.delta},
        "left": None if left is None else {"epsilon": left.epsilon, "mu": left.mu},
        "frozen": account.frozen,
        "unsettled": [entry.id for entry in account.unsettled],
        "budgets": [
            {"time": change.time, "epsilon": change.budget.epsilon, "delta": change.budget.delta}
            for change in account.budgets
        ],
        "entries": [
            {
                "id": entry.id,
                "time": entry.time,
                "purpose": entry.purpose,
                "status": entry.status,
                "neighbours": str(entry.neighbours),
                "accountant": str(entry.accountant),
                "epsilon": _finite(alone),
                "artefact": entry.artefact,
            }
            for entry, alone in _alone(account)
        ],
    }


def _alone(account: Account) -> list[tuple[Entry, float]]:
    """Every entry with the ε that it has by itself."""
    from microtome.accounting import epsilon

    known = {events: epsilon(events, account.delta) for events in {entry.events for entry in account.entries}}
    return [(entry, known[entry.events]) for entry in account.entries]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _print(account: Account) -> None:
    first, *others = account_in_words(account)
    console.print(f"[bold]{plain(first)}[/]", soft_wrap=True)
    for line in others:
        console.print(plain(line), soft_wrap=True)
    for change in account.budgets[:-1]:
        before = f"budget before: ε = {change.budget.epsilon:g} at δ = {change.budget.delta:g}"
        console.print(f"{before}, set {change.time or 'at a time unknown'}", soft_wrap=True)
    table = Table("time", "purpose", "ε alone", "neighbours", "status", "artefact", header_style="bold")
    for entry, alone in _alone(account):
        figure = f"{alone:.4g}" if math.isfinite(alone) else "∞"
        artefact = (entry.artefact or "")[:12]
        table.add_row(entry.time, plain(entry.purpose), figure, entry.neighbours, entry.status, plain(artefact))
    console.print(table)
