"""How a text file or a sheet is written: separator, encoding, decimal sign, quotes, signs of a missing value.

A dialect is stated, in the schema or by whoever gives the file; a release guesses nothing. (The draft of a schema does:
``microtome.private.sniffing``.) By the same dialect the file is read, block by block, and synthetic rows are written.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv

from microtome.errors import SchemaError, TableError
from microtome.schema.misreading import misread

MISSING_VALUES = tuple(pacsv.ConvertOptions().null_values)
"""Texts that stand for a missing value unless a schema lists others."""
TEXT_FILES = (".csv", ".tsv", ".tab", ".txt")
COMPRESSED = {".gz": "gzip", ".bz2": "bzip2", ".zst": "Zstandard"}
SHEETS = (".xlsx", ".xlsm")
PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc", ".arrows")
KNOWN = (*TEXT_FILES, *PARQUET, *ARROW, *SHEETS)
_OTHER_ENCODING = "another encoding is given with --encoding, such as cp1252, or under 'file' in the schema"
_TABS = (".tsv", ".tab")
_IN_COLUMN = re.compile(r"In CSV column #(\d+)")
_VALUE = re.compile(
    r"Row #(?P<line>\d+): CSV conversion error to (?P<type>.+?): invalid value (?P<value>'.*')", re.DOTALL
)
_BLOCK = 8 << 20
_HEADER_BLOCK = 1 << 16
_LONGEST_HEADER = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Dialect:
    r"""How a file is written.

    Attributes:
        separator: What stands between values: one character, such as "," or "\t".
        encoding: The name of its character encoding; ``utf-8-sig`` begins with a byte order mark.
        decimal: The decimal sign of numbers that have no format of their own.
        quote: What encloses a value that holds a separator; doubled within it.
        missing_values: All texts that stand for a missing value.
        sheet: The sheet of a workbook; ``None`` for its first.
    """

    separator: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    quote: str = '"'
    missing_values: tuple[str, ...] = MISSING_VALUES
    sheet: str | None = None

    def __post_init__(self) -> None:
        for name in ("separator", "decimal", "quote"):
            value = getattr(self, name)
            if not isinstance(value, str) or len(value) != 1 or ord(value) > 127 or value in "\r\n":
                raise SchemaError(f'file: {name} is {value!r}; it must be one character (a tab is "\\t")')
        if len({self.separator, self.decimal, self.quote}) < 3:
            raise SchemaError(
                f"file: separator {self.separator!r}, decimal {self.decimal!r} and quote {self.quote!r} must differ"
            )
        try:
            object.__setattr__(self, "encoding", codecs.lookup(self.encoding).name)
            "".encode(self.encoding)
        except (LookupError, TypeError):
            raise SchemaError(
                f"file: encoding {self.encoding!r} is not known; usual are utf-8, cp1252, utf-16"
            ) from None
        if isinstance(self.missing_values, str) or not all(isinstance(one, str) for one in self.missing_values):
            raise SchemaError("file: missing_values must be a list of texts, in quotes")
        object.__setattr__(self, "missing_values", tuple(self.missing_values))
        if self.sheet is not None and not isinstance(self.sheet, str):
            raise SchemaError(f"file: sheet is {self.sheet!r}; it must be a name")

    @classmethod
    def usual(cls, path: Path) -> Dialect:
        """The dialect of a file of which nothing is known but its name."""
        return cls().with_options(separator=cls.of_name(path))

    @staticmethod
    def of_name(path: Path) -> str | None:
        """The separator that a file's name tells: tabs in a .tsv file."""
        return "\t" if bare_suffix(path) in _TABS else None

    @classmethod
    def from_dict(cls, entries: Any) -> Dialect:
        """From the document's entry ``file``."""
        known = [field.name for field in fields(cls)]
        if not isinstance(entries, Mapping) or set(entries) - set(known):
            raise SchemaError(f"'file' is {entries!r}; it may have the keys {', '.join(known)}")
        return cls(**entries)

    def to_dict(self) -> dict[str, Any]:
        """What is not as usual, as plain values."""
        entries = {field.name: getattr(self, field.name) for field in fields(self)}
        plain = {key: list(value) if isinstance(value, tuple) else value for key, value in entries.items()}
        return {key: plain[key] for key in plain if entries[key] != getattr(_USUAL, key)}

    def with_options(self, **options: Any) -> Dialect:
        """The same with other values for all options that are not ``None``."""
        return replace(self, **{name: value for name, value in options.items() if value is not None})

    def header(self, path: Path, stream: pa.NativeFile | None = None) -> list[str]:
        """The names of the columns; one that the file leaves empty is called by its place.

        ``stream`` has the bytes of a file that is elsewhere than on this machine.
        """
        try:
            with stream or pa.input_stream(str(path)) as opened:
                names = self._first_record(opened)
        except (UnicodeError, csv.Error, EOFError, OSError, pa.ArrowException) as error:
            raise self._unreadable(path, error) from error
        if not any(name.strip() for name in names):
            raise TableError(f"{path}: the first line must name the columns; it is empty")
        return [name if name.strip() else f"column_{place}" for place, name in enumerate(names, start=1)]

    def _first_record(self, stream: Any) -> list[str]:
        """The first line, and more where a name holds a line end."""
        decoder = codecs.getincrementaldecoder("utf-8-sig" if self.encoding == "utf-8" else self.encoding)()
        text = ""
        while len(text) < _LONGEST_HEADER and (block := stream.read(_HEADER_BLOCK)):
            text += decoder.decode(block)
            ends = (found.start() for found in re.finditer("[\r\n]", text))
            end = next((place for place in ends if text.count(self.quote, 0, place) % 2 == 0), None)
            if end is not None:
                text = text[:end]
                break
        lines = text.splitlines(keepends=True)
        return next(csv.reader(lines, delimiter=self.separator, quotechar=self.quote, strict=True), [])

    def reader(
        self,
        path: Path,
        names: Sequence[str],
        types: Mapping[str, pa.DataType],
        columns: Sequence[str] | None = None,
        stream: pa.NativeFile | None = None,
    ) -> pacsv.CSVStreamingReader:
        """A stream of batches of the given columns, or of all, in the given types, or in guessed ones."""
        unnamed = any(name == f"column_{place}" for place, name in enumerate(names, start=1))
        return pacsv.open_csv(
            stream or path,
            read_options=pacsv.ReadOptions(
                block_size=_BLOCK,
                encoding="utf8" if self.encoding in ("utf-8", "utf-8-sig") else self.encoding,
                column_names=list(names) if unnamed else None,
                skip_rows=1 if unnamed else 0,
            ),
            parse_options=pacsv.ParseOptions(
                delimiter=self.separator, quote_char=self.quote, newlines_in_values=True, ignore_empty_lines=True
            ),
            convert_options=pacsv.ConvertOptions(
                strings_can_be_null=True,
                null_values=list(self.missing_values),
                decimal_point=self.decimal,
                column_types=dict(types),
                include_columns=columns,
            ),
        )

    def _unreadable(self, path: Path, error: Exception) -> TableError:
        if isinstance(error, UnicodeError):
            return TableError(f"{path}: not a readable CSV file in {self.encoding.upper()}: {error}; {_OTHER_ENCODING}")
        packed = COMPRESSED.get(path.suffix.lower())
        return TableError(f"{path}: not a readable {f'file in {packed}' if packed else 'CSV file'}: {error}")


