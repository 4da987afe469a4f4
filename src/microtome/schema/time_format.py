"""Dates and times of day as text, by the directives that ``strftime`` has: read strictly, and written back alike.

    %Y %y %m %d %b %B      year, year of the century, month, day, name of the month (Jan, January)
    %H %I %p %M %S %f      hour, hour of twelve, AM or PM, minute, second, fraction of a second
    %z %:z                 offset from UTC (+0000, +00:00); read in any way, also as Z
    %-m %-d %-H %-I        without a zero in front

Only whole numbers are computed with, so what a text means is its own to the last bit. Years of the century are those
from 1969 to 2068. Times with an offset are read as UTC, and given back as UTC.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microtome.schema.misfit import refuse_misfits
from microtome.schema.time_writing import DAY, MONTHS, texts_of

Whole = NDArray[np.int64]
_PATTERNS = {
    "Y": r"\d{4}", "y": r"\d{2}", "m": r"\d{2}", "d": r"\d{2}", "H": r"\d{2}", "I": r"\d{2}", "M": r"\d{2}",
    "S": r"\d{2}", "f": r"\d{1,9}", "-m": r"\d{1,2}", "-d": r"\d{1,2}", "-H": r"\d{1,2}", "-I": r"\d{1,2}",
    "b": "(?i:" + "|".join(name[:3] for name in MONTHS) + ")", "B": "(?i:" + "|".join(MONTHS) + ")",
    "p": r"(?i:[ap]\.?m\.?)", "z": r"Z|[+-]\d{2}:?\d{2}", ":z": r"Z|[+-]\d{2}:?\d{2}",
}  # fmt: skip
_DIRECTIVE = re.compile(r"%(-?[a-zA-Z]|:z)")
_FIELDS = {"b": "m", "B": "m", ":z": "z", "y": "Y"}
"""Which quantity a directive is about, where it is not its own letter."""
_OF_DATE, _OF_TIME = frozenset("Ymd"), frozenset("HIpMSf")
_PIVOT = 69


@dataclass(frozen=True)
class TimeFormat:
    """A format of dates, of times, or of both.

    Attributes:
        text: The format as it is written in a schema.
        kind: "date", "datetime" or "time".
    """

    text: str
    kind: str

    @classmethod
    def from_text(cls, text: str, kind: str) -> TimeFormat:
        """The format, if it says all that a value of the kind needs; ``ValueError`` otherwise."""
        found = [_quantity(one) for one in _DIRECTIVE.findall(text)]
        unknown = [one for one in _DIRECTIVE.findall(text) if one not in _PATTERNS]
        has, twice = set(found), len(found) > len(set(found))
        needs = {"date": _OF_DATE, "datetime": _OF_DATE, "time": frozenset()}[kind]
        beyond = {"date": _OF_TIME | {"z"}, "datetime": frozenset(), "time": _OF_DATE | {"z"}}[kind]
        hours = kind == "date" or ("H" in has) != ("I" in has and "p" in has)
        if unknown or twice or needs - has or beyond & has or not hours or "%" in _DIRECTIVE.sub("", text):
            raise ValueError(
                f"format {text!r} is none of a {kind} column; write it as {_EXAMPLES[kind]!r} with each part once"
            )
        return cls(text, kind)

    @cached_property
    def _directives(self) -> list[str]:
        return _DIRECTIVE.findall(self.text)

    @cached_property
    def _literals(self) -> list[str]:
        """What stands before, between and behind the directives."""
        return _DIRECTIVE.split(self.text)[::2]

    @cached_property
    def _pattern(self) -> str:
        groups = [f"(?P<{_group(one)}>{_PATTERNS[one]})" for one in self._directives]
        literals = [re.escape(literal) for literal in self._literals]
        between = "".join(group + literal for group, literal in zip(groups, literals[1:], strict=True))
        return rf"^\s*{literals[0]}{between}\s*$"

    @property
    def has_offset(self) -> bool:
        """Whether texts say how far they are from UTC."""
        return any(_quantity(one) == "z" for one in self._directives)

    def begins(self, text: str) -> bool:
        """Whether a text begins as one of these does."""
        return re.match(self._pattern.removesuffix(r"\s*$"), text) is not None

    def resembles(self, text: str) -> bool:
        """Whether a text looks like one of these, be it in the calendar or not."""
        return re.match(self._pattern, text) is not None

    def fits(self, texts: pa.Array) -> pa.Array:
        """Which texts are such dates or times, and exist in the calendar; false for missing ones."""
        return pa.array(self._numbers(texts)[1])

    def read(self, texts: pa.Array, wanted: pa.DataType) -> pa.Array:
        """The dates or times."""
        numbers, fits = self._numbers(texts)
        refuse_misfits(texts, pa.array(fits))
        missing = np.asarray(texts.is_null())
        if self.kind == "date":
            return pa.array((numbers // DAY).astype(np.int32), mask=missing).cast(wanted)
        return pa.array(numbers, mask=missing).cast(wanted)

    def write(self, values: pa.Array) -> pa.Array:
        """Dates or times as text."""
        if pa.types.is_date(values.type):
            numbers = np.asarray(pc.fill_null(values.cast(pa.date32()).cast(pa.int32()), 0)).astype(np.int64) * DAY
        else:
            numbers = np.asarray(pc.fill_null(values.cast(pa.int64()), 0))
        parts = texts_of(numbers)
        texts: list[pa.Array | str] = [pa.scalar(self._literals[0])]
        for directive, literal in zip(self._directives, self._literals[1:], strict=True):
            texts += [pa.array(parts[directive]), pa.scalar(literal)]
        joined = pc.binary_join_element_wise(*texts, "")
        return pc.if_else(values.is_valid(), joined, pa.scalar(None, pa.string()))

    def _numbers(self, texts: pa.Array) -> tuple[Whole, NDArray[np.bool_]]:
        """Microseconds since 1970, or since midnight, of every text, and which texts make sense."""
        found = pc.extract_regex(texts.cast(pa.string()), self._pattern)
        fits = np.asarray(found.is_valid())
        parts = {_quantity(one): _number(one, pc.struct_field(found, _group(one)), fits) for one in self._directives}
        days, in_calendar = _days(parts) if self.kind != "time" else (np.zeros(len(fits), np.int64), True)
        time, on_clock = _time_of_day(parts, len(fits))
        return days * DAY + time - parts.get("z", 0), fits & in_calendar & on_clock


_EXAMPLES = {"date": "%d.%m.%Y", "datetime": "%Y-%m-%d %H:%M:%S", "time": "%H:%M"}


def _quantity(directive: str) -> str:
    return _FIELDS.get(directive, directive.removeprefix("-"))


def _group(directive: str) -> str:
    """A name for the directive's group, which may hold no signs."""
    return f"part_{_quantity(directive)}"


