"""What the machine has: memory, processors, disk, and programs beside Python."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
_PATIENCE = 20.0
"""Seconds that a program may take to tell its version."""


def available_memory() -> int | None:
    """Bytes that can be had without swapping; ``None`` where the system does not say."""
    try:
        for line in _MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None


def processors() -> int:
    """Processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS, Windows
        return os.cpu_count() or 1


def free_disk(folder: Path) -> int:
    """Bytes that are free where a folder is."""
    return shutil.disk_usage(folder).free


def java_version() -> int | None:
    """The major version of the Java that would be started; ``None`` without one."""
    java = shutil.which("java")
    found = None if java is None else re.search(r'version "(?:1\.)?(\d+)', _told([java, "-version"]))
    return None if found is None else int(found[1])


def browser() -> str | None:
    """Where a Chromium is, or one of its relatives."""
    return next((found for name in _BROWSERS if (found := shutil.which(name))), None)


def _told(command: list[str]) -> str:
    """What a program prints, on either stream; nothing if it cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout + done.stderr
