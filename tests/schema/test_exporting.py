"""Schemas as documents of others: what they say comes back, and what they cannot say is remarked on."""

import json
from pathlib import Path

import jsonschema
import pytest

import microtome as mt
from microtome.cli.choices import SchemaForm
from microtome.demo import population, population_schema
from microtome.errors import SchemaError
from microtome.schema.aside import Aside
from microtome.schema.exporting import Form, export_schema

SCHEMA = mt.Schema(
    columns=(
        mt.Column(name="age", kind="integer", bounds=(0, 120), missing=False),
        mt.Column(name="weight", kind="float", bounds=(2.5, 300.0), unit="kg", codes=("refused",)),
        mt.Column(name="town", kind="categorical", categories=("A", "B")),
        mt.Column(name="grade", kind="ordered", categories=("low", "middle", "high")),
        mt.Column(name="ward", kind="categorical", dtype="int64", categories=(1, 2, 7)),
        mt.Column(name="born", kind="date", bounds=("1900-01-01", "2026-12-31")),
        mt.Column(name="seen", kind="datetime"),
        mt.Column(name="well", kind="boolean"),
    ),
    aside=(Aside(name="key", action="surrogate", place=0), Aside(name="notes", action="drop", place=9)),
    rules=("age >= 0",),
)


def again(form: Form, folder: Path) -> mt.Schema:
    path = folder / "other.json"
    path.write_text(json.dumps(export_schema(SCHEMA, form).document), encoding="utf-8")
    return mt.Schema.import_from(path)


def test_frictionless_comes_back_with_all_that_is_declared(tmp_path: Path) -> None:
    back = again(Form.FRICTIONLESS, tmp_path)
    assert back.names == SCHEMA.names
    assert back.names_aside == ["key"]
    for name in back.names:
        one, other = back[name], SCHEMA[name]
        assert (one.kind, one.categories, one.bounds, one.missing, one.unit) == (
            (other.kind, other.categories, other.bounds, other.missing, other.unit)
        ), name


def test_sdv_comes_back_with_its_kinds(tmp_path: Path) -> None:
    back = again(Form.SDV, tmp_path)
    assert back.names_aside == ["key"]
    assert {name: back[name].kind for name in back.names} == {name: SCHEMA[name].kind for name in SCHEMA.names}
    assert back["grade"].categories == SCHEMA["grade"].categories


def test_what_cannot_be_said_is_remarked_on() -> None:
    told = "\n".join(export_schema(SCHEMA, Form.SDV).remarks)
    for part in ("notes: left out", "bounds are not said: age, weight, born", "codes are not said: weight", "1 rules"):
        assert part in told
    assert "bounds" not in "\n".join(export_schema(SCHEMA, Form.JSON_SCHEMA).remarks)


def test_json_schema_holds_of_rows_and_of_no_others() -> None:
    document = export_schema(population_schema(), Form.JSON_SCHEMA).document
    validator = jsonschema.Draft202012Validator(document)
    jsonschema.Draft202012Validator.check_schema(document)
    rows = json.loads(json.dumps(population(50).to_pylist(), default=lambda value: value.isoformat()))
    for row in rows:
        validator.validate(row)
    assert not validator.is_valid({**rows[0], "insured": "perhaps"})
    assert not validator.is_valid({**rows[0], "another": 1})


def test_a_draft_is_not_published_by_another_name() -> None:
    draft = mt.Schema(columns=SCHEMA.columns, drafted=True)
    with pytest.raises(SchemaError, match="draft, whose types are not public"):
        export_schema(draft, Form.SDV)


def test_the_command_offers_all_forms() -> None:
    assert [str(one) for one in SchemaForm] == [str(one) for one in Form]
