"""A fault at every file call of every command that writes: killed before and after it, or told that it failed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict

import pytest
from cases import CASES, Case
from file_calls import CHANGING, faults_at
from trial import Trials

QUICK_TRIALS = 32


def faults(trials: Trials, case: Case) -> Iterator[tuple[dict[str, object], bool]]:
    """Every fault at every call, and whether it can leave anything for the next run to clear away."""
    calls, _, _ = trials.count(case)
    for fault in faults_at(calls):
        yield {"call": asdict(fault)}, calls[fault.number] in CHANGING


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_fault_at_every_file_call(case: Case, trials: Trials) -> None:
    for fault, changing in faults(trials, case):
        trials.run(case, fault, again=changing)
    trials.conclude(f"every file call: {case.name}")


def test_faults_at_some_file_calls(trials: Trials) -> None:
    """The same for a fixed choice, two of every command."""
    choice = random.Random(15)
    for case in CASES:
        for fault, _ in choice.sample(list(faults(trials, case)), QUICK_TRIALS // len(CASES)):
            trials.run(case, fault)
    trials.conclude("some file calls")
