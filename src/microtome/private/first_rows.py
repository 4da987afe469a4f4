"""What a table's holder may look at beside the draft: how many rows there are, and the first of them.

Both stay with the holder. The number is public only under relations that do not protect it, and a row never is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from microtome.private.opening import open_table
from microtome.schema import Column, Kind, Schema

_LONGEST = 60
"""Letters of a value that are shown."""


@dataclass(frozen=True, kw_only=True)
class FirstRows:
    """The first rows of a private table as text. For its holder alone.

    Attributes:
        names: All its columns.
        rows: The values of each row, in order; empty where missing.
    """

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def first_rows(source: Any, schema: Schema, count: int = 10) -> FirstRows:
    """The first rows of a table as its file has them, whatever the schema says of their types."""
    table = open_table(source, schema.file)
    names = tuple(table.types)
    found: list[tuple[str, ...]] = []
    for batch in table.stream([Column(name=name, kind=Kind.CATEGORICAL) for name in names]):
        columns = [batch.column(name).slice(0, count - len(found)).to_pylist() for name in names]
        found += [tuple(map(_shown, row)) for row in zip(*columns, strict=True)]
        if len(found) >= count:
            break
    return FirstRows(names=names, rows=tuple(found))


def number_of_rows(source: Any, schema: Schema) -> int:
    """How many rows a table has, counted if need be."""
    counted = open_table(source, schema.file).counted(schema).num_rows
    assert counted is not None
    return counted


def _shown(value: Any) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
