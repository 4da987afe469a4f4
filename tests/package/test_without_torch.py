"""The holder's half of the program works where PyTorch is not installed, and the other half says what to install."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pyarrow.csv as pacsv
import pytest

from microtome.demo import population
from microtome.errors import MicrotomeError, MissingPackageError
from microtome.extras import EXTRAS, explained, how_to_install

BLOCKED = """
import sys

class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "jaxtyping"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, NotInstalled())
"""
COMMANDS = (
    BLOCKED
    + """
import shlex
from microtome.cli.main import app

for line in sys.stdin.read().splitlines():
    app(shlex.split(line), standalone_mode=False)
"""
)
OTHER_HALF = (
    BLOCKED
    + """
import microtome as mt
from microtome.cli.main import run
from microtome.errors import MissingPackageError

mt.Release.load("town.release")
try:
    mt.Synthesizer
except MissingPackageError as error:
    print(error)
run()
"""
)
HOLDER = """\
schema draft people.csv --target insured -o town.yaml
schema confirm town.yaml
schema check town.yaml
forecast --schema town.yaml --rows 400 --epsilon 8
release people.csv --schema town.yaml --epsilon 8 --delta 1e-4 -o town.release
inspect town.release
inspect town.release --statement
budget --dim 20 --delta 1e-5 --epsilon 1
ledger show people.csv.ledger.json
key make holder.key
"""


def run(code: str, folder: Path, *arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=folder, input=typed, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("office")
    pacsv.write_csv(population(400), folder / "people.csv")
    done = run(COMMANDS, folder, typed=HOLDER)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_holder_needs_no_torch(office: Path) -> None:
    for name in ("town.yaml", "town.release", "holder.key"):
        assert (office / name).stat().st_size > 0


def test_the_other_half_says_what_to_install(office: Path) -> None:
    done = run(OTHER_HALF, office, "fit", "town.release", "-o", "town.model")
    assert done.returncode == 1
    said = "torch is not installed, which is for training and sampling: pip install microtome"
    assert done.stdout.strip() == said
    assert said in done.stderr


def test_a_demo_says_so_before_it_makes_anything(office: Path) -> None:
    done = run(OTHER_HALF, office, "demo", "-o", "demo")
    assert done.returncode == 1
    assert "torch is not installed" in done.stderr
    assert not (office / "demo").exists()


def test_a_module_that_is_no_extra_is_left_as_it_is() -> None:
    error = ModuleNotFoundError("No module named 'nowhere'", name="nowhere")
    assert explained(error) is error
    missing = explained(ModuleNotFoundError("No module named 'torch.nn'", name="torch.nn"))
    assert isinstance(missing, MissingPackageError)
    assert isinstance(missing, MicrotomeError)


def test_extras_are_those_of_the_package() -> None:
    document = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    offered = document["project"]["optional-dependencies"]
    for extra in EXTRAS:
        name = extra.brought_by.partition("[")[2].rstrip("]") or "fit"
        if extra.brought_by != "polars":
            assert any(asked.startswith(extra.package) for asked in offered[name]), extra
    assert how_to_install("optuna") == "pip install 'microtome[tune]'"
