"""Tables that are no secret, such as districts: published as they are, and pointed at by private rows."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from microtome.errors import SchemaError

_MOST_ROWS = 100_000
_SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class PublicTable:
    """A table that everybody may see, given back with synthetic data as it is.

    Attributes:
        name: The table's name.
        key: The column that tells its rows apart, to which columns of private tables refer.
        rows: Its columns, by name.
    """

    name: str
    key: str
    rows: Mapping[str, tuple[Any, ...]]

    def __post_init__(self) -> None:
        if self.key not in self.rows:
            raise self.error(f"key {self.key!r} is no column; columns are {', '.join(self.rows) or 'none'}")
        if len({len(values) for values in self.rows.values()}) > 1:
            raise self.error("its columns have different numbers of rows")
        if not 0 < len(self.keys) <= _MOST_ROWS:
            raise self.error(f"it has {len(self.keys):,} rows; it must have some, and at most {_MOST_ROWS:,}")
        if None in self.keys:
            raise self.error(f"its key {self.key!r} is missing in a row")
        repeated = [repr(key) for key, count in Counter(self.keys).items() if count > 1]
        if repeated:
            shown = ", ".join(repeated[:_SHOWN])
            raise self.error(f"its key {self.key!r} is there more than once for {len(repeated)} values: {shown}")

    @property
    def keys(self) -> tuple[Any, ...]:
        """What private rows may refer to, in order."""
        return self.rows[self.key]

    def table(self) -> pa.Table:
        """The table as it is given back."""
        return pa.table({name: list(values) for name, values in self.rows.items()})

    def keys_as(self, dtype: str) -> tuple[Any, ...]:
        """The keys as categories of a column that is stored so."""
        if dtype == "string":
            return tuple(map(str, self.keys))
        if not all(isinstance(key, int) and not isinstance(key, bool) for key in self.keys):
            raise self.error(
                f"its key {self.key!r} is not of whole numbers, but the column that refers to it is {dtype}"
            )
        return self.keys

    def to_dict(self) -> dict[str, Any]:
        """The table in a document; columns as pairs, because what sorts the keys of a document would sort them."""
        rows = [[name, list(values)] for name, values in self.rows.items()]
        return {"table": self.name, "public": True, "key": self.key, "rows": rows}

    def error(self, what: str) -> SchemaError:
        """An error with the table's name."""
        return SchemaError(f"public table {self.name!r}: {what}")


def public_rows(entry: Any, where: str) -> dict[str, tuple[Any, ...]]:
    """The columns of a public table as a document has them."""
    if isinstance(entry, str):
        raise SchemaError(f"{where}: rows {entry!r} are read from beside the schema's own file; there is none here")
    pairs = list(entry.items()) if isinstance(entry, Mapping) else entry
    if not _is_list(pairs) or not all(_is_list(pair) and len(pair) == 2 and _is_column(*pair) for pair in pairs):
        raise SchemaError(f"{where}: rows must name a CSV or Parquet file beside the schema, or be lists by column")
    return {name: tuple(_plain(value) for value in values) for name, values in pairs}


def _is_column(name: Any, values: Any) -> bool:
    return isinstance(name, str) and _is_list(values)


def _is_list(values: Any) -> bool:
    return isinstance(values, Sequence) and not isinstance(values, str)


def read_public_rows(path: Path, where: str) -> dict[str, list[Any]]:
    """The columns of a CSV or Parquet file; dates as ISO texts."""
    try:
        table = pq.read_table(path) if path.suffix == ".parquet" else pacsv.read_csv(path)
    except (OSError, pa.ArrowException) as error:
        raise SchemaError(f"{where}: {path} cannot be read: {error}") from error
    if table.num_rows > _MOST_ROWS:
        raise SchemaError(f"{where}: {path} has {table.num_rows:,} rows; at most {_MOST_ROWS:,} fit a release")
    return {name: [_plain(value) for value in table[name].to_pylist()] for name in table.column_names}


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, dt.date | dt.time) else value
