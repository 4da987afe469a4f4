"""The page on linked tables: its figures, what it says, and the command that makes it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pytest
from typer.testing import CliRunner

import microtome as mt
from microtome.cli.main import app
from microtome.demo import clinic, clinic_schema
from microtome.errors import ParameterError
from microtome.evaluation import LinkedReport


@pytest.fixture(scope="module")
def made() -> LinkedReport:
    return mt.report_linked(clinic(500), clinic(400, seed=1), clinic_schema(), sample=400)


def test_the_page_shows_every_link_and_table(made: LinkedReport) -> None:
    for part in ("patients → visits", "visits → prescriptions", "prescriptions by itself", "in order of day"):
        assert part in made.html
    assert "Computed on private data" in made.html
    assert "<script" not in made.html
    assert not re.search(r"(src|href)=\"http", made.html)


def test_figures_are_plain_values(made: LinkedReport) -> None:
    plain = json.loads(json.dumps(made.figures.to_dict(), allow_nan=False))
    assert plain["format"] == "microtome-linked-report"
    assert [link["table"] for link in plain["links"]] == ["visits", "prescriptions"]
    assert 0.0 < plain["links"][0]["distance"] < 0.3
    assert plain["keys"][2]["orphans"] == 0
    assert "All keys are intact" in made.headline


def test_broken_keys_are_in_the_headline() -> None:
    broken = clinic(300, seed=1)
    orphans = pa.array([0] * broken["visits"].num_rows)
    page = mt.report_linked(
        clinic(300), broken | {"visits": broken["visits"].set_column(0, "visit", orphans)}, clinic_schema(), sample=300
    )
    assert "2 tables have broken keys" in page.headline


def test_few_rows_are_enough() -> None:
    page = mt.report_linked(clinic(12), clinic(12, seed=1), clinic_schema())
    assert "too few" in page.html


def test_a_sample_that_says_nothing_is_refused() -> None:
    with pytest.raises(ParameterError, match="sample=5"):
        mt.report_linked({}, {}, clinic_schema(), sample=5)


def test_folders_on_the_command_line(tmp_path: Path) -> None:
    folders = []
    for seed in (0, 1):
        folder = tmp_path / f"clinic{seed}"
        folder.mkdir()
        folders.append(str(folder))
        for name, table in clinic(150, seed=seed).items():
            pacsv.write_csv(table, folder / f"{name}.csv")
    schema, page = tmp_path / "clinic.yaml", tmp_path / "page.html"
    schema.write_text(clinic_schema().to_yaml(), encoding="utf-8")
    done = CliRunner().invoke(app, ["report", *folders, "--schema", str(schema), "--sample", "200", "-o", str(page)])
    assert done.exit_code == 0, done.output
    assert "All keys are intact" in done.output
    assert "patients → visits" in page.read_text(encoding="utf-8")
    without = CliRunner().invoke(app, ["report", *folders, "-o", str(tmp_path / "other.html")])
    assert isinstance(without.exception, ParameterError)
    assert "how these hang together is in a --schema" in str(without.exception)
