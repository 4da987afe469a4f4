"""From a release to rows, a report and files; and the same again as commands and as a program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from studio_support import Visitor, open_studio, problem, small_table

from microtome.published import Release
from microtome.studio.recipe import commands, program

SETTINGS = {"epsilon": "6", "delta": "1e-5", "neighbours": "blank-one", "kind": "aggregates"}


def released(visitor: Visitor) -> Visitor:
    visitor.opened("people.csv", small_table())
    for name in ("age", "sex"):
        visitor.post("/columns/change", name=name, role="drop")
    visitor.post("/columns/confirm", suggestions="keep", public="yes")
    visitor.done("/promise/release", anyway="yes", **SETTINGS)
    assert visitor.studio.desk.contents.released is not None
    return visitor


def test_the_whole_way(visitor: Visitor) -> None:
    released(visitor)
    desk = visitor.studio.desk
    assert "best at step" in visitor.done("/model/fit", steps="20", seed="1").text
    assert "250 rows" in visitor.done("/model/draw", rows="250", ending=".csv", seed="1", where="visits=0..3").text
    drawn = desk.contents.drawn
    assert drawn is not None
    lines = drawn.path.read_text().splitlines()
    assert lines[0].strip('"') == "visits"
    assert {int(line) for line in lines[1:]} <= {0, 1, 2, 3}
    assert "Free to publish" in visitor.done("/report/make", against="release").text
    framed = visitor.get("/report/page")
    assert "sandbox" in framed.headers["content-security-policy"]
    assert "frame-ancestors 'self'" in framed.headers["content-security-policy"]
    assert "<title>" in framed.text
    for key, name in (
        ("release", "people.release"),
        ("schema", "people.schema.yaml"),
        ("statement", "people.statement.md"),
        ("model", "people.model"),
        ("rows", "people.synthetic.csv"),
        ("report", "people.report.html"),
    ):
        answer = visitor.get(f"/files/{key}")
        assert answer.status == 200
        assert name in answer.headers["content-disposition"]
        assert answer.headers["content-disposition"].startswith("attachment")
    assert visitor.get("/files/secrets").status == 404


@pytest.mark.slow
def test_a_report_on_real_rows_is_for_the_holder_and_is_removed(visitor: Visitor) -> None:
    released(visitor)
    visitor.done("/model/fit", steps="5")
    visitor.done("/model/draw", rows="300", ending=".parquet")
    refused = visitor.post("/report/make", against="table")
    assert "who is looking" in problem(refused)
    page = visitor.done("/report/make", against="table", alone="yes")
    assert "Computed on private data" in page.text
    reported = visitor.studio.desk.contents.reported
    assert reported is not None
    assert visitor.studio.desk.places.private in reported.path.parents
    assert "for you alone" in visitor.get("/files").text


def test_steps_need_what_comes_before_them(visitor: Visitor) -> None:
    for path, fields in (
        ("/model/fit", {}),
        ("/model/tune", {"trials": "3"}),
        ("/model/draw", {"rows": "5", "ending": ".csv"}),
        ("/report/make", {"against": "release"}),
        ("/promise/release", SETTINGS),
        ("/columns/confirm", {"public": "yes"}),
    ):
        answer = visitor.post(path, **fields)
        assert answer.status == 422
        assert "first" in problem(answer)


def test_a_release_can_be_opened_to_go_on_with(visitor: Visitor, tmp_path: Path) -> None:
    released(visitor)
    path = visitor.studio.desk.contents.released
    assert path is not None
    with open_studio(tmp_path / "other") as other:
        second = Visitor(other)
        answer = second.opened("people.release", path.path.read_bytes())
        assert '"/model"' in answer.text
        assert "best at step" in second.done("/model/fit", steps="5").text
        kept = other.desk.contents.released
        assert kept is not None
        assert other.desk.places.results in kept.path.parents
        assert Release.load(kept.path).fingerprint == Release.load(path.path).fingerprint
        assert commands(other.desk.contents)[0].startswith("microtome inspect")


def test_wrong_numbers_are_told_of_all_at_once(visitor: Visitor) -> None:
    released(visitor)
    answer = visitor.post("/model/fit", steps="many", seed="x")
    assert "steps:" in problem(answer)
    assert "seed:" in problem(answer)
    visitor.done("/model/fit", steps="5")
    answer = visitor.post("/model/draw", rows="0.5", seed="x", ending=".exe")
    assert all(word in problem(answer) for word in ("rows:", "seed:", ".exe"))
    assert "one of the columns visits" in problem(visitor.done("/model/draw", rows="5", ending=".csv", where="who=me"))


@pytest.mark.slow
def test_settings_are_searched_for(visitor: Visitor) -> None:
    released(visitor)
    assert "2 trials" in visitor.done("/model/tune", trials="2").text
    assert "with the settings found" in visitor.get("/model").text
    visitor.done("/model/fit", steps="10")
    fitted = visitor.studio.desk.contents.fitted
    assert fitted is not None
    assert fitted.settings is not None


@pytest.mark.slow
def test_commands_and_program_do_the_same(visitor: Visitor, tmp_path: Path) -> None:
    released(visitor)
    visitor.done("/model/tune", trials="1")
    visitor.done("/model/fit", steps="10", seed="3")
    fields = {"rows": "50", "ending": ".csv", "seed": "4", "where": "visits=0..3", "spreadsheet_safe": "yes"}
    visitor.done("/model/draw", **fields)
    visitor.done("/report/make", against="release")
    desk = visitor.studio.desk.contents
    assert desk.released is not None
    assert desk.released.schema is not None
    made = sorted(path.name for path in visitor.studio.desk.places.results.iterdir())
    for name, run in (
        (
            "commands",
            "set -e\n" + "\n".join(commands(desk)).replace("microtome ", f"{Path(sys.executable).parent}/microtome "),
        ),
        ("program", program(desk)),
    ):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "people.csv").write_bytes(small_table())
        (folder / "people.schema.yaml").write_text(desk.released.schema.to_yaml())
        shell = ["sh", "-c", run] if name == "commands" else [sys.executable, "-c", run]
        subprocess.run(shell, cwd=folder, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True)
        assert set(made) <= {path.name for path in folder.iterdir()}
        again = Release.load(folder / "people.release").manifest
        first = Release.load(desk.released.path).manifest
        assert again.promise.epsilon == first.promise.epsilon
        assert again.promise.delta == first.promise.delta
        assert again.mechanism.profile_share == first.mechanism.profile_share
