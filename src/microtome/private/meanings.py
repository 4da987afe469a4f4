"""Ways in which the texts of a column may be meant, tried on all of them; for the draft of a schema only."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import pyarrow as pa
import pyarrow.compute as pc

from microtome.schema import Kind
from microtome.schema.notation import BooleanNotation, Notation, NumberNotation
from microtome.schema.time_format import TimeFormat

MOST_MISFITS = 20
"""Different texts that may stand among numbers or dates before the column is taken for text."""
MOST_MISFIT_ROWS = 0.2
MISSING_MARKS = frozenset((
    " ", "  ",
    "?", "-", "--", "---", ".", "..", "*", "#", "none", "None", "NONE", "missing", "Missing", "MISSING", "N.A.",
    "n.a.", "NaT", "<NA>", "(null)", "(blank)", "\\N", "#VALUE!", "#REF!", "#DIV/0!", "#NULL!", "#NUM!",
    "#NAME?",
))  # fmt: skip
"""Texts that stand for a missing value among numbers and dates, in one program or another."""
_TRIED = 200
_GLANCE = 20
_MUST_FIT = 0.7
_CURRENCIES = (
    "$", "€", "£", "¥", "₹", "₽", "₩", "₺", "₪", "R$", "US$", "A$", "C$", "CHF", "EUR", "USD", "GBP", "Fr.", "kr", "zł",
    "Kč", "Ft", "INR", "JPY", "CNY", "AUD", "CAD", "SEK", "NOK", "DKK", "PLN", "%",
)  # fmt: skip
_AFFIXED = re.compile(
    r"\s*[(+−-]?(?P<prefix>[^\d\s.,'()+−-]*[^\d,'()+−-]?\s?)[+−-]?[.,]?\d.*?(?P<suffix>[^\d)]*)\)?\s*"
)
_NAMED_MONTHS = (
    *(f"{day}{sign}%b{sign}{year}" for day, sign, year in product(("%d", "%-d"), " -", ("%Y", "%y"))),
    "%-d %B %Y", "%-d. %B %Y", "%b %-d, %Y", "%B %-d, %Y",
)  # fmt: skip
_YEAR_FIRST = ("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d")
_DIGITS_ONLY = "%Y%m%d"
_CLOCKS = (
    "%H:%M",
    "%H:%M:%S",
    "%H:%M:%S.%f",
    "%-H:%M",
    "%-H:%M:%S",
    "%-I:%M %p",
    "%I:%M %p",
    "%-I:%M:%S %p",
    "%-I:%M%p",
)
_ZONES = ("", "Z", "%z", " %z", " UTC")
_COLON_ZONES = ("", "Z", "%:z", " %:z", " UTC")
_COLON_OFFSET = re.compile(r"[+-]\d\d:\d\d$")
_DATE_WORDS = frozenset((
    "date", "datum", "dt", "day", "dob", "birthdate", "birthday", "fecha", "jour", "data",
))  # fmt: skip


@dataclass
class Meaning:
    """One way to understand a column, and what does not fit it.

    Attributes:
        kind: The kind of its values.
        notation: How they are written.
        format: The format to state in a schema; ``None`` for the usual one.
        misfits: Texts that are not written so, with their numbers.
    """

    kind: Kind
    notation: Notation
    format: str | None = None
    misfits: Counter[str] = field(default_factory=Counter)

    def add(self, texts: pa.Array, counts: pa.Array) -> None:
        """Try some more different texts, which occur so often."""
        if self.is_dead:
            return
        wrong = pc.invert(self.notation.fits(texts))
        for text, count in zip(texts.filter(wrong).to_pylist(), counts.filter(wrong).to_pylist(), strict=True):
            self.misfits[text] += count
            if self.is_dead:
                return

    @property
    def is_dead(self) -> bool:
        """Whether so many texts do not fit that the column means something else."""
        return len(self.misfits) > MOST_MISFITS


@dataclass(frozen=True)
class _Plain:
    """Numbers as every program writes them."""

    pattern: str

    def fits(self, texts: pa.Array) -> pa.Array:
        return pc.match_substring_regex(texts, self.pattern)

    def read(self, texts: pa.Array, wanted: pa.DataType) -> pa.Array:
        return pc.replace_substring(pc.utf8_trim_whitespace(texts), ",", ".").cast(wanted)

    def write(self, values: pa.Array) -> pa.Array:
        return values.cast(pa.string())


def meanings(texts: Sequence[str], words: Sequence[str], decimal: str) -> list[Meaning]:
    """The ways in which most of some texts can be understood, the likelier first; none if they are plain text."""
    texts = [text for text in texts if text not in MISSING_MARKS][:_TRIED]
    tried = pa.array(texts, pa.string())
    if not texts:
        return []
    found = []
    for one in _candidates(texts, words, decimal):
        match one.notation:
            case TimeFormat() as form if not any(map(form.resembles, texts[:_GLANCE])):
                continue
        fitting = pc.sum(one.notation.fits(tried)).as_py() or 0
        if fitting >= _MUST_FIT * len(tried):
            found.append(one)
    return found


def _candidates(texts: Sequence[str], words: Sequence[str], decimal: str) -> Iterator[Meaning]:
    yield from _booleans(texts)
    sign = re.escape(decimal)
    whole = r"^\s*[+-]?(?:0|[1-9]\d*)\s*$"
    measured = rf"^\s*[+-]?(?:(?:0|[1-9]\d*)(?:{sign}\d*)?|{sign}\d+)(?:[eE][+-]?\d+)?\s*$"
    dates = list(_dates(texts, words, decimal))
    yield from (one for one in dates if one.format == _DIGITS_ONLY)
    yield Meaning(Kind.INTEGER, _Plain(whole))
    yield Meaning(Kind.FLOAT, _Plain(measured))
    yield from _formatted_numbers(texts, decimal)
    yield from (one for one in dates if one.format != _DIGITS_ONLY)


def _booleans(texts: Sequence[str]) -> Iterator[Meaning]:
    for false, true in (("false", "true"), ("False", "True"), ("FALSE", "TRUE")):
        if set(texts) <= {false, true}:
            written = None if false == "false" else f"{false}/{true}"
            yield Meaning(Kind.BOOLEAN, BooleanNotation(false=false, true=true), written)


def _formatted_numbers(texts: Sequence[str], decimal: str) -> Iterator[Meaning]:
    other = "," if decimal == "." else "."
    for prefix, suffix in _affixes(texts):
        for sign, thousands in product((decimal, other), ("", ".", ",", " ", "'", "’")):
            if thousands == sign or (sign == other and not thousands and not (prefix or suffix)):
                continue
            if not (thousands or prefix or suffix) or (thousands and not any(thousands in _seen(one) for one in texts)):
                continue
            yield _formatted(NumberNotation(prefix=prefix, suffix=suffix, thousands=thousands, decimal=sign), texts)


def _formatted(notation: NumberNotation, texts: Sequence[str]) -> Meaning:
    """The meaning in a notation, which writes as many decimal places as all texts have, if that is one number."""
    sign = notation.decimal
    places = {len(one.rpartition(sign)[2]) if sign in one else 0 for one in map(_digits, texts)}
    if places == {0}:
        return Meaning(Kind.INTEGER, _WholeOnly(notation), replace(notation, places=0).to_format())
    fixed = places.pop() if len(places) == 1 else None
    return Meaning(Kind.FLOAT, notation, replace(notation, places=fixed).to_format())


@dataclass(frozen=True)
class _WholeOnly:
    """Numbers in a format, without decimal places."""

    inner: NumberNotation

    def fits(self, texts: pa.Array) -> pa.Array:
        decimals = pc.match_substring_regex(texts, rf"{re.escape(self.inner.decimal)}\d{{1,2}}\D*$")
        return pc.and_not(self.inner.fits(texts), decimals)

    def read(self, texts: pa.Array, wanted: pa.DataType) -> pa.Array:
        return self.inner.read(texts, wanted)

    def write(self, values: pa.Array) -> pa.Array:
        return self.inner.write(values)


def _seen(text: str) -> str:
    """A text with all blanks alike, less those around it."""
    return text.strip().replace("\u00a0", " ").replace("\u202f", " ")


def _digits(text: str) -> str:
    """From the first digit to the last."""
    found = re.search(r"\d(?:.*\d)?", text)
    return "" if found is None else found[0]


def _affixes(texts: Sequence[str]) -> list[tuple[str, str]]:
    """What stands before and behind the digits of most texts, if it is money or per cent; nothing, otherwise."""
    found = Counter((match["prefix"], match["suffix"]) for one in texts if (match := _AFFIXED.fullmatch(one)))
    common = [pair for pair, _ in found.most_common(3)]
    known = [
        pair for pair in common if any(pair) and all(not part.strip() or part.strip() in _CURRENCIES for part in pair)
    ]
    return [*known, ("", "")]


def _dates(texts: Sequence[str], words: Sequence[str], decimal: str) -> Iterator[Meaning]:
    """Dates, times of day and both; eight digits only where the name says that they are a date."""
    some = [one.strip() for one in texts[:_GLANCE]]
    if not any(re.search(r"\d", one) for one in some):
        return
    for clock in _CLOCKS:
        yield Meaning(Kind.TIME, TimeFormat.from_text(clock, "time"), clock)
    for date in (*_YEAR_FIRST, *_day_and_month(decimal), *_NAMED_MONTHS):
        format_ = TimeFormat.from_text(date, "date")
        if not any(format_.begins(one) for one in some):
            continue
        yield Meaning(Kind.DATE, format_, None if date == "%Y-%m-%d" else date)
        zones = _ZONES if not any(map(_COLON_OFFSET.search, some)) else _COLON_ZONES
        for joint, clock, zone in product(" T", _CLOCKS, zones):
            if joint == " " or date in _YEAR_FIRST:
                text = f"{date}{joint}{clock}{zone}"
                yield Meaning(Kind.DATETIME, TimeFormat.from_text(text, "datetime"), text)
    if _DATE_WORDS & set(words):
        yield Meaning(Kind.DATE, TimeFormat.from_text(_DIGITS_ONLY, "date"), _DIGITS_ONLY)


def _day_and_month(decimal: str) -> Iterator[str]:
    """Day and month in either order; which first, where both can be, is as those write who write such numbers."""
    american, european = (("%m", "%d"), ("%-m", "%-d")), (("%d", "%m"), ("%-d", "%-m"))
    for sign in "/.-":
        orders = (*american, *european) if sign == "/" and decimal == "." else (*european, *american)
        for year, (first, second) in product(("%Y", "%y"), orders):
            yield f"{first}{sign}{second}{sign}{year}"


def day_first(written: str | None) -> bool | None:
    """Whether a format has the day before the month, both in digits; ``None`` where it has not both."""
    found = re.search(r"^%-?([dm])[/.-]%-?([dm])", written or "")
    return None if found is None else found[1] == "d"
