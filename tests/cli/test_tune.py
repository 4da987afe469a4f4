"""``microtome tune``: free of privacy cost, resumable, and its result is accepted by ``fit``."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli_support import Command

from fit_support import planted, planted_release
from microtome.published import Release
from microtome.training import FitSettings, tuning
from support import fill_disk


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A release and settings for very short trials."""
    planted_release(tmp_path / "[a].release", table=planted(400))
    (tmp_path / "base.json").write_text(json.dumps({"batch_size": 16, "check_every": 2}))
    suggest = tuning._suggest

    def shorter(trial: Any, base: FitSettings, release: Release) -> FitSettings:
        return replace(suggest(trial, base, release), steps=2)

    monkeypatch.setattr(tuning, "_suggest", shorter)
    return tmp_path


def arguments(desk: Path, *more: object) -> list[object]:
    return ["tune", desk / "[a].release", "-o", desk / "best.json", "--settings", desk / "base.json", *more]


def test_two_trials_then_one_more_then_fit(microtome: Command, desk: Path) -> None:
    outcome = microtome(*arguments(desk, "--trials", 2))
    assert outcome.code == 0, outcome.err
    assert "costs no privacy" in outcome.out
    assert "trial 1 of 2: held-out score" in outcome.out
    assert "trial 2 of 2: held-out score" in outcome.out
    assert f"microtome fit {desk / '[a].release'} --settings" in " ".join(outcome.out.split())
    first = json.loads((desk / "best.json").read_text())
    assert first["batch_size"] == 16

    assert microtome(*arguments(desk, "--trials", 3)).code == 1
    again = microtome(*arguments(desk, "--trials", 3, "--force"))
    assert again.code == 0
    assert "trial 3 of 3" in again.out
    assert "trial 2 of 3" not in again.out
    FitSettings.from_dict(json.loads((desk / "best.json").read_text()))

    fitted = microtome("fit", desk / "[a].release", "--settings", desk / "best.json", "-o", desk / "m")
    assert fitted.code == 0, fitted.err
    assert (desk / "m").exists()


def test_full_disk_leaves_no_half_settings(microtome: Command, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill_disk(monkeypatch)
    outcome = microtome(*arguments(desk, "--trials", 1))
    assert (outcome.code, "No space left" in outcome.err) == (1, True)
    assert sorted(path.name for path in desk.iterdir()) == ["[a].release", "base.json", "best.json.trials.sqlite3"]


@pytest.mark.parametrize(
    ("more", "said"), [(["--trials", 0], "trials is 0"), (["--settings", "none.json"], "cannot be read")]
)
def test_bad_input(more: list[object], said: str, microtome: Command, desk: Path) -> None:
    outcome = microtome(*arguments(desk, *more))
    assert outcome.code == 1
    assert said in outcome.err
    assert sorted(path.name for path in desk.iterdir()) == ["[a].release", "base.json"]
