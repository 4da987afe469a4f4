"""A first schema of a table: kinds, types and formats, what to leave out, and what everybody knows of such columns.

Parquet files and frames state their types; of text the values are read (``look``). No bound, category or count of the
table comes out: bounds and code lists are those of a public catalogue. Even a type is data, though: one record can
change it. So the draft is for its holder to correct, and is marked as a draft until they confirm it; no release takes
it before. Remarks, which tell of values, are for the holder's eyes only and are no part of the draft.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from microtome.errors import SchemaError
from microtome.private.look import Look, look
from microtome.private.meanings import MISSING_MARKS
from microtome.private.naming import Values, is_code, is_of_person, set_aside, tokens
from microtome.private.sniffing import sniff
from microtome.private.spool import read_again
from microtome.private.stored_file import table_files
from microtome.schema import Action, Aside, Column, Dialect, Kind, Schema
from microtome.schema.aside import UUID
from microtome.schema.catalogue import known_bounds, known_lists
from microtome.schema.dialect import MISSING_VALUES, SHEETS, TEXT_FILES, bare_suffix
from microtome.schema.document import told_apart
from microtome.schema.frame_layout import with_frame_types

_POSTCODE = re.compile(r"(^| )(zip|zipcode|postcode|postal code|plz|postleitzahl|fips|geoid)( |$)")
_KEY = re.compile(r"(\D*)(\d+)")
_SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A drafted schema, and what its holder should know before confirming it.

    Attributes:
        schema: The draft.
        remarks: What is worth a second look, column by column. They tell of values: do not publish them.
    """

    schema: Schema
    remarks: tuple[str, ...]


def draft_schema(
    source: Any,
    *,
    target: str | None = None,
    skip: tuple[str, ...] = (),
    separator: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    sheet: str | None = None,
    remarks: Callable[[str], object] | None = None,
) -> Schema:
    """Draft the schema of a table.

    Args:
        source: A table, in whatever ``mt.release`` takes one.
        target: The column to be predicted, if there is one.
        skip: Columns to leave out.
        separator: Of a text file: what stands between values; by default found out.
        encoding: Of a text file; by default found out.
        decimal: Of a text file: the decimal sign; by default found out.
        sheet: Of a workbook; by default its first.
        remarks: Is told what is worth a second look (columns set aside, codes among numbers): ``remarks=print`` shows
            it. It tells of values: for the holder's eyes only.

    Returns:
        A schema in which nothing is from the table but kinds, types and formats, and these as a draft. Correct it, then
        ``confirm()`` it.
    """
    options = {"separator": separator, "encoding": encoding, "decimal": decimal, "sheet": sheet}
    drafted = draft(source, target=target, skip=skip, **options)
    if remarks is not None:
        for remark in drafted.remarks:
            remarks(remark)
    return drafted.schema


def draft(source: Any, *, target: str | None = None, skip: tuple[str, ...] = (), **dialect: str | None) -> Draft:
    """Draft the schema of a table, with remarks for its holder. Arguments are those of ``draft_schema``."""
    with read_again(source) as rows:
        return _drafted(rows, target, skip, dialect)


def _drafted(source: Any, target: str | None, skip: tuple[str, ...], dialect: dict[str, str | None]) -> Draft:
    file = _dialect(source, dialect)
    table, looks = look(source, file)
    wrong = [repr(name) for name in skip if name not in table.types]
    if wrong:
        raise SchemaError(f"{table.origin}: no column {', '.join(wrong)} to leave out; it has {', '.join(table.types)}")
    _refuse_records_as_names(table.types, file, table.origin)
    kept = [one for one in looks if one.name not in skip]
    drafted = [_Drafted(one, place, wanted=one.name == target) for place, one in enumerate(kept)]
    marks = sorted({mark for one in drafted for mark in one.marks})
    if file is not None and marks:
        file = replace(file, missing_values=(*MISSING_VALUES, *marks))
    columns, aside = told_apart(one.result for one in drafted)
    if not columns:
        raise SchemaError(f"{table.origin}: no column is left to release; {'; '.join(_remarks(drafted))}")
    schema = Schema(
        columns=columns,
        target=target,
        drafted=True,
        aside=aside,
        file=None if file is None or file == Dialect() else file,
    )
    return Draft(schema=with_frame_types(schema, source), remarks=tuple(_remarks(drafted)))


def _dialect(source: Any, options: dict[str, str | None]) -> Dialect | None:
    """The dialect of a file, found out where no option says it; ``None`` for what has none."""
    first = _first_file(source)
    suffix = "" if first is None else bare_suffix(first)
    given = {name: value for name, value in options.items() if value is not None}
    sheet = given.pop("sheet", None)
    if suffix in SHEETS and not given:
        return Dialect(sheet=sheet)
    if first is not None and suffix in TEXT_FILES and sheet is None and first.stat().st_size:
        return sniff(first, **given)
    if given or sheet is not None:
        raise SchemaError("separator, encoding and decimal are for text files, and sheet is for workbooks")
    return None


