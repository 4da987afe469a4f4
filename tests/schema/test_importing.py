"""Code books and dictionaries of others become schemas; what they say wrongly is told all at once."""

import json
from pathlib import Path
from typing import Any

import pytest

from microtome.errors import SchemaError
from microtome.schema import Column, Dialect, Kind, Schema
from microtome.schema.importing import import_schema


def imported(tmp_path: Path, document: Any, name: str = "book.json") -> Any:
    path = tmp_path / name
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return import_schema(path)


BOOK = {
    "age": {"type": "integer", "min": 0, "max": 120, "required": True, "unit": "years"},
    "sex": {"values": {"1": "male", "2": "female"}},
    "town": "text",
    "grade": {"type": "ordinal", "categories": ["low", "mid", "high"]},
    "colour": ["red", "blue"],
    "born": {"type": "date", "format": "%d.%m.%Y"},
    "patient": {"type": "identifier"},
}


def test_a_code_book(tmp_path: Path) -> None:
    found = imported(tmp_path, BOOK)
    schema = found.schema
    assert not schema.drafted
    assert schema["age"] == Column(name="age", kind="integer", bounds=(0, 120), missing=False, unit="years", weight=1.0)
    assert (schema["sex"].dtype, schema["sex"].categories) == ("int64", (1, 2))
    assert schema["town"].categories is None
    assert schema["grade"].kind is Kind.ORDERED
    assert schema["colour"].categories == ("red", "blue")
    assert schema["born"].format == "%d.%m.%Y"
    assert [one.name for one in schema.aside] == ["patient"]
    assert Schema.loads(schema.to_yaml()) == schema
    listed = [{"variable": name, **entry} for name, entry in BOOK.items() if isinstance(entry, dict)]
    again = imported(tmp_path, {"variables": listed}).schema
    assert again["age"] == schema["age"]
    assert Schema.import_from(tmp_path / "book.json", target="sex").target == "sex"


@pytest.mark.parametrize(
    "text",
    [
        "name,type,min,max,values,required\nage,integer,0,120,,yes\nsex,,,,1=male; 2=female,\nid,identifier,,,,\n",
        "Name;Data type;Minimum;Maximum;Codes;Mandatory\nage;int;0;120;;x\nsex;code;;;1|2;\nid;id;;;;\n",
        'Variable / Field Name,Field Type,"Choices, Calculations, OR Slider Labels",'
        "Text Validation Type OR Show Slider Number,Text Validation Min,Text Validation Max,Identifier?,"
        "Required Field?\n"
        'age,text,,integer,0,120,,y\nsex,radio,"1, Male | 2, Female",,,,,\nid,text,,,,,y,\n',
    ],
)
def test_dictionaries_as_csv(text: str, tmp_path: Path) -> None:
    schema = imported(tmp_path, text, "dictionary.csv").schema
    assert (schema["age"].kind, schema["age"].bounds, schema["age"].missing) == (Kind.INTEGER, (0, 120), False)
    assert schema["sex"].categories == (1, 2)
    assert [one.name for one in schema.aside] == ["id"]


def test_sdv_metadata(tmp_path: Path) -> None:
    table = {
        "primary_key": "guest",
        "columns": {
            "guest": {"sdtype": "id", "regex_format": "G[0-9]{5}"},
            "mail": {"sdtype": "email", "pii": True},
            "nights": {"sdtype": "numerical", "computer_representation": "Int64"},
            "rate": {"sdtype": "numerical"},
            "room": {"sdtype": "categorical"},
            "member": {"sdtype": "boolean"},
            "checkin": {"sdtype": "datetime", "datetime_format": "%d %b %Y"},
        },
    }
    for document in (table, {"tables": {"guests": table}}):
        schema = imported(tmp_path, document).schema
        assert [str(column.kind) for column in schema.columns] == ["integer", "float", "categorical", "boolean", "date"]
        assert schema["checkin"].format == "%d %b %Y"
        assert {one.name: one.action for one in schema.aside} == {"guest": "surrogate", "mail": "drop"}
    with pytest.raises(SchemaError, match="2 tables"):
        imported(tmp_path, {"tables": {"a": table, "b": table}})


def test_frictionless(tmp_path: Path) -> None:
    table = {
        "fields": [
            {"name": "key", "type": "string"},
            {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120, "required": True}},
            {"name": "pay", "type": "number", "decimalChar": ",", "groupChar": "."},
            {"name": "sex", "type": "string", "constraints": {"enum": ["1", "2"]}},
            {"name": "day", "type": "date", "format": "%d/%m/%Y"},
            {"name": "mail", "type": "string", "format": "email"},
        ],
        "primaryKey": "key",
    }
    schema = imported(tmp_path, table).schema
    assert (schema["age"].bounds, schema["age"].missing) == ((0, 120), False)
    assert schema["pay"].format == "#.##0,##"
    assert (schema["sex"].dtype, schema["sex"].categories) == ("string", ("1", "2"))
    assert {one.name: one.action for one in schema.aside} == {"key": "surrogate", "mail": "drop"}
    resource = {"name": "people", "schema": table, "dialect": {"delimiter": ";"}, "encoding": "cp1252"}
    package = imported(tmp_path, {"resources": [resource]}).schema
    assert package.file == Dialect(separator=";", encoding="cp1252")


def test_croissant(tmp_path: Path) -> None:
    fields = [
        {"@type": "cr:Field", "name": "t/age", "dataType": "sc:Integer", "source": {"extract": {"column": "Age"}}},
        {"@type": "cr:Field", "name": "t/town", "dataType": ["sc:Text"]},
        {"@type": "cr:Field", "name": "t/day", "dataType": "https://schema.org/Date"},
    ]
    schema = imported(tmp_path, {"@type": "sc:Dataset", "recordSet": [{"name": "t", "field": fields}]}).schema
    assert [(one.name, str(one.kind)) for one in schema.columns] == [
        ("Age", "integer"),
        ("town", "categorical"),
        ("day", "date"),
    ]


def test_everything_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    book = {
        "a": {"type": "quaternion"},
        "b": {"type": "integer", "min": 9, "max": 1},
        "c": {"type": "float", "min": "x", "max": 2},
    }
    with pytest.raises(SchemaError) as refused:
        imported(tmp_path, book)
    for word in ("'a'", "quaternion", "'b'", "not in order", "'c'", "book.json"):
        assert word in str(refused.value)


@pytest.mark.parametrize(
    ("document", "name"),
    [
        ("{", "b.json"),
        ("[]", "b.json"),
        ("3", "b.json"),
        ('{"a": 3}', "b.json"),
        ('[{"type": "integer"}]', "b.json"),
        ('{"microtome-schema": 1}', "b.json"),
        ('{"recordSet": []}', "b.json"),
        ('{"fields": [{"type": "integer"}]}', "b.json"),
        ('{"columns": {"a": 3}}', "b.json"),
        ("a,b\n1,2\n", "b.csv"),
        ("", "b.csv"),
    ],
)
def test_documents_that_are_no_dictionaries(document: str, name: str, tmp_path: Path) -> None:
    with pytest.raises(SchemaError) as refused:
        imported(tmp_path, document, name)
    assert name in str(refused.value)


def test_a_missing_file() -> None:
    with pytest.raises(SchemaError, match="cannot be read"):
        import_schema("no-such-book.json")
