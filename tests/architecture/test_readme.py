"""What the README prints runs as printed, one line after the other, in a shell and then in Python."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import microtome

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PEOPLE = 2000
"""In the simulated town: fewer than ``make demo`` has, so that the test does not take minutes."""
BASH = shutil.which("bash")


def commands() -> list[str]:
    """The lines to type, under "On the command line"."""
    section = README.split("## On the command line", 1)[1].split("\n## ", 1)[0]
    return re.findall(r"^    (\S.*)$", section, flags=re.MULTILINE)


def snippet() -> str:
    """The program under "From Python"."""
    found = re.search(r"```python\n(.*?)```", README.split("## From Python", 1)[1], flags=re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout as it is after ``make demo``: an environment, and the demo's files."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / ".venv").symlink_to(sys.prefix, target_is_directory=True)
    run(folder, f"microtome demo -o demo-output --people {PEOPLE}")
    return folder


def run(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run lines in a shell that stops at the first that fails."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PYTHONPATH": str(Path(microtome.__file__).parents[1]), "PATH": path}
    command = [str(BASH), "-e", "-o", "pipefail", "-c", script]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


def test_the_readme_shows_every_step() -> None:
    verbs = [line.split()[1] for line in commands() if line.startswith("microtome ")]
    assert verbs == ["schema", "schema", "forecast", "release", "inspect", "fit", "sample", "report", "report"]


@pytest.mark.skipif(BASH is None, reason="no bash here")
@pytest.mark.skipif(not Path(sys.prefix, "bin", "activate").is_file(), reason="not in an environment of its own")
@pytest.mark.slow
def test_the_readme_runs_as_printed(office: Path) -> None:
    done = run(office, "\n".join(commands()))
    assert "differentially private" in done.stdout
    output = office / "demo-output"
    for name in ("town.release", "town.model", "town.parquet", "town.html", "town-public.html"):
        assert (output / name).stat().st_size > 0
    (output / "snippet.py").write_text(snippet() + "\nassert frame.shape[0] == 100_000\n", encoding="utf-8")
    run(output, "python snippet.py")
