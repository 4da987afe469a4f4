"""Rules as the document of a schema has them: a list of texts and tables, which YAML may have taken apart."""

from __future__ import annotations

import csv
import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from microtome.errors import SchemaError, together
from microtome.schema.column import Value
from microtome.schema.rules import RuleSource, TableRule

_HOW = (
    "write a text such as 'discharge >= admission', 'if age < 15: marital = N', 'never: sex = M and pregnant = yes', "
    "'total = a + b', or a table such as 'density: {from: district, table: {A: 120, B: 85}}'"
)


def rule_sources(entries: Any) -> tuple[RuleSource, ...]:
    """The list of a document, whose rules with a colon YAML has taken apart."""
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        raise SchemaError(f"'rules' is {entries!r}; it must be a list: {_HOW}")
    read: list[RuleSource] = []
    with together() as attempts:
        for entry in entries:
            with attempts:
                read.append(_source(entry))
    return tuple(read)


def _source(entry: Any) -> RuleSource:
    match entry:
        case str() | TableRule():
            return entry
    if isinstance(entry, Mapping) and len(entry) == 1:
        ((key, value),) = entry.items()
        if isinstance(key, str) and isinstance(value, Mapping):
            return _table_rule(key, value)
        if isinstance(key, str) and isinstance(value, str) and key.split(" ")[0] in ("if", "never"):
            return f"{key}: {value}"
    raise SchemaError(f"rule {entry!r} is not understood: {_HOW}")


def _table_rule(column: str, entries: Mapping[Any, Any]) -> TableRule:
    if set(entries) == {"from", "file"}:
        raise SchemaError(
            f"rule of column {column!r}: file {entries['file']!r} is read from beside the schema's own file; write the "
            "table out where there is none"
        )
    if set(entries) != {"from", "table"} or not isinstance(entries["from"], str):
        raise SchemaError(
            f"rule of column {column!r} has the keys {', '.join(map(repr, entries))}; it needs 'from', a column, and "
            "'table' or 'file'"
        )
    table = entries["table"]
    pairs = list(table.items()) if isinstance(table, Mapping) else table
    two = isinstance(pairs, Sequence) and not isinstance(pairs, str) and all(_is_pair(pair) for pair in pairs)
    if not two or not pairs:
        raise SchemaError(f"rule of column {column!r}: its table is {table!r}; write it as {{value: value, …}}")
    return TableRule(column=column, source=entries["from"], table=tuple((key, value) for key, value in pairs))


def _is_pair(pair: Any) -> bool:
    return isinstance(pair, list | tuple) and len(pair) == 2 and not any(isinstance(one, dict | list) for one in pair)


def with_files(document: Any, folder: Path) -> Any:
    """A document whose rules have tables in place of the names of CSV files beside it."""
    if not isinstance(document, Mapping) or not isinstance(document.get("rules"), list):
        return document
    rules = []
    with together() as attempts:
        for entry in document["rules"]:
            with attempts:
                rules.append(_with_file(entry, folder))
    return {**document, "rules": rules}


def _with_file(entry: Any, folder: Path) -> Any:
    match entry:
        case dict() if len(entry) == 1:
            ((column, said),) = entry.items()
            match said:
                case {"from": str(source), "file": str(name), **rest} if not rest:
                    return {column: {"from": source, "table": _table_of(folder / name, source, str(column))}}
    return entry


def _table_of(path: Path, source: str, column: str) -> list[list[str | None]]:
    """Two columns of a CSV file; an empty value is a missing one."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeError, csv.Error) as error:
        raise SchemaError(f"rule of column {column!r}: {path} cannot be read: {error}") from error
    if not rows or not {source, column} <= set(rows[0]):
        found = ", ".join(map(str, rows[0])) if rows else "no rows"
        raise SchemaError(f"rule of column {column!r}: {path} needs the columns {source} and {column}; it has {found}")
    return [[row[source] or None, row[column] or None] for row in rows]


def plain_source(source: RuleSource) -> Any:
    """A rule as plain values of a document."""
    match source:
        case TableRule(column=column, source=origin, table=table):
            return {column: {"from": origin, "table": [[_plain(key), _plain(value)] for key, value in table]}}
        case str():
            return source


def _plain(value: Value | None) -> Any:
    return value.isoformat() if isinstance(value, dt.date | dt.time) else value
