"""What stands in a column and cannot be read as one of its values, in words, with what to do about it.

Arrow tells of such values in its own words and names of types, and knows nothing of a schema.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from microtome.schema.column import Column
from microtome.schema.misfit import Misfit

_PARSED = re.compile(r"Failed to parse string: (?P<value>'.*') as a scalar of type (?P<type>\S+)", re.DOTALL)
_TRUNCATED = re.compile(r"Float value (?P<value>\S+) was truncated converting to (?P<type>\S+)")
_DIGIT = re.compile(r"\d")
_FORMAT = " in the format "
_NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)(e[+-]?\d+)?", re.IGNORECASE)
_WORDS = {
    "u?int": "a whole number",
    "double|float|halffloat|decimal": "a number",
    "bool": "true or false",
    "date": "a date like 2026-01-31",
    "timestamp": "a date with a time like 2026-01-31 08:30:00",
    "time": "a time of day like 08:30:00",
}
_IF_CODES = "what is a code and no measurement is to be declared in the schema (codes: […]), the rest to be corrected"


def misread(value: str, wanted: str, others: Sequence[str] = ()) -> str:
    """A value, as it is written in messages, that is none of the wanted type of Arrow's; and what to do about it.

    Args:
        value: The first such value.
        wanted: The type.
        others: More of the same column that are none.
    """
    return _told([value, *others], _in_words(wanted))


def _in_words(wanted: str) -> str:
    return next((words for kind, words in _WORDS.items() if re.match(kind, wanted)), wanted)


def _told(values: Sequence[str], words: str) -> str:
    """That the first of some values is not what a column has, nor are the others; and what to do about it."""
    others = values[1:]
    also = f", nor is {', nor '.join(others)}" if others else ""
    remedy = _remedy(values, words)
    otherwise = f"; otherwise correct {_them(others)}, or the column's kind or format"
    return f"{values[0]} is not {words}{also}; {remedy}{otherwise}"


def _remedy(values: Sequence[str], words: str) -> str:
    if words.startswith(_WORDS["bool"]):
        return "if the column has more values than two, declare it as text (kind: categorical, dtype: string)"
    if words == _WORDS["u?int"] and all(_NUMBER.fullmatch(value.strip("'")) for value in values):
        return "if the column may have such numbers, declare them (kind: float, dtype: float64)"
    if _FORMAT in words and all(_DIGIT.search(value) for value in values):
        return "if the whole column is written so, correct its format"
    codes = "as codes that are no measurements" if len(values) > 1 else "as a code that is no measurement"
    them = _them(values[1:])
    return f"if everybody knows of {them} {codes}, declare {them} in the schema (codes: [{', '.join(values)}])"


def _them(others: Sequence[str]) -> str:
    return "them" if others else "it"


def unreadable(
    texts: pa.Array, wanted: pa.DataType, decimal: str, known: Collection[str] = (), most: int = 5
) -> list[str]:
    """Some different texts that are none of the wanted type, as messages write them; those that are known left out."""
    found: list[str] = []
    for text in texts.unique().drop_null().to_pylist():
        try:
            pa.scalar(text.strip().replace(decimal, ".")).cast(wanted)
        except pa.ArrowInvalid:
            if repr(text) not in known:
                found.append(repr(text))
        if len(found) == most:
            break
    return found


def cast_error(column: Column, stored: pa.DataType, error: Exception) -> str:
    """Why values as they are stored are none of a column's, and what to do about it."""
    match error:
        case Misfit(values=values):
            return _told(values, f"{_measured_in_words(column)}{_FORMAT}{column.format!r}")
    found = _parsed(error)
    if found is not None:
        return misread(found["value"], found["type"])
    may_be_codes = (pa.types.is_string(stored) or pa.types.is_large_string(stored)) and not column.kind.is_categorical
    return f"not all values are {column.described}: {error}{f'; {_IF_CODES}' if may_be_codes else ''}"


def _measured_in_words(column: Column) -> str:
    """What a value of a column is, without a word on how it is written, which its format says."""
    return _in_words(column.kind).partition(" like ")[0]


def _parsed(error: Exception) -> re.Match[str] | None:
    return _PARSED.search(str(error)) or _TRUNCATED.search(str(error))


def rows_in_words(values: pa.Array, error: Exception, first: int) -> str:
    """Where in a table something is wrong: the row, as people count them, or the rows that it is one of.

    Args:
        values: Some rows of the column.
        error: What is wrong with one of them.
        first: The number of the first of these rows in the table, from 0.
    """
    place = _place(values, error)
    if place is None:
        return f"rows {first + 1:,} to {first + len(values):,}"
    return f"row {first + place + 1:,}"


def _place(values: pa.Array, error: Exception) -> int | None:
    """Where among them the value is that an error tells of, from 0; none if that cannot be told."""
    match error:
        case Misfit(place=place):
            return place
    found = _parsed(error)
    if found is None or not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return None
    found_at: int = pc.index(values, found["value"].strip("'")).as_py()
    return None if found_at < 0 else found_at
