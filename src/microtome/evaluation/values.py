"""Numbers as people write them: dates as dates, separators in large numbers, words and powers for very large ones."""

from __future__ import annotations

import datetime as dt
import math

from microtome.schema import Column

_EPOCH = dt.date(1970, 1, 1)
_WORDS = {1e12: "trillion", 1e9: "billion", 1e6: "million"}
_SEPARATED, _POWERS, _SMALL = 1e4, 1e15, 1e-5
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def short_number(column: Column, number: float) -> str:
    """A value of a measured column in a few letters."""
    if math.isnan(number):
        return "–"
    if column.kind.facts.day is not None:
        return _date(number / column.kind.facts.day)
    if column.kind.is_temporal:
        return (dt.datetime.min + dt.timedelta(microseconds=math.floor(number))).strftime("%H:%M")
    return plain_number(number)


def plain_number(number: float) -> str:
    """A number in a few letters: four digits, whole numbers below a million in full.

    >>> [plain_number(number) for number in (0.00012, 1999, 500_001, 12345.678, -3.5e6, -6e14, 1.126e21)]
    ['0.00012', '1999', '500,001', '12,346', '−3.5 million', '−600 trillion', '1.126 × 10²¹']
    """
    size = abs(number)
    if math.isinf(size):
        return "∞" if number > 0 else "−∞"
    return ("−" if number < 0 else "") + (_power(size) if size >= _POWERS or 0 < size < _SMALL else _plain(size))


def whole_percent(share: float) -> str:
    """A share in per cent, for a sentence: all and nothing are said of nothing less."""
    percent = 100.0 * share
    if 99.5 <= percent < 100.0:
        return f"{min(percent, 99.9):.1f} %"
    return f"{max(percent, 0.1):.1f} %" if 0.0 < percent < 0.5 else f"{percent:.0f} %"


def _plain(size: float) -> str:
    for unit, word in _WORDS.items():
        if size >= unit:
            return f"{size / unit:.4g} {word}"
    if size >= _SEPARATED:
        return f"{size:,.0f}"
    rounded = float(f"{size:.4g}")
    return f"{rounded:.10f}".rstrip("0").rstrip(".")


def _power(size: float) -> str:
    digits, power = f"{size:.3e}".split("e")
    return f"{digits.rstrip('0').rstrip('.')} × 10{str(int(power)).translate(_RAISED)}"


def _date(days: float) -> str:
    try:
        return (_EPOCH + dt.timedelta(days=math.floor(days))).isoformat()
    except OverflowError:
        return "beyond the calendar"
