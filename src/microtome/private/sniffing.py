"""Which dialect a text file is written in, guessed for the draft of a schema; no release guesses.

What is found is a fact about the file, not about a record, but a guess all the same: it stands in the draft for its
holder to confirm, and options force each part of it.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from pathlib import Path

import pyarrow as pa

from microtome.errors import TableError
from microtome.file_kind import marked_kind
from microtome.schema.dialect import COMPRESSED, Dialect

SEPARATORS = (",", ";", "\t", "|", ":")
_BLOCK = 1 << 20
_HEAD = 1 << 18
_LINES = 200
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_WITH_POINT = re.compile(r"[^\d,]{0,4}(\d|,\d{3})*\.\d+\D{0,4}")
_WITH_COMMA = re.compile(r"[^\d.]{0,4}(\d|\.\d{3})*,\d+\D{0,4}")
"""Numbers, with a currency or a unit perhaps, and no sentences."""
_GROUPED = re.compile(r"\D*\d{1,3}([.,]\d{3})+\D*")


def sniff(
    path: Path, *, separator: str | None = None, encoding: str | None = None, decimal: str | None = None
) -> Dialect:
    """The dialect of a text file, with what is given instead of guessed."""
    kind = marked_kind(path)
    if kind is not None and path.suffix.lower() not in COMPRESSED:
        raise TableError(f"{path}: it is {kind}, whatever its name says; give a table in plain text, or name it aright")
    encoding = encoding or _encoding(path)
    text = _head(path, Dialect(encoding=encoding).encoding)
    quote = "'" if '"' not in text and re.match(r"'[^']*'(?:[,;\t|]|$)", text) else '"'
    separator = separator or _separator(text, quote, Dialect.of_name(path))
    decimal = decimal or _decimal(text, separator, quote)
    return Dialect(separator=separator, encoding=encoding, decimal=decimal, quote=quote)


def _encoding(path: Path) -> str:
    """UTF-8 if all of the file is; otherwise what Western European systems write."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with pa.input_stream(str(path)) as stream:
            first = block = stream.read(_BLOCK)
            for mark, name in _MARKS.items():
                if first.startswith(mark):
                    return name
            while block:
                decoder.decode(block)
                block = stream.read(_BLOCK)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return "cp1252" if _decodes(first, "cp1252") else "latin-1"
    except (OSError, pa.ArrowException) as error:
        raise TableError(f"{path}: cannot be read: {error}") from error
    return "utf-8"


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _head(path: Path, encoding: str) -> str:
    """The file's first lines."""
    with pa.input_stream(str(path)) as stream:
        data = stream.read(_HEAD)
    text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(data)
    whole, line_end, _ = text.rpartition("\n") if len(data) == _HEAD else (text, "\n", "")
    return (whole if line_end else text).removeprefix("\ufeff")


def _records(text: str, separator: str, quote: str) -> list[list[str]]:
    lines = text.splitlines(keepends=True)
    try:
        found = csv.reader(lines, delimiter=separator, quotechar=quote)
        return [record for record, _ in zip(found, range(_LINES), strict=False) if record]
    except csv.Error:
        return []


def _separator(text: str, quote: str, expected: str | None) -> str:
    """The sign that cuts most lines into as many parts as the first, and into most."""

    def score(sign: str) -> tuple[float, int]:
        records = _records(text, sign, quote)
        wide = len(records[0]) if records else 0
        alike = sum(len(record) == wide for record in records) / max(len(records), 1)
        return (round(alike, 1), wide) if wide > 1 else (0.0, wide)

    signs = ([expected] if expected else []) + [sign for sign in SEPARATORS if sign != expected]
    return max(signs, key=score)


def _decimal(text: str, separator: str, quote: str) -> str:
    """A comma where more values read as numbers with a decimal comma than with a point."""
    values = Counter(value.strip() for record in _records(text, separator, quote)[1:] for value in record)
    points = sum(count for value, count in values.items() if _WITH_POINT.fullmatch(value))
    commas = sum(count for value, count in values.items() if _WITH_COMMA.fullmatch(value))
    if separator != ";":  # 1,234 is a thousand and more to those who separate by commas
        commas -= sum(count for value, count in values.items() if "," in value and _GROUPED.fullmatch(value))
    return "," if (commas > points and separator != ",") or commas > 2 * points + 2 else "."
