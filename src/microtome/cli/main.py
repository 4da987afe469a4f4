"""The command ``microtome``: gathers the verbs and turns errors into messages and exit codes.

Verbs import what they work with when they run: ``--help`` and completion need none of it, and verbs that see no
private rows load no ``microtome.private``.
"""

from __future__ import annotations

import signal
import sys
from types import FrameType

import typer

from microtome import __version__
from microtome.cli import (
    audit,
    budget,
    demo,
    doctor,
    fit,
    forecast,
    inspect,
    key,
    ledger,
    pool,
    release,
    report,
    sample,
    schema,
    studio,
    tune,
)
from microtome.cli.screen import EndedEarly, complain, speak, write_every_letter
from microtome.cli.verb import Verb
from microtome.failure import in_words, notes

app = typer.Typer(
    help="Synthetic data under differential privacy, from one noisy release of a private table.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
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
    speak()


app.add_typer(schema.app, name="schema")
app.command("forecast", cls=Verb)(forecast.forecast)
app.command("release", cls=Verb)(release.release)
app.command("pool", cls=Verb)(pool.pool)
app.command("inspect", cls=Verb)(inspect.inspect)
app.command("fit", cls=Verb)(fit.fit)
app.command("sample", cls=Verb)(sample.sample)
app.command("tune", cls=Verb)(tune.tune)
app.command("report", cls=Verb)(report.report)
app.command("audit", cls=Verb)(audit.audit)
app.command("budget", cls=Verb)(budget.budget)
app.add_typer(ledger.app, name="ledger")
app.add_typer(key.app, name="key")
app.command("studio", cls=Verb)(studio.studio)
app.command("demo", cls=Verb)(demo.demo)
app.command("doctor", cls=Verb)(doctor.doctor)


def run() -> None:
    """Entry point: 0 on success, 1 on an error that is explained, 2 on wrong usage, 130 on Ctrl-C, 143 on SIGTERM."""
    write_every_letter()
    stops = _Stops()
    try:
        code = _code(stops)
    except KeyboardInterrupt as interrupt:  # while Typer was dealing with something else
        code = stops.told(interrupt)
    finally:
        stops.forget()
    sys.exit(code)


def _code(stops: _Stops) -> int | str | None:
    """Do what was asked; the exit code, with a word on standard error unless it is 0."""
    try:
        app()
    except EndedEarly:
        stops.ignore()
        return stops.code
    except SystemExit as leaving:
        stops.ignore()
        return stops.told(leaving) if leaving.code == _INTERRUPTED else leaving.code
    except Exception as error:
        stops.ignore()
        complain(in_words(error))
        return 1
    return 0


class _Stops:
    """Ctrl-C, and SIGTERM, by which schedulers and shutdowns end a program: the same, and nothing is left half-done.

    Once a command has ended and only says so, they come too late and are ignored.
    """

    def __init__(self) -> None:
        self._came: int | None = None
        self._too_late = False
        handled = [one for one in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(one) is not signal.SIG_IGN]
        self._before = {one: signal.signal(one, self) for one in handled}

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self._too_late:
            return
        self._came = number
        raise KeyboardInterrupt

    def ignore(self) -> None:
        """From now on they come too late."""
        self._too_late = True

    def forget(self) -> None:
        """Leave them to whoever had them before."""
        self._too_late = True
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @property
    def code(self) -> int:
        """The exit code that says so."""
        return _TERMINATED if self._came == signal.SIGTERM else _INTERRUPTED

    def told(self, error: BaseException) -> int:
        """Say that the command was stopped, and what stands; gives the exit code."""
        self._too_late = True
        word = "terminated" if self._came == signal.SIGTERM else "interrupted"
        complain("\n".join([word, *(notes(error) or [_NOT_COMPLETE])]))
        return self.code
