"""The page on reliability says what its result file holds: enough faults, of every kind, and not one failure."""

from __future__ import annotations

import json

import reliability

LEAST_TRIALS = 1000


def test_the_page_is_that_of_the_results() -> None:
    document = json.loads(reliability.RESULT.read_text(encoding="utf-8"))
    assert reliability.PAGE.read_text(encoding="utf-8") == reliability.page(document)


KNOWN = {"one of four releases killed"}
"""What the page explains, and what was mended since."""


def test_the_results_are_of_kinds_that_the_page_explains() -> None:
    tests = json.loads(reliability.RESULT.read_text(encoding="utf-8"))["tests"]
    assert {reliability._kind(test["test"]) for test in tests} == {*reliability._KINDS, reliability._RACES}
    assert sum(test["trials"] for test in tests) >= LEAST_TRIALS
    assert {test["test"] for test in tests if test["failures"]} <= KNOWN
