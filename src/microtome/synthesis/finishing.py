"""Drawn rows as the user's table has them: with keys in place of those that were not released, zones, and formats."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microtome.errors import OutputError
from microtome.schema import Action, Aside, Column, Dialect, Schema

Ints = NDArray[np.int64]
_KEYS = 0x6B657973
"""Keeps the draws of keys apart from those of rows, which have the same seed."""


def finished(tables: Iterable[pa.Table], schema: Schema, seed: int) -> Iterator[pa.Table]:
    """The same rows with surrogate keys at their places and datetimes in their zones."""
    return with_keys(((table, np.arange(table.num_rows)) for table in tables), schema, seed)


def with_keys(tables: Iterable[tuple[pa.Table, Ints]], schema: Schema, seed: int) -> Iterator[pa.Table]:
    """The same for rows of people, each with the number of the person whose it is: their key is the same in all rows.

    People of a table are numbered from 0, and every one of them has a row.
    """
    rng = np.random.default_rng([seed, _KEYS])
    whose = None if schema.unit is None else schema.unit.key
    done = people = 0
    for table, owners in tables:
        arrays, names, number = [], [], int(owners.max(initial=-1)) + 1
        for one in schema.layout():
            match one:
                case Column():
                    arrays.append(in_zone(table.column(one.name), one))
                case Aside(action=Action.SURROGATE) if one.name == whose:
                    arrays.append(one.made_up(people, number, rng).take(pa.array(owners)))
                case Aside(action=Action.SURROGATE):
                    arrays.append(one.made_up(done, table.num_rows, rng))
                case _:
                    continue
            names.append(one.name)
        done, people = done + table.num_rows, people + number
        yield pa.table(arrays, names=names)


def as_text(table: pa.Table, schema: Schema) -> pa.Table:
    """The table as its text file writes it: values in their formats, numbers with its decimal sign."""
    decimal = (schema.file or Dialect()).decimal
    columns = {column.name: column for column in schema.columns}
    texts = [_text(table.column(name), columns.get(name), decimal) for name in table.column_names]
    return pa.table(texts, names=table.column_names)


class Transcoder:
    """A file to write UTF-8 to that keeps another encoding."""

    closed = False

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._encoder, self._encoding = codecs.getincrementalencoder(encoding)(), encoding

    def write(self, data: bytes) -> int:
        """Write a piece, which may end in the middle of a character."""
        try:
            self._file.write(self._encoder.encode(self._decoder.decode(bytes(data))))
        except UnicodeEncodeError as error:
            letter = error.object[error.start]
            raise OutputError(f"{letter!r} cannot be written in {self._encoding}; write to .parquet instead") from None
        return len(data)

    def flush(self) -> None:
        """Nothing is held back but half a character."""


def in_zone(values: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
    """Values in the zone of their column, if it has one."""
    return values if column.zone is None else values.cast(pa.int64()).cast(pa.timestamp("us", tz=column.zone))


def _text(values: pa.ChunkedArray, column: Column | None, decimal: str) -> pa.ChunkedArray:
    if column is not None and column.notation is not None:
        write = column.notation.write
        return pa.chunked_array([write(_without_zone(chunk)) for chunk in values.chunks], pa.string())
    if decimal != "." and pa.types.is_floating(values.type):
        return pc.replace_substring(values.cast(pa.string()), ".", decimal)
    return values


def _without_zone(values: pa.Array) -> pa.Array:
    return values.cast(pa.int64()).cast(pa.timestamp("us")) if pa.types.is_timestamp(values.type) else values
