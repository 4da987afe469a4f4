"""Result files: JSON with configuration, versions, machine and commit, added to run by run."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "results"
_PACKAGES = ("microtome", "numpy", "scipy", "pandas", "pyarrow", "torch", "scikit-learn", "sdmetrics")


def environment() -> dict[str, Any]:
    """What the figures were measured with."""
    versions = {}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = None
    git = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, cwd=FOLDER.parent, check=False)
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": git.stdout.strip() or None,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "versions": versions,
    }


class ResultFile:
    """Runs by their key; what is there is not run again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.runs: list[dict[str, Any]] = json.loads(path.read_text())["runs"] if path.exists() else []

    def has(self, key: dict[str, Any]) -> bool:
        """Whether a run with this key is there."""
        return any(run["key"] == key for run in self.runs)

    def add(self, key: dict[str, Any], values: dict[str, Any]) -> None:
        """Add a run and write the file."""
        self.runs.append({"key": key, **values, "environment": environment()})
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_suffix(".partial")
        partial.write_text(json.dumps({"runs": self.runs}, indent=1) + "\n")
        partial.replace(self.path)
