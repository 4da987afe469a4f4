"""``microtome studio`` as a command: what it prints, how it ends, what it leaves."""

from __future__ import annotations

import builtins
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from studio_support import small_table
from typer.testing import CliRunner

from microtome.cli.main import app
from microtome.studio.serving import FOLDER


def start(folder: Path, *options: str) -> tuple[subprocess.Popen[str], str]:
    """A studio in a process of its own, and its address."""
    environment = {**os.environ, "TMPDIR": str(folder), "HOME": str(folder), "COLUMNS": "200"}
    program = "from microtome.cli.main import run; run()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, "studio", "-o", str(folder / "results"), *options],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
    )  # fmt: skip
    assert process.stdout is not None
    found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", process.stdout.readline())
    assert found is not None
    return process, found[0]


def private_folders(folder: Path) -> list[Path]:
    return list(folder.glob(f".{FOLDER}.*"))


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_with_a_word_and_leaves_nothing_private(tmp_path: Path, end: signal.Signals) -> None:
    table = tmp_path / "people.csv"
    table.write_bytes(small_table())
    process, address = start(tmp_path, str(table))
    with urllib.request.urlopen(address, timeout=30) as answer:
        assert answer.status == 200
    (private,) = private_folders(tmp_path)
    assert private.stat().st_mode & 0o777 == 0o700
    process.send_signal(end)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "The studio has ended" in said
    assert "Traceback" not in said
    assert private_folders(tmp_path) == []


@pytest.mark.slow
def test_what_a_killed_one_leaves_the_next_removes(tmp_path: Path) -> None:
    process, _ = start(tmp_path)
    process.kill()
    process.communicate()
    (left,) = private_folders(tmp_path)
    process, _ = start(tmp_path)
    assert left not in private_folders(tmp_path)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert private_folders(tmp_path) == []


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name == "microtome.studio.desk":
            raise ModuleNotFoundError("No module named 'starlette'", name="starlette.applications")
        return usual(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    outcome = CliRunner().invoke(app, ["studio"])
    assert "pip install 'microtome[studio]'" in str(outcome.exception)


def test_a_table_that_is_not_there_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    outcome = CliRunner().invoke(app, ["studio", str(tmp_path / "nowhere.csv")])
    assert "no such file or folder" in str(outcome.exception)
