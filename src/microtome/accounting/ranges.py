"""One place for the range checks of privacy parameters, so that every message names parameter and value."""

import math
from numbers import Real

from microtome.errors import ParameterError


def require_positive(name: str, value: float) -> None:
    """Refuse anything but a finite number above zero."""
    if not (_is_number(value) and math.isfinite(value) and value > 0):
        raise ParameterError(f"{name} must be a finite number above 0, got {value!r}")


def require_nonnegative(name: str, value: float) -> None:
    """Refuse anything but a finite number of at least zero."""
    if not (_is_number(value) and math.isfinite(value) and value >= 0):
        raise ParameterError(f"{name} must be a finite number of at least 0, got {value!r}")


def require_probability(name: str, value: float) -> None:
    """Refuse anything but a number strictly between zero and one."""
    if not (_is_number(value) and 0 < value < 1):
        raise ParameterError(f"{name} must be strictly between 0 and 1, got {value!r}")


def require_count(name: str, value: int) -> None:
    """Refuse anything but a whole number of at least one."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ParameterError(f"{name} must be a whole number of at least 1, got {value!r}")


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
