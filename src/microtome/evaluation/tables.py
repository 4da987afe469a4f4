"""Reading any table, ours or another tool's, whole: CSV and Parquet paths, pandas, polars and Arrow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from microtome.errors import TableError
from microtome.evaluation.values import plain_number

_LONGEST = 40
"""Letters of a value that are shown of a row."""
_ARROW_ERRORS = (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, pa.ArrowKeyError, OSError)


@dataclass(frozen=True, kw_only=True, eq=False)
class RawTable:
    """A table as it was given.

    Attributes:
        origin: What to call it in messages and on the page: a file's name, or what it is.
        data: All of it.
    """

    origin: str
    data: pa.Table


@dataclass(frozen=True, kw_only=True)
class SomeRows:
    """A few rows of a table as text.

    Attributes:
        names: The columns.
        rows: The values of each row, in order; empty where missing.
    """

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def to_list(self) -> list[dict[str, str]]:
        """A dictionary a row."""
        return [dict(zip(self.names, row, strict=True)) for row in self.rows]


def some_rows(table: RawTable, names: Sequence[str], rng: np.random.Generator, count: int = 8) -> SomeRows:
    """A few rows at random, so that anybody can see what they look like."""
    chosen = np.sort(rng.choice(table.data.num_rows, min(count, table.data.num_rows), replace=False))
    taken = table.data.select(list(names)).take(pa.array(chosen))
    columns = [[_text(value) for value in column.to_pylist()] for column in taken.columns]
    return SomeRows(names=tuple(names), rows=tuple(zip(*columns, strict=True)))


def _text(value: Any) -> str:
    if value is None or value != value:
        return ""
    text = plain_number(value) if isinstance(value, float) else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def read_table(source: Any, role: str) -> RawTable:
    """Read a path or a frame; ``role`` ("the real table") is its name where it has none of its own."""
    match source:
        case RawTable():
            return source
        case str() | Path():
            table = RawTable(origin=Path(source).name, data=_from_path(Path(source)))
        case _:
            table = RawTable(origin=role, data=_from_frame(source, role))
    repeated = [name for name, count in Counter(table.data.column_names).items() if count > 1]
    if repeated:
        raise TableError(f"{table.origin}: column {repeated[0]!r} occurs twice; rename one of them")
    if table.data.num_rows == 0:
        raise TableError(f"{table.origin}: no rows; there is nothing to compare")
    return table


def _from_path(path: Path) -> pa.Table:
    if not path.exists():
        raise TableError(f"{path}: no such file")
    if path.is_dir():
        raise TableError(f"{path} is a directory; give one CSV or Parquet file")
    if path.stat().st_size == 0:
        raise TableError(f"{path}: the file is empty")
    try:
        if path.suffix in (".parquet", ".pq"):
            return pq.read_table(path)
        if path.name.endswith((".csv", ".csv.gz", ".csv.zst")):
            return pacsv.read_csv(path, convert_options=pacsv.ConvertOptions(strings_can_be_null=True))
    except _ARROW_ERRORS as error:
        raise TableError(f"{path}: cannot be read: {error}") from error
    raise TableError(f"{path}: give a .csv, .csv.gz, .csv.zst or .parquet file")


def _from_frame(source: Any, role: str) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    if not hasattr(source, "__arrow_c_stream__"):
        raise TableError(f"{role} is a {type(source).__name__}; give a path, or a pandas, polars or Arrow table")
    names = [str(name) for name in getattr(source, "columns", ())]
    try:
        table = pa.table(pa.RecordBatchReader.from_stream(source).read_all())
    except _ARROW_ERRORS as error:
        raise TableError(f"{role} cannot be turned into Arrow: {'; '.join(map(str, error.args))}") from error
    # A pandas index travels as one more column, which nobody has named as part of the table.
    return table.select(names) if names and len(set(names)) == len(names) else table
