"""Linked tables on the command line: a folder is drafted, completed, checked and confirmed."""

from __future__ import annotations

from pathlib import Path

import pyarrow.csv as pacsv
import pytest
from cli_support import Command

from microtome.demo import clinic, clinic_schema
from microtome.schema import LinkedSchema


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "clinic"
    made.mkdir()
    for name, table in clinic(200).items():
        pacsv.write_csv(table, made / f"{name}.csv")
    return made


def test_a_folder_is_drafted_and_confirmed(microtome: Command, folder: Path, tmp_path: Path) -> None:
    schema = tmp_path / "clinic.yaml"
    drafted = microtome("schema", "draft", folder, "-o", schema, "--editor")
    assert drafted.code == 0
    assert schema.read_text(encoding="utf-8").startswith("# yaml-language-server: $schema=microtome-schema.json\n")
    assert (tmp_path / "microtome-schema.json").is_file()
    assert "visits hangs on patients (1:n)" in drafted.out
    assert "practices: left out" in drafted.err
    assert "It is a draft" in microtome("schema", "check", schema).out
    text = schema.read_text(encoding="utf-8")
    public = f"  - {{table: practices, public: true, key: practice, rows: {folder.name}/practices.csv}}\n"
    patients = "  - table: patients\n"
    text = text.replace(patients, public + patients + "    references: {practice: practices}\n")
    schema.write_text(text, encoding="utf-8")
    confirmed = microtome("schema", "confirm", schema)
    assert confirmed.code == 0
    assert "practices: public, published as it is (8 rows)" in confirmed.out
    loaded = LinkedSchema.load(schema)
    assert not loaded.drafted
    assert loaded.root.schema["practice"].categories == tuple(range(1, 9))
    assert microtome("schema", "confirm", schema).out.strip().endswith("was confirmed before.")
    assert "3 linked tables, 1 public, no errors." in microtome("schema", "check", schema).out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--target", "age"], "are for one table; edit the draft instead"),
        (["--people", "visitors"], "people is 'visitors'; tables are"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    microtome: Command, folder: Path, tmp_path: Path, options: list[str], said: str
) -> None:
    outcome = microtome("schema", "draft", folder, "-o", tmp_path / "s.yaml", *options)
    assert outcome.code != 0
    assert said in outcome.err
    assert not (tmp_path / "s.yaml").exists()


def test_people_are_for_folders_of_tables(microtome: Command, folder: Path, tmp_path: Path) -> None:
    outcome = microtome("schema", "draft", folder / "visits.csv", "--people", "x", "-o", tmp_path / "s.yaml")
    assert outcome.code != 0
    assert "--people is for a folder of linked tables" in outcome.err


def test_verbs_for_one_table_say_so(microtome: Command, folder: Path, tmp_path: Path) -> None:
    schema = tmp_path / "clinic.yaml"
    microtome("schema", "draft", folder, "-o", schema)
    assert "is about linked tables; change it in any text editor" in microtome("schema", "edit", schema).err
    foretold = microtome("forecast", "--schema", schema, "--rows", 100, "--epsilon", 1)
    assert foretold.code != 0
    assert "3 linked tables; this needs the schema of one table" in foretold.err


def test_linked_tables_go_to_sdv_and_come_back(microtome: Command, tmp_path: Path) -> None:
    schema, metadata, again = tmp_path / "clinic.yaml", tmp_path / "metadata.json", tmp_path / "again.yaml"
    schema.write_text(clinic_schema().to_yaml(), encoding="utf-8")
    exported = microtome("schema", "export", schema, "--to", "sdv", "-o", metadata)
    assert exported.code == 0
    assert "practices: left out" in exported.err
    imported = microtome("schema", "import", metadata, "-o", again)
    assert imported.code == 0
    assert "9 columns of 3 tables from SDV metadata" in imported.out
    assert "visits: at most 8 rows of one of patients will count" in imported.err
    assert LinkedSchema.load(again).names == ["patients", "visits", "prescriptions"]
    refused = microtome("schema", "export", schema, "--to", "frictionless", "-o", tmp_path / "other.json")
    assert "take sdv" in refused.err
