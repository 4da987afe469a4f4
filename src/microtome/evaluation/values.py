"""Numbers of measured columns as people write them: dates as dates, large numbers short."""

from __future__ import annotations

import datetime as dt
import math

from microtome.schema import Column, Kind

_EPOCH = dt.datetime(1970, 1, 1)
_LARGE = {1e9: "G", 1e6: "M", 1e4: "k"}
_DIVISOR = {"G": 1e9, "M": 1e6, "k": 1e3}


def short_number(column: Column, number: float) -> str:
    """A value of a measured column in a few letters."""
    if math.isnan(number):
        return "–"
    match column.kind:
        case Kind.DATE:
            return _date(dt.timedelta(days=math.floor(number)))
        case Kind.DATETIME:
            return _date(dt.timedelta(microseconds=math.floor(number)))
        case Kind.TIME:
            return (_EPOCH + dt.timedelta(microseconds=math.floor(number))).strftime("%H:%M")
        case Kind.INTEGER | Kind.FLOAT | Kind.CATEGORICAL | Kind.ORDERED | Kind.BOOLEAN:
            return plain_number(number)


def plain_number(number: float) -> str:
    """A number in a few letters: three or four digits, k, M or G for large ones."""
    for least, letter in _LARGE.items():
        if abs(number) >= least:
            return f"{number / _DIVISOR[letter]:.4g}{letter}".replace("e+", "e")
    return f"{number:.4g}"


def _date(since: dt.timedelta) -> str:
    try:
        return (_EPOCH + since).date().isoformat()
    except OverflowError:
        return "beyond the calendar"
