"""Options: all that is wrong is said at once, numbers as people write them, and ``--quiet``."""

from pathlib import Path

import pandas as pd
import pytest
from cli_support import Command, Desk

from fit_support import quick
from microtome.cli.verb import count
from microtome.synthesis import Synthesizer
from support import people, people_schema, publish

USAGE = 2


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    release = publish(people(), people_schema(), output=folder / "r")
    Synthesizer(quick(steps=2), random_state=0).fit(release).save(folder / "m")
    return folder / "m"


def test_all_missing_and_wrong_options_are_named_at_once(microtome: Command, tmp_path: Path) -> None:
    outcome = microtome("release", tmp_path / "t.csv", "--epsilon", "much", "--kind", "sums", "--capacity", 1.5)
    assert outcome.code == USAGE
    for part in ("--output", "--epsilon", "--kind", "--capacity", "no whole number"):
        assert part in outcome.err
    assert "--delta" not in outcome.err


def test_one_wrong_option_is_told_as_ever(microtome: Command, model: Path) -> None:
    outcome = microtome("sample", model, "-n", "12x", "-o", "rows.csv")
    assert outcome.code == USAGE
    assert "12x" in outcome.err
    assert "Missing" not in outcome.err


@pytest.mark.parametrize(
    ("text", "number"),
    [("7", 7), ("1e3", 1000), ("1E3", 1000), ("2.5e3", 2500), ("10_000", 10_000), ("-3", -3)],
)
def test_whole_numbers_as_people_write_them(text: str, number: int) -> None:
    assert count(text) == number
    assert count(number) == number


@pytest.mark.parametrize("text", ["", "x", "1.5", "1.5e0", "1e400", "nan", "inf", "1,000", "e", "1e-3"])
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    with pytest.raises(Exception, match="no whole number"):
        count(text)


def test_rows_by_the_power(microtome: Command, model: Path, tmp_path: Path) -> None:
    outcome = microtome("sample", model, "-n", "1e2", "-o", tmp_path / "rows.csv")
    assert outcome.code == 0, outcome.err
    assert "100 rows" in outcome.out
    assert len(pd.read_csv(tmp_path / "rows.csv")) == 100


@pytest.mark.parametrize("flag", ["-q", "--quiet"])
def test_quiet_says_nothing_and_does_the_same(flag: str, microtome: Command, model: Path, desk: Desk) -> None:
    output = desk.folder / "rows.csv"
    outcome = microtome("sample", model, "-n", 10, "-o", output, flag)
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    assert len(pd.read_csv(output)) == 10
    outcome = microtome("release", *desk.arguments(), flag)
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    assert desk.output.exists()


def test_quiet_still_tells_errors_and_lasts_for_one_command(microtome: Command, model: Path, tmp_path: Path) -> None:
    outcome = microtome("sample", tmp_path / "none", "-n", 10, "-o", tmp_path / "rows.csv", "-q")
    assert (outcome.code, outcome.out) == (1, "")
    assert "no such file" in outcome.err
    assert "10 rows" in microtome("sample", model, "-n", 10, "-o", tmp_path / "rows.csv").out


def test_files_that_are_not_as_they_have_to_be_are_all_named(microtome: Command, desk: Desk) -> None:
    desk.output.write_text("mine")
    arguments = Desk(desk.folder, desk.folder / "tabel.csv", desk.folder / "shema.yaml", desk.output).arguments()
    outcome = microtome("release", *arguments)
    assert outcome.code == 1
    for part in ("tabel.csv: no such file", "shema.yaml", "people.release exists"):
        assert part in outcome.err.replace("\n", " ")
    assert desk.output.read_text() == "mine"
    assert not desk.ledger.exists()
