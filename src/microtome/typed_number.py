"""Whole numbers as people type them."""

from microtome.errors import ParameterError


def typed_count(text: str) -> int:
    """A whole number: 100000, 1e5 or 100_000."""
    try:
        number = float(text) if "e" in text.lower() else int(text)
        if number == int(number):
            return int(number)
    except (ValueError, OverflowError):
        pass
    raise ParameterError(f"{text!r} is no whole number; write 100000, 1e5 or 100_000")
