"""The command ``microtome``: gathers the verbs and turns errors into messages and exit codes.

Verbs that touch private rows import ``microtome.private`` when they run: the others work without it.
"""

from __future__ import annotations

import sys

import typer

from microtome import __version__
from microtome.cli import audit, budget, demo, fit, inspect, ledger, release, report, sample, schema, tune
from microtome.cli.screen import EndedEarly, complain
from microtome.errors import MicrotomeError

app = typer.Typer(
    help="Synthetic data under differential privacy, from one noisy release of a private table.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


_INTERRUPTED = 130
"""The exit code that Typer makes of Ctrl-C, without a word."""


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"microtome {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: bool = typer.Option(False, "--version", help="Print the version.", callback=_version, is_eager=True),
) -> None:
    """Synthetic data under differential privacy, from one noisy release of a private table."""


app.add_typer(schema.app, name="schema")
app.command("release")(release.release)
app.command("inspect")(inspect.inspect)
app.command("fit")(fit.fit)
app.command("sample")(sample.sample)
app.command("tune")(tune.tune)
app.command("report")(report.report)
app.command("audit")(audit.audit)
app.command("budget")(budget.budget)
app.add_typer(ledger.app, name="ledger")
app.command("demo")(demo.demo)


def run() -> None:
    """Entry point: 0 on success, 1 on an error that is explained, 2 on wrong usage, 130 on Ctrl-C."""
    try:
        app()
    except MicrotomeError as error:
        complain(str(error))
        sys.exit(1)
    except EndedEarly:
        raise
    except SystemExit as leaving:
        if leaving.code == _INTERRUPTED:
            complain("interrupted; no output was written (what the ledger was charged by then stays charged)")
        raise
