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
_PACKAGES = (
    *("microtome", "numpy", "scipy", "pandas", "pyarrow", "torch", "scikit-learn", "sdmetrics"),
    *("opacus", "dpmm", "opendp"),
)


def versions() -> dict[str, str]:
    """Versions of the packages of this environment that figures may depend on."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def environment() -> dict[str, Any]:
    """What the figures were measured with."""
    git = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, cwd=FOLDER.parent, check=False)
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": git.stdout.strip() or None,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "versions": versions(),
    }


class ResultFile:
    """Runs by their key; what is there is not run again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.runs = self._read()

    def find(self, key: dict[str, Any]) -> dict[str, Any] | None:
        """The run with this key, if it is there."""
        return next((run for run in self.runs if run["key"] == key), None)

    def has(self, key: dict[str, Any]) -> bool:
        """Whether a run with this key is there."""
        return self.find(key) is not None

    def put(self, key: dict[str, Any], values: dict[str, Any]) -> None:
        """Add a run, in place of an earlier one with this key, and write the file."""
        self.runs = [run for run in self._read() if run["key"] != key]
        self.runs.append({"key": key, **values, "environment": environment()})
        self.path.parent.mkdir(parents=True, exist_ok=True)
        from microtome.whole_file import write_text  # not at the top: workers of rival methods do without Microtome

        write_text(self.path, json.dumps({"runs": self.runs}, indent=1) + "\n")

    def _read(self) -> list[dict[str, Any]]:
        """The runs as they are in the file now: another process may have added some."""
        return json.loads(self.path.read_text())["runs"] if self.path.exists() else []
