"""``microtome doctor``: what is installed, what is missing, and what the machine has room for."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from microtome.cli.screen import console, plain, print_json


def doctor(
    folder: Annotated[Path, typer.Argument(help="Where a table and its ledger are to be.")] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Say what is installed, what is optional and missing, and whether a ledger can be kept here.

    Reads no table and sends nothing anywhere. The exit code is 1 if something is bad: Microtome will not work.
    """
    from microtome.checkup import State, check_up

    checkup = check_up(folder.absolute())
    if as_json:
        print_json(checkup.to_dict(), indent=2)
    else:
        colours = {State.GOOD: "green", State.OPTIONAL: "dim", State.POOR: "yellow", State.BAD: "bold red"}
        for one in checkup.findings:
            advice = f"; {plain(one.advice)}" if one.advice else ""
            state = f"[{colours[one.state]}]{one.state:<8}[/]"
            console.print(f"{state}  {plain(one.part):<19}  {plain(one.found)}{advice}", soft_wrap=True)
        console.print("Microtome works here." if checkup.works else "Microtome does not work here: mend what is bad.")
    if not checkup.works:
        raise typer.Exit(1)
