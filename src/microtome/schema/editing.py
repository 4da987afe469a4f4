"""Changes of a schema, key by key, as its holder types them: checked as a document is, and made whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import yaml

from microtome.errors import SchemaError
from microtome.schema.aside import Action
from microtome.schema.document import Schema
from microtome.schema.kind import Kind
from microtome.schema.yaml_document import parse_document

RELEASE = "release"
"""The action of a column that is set aside no longer."""
_LEARN = "learn"
_NUMBERS = ("weight", "bins", "pool")
_LISTS = ("bounds", "categories", "codes")


def with_target(schema: Schema, name: str | None) -> Schema:
    """The schema with another column to be predicted, or none."""
    ends = (schema.target, name)
    columns = tuple(replace(one, weight=None if one.name in ends else one.weight) for one in schema.columns)
    return replace(schema, columns=columns, target=name)


def with_changes(schema: Schema, name: str, changes: Mapping[str, str | Sequence[str]]) -> Schema:
    """The schema with other values for keys of a column.

    Args:
        schema: The schema.
        name: The column.
        changes: New values by key. A text is read as in the document (``"[1, 2]"``, ``"learn"``; nothing, or
            ``"none"``, takes the key away); a list is of values as they stand in the table, each a text.

    Raises:
        SchemaError: What is wrong with the column then.
    """
    document = parse_document(schema.to_yaml())
    entries = [one for one in document["columns"] if one["name"] == name]
    if not entries:
        raise SchemaError(f"no column {name!r}; columns are {', '.join(one.name for one in schema.layout())}")
    for key in sorted(changes, key=lambda key: key not in ("action", "kind")):  # these decide what else there can be
        _change(entries[0], key, changes[key])
    return Schema.from_dict(document)


def _change(entry: dict[str, Any], key: str, value: str | Sequence[str]) -> None:
    if key == "action" and value == RELEASE:
        entry.pop("action", None)
        entry.pop("keys", None)
        entry.setdefault("kind", str(Kind.CATEGORICAL if entry.get("dtype", "string") == "string" else Kind.INTEGER))
    elif key == "kind":
        _change_kind(entry, str(value))
    elif key in _LISTS:
        _change_list(entry, key, value)
    elif value in ("", "none"):
        entry.pop(key, None)
    else:
        entry[key] = _parsed(str(value)) if key in _NUMBERS else value
    if key == "action" and value == Action.CATEGORIES:
        entry.pop("keys", None)


def _change_list(entry: dict[str, Any], key: str, value: str | Sequence[str]) -> None:
    match value:
        case "" | "none" if key == "codes":
            entry.pop(key, None)
        case str() if value == _LEARN:
            entry[key] = value
        case str():
            entry[key] = _parsed(value if value.startswith("[") else f"[{value}]")
        case _ if value:
            entry[key] = [_as_stored(text, entry) for text in value]
        case _:
            entry.pop(key, None)  # none of them: to be learnt
    if key != "codes":
        entry.pop("suggested", None)


def _as_stored(text: str, entry: dict[str, Any]) -> Any:
    """A value as a person writes it: text and dates as they are, numbers and truth values as such."""
    kind = Kind(entry["kind"])
    is_text = kind.is_temporal or (kind.is_categorical and entry.get("dtype", kind.facts.dtype) == "string")
    return text if is_text else _parsed(text)


def _parsed(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise SchemaError(f"{text!r} cannot be read: {error}") from None


def _change_kind(entry: dict[str, Any], kind: str) -> None:
    """Another kind: what belonged to the old one is gone."""
    gone = ["action", "keys", "bounds", "bins", "format", "zone", "suggested"]
    if kind not in (Kind.CATEGORICAL, Kind.ORDERED):
        gone += ["dtype", "categories", "pool"]
    for key in gone:
        entry.pop(key, None)
    entry["kind"] = kind
