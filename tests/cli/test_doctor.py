"""``microtome doctor`` tells what there is, and fails where Microtome would."""

import json
from pathlib import Path

import pytest
from cli_support import Command

from microtome import checkup
from microtome.checkup import State, check_up
from microtome.extras import Extra
from microtome.machine import java_version


def by_part(found: checkup.Checkup) -> dict[str, checkup.Finding]:
    return {one.part: one for one in found.findings}


def test_a_machine_that_works(microtome: Command, tmp_path: Path) -> None:
    done = microtome("doctor", tmp_path, "--json")
    assert done.code == 0
    told = json.loads(done.out)
    states = {one["part"]: one["state"] for one in told["findings"]}
    assert told["works"] is True
    assert {states[part] for part in ("microtome", "python", "disk", "ledger", "torch")} == {"good"}
    assert list(tmp_path.iterdir()) == []
    assert "Microtome works here." in microtome("doctor", tmp_path).out


def test_a_folder_that_is_not_there_is_bad(microtome: Command, tmp_path: Path) -> None:
    done = microtome("doctor", tmp_path / "nowhere")
    assert done.code == 1
    assert "No such file or directory; name a folder that exists" in done.out
    assert "does not work here" in done.out


def test_what_is_missing_is_named_with_what_brings_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    absent = Extra(module="gone", package="no-such-package", purpose="nothing", brought_by="microtome[tune]")
    monkeypatch.setattr(checkup, "EXTRAS", (absent,))
    monkeypatch.setenv("PATH", "")
    found = by_part(check_up(tmp_path))
    assert found["no-such-package"].state is State.OPTIONAL
    assert found["no-such-package"].advice == "pip install 'microtome[tune]'"
    assert found["Java"].state is found["Chromium"].state is State.OPTIONAL


@pytest.mark.parametrize(
    ("asked", "state"),
    [("numpy>=1.26", State.GOOD), ("numpy<1.0", State.BAD), ("no-such-package>=2", State.BAD)],
)
def test_what_is_required_is_held_against_its_range(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str, state: State
) -> None:
    monkeypatch.setattr(checkup.metadata, "requires", lambda _: [asked, "torch; extra == 'fit'"])
    found = check_up(tmp_path)
    assert next(one for one in found.findings if one.part == asked.rstrip("<>=.0126")).state is state
    assert found.works == (state is State.GOOD)


def test_little_memory_old_java_and_a_disk_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkup, "available_memory", lambda: 1000)
    monkeypatch.setattr(checkup, "java_version", lambda: 11)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("filelock.FileLock.acquire", refuse)
    found = by_part(check_up(tmp_path))
    assert [found[part].state for part in ("memory", "Java", "ledger")] == [State.POOR] * 3
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("said", "version"),
    [('openjdk version "17.0.9" 2023-10-17', 17), ('java version "1.8.0_392"', 8), ("no idea", None)],
)
def test_versions_of_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, version: int | None) -> None:
    program = tmp_path / "java"
    program.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert java_version() == version
