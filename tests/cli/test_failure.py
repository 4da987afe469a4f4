"""Errors in words, whatever they are."""

from __future__ import annotations

import os
import signal

import pytest
from cli_support import Command

from microtome import accounting
from microtome.cli import main
from microtome.errors import OutputError, noted
from microtome.failure import in_words, notes


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "memory ran out"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"), "memory ran out"),
        (RuntimeError("can't start new thread"), "memory ran out"),
        (OSError(24, "Too many open files", "a.csv"), "a.csv: the system refused: Too many open files"),
        (OSError(5, "Input/output error"), "the system refused: Input/output error"),
        (OutputError("a.csv is full"), "a.csv is full"),
        (KeyError("x"), "this should not have happened, please report it: KeyError: 'x' (cli/budget.py, line"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_no_traceback_and_a_word_of_what_it_was(
    error: Exception, said: str, microtome: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(accounting, "noise_by_accountant", fail)
    outcome = microtome("budget", "--epsilon", 1, "--delta", 1e-5, "--dim", 4)
    assert outcome.code == 1
    assert outcome.err.startswith(f"error: {said}")
    assert "Traceback" not in outcome.err


def test_notes_of_all_errors_on_the_way_are_told_once() -> None:
    def fail() -> None:
        try:
            with noted("The file is there."):
                raise KeyboardInterrupt
        except KeyboardInterrupt as interrupt:
            interrupt.add_note("The file is there.")
            raise SystemExit(130) from None

    with pytest.raises(SystemExit) as leaving:
        fail()
    assert notes(leaving.value) == ["The file is there."]
    error = OutputError("full")
    error.add_note("Nothing was spent.")
    assert in_words(error) == "full\nNothing was spent."


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_comes_while_the_end_is_told_comes_too_late(
    number: signal.Signals, microtome: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    complain = main.complain

    def interrupted(message: str) -> None:
        os.kill(os.getpid(), number)
        complain(message)

    monkeypatch.setattr(main, "complain", interrupted)
    before = signal.getsignal(number)
    outcome = microtome("inspect", "no-such.release")
    assert outcome.code == 1
    assert outcome.err.startswith("error: no-such.release")
    assert signal.getsignal(number) is before
