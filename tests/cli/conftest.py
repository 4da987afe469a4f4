"""Runs the command as a user would, without starting a process each time."""

import sys
from pathlib import Path

import pyarrow.csv as pacsv
import pytest
from cli_support import Command, Desk, Outcome

from microtome.cli import main
from support import people, people_schema


@pytest.fixture
def microtome(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """``microtome(*arguments)`` through the entry point, with exit code and both streams."""

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["microtome", *map(str, arguments)])
        capsys.readouterr()
        try:
            main.run()
        except SystemExit as leaving:
            code = leaving.code
        else:
            code = 0
        captured = capsys.readouterr()
        assert isinstance(code, int | None)
        return Outcome(code=code or 0, out=captured.out, err=captured.err)

    return run


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    folder = tmp_path / "office"
    folder.mkdir()
    desk = Desk(folder, folder / "people.csv", folder / "schema.yaml", folder / "people.release")
    pacsv.write_csv(people(), desk.table)
    desk.schema.write_text(people_schema().to_yaml(), encoding="utf-8")
    return desk