def _first_file(source: Any) -> Path | None:
    """The file on this machine by which the dialect of all is found out."""
    if not isinstance(source, str | Path | list | tuple):
        return None
    files = [file for file in table_files(source) if file.system is None]
    return Path(files[0].path) if files else None


def _refuse_records_as_names(names: dict[str, pa.DataType], file: Dialect | None, origin: str) -> None:
    """Refuse a file whose first line is a record: names are published."""
    numbers = [name for name in names if re.fullmatch(r"\s*[+-]?\d+([.,]\d+)?\s*", name)]
    years = [name for name in numbers if re.fullmatch(r"(19|20)\d\d", name.strip())]
    if file is not None and len(numbers) > len(years):
        raise SchemaError(
            f"{origin}: the first line has {numbers[0]!r} where the name of a column should be; if it is a record, put "
            "a line of names above it: names are published"
        )


def _remarks(drafted: list[_Drafted]) -> list[str]:
    return [f"{one.look.name}: {remark}" for one in drafted for remark in one.remarks]


class _Drafted:
    """One column's draft: a description or a place aside, and remarks."""

    def __init__(self, seen: Look, place: int, *, wanted: bool) -> None:
        self.look, self.place = seen, place
        self.remarks: list[str] = []
        self.marks: list[str] = []
        self.words = tokens(seen.name)
        self.result: Column | Aside = self._column(wanted)

    def _left_out(self, why: str) -> Aside:
        self.remarks.append(f"left out (drop): {why}")
        return Aside(name=self.look.name, action=Action.DROP, place=self.place)

    def _column(self, wanted: bool) -> Column | Aside:
        found = self._typed() if not pa.types.is_string(self.look.arrow_type) else self._of_text()
        match found:
            case Aside():
                return found
            case Column() if self.look.seen:
                return (
                    self._left_out("all its values are missing") if not self.look.rows else self._judged(found, wanted)
                )
            case Column():
                return found

    def _judged(self, found: Column, wanted: bool) -> Column | Aside:
        """The column with a suggestion, or aside if its values are keys or free text."""
        if found.kind in (Kind.INTEGER, Kind.CATEGORICAL):
            values = self.look.judged(found.kind)
            reason = None if wanted or self._is_postcode() else set_aside(self.look.name, values)
            if reason is not None:
                return self._aside(found, values, *reason)
            if found.kind is Kind.INTEGER and is_code(self.look.name, values):
                self.remarks.append("taken for a code, not for a number, by its name (kind: categorical)")
                found = Column(name=found.name, kind=Kind.CATEGORICAL, dtype=found.dtype)
        if found.kind.is_number and (codes := self.look.codes_far_off()):
            shown = ", ".join(f"{code:.10g}" for code in codes)
            self.remarks.append(
                f"has {shown} far from all its other numbers: if that is a code and no measurement, declare it "
                f"(codes: [{shown}])"
            )
        if self.look.values is not None and len(self.look.values) == 1:
            self.remarks.append("has one value only; leave it out (action: drop), or declare what it can be")
        return self._with_suggestion(found)

    def _typed(self) -> Column | Aside:
        """By the type that the source states."""
        kind, name = self.look.arrow_type, self.look.name
        is_a = pa.types
        if is_a.is_boolean(kind):
            return Column(name=name, kind=Kind.BOOLEAN)
        if is_a.is_integer(kind):
            return Column(name=name, kind=Kind.INTEGER, dtype=str(kind))
        if is_a.is_floating(kind):
            whole = self.look.whole and self.look.low <= self.look.high  # a gap makes whole numbers floats in pandas
            dtype = "float32" if kind == pa.float32() else "float64"
            return Column(name=name, kind=Kind.INTEGER if whole else Kind.FLOAT, dtype=dtype)
        if is_a.is_decimal(kind):
            return Column(name=name, kind=Kind.FLOAT)
        if is_a.is_date(kind):
            return Column(name=name, kind=Kind.DATE)
        if is_a.is_time(kind):
            return Column(name=name, kind=Kind.TIME)
        if is_a.is_timestamp(kind):
            return Column(name=name, kind=Kind.DATETIME, zone=kind.tz)
        if is_a.is_null(kind):
            return self._left_out("all its values are missing")
        return self._left_out(f"values of type {kind} cannot be released; turn them into numbers, text or dates")

    def _of_text(self) -> Column:
        """By what its texts can be read as."""
        name, best = self.look.name, self.look.best
        if best is None or (best.kind is Kind.INTEGER and self._is_postcode()):
            return Column(name=name, kind=Kind.CATEGORICAL)
        self._tell_misfits(best.misfits, best.kind)
        if self.look.is_ambiguous:
            self.remarks.append(f"days and months may be the other way round; read as {best.format}")
        if "%y" in (best.format or ""):
            self.remarks.append("years have two digits: they are taken for 1969 to 2068")
        zone = "UTC" if best.kind is Kind.DATETIME and _in_utc(best.format or "") else None
        return Column(name=name, kind=best.kind, format=best.format, zone=zone)

    def _is_postcode(self) -> bool:
        """Codes of places, which are text though they be digits: 02134."""
        return _POSTCODE.search(" ".join(self.words)) is not None

    def _tell_misfits(self, misfits: dict[str, int], kind: Kind) -> None:
        self.marks = [text for text in misfits if text in MISSING_MARKS]
        if self.marks:
            self.remarks.append(f"{_listed(self.marks)} is taken for a missing value")
        others = [text for text in misfits if text not in MISSING_MARKS]
        if others:
            self.remarks.append(
                f"has {_listed(others)} among values of kind {kind}, which a release would refuse: declare them, if "
                f"everybody knows of such codes (codes: [{', '.join(map(repr, others[:_SHOWN]))}])"
            )

    def _aside(self, column: Column, values: Values, action: Action, why: str) -> Aside:
        self.remarks.append(f"set aside ({action}): {why}")
        if values.distinct < values.rows and is_of_person(column.name):
            self.remarks.append(f"stands in several rows: to protect all rows of a person, say 'unit: {column.name}'")
        dtype = "int64" if values.whole_numbers else "string"
        keys = _key_form(values.sample) if dtype == "string" else None
        return Aside(name=column.name, action=action, place=self.place, dtype=dtype, keys=keys)

    def _with_suggestion(self, column: Column) -> Column:
        values = self.look.values
        if column.kind in (Kind.CATEGORICAL, Kind.INTEGER) and values and column.format is None:
            for known in known_lists(self.words):
                found = known.numbers(_numbers_of(values)) if column.dtype != "string" else known.spelling(list(values))
                text = column.kind is Kind.CATEGORICAL and column.dtype == "string"
                if found is not None and (text or column.dtype != "string"):
                    return self._listed(column, found, known.title, ordered=known.ordered and text)
        bounded = known_bounds(self.words, column.kind)
        if bounded is None or bounded.bounds is None:
            return column
        low, high = bounded.bounds
        if bounded.spacious:
            self.remarks.append(
                f"{bounded.title} is between {low} and {high}; its bounds are learnt, unless you declare those of the "
                "region that the table is about"
            )
            return column
        if self.look.low < low or self.look.high > high:
            self.remarks.append(
                f"{bounded.title} is suggested, {low} to {high}, but the table has values from {self.look.low:g} to "
                f"{self.look.high:g}: correct the bounds, say 'outside: clamp', or 'bounds: learn'"
            )
        return replace(column, bounds=(low, high), suggested=bounded.title)

    def _listed(self, column: Column, categories: tuple[Any, ...], title: str, *, ordered: bool) -> Column:
        others = [value for value in self.look.values or () if _as_number(value, column) not in categories]
        if others:
            self.remarks.append(
                f"{title} is suggested, but the table also has {_listed(others)}: add what is missing, say "
                "'outside: clamp', or 'categories: learn'"
            )
        unread = [value for value in categories if value in MISSING_VALUES]
        if unread:
            self.remarks.append(
                f"{_listed(unread)} is read as a missing value; 'missing_values' under 'file' changes that"
            )
        kind = Kind.ORDERED if ordered else Kind.CATEGORICAL
        return Column(name=column.name, kind=kind, dtype=column.dtype, categories=categories, suggested=title)


def _as_number(value: Any, column: Column) -> Any:
    return int(value) if column.dtype != "string" and str(value).strip("-").isdigit() else value


def _numbers_of(values: Any) -> list[float]:
    """Different values as numbers, text or not."""
    return [float(value) for value in values if re.fullmatch(r"-?\d+(\.0*)?", str(value).strip())]


def _in_utc(written: str) -> bool:
    return written.endswith(("Z", "z", "UTC"))


def _listed(texts: list[Any]) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return ", ".join(map(repr, texts[:_SHOWN])) + more


def _key_form(sample: tuple[str, ...]) -> str:
    """How keys are to look: as these do, if all have the same letters before as many digits."""
    if all(re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", one) for one in sample):
        return UUID
    parts = [_KEY.fullmatch(one) for one in sample]
    forms = {(found[1], len(found[2])) if found else None for found in parts}
    form = forms.pop() if len(forms) == 1 else None
    return "#######" if form is None or "#" in form[0] else form[0] + "#" * form[1]
