"""``microtome fit``: a model from a release alone, interrupted, killed, resumed, and all that can be wrong."""

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.csv as pacsv
import pytest
from cli_support import Command

from fit_support import planted, planted_release
from microtome.cli import demo
from microtome.published import Release, manifest
from microtome.synthesis import Synthesizer
from microtome.training import Checkpoint, Loop, Trainer
from support import fill_disk

EXPLAINED, USAGE, INTERRUPTED = 1, 2, 130
SETTINGS = {
    "network": {"latent_dim": 4, "hidden": [8]},
    "steps": 20,
    "batch_size": 32,
    "check_every": 5,
    "patience": None,
}


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return planted_release(tmp_path_factory.mktemp("releases") / "planted.release", table=planted(800))


@pytest.fixture
def desk(release: Release, tmp_path: Path) -> Path:
    """A folder with a release, quick settings, and nothing else."""
    shutil.copy(release.path, tmp_path / "planted.release")
    (tmp_path / "quick.json").write_text(json.dumps(SETTINGS))
    return tmp_path


def arguments(desk: Path, *more: object) -> list[object]:
    return ["fit", desk / "planted.release", "--settings", desk / "quick.json", "-o", desk / "out.model", *more]


def written(desk: Path) -> list[str]:
    return sorted(path.name for path in desk.iterdir() if path.name not in ("planted.release", "quick.json"))


def words(text: str) -> str:
    return " ".join(text.split())


def test_fit_writes_a_model(microtome: Command, desk: Path) -> None:
    outcome = microtome(*arguments(desk, "--seed", 1))
    assert outcome.code == 0
    assert written(desk) == ["out.model"]
    assert "held-out score" in outcome.out
    assert "fit: 20 of 20 steps, loss" in outcome.err
    model = Synthesizer.load(desk / "out.model")
    assert model.model.origin["settings"]["steps"] == 20
    assert model.model.origin["finished"] is True


def test_options_go_before_settings(microtome: Command, desk: Path) -> None:
    given = ["--steps", 10, "--batch-size", 16, "--learning-rate", 0.01, "--held-out", 0.2, "--threads", 1]
    assert microtome(*arguments(desk, *given)).code == 0
    settings = Synthesizer.load(desk / "out.model").model.origin["settings"]
    wanted = {"steps": 10, "batch_size": 16, "learning_rate": 0.01, "held_out": 0.2, "threads": 1, "check_every": 5}
    assert {name: settings[name] for name in wanted} == wanted


def test_same_seed_same_model(microtome: Command, desk: Path) -> None:
    assert microtome(*arguments(desk, "--seed", 1)).code == 0
    first = (desk / "out.model").read_bytes()
    assert microtome(*arguments(desk, "--seed", 1, "--force")).code == 0
    assert (desk / "out.model").read_bytes() == first
    assert microtome(*arguments(desk, "--seed", 2, "--force")).code == 0
    assert (desk / "out.model").read_bytes() != first


def refused(
    microtome: Command, desk: Path, *said: str, code: int = EXPLAINED, more: list[object] | None = None
) -> None:
    before = written(desk)
    outcome = microtome(*arguments(desk, *(more or [])))
    assert outcome.code == code
    assert "Traceback" not in outcome.err
    for part in said:
        assert part in words(outcome.err), outcome.err
    assert written(desk) == before


def test_existing_output_is_kept(microtome: Command, desk: Path) -> None:
    (desk / "out.model").write_text("mine")
    refused(microtome, desk, "out.model exists", "--force")
    assert (desk / "out.model").read_text() == "mine"


def test_missing_release(microtome: Command, desk: Path) -> None:
    (desk / "planted.release").unlink()
    refused(microtome, desk, "planted.release: no such file")


def test_damaged_release(microtome: Command, desk: Path) -> None:
    content = bytearray((desk / "planted.release").read_bytes())
    content[-7] ^= 1
    (desk / "planted.release").write_bytes(content)
    refused(microtome, desk, "planted.release", "checksum is wrong")


def test_release_of_another_version(microtome: Command, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest, "VERSION", 2)
    refused(microtome, desk, "format version 1; this Microtome reads 2")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "cannot be read as JSON"),
        ("[1]", "settings are a JSON object, not list"),
        ('{"speed": 3}', "unknown setting 'speed'"),
        ('{"steps": 0}', "steps is 0"),
        ('{"loss": {"f": "x"}}', "settings cannot be read"),
        ('{"loss": {"moments": 0, "kernel": 1, "slices": "pairs", "slice_dim": 1}}', "slice_dim is 1, not 2"),
    ],
)
def test_settings_that_make_no_sense(text: str, said: str, microtome: Command, desk: Path) -> None:
    (desk / "quick.json").write_text(text)
    refused(microtome, desk, said)


def test_negative_seed(microtome: Command, desk: Path) -> None:
    refused(microtome, desk, "random_state is -1", more=("--seed", -1))


def test_unknown_option(microtome: Command, desk: Path) -> None:
    refused(microtome, desk, "No such option", code=USAGE, more=("--sped", 1))


