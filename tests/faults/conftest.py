"""A desk and a process to fork from, for each worker of the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cases import lay_desk
from trial import Stable, Trials


@pytest.fixture(scope="session")
def stable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stable]:
    """The process that forks runs."""
    started = Stable(tmp_path_factory.mktemp("logs"))
    yield started
    started.close()


@pytest.fixture(scope="session")
def desk(stable: Stable, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that all commands need."""
    folder = tmp_path_factory.mktemp("desks") / "desk"
    lay_desk(folder, stable.count)
    return folder


@pytest.fixture
def trials(stable: Stable, desk: Path, tmp_path: Path, record_property: Callable[[str, object], None]) -> Trials:
    """No faults so far."""
    return Trials(desk=desk, folder=tmp_path, stable=stable, record=record_property)
