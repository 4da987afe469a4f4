"""``microtome ledger``: what was spent on which data set, and what is left."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from microtome.accounting import Ledger, epsilon
from microtome.cli.screen import console, plain, print_json
from microtome.errors import ParameterError

app = typer.Typer(help="What was spent on which data set, and what is left.", no_args_is_help=True)
Book = Annotated[Path, typer.Argument(help="Ledger file.")]


@app.command()
def show(
    ledger: Book,
    dataset: Annotated[str | None, typer.Option(help="Only this data set.")] = None,
    delta: Annotated[float, typer.Option(help="δ at which to state ε where no budget sets one.")] = 1e-6,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """List what was spent, data set by data set."""
    if not ledger.exists():
        raise ParameterError(f"{ledger}: no such ledger")
    book = Ledger(ledger)
    names = book.datasets() if dataset is None else [dataset]
    accounts = [_account(book, name, delta) for name in names]
    if as_json:
        print_json(accounts, indent=2)
        return
    for account in accounts:
        _print(account)


@app.command("set-budget")
def set_budget(
    ledger: Book,
    dataset: Annotated[str, typer.Argument(help="The data set's name.")],
    epsilon: Annotated[float, typer.Option(help="Most ε that may ever be spent on it.")],
    delta: Annotated[float, typer.Option(help="At this δ.")],
) -> None:
    """Set the most that may ever be spent on a data set; releases beyond it are refused."""
    Ledger(ledger).set_budget(dataset, epsilon=epsilon, delta=delta)
    console.print(f"{plain(dataset)}: at most ε = {epsilon:g} at δ = {delta:g}, from now on enforced.", soft_wrap=True)


def _account(book: Ledger, name: str, delta: float) -> dict[str, Any]:
    budget, remaining = book.budget(name), book.remaining(name)
    at = budget.delta if budget else delta
    return {
        "dataset": name,
        "budget": None if budget is None else {"epsilon": budget.epsilon, "delta": budget.delta},
        "spent": {"epsilon": _finite(book.spent(name, delta=at)), "delta": at},
        "left": None if remaining is None else {"epsilon": remaining.epsilon, "mu": remaining.mu},
        "entries": [
            {
                "id": entry.id,
                "time": entry.time,
                "purpose": entry.purpose,
                "status": entry.status,
                "neighbours": str(entry.neighbours),
                "accountant": str(entry.accountant),
                "epsilon": _finite(epsilon(entry.events, at)),
                "artefact": entry.artefact,
            }
            for entry in book.entries(name)
        ],
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _print(account: dict[str, Any]) -> None:
    spent, left, budget = account["spent"], account["left"], account["budget"]
    epsilon_spent = "without bound" if spent["epsilon"] is None else f"ε = {spent['epsilon']:.4g}"
    name = plain(account["dataset"])
    console.print(f"[bold]{name}[/]: spent {epsilon_spent} at δ = {spent['delta']:g}", soft_wrap=True)
    if budget is None:
        console.print("no budget is set; 'microtome ledger set-budget' sets one and enforces it", soft_wrap=True)
    else:
        console.print(
            f"budget ε = {budget['epsilon']:g} at δ = {budget['delta']:g}; what still fits is one Gaussian "
            f"mechanism with ε = {left['epsilon']:.4g} (budgets add in squares, so this is more than the difference)",
            soft_wrap=True,
        )
    table = Table("time", "purpose", "ε alone", "neighbours", "status", "artefact", header_style="bold")
    for entry in account["entries"]:
        alone = "∞" if entry["epsilon"] is None else f"{entry['epsilon']:.4g}"
        artefact = (entry["artefact"] or "")[:12]
        purpose = plain(entry["purpose"])
        table.add_row(entry["time"], purpose, alone, entry["neighbours"], entry["status"], artefact)
    console.print(table)
