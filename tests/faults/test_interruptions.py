"""Ctrl-C, SIGTERM and a lack of memory, which come between any two lines."""

from __future__ import annotations

import random
import signal
from dataclasses import asdict

import pytest
from cases import CASES, RELEASES, Case
from lines import LineFault
from trial import Trials

BOOKKEEPING = ("whole_file.py", "private/reservation.py", "private/door.py", "accounting/ledger.py")
BOOKKEEPING += ("accounting/ledger_place.py",)
"""Where the files and the book are kept: every line of these is interrupted in turn."""
ANYWHERE = (
    "accounting",
    "private",
    "release",
    "schema",
    "synthesis",
    "training",
    "evaluation",
    "images",
    "whole_file.py",
)
"""All that is ours, the command line itself apart."""
ANYWHERE_TRIALS = {"KeyboardInterrupt": 12, "MemoryError": 8}
SIGNALS = 3
QUICK_TRIALS = 12


def interrupt(trials: Trials, case: Case, files: tuple[str, ...], raises: str, most: int | None = None) -> None:
    """Raise at every line of some files, or at so many of them."""
    _, lines, _ = trials.count(case, files=files)
    numbers = range(lines) if most is None else sorted(random.Random(case.name).sample(range(lines), most))
    for number in numbers:
        trials.run(case, {"line": asdict(LineFault(number=number, files=files, raises=raises))})


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_ctrl_c_at_every_line_that_keeps_the_book(part: int, trials: Trials) -> None:
    """A quarter of the lines with each kind of release."""
    case = RELEASES[part]
    _, lines, _ = trials.count(case, files=BOOKKEEPING)
    for number in range(part, lines, 4):
        trials.run(case, {"line": asdict(LineFault(number=number, files=BOOKKEEPING))})
    trials.conclude(f"Ctrl-C at lines that keep the book: {case.name}")


@pytest.mark.slow
@pytest.mark.parametrize("raises", ANYWHERE_TRIALS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_exception_anywhere(case: Case, raises: str, trials: Trials) -> None:
    interrupt(trials, case, ANYWHERE, raises, ANYWHERE_TRIALS[raises])
    trials.conclude(f"{raises} at any line: {case.name}")


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_signals_at_any_time(case: Case, trials: Trials) -> None:
    _, _, seconds = trials.count(case)
    choice = random.Random(case.name)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        for _ in range(SIGNALS):
            trials.run(case, {"signal": (choice.uniform(0.02, seconds), int(number))})
    trials.conclude(f"signals at any time: {case.name}")


def test_some_interruptions_of_a_release(trials: Trials) -> None:
    interrupt(trials, RELEASES[0], BOOKKEEPING, "KeyboardInterrupt", QUICK_TRIALS // 2)
    interrupt(trials, RELEASES[2], ANYWHERE, "MemoryError", QUICK_TRIALS // 2)
    trials.conclude("some interruptions of a release")
