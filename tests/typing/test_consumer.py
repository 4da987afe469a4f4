"""Whoever imports the package gets its types: a strictly checked program of a user passes."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import microtome
from support import ROOT

PACKAGE = Path(microtome.__file__).parent
FOREIGN = "[mypy]\nstrict = true\n[mypy-pandas.*]\nignore_missing_imports = true\n"
"""Pandas' own types are another package, which a user may or may not have."""


@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed")
def test_a_strictly_typed_program_passes(tmp_path: Path) -> None:
    assert (PACKAGE / "py.typed").is_file()
    (tmp_path / "mypy.ini").write_text(FOREIGN, encoding="utf-8")
    cache = ROOT / ".mypy_cache" / "consumer"
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--cache-dir", str(cache)]
    done = subprocess.run(
        [*command, str(ROOT / "tests" / "typing" / "consumer.py")],
        cwd=tmp_path,  # not the checkout: the package is found where it is installed, by its py.typed
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
