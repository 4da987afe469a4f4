"""Releases that the training tests share."""

import pytest

from fit_support import planted_release
from microtome.published import Release


@pytest.fixture(scope="session")
def strong_release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """The planted table at a large ε: hardly any noise."""
    return planted_release(tmp_path_factory.mktemp("releases") / "strong.release")


@pytest.fixture(scope="session")
def few_slices(tmp_path_factory: pytest.TempPathFactory) -> Release:
    """Fewer directions than dimensions: no moments."""
    return planted_release(tmp_path_factory.mktemp("releases") / "few.release", num_slices=5)
