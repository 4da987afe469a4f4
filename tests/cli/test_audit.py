"""``microtome audit`` and ``microtome inspect --statement`` as a privacy officer meets them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_support import Command, Desk

from microtome.auditing import AuditRun
from microtome.private import slicing

SMALL = """
microtome-schema: 1
columns:
  - {name: member, kind: boolean, dtype: bool, missing: never}
  - {name: town, kind: categorical, dtype: string, categories: [Bern, Köln, Åbo], missing: allowed}
  - {name: age, kind: integer, dtype: int64, bounds: [0, 5], missing: never}
"""
IMAGES = """
microtome-image-schema: 1
height: 4
width: 4
range: [0, 255]
classes: [0, 1]
components: 10
"""
QUICK = ("--epsilon", 5, "--budget-seconds", 0.01)
"""No time at all: as many releases as there have to be, however fast the machine."""
SURE = ("--confidence", 1 - 1e-7)
"""What is sound is accused by chance no more often than this leaves room for: coins and noise are not seeded here."""


def test_one_setting(microtome: Command, tmp_path: Path) -> None:
    outcome = microtome("audit", *QUICK, *SURE, "--neighbours", "replace-one", "-o", tmp_path / "audit.json")
    assert outcome.code == 0, outcome.err
    assert "records, orthogonal, replace-one, ε = 5" in outcome.out
    assert "holds" in outcome.out
    assert "releases" in outcome.err
    document = json.loads((tmp_path / "audit.json").read_text(encoding="utf-8"))
    (finding,) = document["findings"]
    assert document["finished"]
    assert document["violations"] == 0
    assert finding["epsilon"] == 5
    assert finding["curve"]["audited"] <= finding["curve"]["claimed"] < 5
    assert finding["releases"] >= 30


def test_a_violation_is_an_error_and_is_written(
    microtome: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        slicing, "add_gaussian_noise", lambda values, scale, stream: (values * 256 / scale).round().astype("int64")
    )
    outcome = microtome("audit", *QUICK, "-o", tmp_path / "audit.json")
    assert outcome.code == 1
    assert "VIOLATED" in outcome.out
    assert "refutes 1 of 1" in " ".join(outcome.err.split())
    assert json.loads((tmp_path / "audit.json").read_text(encoding="utf-8"))["violations"] == 1


def test_ctrl_c_writes_what_was_found(microtome: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, sound = 0, AuditRun._releases

    def release(self: Any, output: Path) -> Any:
        nonlocal calls
        calls += 1
        if calls == 45:
            raise KeyboardInterrupt
        return sound(self, output)

    monkeypatch.setattr(AuditRun, "_releases", release)
    outcome = microtome("audit", *QUICK, "-o", tmp_path / "audit.json")
    assert outcome.code == 130
    assert "interrupted" in outcome.out
    document = json.loads((tmp_path / "audit.json").read_text(encoding="utf-8"))
    assert (document["finished"], document["findings"][0]["releases"]) == (False, 14)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--kind", "images"), "'images' is not one of records, aggregates, profile"),
        (("--kind", "spreads"), "spreads is for images"),
        (("--images", "--kind", "aggregates", "--pivot", "town"), "pivot is for tables"),
        (("--epsilon", 0), "epsilon is 0"),
        (("--kind", "aggregates", "--subsample", 0.5), "subsample is for records"),
        (("--as-published",), "null record"),
        (("--schema", "none.yaml"), "no such file"),
        (("--epsilon", 1, "--budget-seconds", 0), "seconds is 0"),
    ],
)
def test_refusals(microtome: Command, options: tuple[object, ...], message: str) -> None:
    outcome = microtome("audit", *options)
    assert outcome.code == 1
    assert message in " ".join(outcome.err.split())


def test_an_existing_output_is_refused_before_the_work(microtome: Command, tmp_path: Path) -> None:
    (tmp_path / "audit.json").write_text("mine")
    outcome = microtome("audit", "--budget-seconds", 600, "-o", tmp_path / "audit.json")
    assert outcome.code == 1
    assert "exists" in outcome.err
    assert (tmp_path / "audit.json").read_text() == "mine"


def test_a_schema_of_ones_own(microtome: Command, tmp_path: Path) -> None:
    (tmp_path / "schema.yaml").write_text(SMALL, encoding="utf-8")
    options = ("--kind", "aggregates", "--pivot", "member", "--schema", tmp_path / "schema.yaml")
    outcome = microtome("audit", *QUICK, *SURE, *options)
    assert outcome.code == 0, outcome.err
    assert "aggregates, pivot, blank-one" in outcome.out


@pytest.mark.parametrize("named", [True, False], ids=["a schema of ones own", "made for the purpose"])
def test_images(named: bool, microtome: Command, tmp_path: Path) -> None:
    (tmp_path / "digits.yaml").write_text(IMAGES, encoding="utf-8")
    subject = ("--schema", tmp_path / "digits.yaml") if named else ("--images",)
    outcome = microtome("audit", *QUICK, *SURE, *subject, "--kind", "aggregates", "-o", tmp_path / "audit.json")
    assert outcome.code == 0, outcome.err
    assert "images, aggregates, blank-one, ε = 5" in outcome.out
    (finding,) = json.loads((tmp_path / "audit.json").read_text(encoding="utf-8"))["findings"]
    assert finding["targets"] == (20 if named else 256)
    assert not finding["violation"]


def test_a_schema_of_a_table_is_not_of_images(microtome: Command, tmp_path: Path) -> None:
    (tmp_path / "schema.yaml").write_text(SMALL, encoding="utf-8")
    outcome = microtome("audit", *QUICK, "--images", "--schema", tmp_path / "schema.yaml")
    assert outcome.code == 1
    assert "the schema is of a table" in " ".join(outcome.err.split())


def test_statement_of_a_release(microtome: Command, desk: Desk) -> None:
    assert microtome("release", *desk.arguments()).code == 0
    shown = microtome("inspect", desk.output, "--statement")
    assert shown.code == 0
    for words in (
        "(ε = 5, δ = 1e-06)-differentially private",
        "`blank-one`: One person's record is replaced by an empty one",
        "declared here: grade, owner, age, joined",
        "protected: town, income, seen",
        "the number of records, 400",
        "microtome audit --kind records --epsilon 5 --delta 1e-06",
        "## What is not covered",
    ):
        assert words in shown.out, words
    assert microtome("inspect", desk.output, "--statement", "--json").code == 1
