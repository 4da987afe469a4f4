"""The two distributions, built from a copy of the checkout, and installed where no source tree is in reach."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
META = Path("distributions", "microtome")
LOST = shutil.ignore_patterns("__pycache__", "*.egg-info", "build", "dist")


def build(folder: Path, *wanted: str) -> list[Path]:
    """Wheels, or whatever is wanted, of both distributions."""
    copy = folder / "checkout"
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        copy.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, copy)
    shutil.copytree(ROOT / "src", copy / "src", ignore=LOST)
    shutil.copytree(ROOT / META, copy / META, ignore=LOST)
    for project in (copy, copy / META):
        ran([sys.executable, "-m", "build", "--no-isolation", *wanted, "--outdir", str(folder / "dist"), str(project)])
    return sorted((folder / "dist").iterdir())


def ran(
    command: list[str], *, folder: Path | None = None, path: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command that must succeed, away from the checkout; ``path`` is where it finds Microtome, if anywhere."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment = kept if path is None else {**kept, "PYTHONPATH": str(path)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done
