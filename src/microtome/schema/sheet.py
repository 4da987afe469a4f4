"""A sheet of an Excel workbook as a stream of texts: its first row names the columns, every row below is a record.

Cells have types of their own, one by one, and a column's may differ from row to row: a number typed as text, a date
in one cell and a remark in the next. So every cell becomes the text that a CSV file would have, by itself, and the
schema says what it means.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from microtome.errors import SchemaError, TableError
from microtome.extras import how_to_install
from microtome.schema.dialect import Dialect


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A sheet that can be streamed as often as needed."""

    path: Path
    dialect: Dialect

    @cached_property
    def names(self) -> list[str]:
        """The names of the columns; one that the sheet leaves empty is called by its place."""
        with self._rows() as rows:
            first = [_text(value) or "" for value in next(rows, ())]
        while first and not first[-1]:
            first.pop()
        if not first:
            raise TableError(f"{self.path}: the first row of the sheet must name the columns; it is empty")
        return [name if name.strip() else f"column_{place}" for place, name in enumerate(first, start=1)]

    def batches(self, names: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """The wanted columns as text; a row in which all cells are empty is no record."""
        places, missing = [self.names.index(name) for name in names], set(self.dialect.missing_values)
        with self._rows() as cells:
            next(cells, None)
            records = (list(map(_text, row)) for row in cells)
            filled = (record for record in records if any(record))
            while block := list(islice(filled, rows)):
                columns = [[_present(record, place, missing) for record in block] for place in places]
                yield pa.RecordBatch.from_arrays([pa.array(one, pa.string()) for one in columns], names=list(names))

    @contextmanager
    def _rows(self) -> Iterator[Iterator[tuple[Any, ...]]]:
        try:
            from openpyxl import load_workbook
        except ImportError:
            raise TableError(
                f"{self.path}: reading workbooks needs the package openpyxl: {how_to_install('openpyxl')}"
            ) from None
        try:
            book = load_workbook(self.path, read_only=True, data_only=True)
        except Exception as error:  # zip, XML and its own errors: openpyxl promises nothing
            raise TableError(f"{self.path}: not a readable Excel workbook (.xlsx): {error}") from error
        try:
            wanted = self.dialect.sheet or book.sheetnames[0]
            if wanted not in book.sheetnames:
                raise SchemaError(f"{self.path}: no sheet {wanted!r}; it has {', '.join(book.sheetnames)}")
            yield book[wanted].iter_rows(values_only=True)
        finally:
            book.close()


def _present(record: list[str | None], place: int, missing: set[str]) -> str | None:
    value = record[place] if place < len(record) else None
    return None if value in missing else value


def _text(value: Any) -> str | None:
    """A cell as a CSV file would have it."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer() and abs(value) < 2**53:
            return str(int(value))
        case dt.datetime() if value.time() == dt.time.min:
            return value.date().isoformat()
        case dt.datetime() | dt.time():
            return value.isoformat(sep=" ") if isinstance(value, dt.datetime) else value.isoformat()
        case _:
            return str(value)
