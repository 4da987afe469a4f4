"""The JSON Schema of schema documents says of a document what the reader says."""

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from microtome.demo import clinic_schema, population_schema
from microtome.errors import SchemaError
from microtome.schema import Schema
from microtome.schema.column import Column
from microtome.schema.document_schema import FILE_NAME, HINT, document_schema, document_schema_text
from microtome.schema.linked_document import linked_from_dict
from support import people_schema

ROOT = Path(__file__).resolve().parents[2]
VALIDATOR = jsonschema.Draft202012Validator(document_schema())
PLAIN: dict[str, Any] = {
    "microtome-schema": 1,
    "target": "insured",
    "file": {"separator": ";", "encoding": "cp1252"},
    "columns": [
        {"name": "age", "kind": "integer", "bounds": [0, 120], "codes": [999], "missing": "never"},
        {"name": "town", "kind": "categorical", "categories": "learn", "pool": 0.01},
        {"name": "grade", "kind": "ordered", "categories": ["low", "high"]},
        {"name": "born", "kind": "date", "bounds": ["1900-01-01", "2026-12-31"], "format": "%d.%m.%Y"},
        {"name": "insured", "kind": "boolean"},
        {"name": "key", "action": "surrogate", "keys": "P-####"},
        {"name": "remark", "action": "drop"},
        {"name": "text", "action": "categories"},
    ],
    "rules": ["age >= 0"],
}
BAD: dict[str, tuple[tuple[str | int, ...], Any]] = {
    "version": (("microtome-schema",), 2),
    "no columns": (("columns",), []),
    "columns of one word": (("columns",), "age"),
    "unknown key": (("colums",), []),
    "unknown key of a column": (("columns", 0, "bound"), [0, 1]),
    "kind": (("columns", 0, "kind"), "number"),
    "dtype": (("columns", 0, "dtype"), "int"),
    "one bound": (("columns", 0, "bounds"), [0]),
    "bounds of a list": (("columns", 1, "bounds"), [0, 1]),
    "categories of a number": (("columns", 0, "categories"), [1, 2]),
    "categories twice": (("columns", 2, "categories"), ["low", "low"]),
    "no order": (("columns", 2, "categories"), "learn"),
    "missing": (("columns", 0, "missing"), True),
    "outside": (("columns", 0, "outside"), "ignore"),
    "weight": (("columns", 0, "weight"), 0),
    "bins": (("columns", 0, "bins"), 1),
    "pool": (("columns", 1, "pool"), 1),
    "codes of a list": (("columns", 1, "codes"), ["x"]),
    "keys without surrogates": (("columns", 0, "keys"), "P-####"),
    "drafted": (("drafted",), "yes"),
    "separator": (("file", "separator"), ";;"),
    "unknown key of the file": (("file", "seperator"), ";"),
    "no kind": (("columns", 0), {"name": "age"}),
    "no name": (("columns", 0), {"kind": "integer"}),
    "rules of one word": (("rules",), "age >= 0"),
}


def changed(path: tuple[str | int, ...], value: Any, whole: dict[str, Any] = PLAIN) -> dict[str, Any]:
    document = copy.deepcopy(whole)
    place: Any = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return document


def test_it_is_a_json_schema_and_the_committed_one() -> None:
    jsonschema.Draft202012Validator.check_schema(document_schema())
    assert (ROOT / "docs" / FILE_NAME).read_text(encoding="utf-8") == document_schema_text()


@pytest.mark.parametrize("schema", [Schema.from_dict(PLAIN), people_schema(), population_schema()])
def test_documents_that_are_read_are_valid(schema: Schema) -> None:
    VALIDATOR.validate(schema.to_dict())
    VALIDATOR.validate(json.loads(json.dumps(yaml.safe_load(schema.to_yaml()), default=str)))
    VALIDATOR.validate(PLAIN)


@pytest.mark.parametrize(("path", "value"), BAD.values(), ids=list(BAD))
def test_documents_that_are_refused_are_not(path: tuple[str | int, ...], value: Any) -> None:
    document = changed(path, value)
    with pytest.raises(SchemaError):
        Schema.from_dict(document)
    assert not VALIDATOR.is_valid(document)


def test_every_key_of_a_column_is_known() -> None:
    assert set(Column.__dataclass_fields__) <= set(
        document_schema()["else"]["properties"]["columns"]["items"]["properties"]
    )


LINKED = clinic_schema().to_dict()
BAD_LINKED: dict[str, tuple[tuple[str | int, ...], Any]] = {
    "version": (("microtome-linked",), 2),
    "unknown key": (("table",), []),
    "unknown key of a table": (("tables", 0, "keys"), "patient"),
    "unknown key of a public table": (("tables", 3, "columns"), []),
    "cardinality": (("tables", 1, "cardinality"), "n:1"),
    "no rows": (("tables", 1, "max_rows"), 0),
    "kind": (("tables", 1, "columns", 2, "kind"), "day"),
    "no table": (("tables", 1, "table"), None),
    "owner": (("tables", 1, "owner"), "patient"),
    "references": (("tables", 0, "references"), ["practices"]),
    "public": (("tables", 0, "public"), "yes"),
}


def test_documents_of_linked_tables_are_valid() -> None:
    VALIDATOR.validate(LINKED)
    VALIDATOR.validate(json.loads(json.dumps(yaml.safe_load(clinic_schema().to_yaml()), default=str)))


@pytest.mark.parametrize(("path", "value"), BAD_LINKED.values(), ids=list(BAD_LINKED))
def test_documents_of_linked_tables_that_are_refused_are_not(path: tuple[str | int, ...], value: Any) -> None:
    document = changed(path, value, LINKED)
    with pytest.raises(SchemaError):
        linked_from_dict(document)
    assert not VALIDATOR.is_valid(document)


@pytest.mark.parametrize("unit", ["key", {"key": "key", "max_rows": 3, "order": "born", "constant": ["town"]}])
def test_a_unit_is_valid(unit: Any) -> None:
    document = {**PLAIN, "unit": unit}
    document["columns"] = [{**one, "missing": "never"} if one["name"] == "born" else one for one in PLAIN["columns"]]
    Schema.from_dict(document)
    VALIDATOR.validate(document)


@pytest.mark.parametrize("unit", [3, {"max_rows": 3}, {"key": "key", "max_rows": 0}, {"key": "key", "rows": 3}])
def test_a_unit_that_is_refused_is_not(unit: Any) -> None:
    with pytest.raises(SchemaError):
        Schema.from_dict({**PLAIN, "unit": unit})
    assert not VALIDATOR.is_valid({**PLAIN, "unit": unit})


def test_the_hint_is_a_comment_that_names_the_file() -> None:
    assert HINT == "# yaml-language-server: $schema=microtome-schema.json\n"
    assert Schema.loads(HINT + people_schema().to_yaml()) == people_schema()
