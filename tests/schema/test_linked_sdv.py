"""Linked tables as SDV's metadata, and back."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from microtome.demo import clinic_schema
from microtome.errors import ParameterError, SchemaError
from microtome.schema import LinkedSchema
from microtome.schema.linked_sdv import ImportedTables, export_linked, import_any_schema

ID, NUMBER, KIND = {"sdtype": "id"}, {"sdtype": "numerical"}, {"sdtype": "categorical"}
HOTELS: dict[str, Any] = {
    "METADATA_SPEC_VERSION": "V1",
    "tables": {
        "guests": {"primary_key": "guest", "columns": {"guest": ID, "age": NUMBER, "mail": {"sdtype": "email"}}},
        "stays": {"primary_key": "stay", "columns": {"stay": ID, "guest": ID, "room": KIND}},
        "meals": {"columns": {"stay": KIND, "price": NUMBER}},
    },
    "relationships": [
        {
            "parent_table_name": "guests",
            "parent_primary_key": "guest",
            "child_table_name": "stays",
            "child_foreign_key": "guest",
        },
        {
            "parent_table_name": "stays",
            "parent_primary_key": "stay",
            "child_table_name": "meals",
            "child_foreign_key": "stay",
        },
    ],
}
"""What SDV writes of several tables."""
METADATA = Draft202012Validator(
    {
        "type": "object",
        "required": ["METADATA_SPEC_VERSION", "tables", "relationships"],
        "properties": {
            "tables": {
                "additionalProperties": {
                    "required": ["columns"],
                    "properties": {"columns": {"additionalProperties": {"required": ["sdtype"]}}},
                }
            },
            "relationships": {"items": {"required": list(HOTELS["relationships"][0]), "additionalProperties": True}},
        },
    }
)


def imported(folder: Path, document: Any) -> ImportedTables:
    path = folder / "metadata.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    found = import_any_schema(path)
    assert isinstance(found, ImportedTables)
    return found


def test_metadata_of_several_tables_become_a_tree(tmp_path: Path) -> None:
    found = imported(tmp_path, HOTELS)
    assert found.schema.names == ["guests", "stays", "meals"]
    assert [table.key for table in found.schema.tables] == ["guest", "stay", None]
    assert found.schema["meals"].schema.names == ["price"]
    assert "stays: at most 8 rows of one of guests will count" in "\n".join(found.remarks)
    assert "guests.mail: not released (drop)" in "\n".join(found.remarks)
    assert LinkedSchema.loads(found.schema.to_yaml()) == found.schema


def test_linked_tables_come_back_with_their_keys_and_kinds(tmp_path: Path) -> None:
    schema = clinic_schema()
    exported = export_linked(schema)
    METADATA.validate(exported.document)
    assert "practices: left out" in "\n".join(exported.remarks)
    again = imported(tmp_path, exported.document).schema
    assert again.names == schema.names
    for name in schema.names:
        assert again[name].key == schema[name].key
        there, here = again[name].parent, schema[name].parent
        assert (there and there.foreign_key) == (here and here.foreign_key)
        assert {column.name: column.kind for column in again[name].schema.columns} == {
            column.name: column.kind for column in schema[name].schema.columns
        }


def changed(*path: Any, to: Any) -> dict[str, Any]:
    document = copy.deepcopy(HOTELS)
    place: Any = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return document


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (changed("relationships", 0, "child_table_name", to="rooms"), "a relationship must name"),
        (changed("relationships", 0, "child_foreign_key", to="visitor"), "'stays' has no column 'visitor'"),
        (changed("relationships", to=[]), "have no parent"),
        (changed("tables", "meals", "columns", to=["stay"]), "make no sense"),
        (
            changed("relationships", 1, to={**HOTELS["relationships"][1], "child_table_name": "stays"}),
            "hang on several tables: guests",
        ),
        (changed("tables", "meals", to=[]), "'meals' must be a map"),
        (changed("tables", "stays", "columns", "room", to={"sdtype": "colour"}), "type 'colour' is not known"),
    ],
)
def test_what_is_no_tree_of_people_is_refused(document: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match=said):
        imported(tmp_path, document)


def test_a_target_is_of_one_table(tmp_path: Path) -> None:
    path = tmp_path / "metadata.json"
    path.write_text(json.dumps(HOTELS), encoding="utf-8")
    with pytest.raises(ParameterError, match="describes 3 tables"):
        import_any_schema(path, target="age")


def test_a_draft_is_not_exported() -> None:
    schema = clinic_schema()
    draft = LinkedSchema.loads(schema.to_yaml().replace("microtome-linked: 1", "microtome-linked: 1\ndrafted: true"))
    with pytest.raises(SchemaError, match="draft"):
        export_linked(draft)