def test_full_disk(microtome: Command, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill_disk(monkeypatch)
    refused(microtome, desk, "out.model.checkpoint cannot be written", "No space left")


def test_interrupt_writes_the_best_model_and_says_so(
    microtome: Command, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    advance = Loop.advance

    def interrupted(self: Loop) -> None:
        if self.step == 12:
            raise KeyboardInterrupt
        advance(self)

    monkeypatch.setattr(Loop, "advance", interrupted)
    outcome = microtome(*arguments(desk))
    assert outcome.code == INTERRUPTED
    assert "interrupted: this is the best model so far; --resume goes on from" in words(outcome.out)
    assert "discarded" not in outcome.err
    assert written(desk) == ["out.model", "out.model.checkpoint"]
    assert len(Synthesizer.load(desk / "out.model").sample(10)) == 10

    monkeypatch.setattr(Loop, "advance", advance)
    refused(microtome, desk, "exists")
    assert microtome(*arguments(desk, "--resume")).code == 0
    assert written(desk) == ["out.model"]
    assert [step for step, _ in Synthesizer.load(desk / "out.model").model.origin["history"]] == [0, 5, 10, 15, 20]


def test_interrupt_before_anything_is_learnt(microtome: Command, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Trainer, seed: int) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(Trainer, "_objective", interrupted)
    refused(microtome, desk, "what was not complete is discarded", code=INTERRUPTED)


def process(*arguments: object, before: str = "", **options: Any) -> subprocess.Popen[str]:
    """The command in a process of its own, after some lines of Python."""
    script = f"{textwrap.dedent(before)}\nfrom microtome.cli.main import run\nrun()"
    command = [sys.executable, "-W", "error", "-c", script, *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment, **options)


def test_killed_fit_leaves_a_checkpoint_and_resumes(microtome: Command, desk: Path) -> None:
    (desk / "quick.json").write_text(json.dumps({**SETTINGS, "steps": 100_000}))
    running = process(*arguments(desk))
    checkpoint = desk / "out.model.checkpoint"
    deadline = time.monotonic() + 60
    while not checkpoint.exists() or Checkpoint.load(checkpoint).step < 10:
        assert time.monotonic() < deadline
        assert running.poll() is None
        time.sleep(0.05)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    assert not (desk / "out.model").exists()
    killed = Checkpoint.load(checkpoint)
    refused(microtome, desk, "made with other settings", more=("--resume", "--steps", killed.step + 10))

    resumed = process(
        *arguments(desk, "--resume"),
        before=f"""
        from microtome.training import Loop
        advance = Loop.advance
        def stopping(self):
            if self.step == {killed.step + 7}:
                raise KeyboardInterrupt
            advance(self)
        Loop.advance = stopping
        """,
    )
    out, err = resumed.communicate()
    assert resumed.returncode == INTERRUPTED, err
    history = Synthesizer.load(desk / "out.model").model.origin["history"]
    assert [step for step, _ in history] == list(range(0, killed.step + 7, 5))
    assert tuple(map(tuple, history[: len(killed.history)])) == killed.history
    assert "Traceback" not in out + err


def test_demo_goes_from_table_to_synthetic_table(
    microtome: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo.fit_verb, "fit", partial(demo.fit_verb.fit, steps=5, batch_size=64))
    outcome = microtome("demo", "-o", tmp_path / "town", "--people", 1500)
    assert outcome.code == 0, outcome.err
    real, synthetic = (pacsv.read_csv(tmp_path / "town" / name) for name in ("people.csv", "synthetic.csv"))
    assert synthetic.schema.names == real.schema.names
    assert synthetic.num_rows == 1500
    assert not synthetic.equals(real)
    pages = [(tmp_path / "town" / name).read_text(encoding="utf-8") for name in ("report.html", "public.html")]
    assert ["Free to publish" in page for page in pages] == [False, True]


WITHOUT_PRIVATE = """
import json, sys
sys.modules["microtome.private"] = None
from microtome.cli.main import run as one
def run():
    for command in json.loads(sys.argv[1]):
        sys.argv[1:] = command
        try:
            one()
        except SystemExit as leaving:
            if leaving.code:
                raise
"""


def without_private(*commands: list[object]) -> tuple[int, str]:
    """Exit code and messages of commands in a process that cannot import what reads tables."""
    script = [sys.executable, "-W", "error", "-c", f"{WITHOUT_PRIVATE}\nrun()"]
    listed = json.dumps([[str(part) for part in command] for command in commands])
    done = subprocess.run([*script, listed], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_nothing_private_is_needed(desk: Path) -> None:
    """The table is gone and the code that reads tables cannot be imported."""
    assert not list(desk.glob("*.csv"))
    code, messages = without_private(
        ["inspect", desk / "planted.release"],
        arguments(desk),
        ["sample", desk / "out.model", "-n", 30, "-o", desk / "rows.csv"],
        ["tune", "--help"],
    )
    assert code == 0, messages
    assert (desk / "rows.csv").read_text().count("\n") == 31
    code, messages = without_private(["schema", "draft", desk / "rows.csv", "-o", desk / "schema.yaml"])
    assert code != 0
    assert "microtome.private" in messages
