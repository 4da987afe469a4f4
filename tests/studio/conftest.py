from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from studio_support import Visitor, open_studio

from microtome.studio.serving import Studio


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Studio]:
    with open_studio(tmp_path) as opened:
        yield opened


@pytest.fixture
def visitor(studio: Studio) -> Visitor:
    return Visitor(studio)
