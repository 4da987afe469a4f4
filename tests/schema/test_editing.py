"""Changes of a schema, key by key."""

from __future__ import annotations

import datetime as dt

import pytest

from microtome.errors import SchemaError
from microtome.schema import Action, Aside, Column, Kind, Schema
from microtome.schema.editing import with_changes, with_target

SCHEMA = Schema(
    columns=(
        Column(name="age", kind=Kind.INTEGER, bounds=(0, 120), suggested="age in years"),
        Column(name="answer", kind=Kind.CATEGORICAL),
        Column(name="born", kind=Kind.DATE),
    ),
    aside=(Aside(name="id", action=Action.SURROGATE, place=0),),
    drafted=True,
)


def test_values_are_read_as_the_column_stores_them() -> None:
    assert with_changes(SCHEMA, "answer", {"categories": ["yes", "no", "1"]})["answer"].categories == ("yes", "no", "1")
    assert with_changes(SCHEMA, "born", {"bounds": ["1900-01-01", "2026-12-31"]})["born"].bounds == (
        dt.date(1900, 1, 1),
        dt.date(2026, 12, 31),
    )
    changed = with_changes(SCHEMA, "age", {"bounds": ["18", "99"], "codes": ["refused", "999"]})["age"]
    assert changed.bounds == (18, 99)
    assert changed.codes == ("refused", 999)
    assert changed.suggested is None


def test_no_values_are_to_be_learnt() -> None:
    assert with_changes(SCHEMA, "age", {"bounds": []})["age"].bounds is None
    assert with_changes(SCHEMA, "age", {"bounds": "learn"})["age"].bounds is None


def test_the_kind_is_changed_first_whatever_the_order() -> None:
    changed = with_changes(SCHEMA, "age", {"categories": ["1", "2"], "kind": "ordered", "dtype": "int64"})["age"]
    assert (changed.kind, changed.categories) == (Kind.ORDERED, (1, 2))


def test_a_column_goes_aside_and_comes_back() -> None:
    assert with_changes(SCHEMA, "age", {"action": "drop"}).names_aside == ["id", "age"]
    assert with_changes(SCHEMA, "id", {"action": "release"})["id"].kind is Kind.CATEGORICAL


def test_what_makes_no_sense_is_refused() -> None:
    for name, changes in (
        ("age", {"bounds": ["9", "1"]}),
        ("age", {"bounds": "["}),
        ("age", {"kind": "colour"}),
        ("who", {"kind": "date"}),
        ("answer", {"kind": "ordered"}),
    ):
        with pytest.raises(SchemaError):
            with_changes(SCHEMA, name, changes)


def test_target() -> None:
    assert with_target(SCHEMA, "age").target == "age"
    assert with_target(with_target(SCHEMA, "age"), None).target is None
    with pytest.raises(SchemaError):
        with_target(SCHEMA, "who")