def _number(directive: str, texts: pa.Array, fits: NDArray[np.bool_]) -> Whole:
    """What a directive's texts say in numbers; 1 where nothing fits."""
    texts = pc.if_else(pa.array(fits), pc.fill_null(texts, ""), _ANYTHING.get(directive, "1"))
    match directive:
        case "b" | "B":
            names = pa.array([name[:3].lower() for name in MONTHS])
            places = pc.index_in(pc.utf8_lower(pc.utf8_slice_codeunits(texts, 0, 3)), value_set=names)
            months: Whole = np.asarray(places).astype(np.int64) + 1
            return months
        case "p":
            return np.asarray(pc.starts_with(pc.utf8_lower(texts), "p")).astype(np.int64)
        case "f":
            padded = pc.utf8_slice_codeunits(pc.utf8_rpad(texts, 6, "0"), 0, 6)
            fraction: Whole = np.asarray(padded.cast(pa.int64()))
            return fraction
        case "z" | ":z":
            return _offset(texts)
        case "y":
            years = np.asarray(texts.cast(pa.int64()))
            full: Whole = years + np.where(years < _PIVOT, 2000, 1900)
            return full
        case _:
            numbers: Whole = np.asarray(texts.cast(pa.int64()))
            return numbers


_ANYTHING = {"b": "Jan", "B": "January", "p": "AM", "z": "Z", ":z": "Z"}


def _offset(texts: pa.Array) -> Whole:
    """Microseconds that the clock of a text is ahead of UTC."""
    digits = pc.replace_substring_regex(pc.replace_substring(texts, "Z", "+0000"), "[:+-]", "")
    numbers = np.asarray(digits.cast(pa.int64()))
    ahead: Whole = (numbers // 100 * 60 + numbers % 100) * 60_000_000
    return np.where(np.asarray(pc.starts_with(texts, "-")), -ahead, ahead)


def _days(parts: dict[str, Whole]) -> tuple[Whole, NDArray[np.bool_]]:
    """Days since 1970, and which days exist."""
    month_in_year = (parts["m"] >= 1) & (parts["m"] <= 12)
    months = ((parts["Y"] - 1970) * 12 + np.where(month_in_year, parts["m"], 1) - 1).astype("datetime64[M]")
    first, following = months.astype("datetime64[D]"), (months + 1).astype("datetime64[D]")
    lasts = (following - first).astype(np.int64)
    return first.astype(np.int64) + parts["d"] - 1, month_in_year & (parts["d"] >= 1) & (parts["d"] <= lasts)


def _time_of_day(parts: dict[str, Whole], size: int) -> tuple[Whole, NDArray[np.bool_]]:
    """Microseconds since midnight, and which times a clock shows."""
    zero = np.zeros(size, np.int64)
    minute, second = parts.get("M", zero), parts.get("S", zero)
    if "I" in parts:
        hour, on_clock = parts["I"] % 12 + 12 * parts["p"], (parts["I"] >= 1) & (parts["I"] <= 12)
    else:
        hour, on_clock = parts.get("H", zero), parts.get("H", zero) < 24
    time = ((hour * 60 + minute) * 60 + second) * 1_000_000 + parts.get("f", zero)
    return time, on_clock & (minute < 60) & (second < 60)
