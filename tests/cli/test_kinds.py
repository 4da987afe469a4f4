"""``--kind aggregates`` from the table to synthetic rows, as a user would go."""

import json
from pathlib import Path

import pandas as pd
import pyarrow.csv as pacsv
import pytest
from cli_support import Command

from microtome.demo.population import population, population_schema
from microtome.published import AggregatesRelease, Release

SETTINGS = {"mixture": {"components": 16}, "steps": 30}


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    pacsv.write_csv(population(2000), tmp_path / "town.csv")
    (tmp_path / "town.yaml").write_text(population_schema().to_yaml(), encoding="utf-8")
    (tmp_path / "quick.json").write_text(json.dumps(SETTINGS))
    return tmp_path


def released(microtome: Command, desk: Path, *more: object) -> str:
    options = ["--schema", desk / "town.yaml", "--epsilon", 5, "-o", desk / "town.release", "--kind", "aggregates"]
    outcome = microtome("release", desk / "town.csv", *options, *more)
    assert outcome.code == 0, outcome.err
    return " ".join(outcome.out.split())


def test_from_the_table_to_synthetic_rows(microtome: Command, desk: Path) -> None:
    words = released(microtome, desk)
    assert "noise was added to counts over all records" in words
    assert "classes of" not in words
    shown = microtome("inspect", desk / "town.release")
    assert shown.code == 0
    assert "(aggregates, format 1)" in shown.out
    assert "Counts of all pairs" in shown.out
    figures = json.loads(microtome("inspect", desk / "town.release", "--json").out)
    assert (figures["kind"], figures["mechanism"]["pivot"]) == ("aggregates", None)
    book = microtome("ledger", "show", desk / "town.csv.ledger.json")
    assert "aggregates" in book.out

    fit = microtome(
        "fit", desk / "town.release", "--settings", desk / "quick.json", "-o", desk / "town.model", "--seed", 0
    )
    assert fit.code == 0, fit.err
    for name, where in (("all.csv", []), ("some.csv", ["--where", "insured=true"])):
        outcome = microtome("sample", desk / "town.model", "-n", 300, "-o", desk / name, *where)
        assert outcome.code == 0, outcome.err
    frame, some = pd.read_csv(desk / "all.csv"), pd.read_csv(desk / "some.csv")
    assert list(frame) == population_schema().names
    assert len(frame) == 300
    assert frame["insured"].nunique() == 2
    assert some["insured"].all()


def test_without_a_pivot(microtome: Command, desk: Path) -> None:
    words = released(microtome, desk, "--pivot", "none", "--neighbours", "add-remove", "--accountant", "renyi")
    assert "apart for" not in words
    assert "protected" in words
    opened = Release.load(desk / "town.release")
    assert isinstance(opened, AggregatesRelease)
    assert opened.first.shape[0] == 1
    fit = microtome("fit", desk / "town.release", "--settings", desk / "quick.json", "-o", desk / "town.model")
    assert fit.code == 0, fit.err


def test_another_pivot(microtome: Command, desk: Path) -> None:
    assert "classes of 'status'" in released(microtome, desk, "--pivot", "status")


def test_sliced_losses_are_refused_in_words(microtome: Command, desk: Path) -> None:
    released(microtome, desk)
    (desk / "sliced.json").write_text(json.dumps({**SETTINGS, "loss": {"moments": 0, "kernel": 1}}))
    outcome = microtome("fit", desk / "town.release", "--settings", desk / "sliced.json", "-o", desk / "town.model")
    assert outcome.code == 1
    assert "loss kernel needs slices" in " ".join(outcome.err.split())
    assert not (desk / "town.model").exists()
