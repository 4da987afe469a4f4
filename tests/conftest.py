"""Hypothesis without deadlines, since the machines that run these tests are shared; and a summary of faults."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from damage import Damage

settings.register_profile("shared", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
settings.load_profile("shared")

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
FAULTS = "faults"
"""The property of a test that has its name in the summary, its trials and its failures."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--faults-to", type=Path, help="JSON file for the summary of faults, which a page is made of")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Files that a test damages are trials of its own."""
    before = Damage.inflicted
    try:
        return (yield)
    finally:
        if Damage.inflicted > before:
            noted = {"test": f"damage: {item.name}", "trials": Damage.inflicted - before}
            item.user_properties.append((FAULTS, noted))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print how many faults there were of which kind; where asked, write them down with what they were tried on."""
    reports = [report for group in ("passed", "failed") for report in terminalreporter.stats.get(group, ())]
    lines = [_line(report) for report in reports if FAULTS in dict(report.user_properties)]
    if not lines:
        return
    found = sorted(lines, key=lambda line: str(line["test"]))
    total = {"test": "all", **{key: sum(line[key] for line in found) for key in ("trials", "failures")}}
    terminalreporter.section("faults: test | trials | failures")
    for line in (*found, total):
        terminalreporter.write_line(f"{line['test']} | {line['trials']:,} | {line['failures']}")
    target = config.getoption("--faults-to")
    if target is not None:
        sys.path.insert(0, str(BENCHMARKS))
        from results import environment

        written = {"environment": environment(), "tests": found}
        target.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


def _line(report: pytest.TestReport) -> dict[str, Any]:
    """What a test found; one that failed has at least one failure."""
    noted = dict(report.user_properties)[FAULTS]
    return {**noted, "failures": max(noted.get("failures", 0), int(report.failed))}
