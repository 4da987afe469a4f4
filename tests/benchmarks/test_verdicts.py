"""The table of docs/report.md is that of the committed runs, and these hold what it is there for."""

from pathlib import Path

import pytest

from results import ResultFile
from verdicts import BEGIN, END, RESULTS, rendered

PAGE = Path(__file__).resolve().parents[2] / "docs" / "report.md"


def run(private, public, band, *, table="town", declared=True):
    levels = {True: "good", False: "little"}
    return {
        "key": {"table": table, "declared": declared},
        "private": {"score": private, "level": levels[private > 0.5]},
        "public": {"score": public, "level": levels[public > 0.5], "band": band},
    }


def test_runs_are_ranked_and_wrong_praise_is_counted() -> None:
    lines = rendered([run(0.9, 0.8, (0.7, 0.95)), run(0.2, 0.6, (0.5, 0.7)), run(0.1, 0.1, (0.0, 0.2))]).splitlines()
    assert lines[2] == "| all | 3 | 1.000 | +0.100 | 67 % | 67 % | 1 |"
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| all", "| town", "| declared"]


@pytest.mark.skipif(not RESULTS.exists(), reason="the benchmark was not run")
def test_the_page_says_what_was_measured_and_it_is_enough() -> None:
    runs = ResultFile(RESULTS).runs
    assert len(runs) >= 50
    text = PAGE.read_text(encoding="utf-8")
    shown = text.split(BEGIN)[1].split(END)[0].strip()
    assert shown == rendered(runs)
    overall = float(shown.splitlines()[2].split("|")[3])
    assert overall >= 0.9