_USUAL = Dialect()


def require_table_file(path: Path) -> None:
    """Refuse what is no file, or an empty one."""
    if not path.exists():
        raise TableError(f"{path}: no such file")
    if path.is_dir():
        raise TableError(f"{path} is a directory; give one file with a table")
    if path.stat().st_size == 0:
        raise TableError(f"{path}: the file is empty")


def bare_suffix(path: Path) -> str:
    """A file's suffix in small letters, without that of its compression."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def separator_hint(names: Sequence[str]) -> str:
    """A word on a file that seems to have one column, whose name may hold the separator or be a title."""
    found = [sign for sign in (";", "\t", "|", ",") if len(names) == 1 and sign in names[0]]
    if found:
        return f"; if its values are separated by {found[0]!r}, say so with --separator"
    return "; the first line must name all columns, with no title above it" if len(names) == 1 else ""


def unread_column(names: Sequence[str], error: Exception) -> str | None:
    """The column of which the reader could not make sense; ``None`` if it was the file."""
    found = _IN_COLUMN.search(str(error))
    return None if found is None else names[int(found[1])]


def unread_value(error: Exception) -> str | None:
    """The value of which the reader could not make sense, as messages write it; ``None`` if it was the file."""
    found = _VALUE.search(str(error))
    return None if found is None else found["value"]


def text_error(path: Path, names: Sequence[str], error: Exception, others: Sequence[str] = ()) -> TableError:
    """What the reader has found, with the column's name in place of its number; and other values like it."""
    text, column = str(error), unread_column(names, error)
    if isinstance(error, UnicodeError):
        return TableError(f"{path}: {text}; {_OTHER_ENCODING}")
    if column is None:
        return TableError(f"{path}: {text.rstrip()}{separator_hint(names)}")
    value = _VALUE.search(text)
    if value is None:
        return TableError(f"{path}: column {column!r}: {_IN_COLUMN.split(text)[-1].lstrip(': ')}")
    return TableError(
        f"{path}: column {column!r}, line {value['line']}: {misread(value['value'], value['type'], others)}"
    )
