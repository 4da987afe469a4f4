"""The page on reliability says what its result file holds: enough faults, of every kind, and not one failure."""

from __future__ import annotations

import json

import reliability

LEAST_TRIALS = 1000


def test_the_page_is_that_of_the_results() -> None:
    document = json.loads(reliability.RESULT.read_text(encoding="utf-8"))
    assert reliability.PAGE.read_text(encoding="utf-8") == reliability.page(document)


def test_the_results_are_of_every_kind_of_fault() -> None:
    tests = json.loads(reliability.RESULT.read_text(encoding="utf-8"))["tests"]
    assert {reliability._kind(test["test"]) for test in tests} == {*reliability._KINDS, reliability._RACES}
    assert sum(test["trials"] for test in tests) >= LEAST_TRIALS
    assert sum(test["failures"] for test in tests) == 0
