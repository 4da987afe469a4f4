"""What the numbers of a manifest have to be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from microtome.errors import ReleaseError


def require_positive(record: Any, *names: str) -> None:
    """Refuse attributes that are no numbers above 0."""
    for name in names:
        value = getattr(record, name)
        if not (math.isfinite(value) and value > 0):
            raise ReleaseError(f"{name} is {value!r}; it must be a number above 0")


def require_noise(values: Sequence[float]) -> None:
    """Refuse levels of noise that are below 0."""
    for value in values:
        if not (math.isfinite(value) and value >= 0):
            raise ReleaseError(f"its noise is {value!r}; it must be a number, at least 0")


def require_share(record: Any, name: str) -> None:
    """Refuse an attribute that is no share."""
    value = getattr(record, name)
    if not 0 <= value <= 1:
        raise ReleaseError(f"{name} is {value!r}; it must be between 0 and 1")


def require_counts(record: Any, name: str, *, least: int) -> None:
    """Refuse an attribute that counts fewer than the least."""
    value = getattr(record, name)
    if value < least:
        raise ReleaseError(f"{name} is {value!r}; it must be a whole number, at least {least}")
