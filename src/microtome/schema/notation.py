"""How values are written as text where it is not the usual way, read and written by the same words.

    kind            format            texts
    integer, float  "$#,##0.00"       $1,234.50   −$3   (12.00)
                    "#.##0,00 €"      1.234,50 €
                    "0.##%"           12.5%                   (the number is 12.5)
    date            "%d.%m.%Y"        31.01.2026
    datetime        "%-m/%-d/%Y %H:%M"  1/31/2026 14:05
    time            "%I:%M %p"        02:05 PM
    boolean         "FALSE/TRUE"      TRUE

A text is read by itself: what it means depends on the format, which is public, and on no other text. What does not fit
the format is an error, never a guess.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microtome.schema.misfit import refuse_misfits
from microtome.schema.time_format import TimeFormat

_NUMBER = re.compile(
    r"(?P<prefix>[^#0-9]*?)(?:#(?P<thousands>[,.'’ \u00a0\u202f])##)?0(?:(?P<decimal>[.,])(?P<places>0+|#+))?"
    r"(?P<suffix>[^#0-9]*)"
)
_BLANKS = " \u00a0\u202f"
_MINUS = "\u2212-"


class Notation(Protocol):
    """A way to write values."""

    def fits(self, texts: pa.Array) -> pa.Array:
        """Which texts are written so; false for missing ones."""
        ...

    def read(self, texts: pa.Array, wanted: pa.DataType) -> pa.Array:
        """The values of texts that all fit."""
        ...

    def write(self, values: pa.Array) -> pa.Array:
        """Values as text."""
        ...


def notation_of(kind: str, text: str) -> Notation:
    """The notation of a format for a kind of column; ``ValueError`` with what to write instead if there is none."""
    match kind:
        case "integer" | "float":
            return NumberNotation.from_format(text)
        case "date" | "datetime" | "time":
            return TimeFormat.from_text(text, kind)
        case "boolean":
            return BooleanNotation.from_format(text)
        case _:
            raise ValueError(f"a {kind} column has no format: its values are text as it stands")


@dataclass(frozen=True, kw_only=True)
class NumberNotation:
    """Numbers with something before or behind, with thousands set apart, or with a decimal sign of their own.

    Attributes:
        prefix: What stands before the number, such as "$"; it may be absent.
        suffix: What stands behind it; it may be absent unless it is a per cent sign.
        thousands: What sets thousands apart, or ``""``; any blank stands for all blanks.
        decimal: The decimal sign.
        places: Decimal places when writing; ``None`` for as many as the number has.
    """

    prefix: str = ""
    suffix: str = ""
    thousands: str = ""
    decimal: str = "."
    places: int | None = None

    @classmethod
    def from_format(cls, text: str) -> NumberNotation:
        """The notation that a format such as "$#,##0.00" shows."""
        found = _NUMBER.fullmatch(text)
        if found is None or found["thousands"] == (found["decimal"] or ""):
            raise ValueError(f"format {text!r} is none of numbers; write it as '0.00', '#,##0', '$#,##0.00' or '0.##%'")
        thousands, shown = found["thousands"] or "", found["places"]
        places = 0 if shown is None else len(shown) if "0" in shown else None
        decimal = found["decimal"] or ("," if thousands == "." else ".")
        return cls(prefix=found["prefix"], suffix=found["suffix"], thousands=thousands, decimal=decimal, places=places)

    def to_format(self) -> str:
        """The inverse of ``from_format``."""
        grouped = f"#{self.thousands}##0" if self.thousands else "0"
        places = "##" if self.places is None else "0" * self.places
        return f"{self.prefix}{grouped}{self.decimal + places if places else ''}{self.suffix}"

    @cached_property
    def _pattern(self) -> str:
        space, sign = f"[{_BLANKS}]*", f"[+{_MINUS}]?"
        group = f"[{_BLANKS}]" if self.thousands in _BLANKS else re.escape(self.thousands)
        grouped = rf"\d{{1,3}}(?:{group}\d{{3}})+|" if self.thousands else ""
        before, behind = re.escape(self.prefix.strip(_BLANKS)), re.escape(self.suffix.strip(_BLANKS))
        needed = "" if "%" in self.suffix else "?"
        return (
            rf"^{space}(?P<open>\(?)(?P<sign>{sign}){space}(?:{before})?{space}(?P<inner>{sign}){space}"
            rf"(?P<whole>{grouped}\d*)(?:{re.escape(self.decimal)}(?P<part>\d*))?{space}(?:{behind}){needed}"
            rf"(?P<close>\)?){space}$"
        )

    def _parts(self, texts: pa.Array) -> tuple[dict[str, pa.Array], pa.Array]:
        """The parts of every text, and which texts are numbers."""
        found = pc.extract_regex(texts.cast(pa.string()), self._pattern)
        parts = {name: pc.fill_null(pc.struct_field(found, name), "") for name in ("whole", "part")}
        marks = {name: pc.fill_null(pc.struct_field(found, name), "") for name in ("open", "sign", "inner", "close")}
        closed = pc.equal(pc.equal(marks["open"], "("), pc.equal(marks["close"], ")"))
        once = pc.less_equal(pc.add(*(pc.utf8_length(marks[name]) for name in ("sign", "inner"))), 1)
        digits = pc.greater(pc.add(*(pc.utf8_length(parts[name]) for name in ("whole", "part"))), 0)
        signs = pc.binary_join_element_wise(marks["open"], marks["sign"], marks["inner"], "")
        parts["sign"] = pc.if_else(pc.match_substring_regex(signs, f"[({_MINUS}]"), "-", "")
        return parts, pc.and_(pc.and_(found.is_valid(), closed), pc.and_(once, digits))

    def fits(self, texts: pa.Array) -> pa.Array:
        """Which texts are numbers so written; false for missing ones."""
        return self._parts(texts)[1]

    def read(self, texts: pa.Array, wanted: pa.DataType) -> pa.Array:
        """The numbers."""
        parts, fits = self._parts(texts)
        if pa.types.is_integer(wanted):
            fits = pc.and_(fits, pc.match_substring_regex(parts["part"], "^0*$"))
        refuse_misfits(texts, fits)
        whole = pc.replace_substring_regex(parts["whole"], r"\D", "")
        joined = [parts["sign"], pc.if_else(pc.equal(whole, ""), "0", whole)]
        if not pa.types.is_integer(wanted):
            joined += [pa.scalar("."), pc.if_else(pc.equal(parts["part"], ""), "0", parts["part"])]
        plain = pc.binary_join_element_wise(*joined, "")
        return pc.if_else(texts.is_valid(), plain, pa.scalar(None, pa.string())).cast(wanted)

    def write(self, values: pa.Array) -> pa.Array:
        """Numbers as text."""
        return pa.array([None if value is None else self._text(value) for value in values.to_pylist()], pa.string())

    def _text(self, value: float) -> str:
        if self.places is None:
            text = np.format_float_positional(abs(value), trim="-") if isinstance(value, float) else str(abs(value))
        else:
            text = f"{abs(value):.{self.places}f}"
        whole, _, part = text.partition(".")
        grouped = f"{int(whole):,}".replace(",", self.thousands)
        sign = "-" if value < 0 and text.strip("0.") else ""
        return f"{sign}{self.prefix}{grouped}{self.decimal + part if part else ''}{self.suffix}"


@dataclass(frozen=True, kw_only=True)
class BooleanNotation:
    """True and false in words."""

    false: str
    true: str

    @classmethod
    def from_format(cls, text: str) -> BooleanNotation:
        """The notation that a format such as "FALSE/TRUE" shows."""
        false, slash, true = text.partition("/")
        if not (slash and false and true and false != true and "/" not in true):
            raise ValueError(f"format {text!r} is none of a boolean column; write it as 'no/yes', false first")
        return cls(false=false, true=true)

    def fits(self, texts: pa.Array) -> pa.Array:
        """Which texts are one of the two words; false for missing ones."""
        return pc.is_in(texts.cast(pa.string()), value_set=pa.array([self.false, self.true]))

    def read(self, texts: pa.Array, wanted: pa.DataType) -> pa.Array:
        """The truth values."""
        refuse_misfits(texts, self.fits(texts))
        return pc.equal(texts.cast(pa.string()), self.true).cast(wanted)

    def write(self, values: pa.Array) -> pa.Array:
        """Truth values as text."""
        return pc.if_else(values, self.true, self.false)
