"""The table of docs/report.md is that of the committed runs, and these hold what it is there for."""

from pathlib import Path

import pytest

from results import ResultFile
from verdicts import BEGIN, END, RESULTS, rendered

PAGE = Path(__file__).resolve().parents[2] / "docs" / "report.md"


def run(private, public, band, *, table="town", declared=True):
    levels = {True: "good", False: "little"}
    return {
        "key": {"table": table, "declared": declared, "rows": 300, "epsilon": 1.0},
        "private": {"score": private, "level": levels[private > 0.5]},
        "public": {"score": public, "level": levels[public > 0.5], "band": band},
    }


def test_runs_are_ranked_and_wrong_praise_is_counted() -> None:
    lines = rendered([run(0.9, 0.8, (0.7, 0.95)), run(0.2, 0.6, (0.5, 0.7)), run(0.1, 0.1, (0.0, 0.2))]).splitlines()
    assert lines[0].startswith("3 runs: 300 to 300 rows of 1 tables, at ε of 1")
    assert lines[4] == "| all | 3 | 1.000 | +0.100 | 0.167 | 67 % | 67 % | 1 |"
    shown = ["| all", "| of tables that nothing was settled on", "| town", "| declared", "| 300 rows"]
    assert [line.split(" | ")[0] for line in lines[4:]] == shown


@pytest.mark.skipif(not RESULTS.exists(), reason="the benchmark was not run")
def test_the_page_says_what_was_measured_and_it_is_enough() -> None:
    runs = ResultFile(RESULTS).runs
    assert len(runs) >= 50
    text = PAGE.read_text(encoding="utf-8")
    shown = text.split(BEGIN)[1].split(END)[0].strip()
    assert shown == rendered(runs)
    (everything,) = [line for line in shown.splitlines() if line.startswith("| all |")]
    assert float(everything.split("|")[3]) >= 0.9
