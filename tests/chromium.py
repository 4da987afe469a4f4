"""The browser that pages are tested in: whatever Chromium this machine has."""

from __future__ import annotations

import shutil

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def require_browser() -> str:
    """Its program; tests that need it are skipped where there is none."""
    found = next((found for name in NAMES if (found := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium here: 'make test' installs Debian's package where it may")
    return found
