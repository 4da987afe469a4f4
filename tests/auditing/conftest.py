"""Noise that repeats itself: a verdict is a statistic, and a test has to come to the same one each time."""

from collections.abc import Iterator

import pytest

from support import repeatable_noise


@pytest.fixture(autouse=True)
def same_noise() -> Iterator[None]:
    with repeatable_noise():
        yield
