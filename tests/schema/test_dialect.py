"""How files are written, and columns that are not released, in the document of a schema."""

from pathlib import Path

import numpy as np
import pytest

from microtome.errors import SchemaError, TableError
from microtome.schema import Action, Aside, Column, Dialect, Schema
from microtome.schema.document import confirmed_text

AGE = Column(name="age", kind="integer", bounds=(0, 120), suggested="age in years")
TOWN = Column(name="town", kind="categorical")


def schema(**more: object) -> Schema:
    keys = Aside(name="id", action="surrogate", place=0, keys="P-###")
    notes = Aside(name="notes", action="drop", place=2)
    file = Dialect(separator=";", encoding="latin-1", decimal=",", missing_values=("", "?"), sheet=None)
    options: dict = {"columns": (AGE, TOWN), "aside": (keys, notes), "file": file, "drafted": True} | more
    return Schema(**options)


def test_document_keeps_dialect_columns_aside_and_suggestions() -> None:
    written = schema()
    assert Schema.loads(written.to_yaml()) == written
    assert [one.name for one in written.layout()] == ["id", "age", "notes", "town"]
    assert Schema.from_dict(written.to_dict()) == written


def test_what_is_left_out_is_not_published() -> None:
    published = schema().published()
    assert [one.name for one in published.layout()] == ["id", "age", "town"]
    assert "notes" not in str(published.to_dict())


def test_confirming_keeps_suggestions_or_drops_them() -> None:
    text = schema().to_yaml().replace("columns:\n", "columns:\n  # my own remark\n")
    kept = confirmed_text(text)
    assert Schema.loads(kept) == schema().confirm()
    assert Schema.loads(kept)["age"].bounds == (0, 120)
    assert "suggested" not in kept
    dropped = confirmed_text(text, suggestions=False)
    assert Schema.loads(dropped) == schema().without_suggestions().confirm()
    assert Schema.loads(dropped)["age"].bounds is None
    assert "# my own remark" in kept
    assert "# my own remark" in dropped


def test_action_categories_releases_the_column() -> None:
    document = schema().to_dict()
    document["columns"][2]["action"] = "categories"
    assert Schema.from_dict(document)["notes"].kind == "categorical"


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"separator": ";;"}, "separator"),
        ({"separator": ".", "decimal": "."}, "must differ"),
        ({"encoding": "utf-99"}, "encoding 'utf-99'"),
        ({"missing_values": "?"}, "missing_values"),
        ({"delimiter": ";"}, "may have the keys"),
        ([], "may have the keys"),
    ],
)
def test_dialects_that_make_no_sense(entries: object, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Dialect.from_dict(entries)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"action": "hide"}, "drop, surrogate, categories"),
        ({"action": "surrogate", "keys": "P"}, "one run of #"),
        ({"action": "surrogate", "keys": "#", "dtype": "int64"}, "dtype string"),
        ({"action": "surrogate", "dtype": "date"}, "cannot be stored"),
        ({"kind": "float", "keys": "#"}, "action: surrogate"),
        ({"kind": "text"}, "action: drop"),
    ],
)
def test_entries_aside_that_make_no_sense(more: dict, message: str) -> None:
    document = {"microtome-schema": 1, "columns": [{"name": "x", "kind": "float"}, {"name": "id", **more}]}
    with pytest.raises(SchemaError, match=message) as refused:
        Schema.from_dict(document)
    assert "column 'id'" in str(refused.value)


def test_all_wrong_columns_are_named_at_once() -> None:
    columns = [
        {"name": "a", "kind": "flot"},
        {"name": "b", "kind": "integer"},
        {"name": "c", "kind": "date", "zone": "x"},
    ]
    with pytest.raises(SchemaError) as refused:
        Schema.from_dict({"microtome-schema": 1, "columns": columns})
    assert "column 'a'" in str(refused.value)
    assert "column 'c'" in str(refused.value)


def test_a_target_aside_and_names_twice_are_refused() -> None:
    with pytest.raises(SchemaError, match="is not released"):
        schema(target="id")
    with pytest.raises(SchemaError, match="described twice"):
        schema(aside=(Aside(name="age", action="drop"),))


@pytest.mark.parametrize("keys", ["P-###-X", "uuid", None])
def test_made_up_keys_are_unique_and_have_their_form(keys: str | None) -> None:
    aside = Aside(name="id", action=Action.SURROGATE, dtype="int64" if keys is None else "string", keys=keys)
    rng = np.random.default_rng(1)
    made = [*aside.made_up(0, 900, rng).to_pylist(), *aside.made_up(900, 900, rng).to_pylist()]
    assert len(set(made)) == 1800
    assert made[0] == {"P-###-X": "P-001-X", None: 1}.get(keys, made[0])


@pytest.mark.parametrize(
    ("content", "names"),
    [
        (b"a,b\n1,2\n", ["a", "b"]),
        (b"\xef\xbb\xbfa,b\r\n1,2\r\n", ["a", "b"]),
        (b'"a\nx","b ""q"""\n1,2\n', ["a\nx", 'b "q"']),
        (b",b\n0,1\n", ["column_1", "b"]),
        (b"a,b", ["a", "b"]),
        (b"a,b\r1,2\r", ["a", "b"]),
    ],
)
def test_headers(content: bytes, names: list[str], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    assert Dialect().header(path) == names


def test_another_encoding_is_named_where_one_fails(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("gr\u00f6\u00dfe;b\n1;2\n".encode("cp1252"))
    with pytest.raises(TableError, match="--encoding"):
        Dialect(separator=";").header(path)
    assert Dialect(separator=";", encoding="cp1252").header(path) == ["größe", "b"]
