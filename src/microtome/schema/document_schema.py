"""JSON Schema of the schema document of a table, and of linked tables.

By it editors complete and check a document while it is written. It says what the readers (``Schema.from_dict``,
``linked_from_dict``) say, as far as JSON Schema can: whether a rule can hold, or a format is known, is found out by
``microtome schema check``.
"""

from __future__ import annotations

import json
from typing import Any

from microtome.schema.aside import Action
from microtome.schema.column import Outside
from microtome.schema.document import VERSION
from microtome.schema.kind import DTYPES, Kind
from microtome.schema.linked_document import KEY as LINKED
from microtome.schema.linked_document import VERSION as LINKED_VERSION
from microtome.schema.linked_table import Cardinality

FILE_NAME = "microtome-schema.json"
HINT = f"# yaml-language-server: $schema={FILE_NAME}\n"
"""The first line of a document that editors are to check by the file beside it."""
_LEARN = {"const": "learn", "description": "to be learnt with privacy budget"}
_DRAFTED = {"type": "boolean", "description": "not confirmed yet: no release takes it"}
_ROWS = {"type": ["integer", "null"], "minimum": 1, "maximum": 256}
_VALUE = {"type": ["string", "number", "boolean"]}


def document_schema() -> dict[str, Any]:
    """The JSON Schema, of plain values: of a table's document, or of several tables' where it says so."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Schema of a table or of linked tables, for Microtome",
        "description": "What is public about a table. Everything in it is published with a release.",
        "type": "object",
        "if": {"required": [LINKED]},
        "then": _of_several(),
        "else": _of_one(),
    }


def _of_one() -> dict[str, Any]:
    return {
        "required": ["microtome-schema", "columns"],
        "additionalProperties": False,
        "properties": {
            "microtome-schema": {"const": VERSION, "type": "integer", "description": "version of this form"},
            "drafted": _DRAFTED,
            **_table(),
            "unit": _unit(),
        },
    }


def _of_several() -> dict[str, Any]:
    return {
        "required": [LINKED, "tables"],
        "additionalProperties": False,
        "properties": {
            LINKED: {"const": LINKED_VERSION, "type": "integer", "description": "version of this form"},
            "drafted": _DRAFTED,
            "tables": {"type": "array", "minItems": 1, "items": _linked()},
        },
    }


def _table() -> dict[str, Any]:
    """What is said of a table, alone or one of several."""
    return {
        "target": {"type": ["string", "null"], "description": "column to be predicted"},
        "index": {"type": ["string", "null"], "description": "name of a pandas frame's index"},
        "file": _file(),
        "columns": {"type": "array", "minItems": 1, "items": _column()},
        "rules": {
            "type": ["array", "null"],
            "description": "what holds in every row, such as 'discharge >= admission'",
            "items": {"type": ["string", "object"]},
        },
    }


def _unit() -> dict[str, Any]:
    name = {"type": "string", "minLength": 1}
    return {
        "description": "whose a row is, where a person may have several: the promise is about all rows of a person",
        "anyOf": [
            name,
            {"type": "null"},
            {
                "type": "object",
                "required": ["key"],
                "additionalProperties": False,
                "properties": {
                    "key": {**name, "description": "column that says whose a row is; it is never published"},
                    "max_rows": {**_ROWS, "description": "rows of a person that are kept at most"},
                    "order": {"type": ["string", "null"], "description": "column by which a person's rows follow"},
                    "constant": {
                        "type": ["array", "null"],
                        "items": {"type": "string"},
                        "description": "columns that are the same in all rows of a person",
                    },
                },
            },
        ],
    }


def _linked() -> dict[str, Any]:
    """A table of several: public, or one whose rows belong to people."""
    text = {"type": ["string", "null"]}
    own = {"table": {"type": "string"}, "key": {**text, "description": "column that tells its rows apart"}}
    public = {"type": "boolean", "description": "whether it is no secret, and published as it is"}
    rows = {"type": ["string", "object", "array"], "description": "CSV or Parquet file beside this one, or its columns"}
    return {
        "type": "object",
        "required": ["table"],
        "if": {"required": ["public"], "properties": {"public": {"const": True}}},
        "then": {
            "required": ["key", "rows"],
            "additionalProperties": False,
            "properties": {**own, "public": public, "rows": rows},
        },
        "else": {
            "required": ["columns"],
            "additionalProperties": False,
            "properties": {
                **own,
                "public": public,
                "parent": {**text, "description": "table whose rows its own hang on"},
                "foreign_key": {**text, "description": "column with the parent's key"},
                "cardinality": {"enum": [*map(str, Cardinality), None], "description": "rows of a parent"},
                "min_rows": {"type": ["integer", "null"], "minimum": 0, "description": "of every parent, at least"},
                "max_rows": {**_ROWS, "description": "of a parent at most; rows beyond are not counted"},
                "order": {**text, "description": "column that puts a parent's rows in sequence"},
                "owner": {"type": ["object", "null"], "maxProperties": 1, "description": "of m:n: {column: value}"},
                "references": {
                    "type": ["object", "null"],
                    "additionalProperties": {"type": "string"},
                    "description": "columns that hold keys of a public table: {column: table}",
                },
                **_table(),
            },
            "dependentRequired": {"parent": ["foreign_key"]},
        },
    }


def document_schema_text() -> str:
    """The same as a file has it."""
    return json.dumps(document_schema(), indent=2, ensure_ascii=False) + "\n"


def _file() -> dict[str, Any]:
    one_character = {"type": "string", "minLength": 1, "maxLength": 1}
    return {
        "type": "object",
        "description": "how the file is written, where that is not as usual",
        "additionalProperties": False,
        "properties": {
            "separator": one_character,
            "encoding": {"type": "string"},
            "decimal": one_character,
            "quote": one_character,
            "missing_values": {"type": "array", "items": {"type": "string"}},
            "sheet": {"type": ["string", "null"]},
        },
    }


def _column() -> dict[str, Any]:
    text = {"type": ["string", "null"]}
    return {
        "type": "object",
        "required": ["name"],
        "additionalProperties": False,
        "properties": {
            "name": {"type": "string"},
            "kind": {"enum": [str(kind) for kind in Kind]},
            "dtype": {"enum": list(DTYPES), "description": "how values are stored"},
            "categories": {
                "description": "all values there are, from public knowledge; or learn",
                "anyOf": [
                    {"type": "array", "minItems": 1, "items": _VALUE, "uniqueItems": True},
                    _LEARN,
                    {"type": "null"},
                ],
            },
            "bounds": {
                "description": "[smallest, largest], from public knowledge; or learn",
                "anyOf": [
                    {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": ["number", "string"]}},
                    _LEARN,
                    {"type": "null"},
                ],
            },
            "codes": {
                "type": "array",
                "items": {"type": ["string", "number"]},
                "description": "values of a measured column that are no measurements, such as 9999 or refused",
            },
            "missing": {"enum": ["allowed", "never"]},
            "outside": {"enum": [str(one) for one in Outside], "description": "values outside of what is declared"},
            "weight": {"type": "number", "exclusiveMinimum": 0},
            "bins": {"type": "integer", "minimum": 2, "maximum": 1024},
            "pool": {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
            "unit": text,
            "frame": {**text, "description": "how a data frame holds it: category, string, Int8, datetime64[ns] …"},
            "format": {**text, "description": "how values are written: %d.%m.%Y, $#,##0.00, FALSE/TRUE …"},
            "zone": {**text, "description": "time zone of datetimes, such as Europe/Berlin"},
            "suggested": {**text, "description": "in a draft: the entry of the public catalogue that this is from"},
            "action": {
                "enum": [str(action) for action in Action],
                "description": "instead of a kind: do not release it",
            },
            "keys": {"type": "string", "description": "of surrogates: 'P-#####' or uuid"},
        },
        "allOf": [
            {"if": {"not": {"required": ["action"]}}, "then": {"required": ["kind"]}},
            _where({"kind": _kinds(categorical=True), "action": False}, forbidden=("bounds", "codes", "keys")),
            _where({"kind": _kinds(categorical=False), "action": False}, forbidden=("categories", "keys")),
            {
                "if": {"required": ["kind"], "properties": {"kind": {"const": str(Kind.ORDERED)}, "action": False}},
                "then": {"required": ["categories"], "properties": {"categories": {"type": "array"}}},
            },
        ],
    }


def _kinds(*, categorical: bool) -> dict[str, Any]:
    return {"enum": [str(kind) for kind in Kind if kind.is_categorical == categorical]}


def _where(found: dict[str, Any], *, forbidden: tuple[str, ...]) -> dict[str, Any]:
    """Where a column has a kind and no action, other keys make no sense, unless they say nothing."""
    silent = {"anyOf": [_LEARN, {"type": "null"}, {"type": "array", "maxItems": 0}]}
    return {
        "if": {"required": ["kind"], "properties": found},
        "then": {"properties": {name: False if name == "keys" else silent for name in forbidden}},
    }
