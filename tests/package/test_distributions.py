"""What is built holds everything, asks for what it needs, and runs without the source tree."""

from __future__ import annotations

import os
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from built import META, ROOT, build, ran

import microtome

PACKAGE = Path(microtome.__file__).parent
CORE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WHOLE = tomllib.loads((ROOT / META / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FOR_DEVELOPERS = {"dev", "bench", "docs"}
RUN = "from microtome.cli.main import run; run()"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    pytest.importorskip("build", reason="the package build is not installed")
    return build(tmp_path_factory.mktemp("wheels"), "--wheel")


@pytest.fixture(scope="module")
def installed(wheels: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the built package alone; what it needs comes from this environment."""
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    ran([*pip, "--target", str(folder), *map(str, wheels)])
    return folder


def test_whole_and_core_are_of_one_version_and_have_the_same_extras() -> None:
    version = microtome.__version__
    assert WHOLE["version"] == version
    assert WHOLE["dependencies"] == [f"microtome-core[fit]=={version}"]
    extras = sorted(set(CORE["optional-dependencies"]) - FOR_DEVELOPERS - {"fit"})
    assert WHOLE["optional-dependencies"] == {name: [f"microtome-core[{name}]=={version}"] for name in extras}


def test_core_does_not_ask_for_torch() -> None:
    assert not [asked for asked in CORE["dependencies"] if asked.startswith(("torch", "jaxtyping"))]


def test_wheels_are_pure_and_hold_every_file(wheels: list[Path]) -> None:
    assert [wheel.name.partition("-")[0] for wheel in wheels] == ["microtome", "microtome_core"]
    assert all(wheel.name.endswith("-py3-none-any.whl") for wheel in wheels)
    wanted = {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheels[1]) as core, zipfile.ZipFile(wheels[0]) as whole:
        assert {name for name in core.namelist() if ".dist-info/" not in name} == wanted
        assert all(".dist-info/" in name for name in whole.namelist())


def test_the_built_package_is_what_runs(installed: Path, tmp_path: Path) -> None:
    code = "import microtome; print(microtome.__file__, microtome.__version__)"
    done = ran([sys.executable, "-c", code], folder=tmp_path, path=installed)
    assert done.stdout.split() == [str(installed / "microtome" / "__init__.py"), microtome.__version__]


@pytest.mark.parametrize("which", [["--people", "400"], ["--images"]], ids=["town", "digits"])
@pytest.mark.slow
def test_demos_run_without_the_source_tree(installed: Path, tmp_path: Path, which: list[str]) -> None:
    ran([sys.executable, "-c", RUN, "demo", "-o", "out", *which], folder=tmp_path, path=installed)
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000


@pytest.mark.slow
def test_a_clean_environment_has_all_that_is_needed(tmp_path: Path) -> None:
    """From the source archives: first the holder's half, then the rest beside it. Downloads a few hundred megabytes."""
    pytest.importorskip("build", reason="the package build is not installed")
    made = {path.name.split("-")[0]: path for path in build(tmp_path, "--sdist")}
    with tarfile.open(made["microtome_core"]) as archive:
        assert any(name.endswith("report.html.j2") for name in archive.getnames())
    ran([sys.executable, "-m", "venv", str(tmp_path / "venv")])
    python = str(tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    try:
        ran([*pip, str(made["microtome_core"])], folder=tmp_path)
    except AssertionError as error:
        if "Could not find a version" in str(error) or "No matching distribution" in str(error):
            pytest.skip("packages cannot be downloaded here")
        raise
    found = "import importlib.util as u; print(u.find_spec('torch'))"
    assert ran([python, "-c", found], folder=tmp_path).stdout.strip() == "None"
    ran([python, "-c", RUN, "budget", "--dim", "20", "--delta", "1e-5", "--epsilon", "1"], folder=tmp_path)
    ran([*pip, str(made["microtome"]), str(made["microtome_core"])], folder=tmp_path)
    ran([python, "-m", "pip", "check"], folder=tmp_path)
    ran([python, "-c", RUN, "demo", "-o", "town", "--people", "400"], folder=tmp_path)
    ran([python, "-c", RUN, "demo", "-o", "digits", "--images"], folder=tmp_path)
    assert (tmp_path / "digits" / "synthetic.png").stat().st_size > 100
