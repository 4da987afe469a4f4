"""The command ``microtome``: gathers the verbs and turns errors into messages and exit codes.

Verbs that touch private rows import ``microtome.private`` when they run: the others work without it.
"""

from __future__ import annotations

import signal
import sys
from types import FrameType

import typer

from microtome import __version__
from microtome.cli import audit, budget, demo, fit, inspect, key, ledger, release, report, sample, schema, tune
from microtome.cli.failure import in_words, notes
from microtome.cli.screen import EndedEarly, complain

app = typer.Typer(
    help="Synthetic data under differential privacy, from one noisy release of a private table.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


_INTERRUPTED = 130
"""The exit code that Typer makes of Ctrl-C, without a word."""
_TERMINATED = 143
_NOT_COMPLETE = "what was not complete is discarded, and what the ledger was charged by then stays charged in it"
"""What holds of every command, for one that has nothing more to say."""


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
app.add_typer(key.app, name="key")
app.command("demo")(demo.demo)


def run() -> None:
    """Entry point: 0 on success, 1 on an error that is explained, 2 on wrong usage, 130 on Ctrl-C, 143 on SIGTERM."""
    termination = _Termination()
    before = signal.signal(signal.SIGTERM, termination)
    try:
        app()
    except SystemExit as leaving:
        if leaving.code != _INTERRUPTED:
            raise
        if not isinstance(leaving, EndedEarly):
            complain(_stopped(termination.word, leaving))
        sys.exit(termination.code)
    except KeyboardInterrupt as interrupt:  # while Typer was dealing with something else
        complain(_stopped(termination.word, interrupt))
        sys.exit(termination.code)
    except Exception as error:
        complain(in_words(error))
        sys.exit(1)
    finally:
        signal.signal(signal.SIGTERM, before)


def _stopped(word: str, error: BaseException) -> str:
    return "\n".join([word, *(notes(error) or [_NOT_COMPLETE])])


class _Termination:
    """Makes SIGTERM, by which schedulers and shutdowns end a program, the same as Ctrl-C: nothing is left half-done."""

    def __init__(self) -> None:
        self._came = False

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self._came = True
        raise KeyboardInterrupt

    @property
    def word(self) -> str:
        """What happened."""
        return "terminated" if self._came else "interrupted"

    @property
    def code(self) -> int:
        """The exit code that says so."""
        return _TERMINATED if self._came else _INTERRUPTED
