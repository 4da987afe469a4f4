"""A first schema says what the types say and nothing that is in the rows."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

from microtome import release
from microtome.accounting import Ledger
from microtome.errors import SchemaError
from microtome.private import draft_schema
from microtome.schema import Kind, Schema
from microtome.schema.document import confirmed_text
from support import people, publish

KINDS = {
    "town": Kind.CATEGORICAL,
    "grade": Kind.CATEGORICAL,
    "owner": Kind.BOOLEAN,
    "age": Kind.INTEGER,
    "income": Kind.FLOAT,
    "joined": Kind.DATE,
    "seen": Kind.DATETIME,
}


def test_draft_of_a_frame_and_of_a_file(tmp_path: Path) -> None:
    table = people(50)
    drafted = draft_schema(table, target="owner")
    assert {column.name: column.kind for column in drafted.columns} == KINDS
    assert drafted.target == "owner"
    assert not any(column.is_declared for column in drafted.columns if column.kind is not Kind.BOOLEAN)
    pacsv.write_csv(table, tmp_path / "people.csv")
    from_file = draft_schema(tmp_path / "people.csv", target="owner")
    assert {column.name: column.kind for column in from_file.columns} == KINDS


def test_draft_does_not_depend_on_the_values() -> None:
    assert draft_schema(people(50, seed=1)) == draft_schema(people(7, seed=2))


@pytest.mark.parametrize(
    "name",
    ["id", "person_id", "ID", "customer-id", "email", "phone", "first_name", "Surname", "comments", "home address"],
)
def test_identifiers_and_free_text_are_refused_with_advice(name: str) -> None:
    with pytest.raises(SchemaError, match="--skip") as refused:
        draft_schema(pa.table({name: ["a"], "age": [1]}))
    assert repr(name) in str(refused.value)
    assert draft_schema(pa.table({name: ["a"], "age": [1]}), skip=(name,)).names == ["age"]


@pytest.mark.parametrize("name", ["identity", "width", "idea", "paid", "video", "grid"])
def test_ordinary_names_are_not_taken_for_identifiers(name: str) -> None:
    assert draft_schema(pa.table({name: ["a"]})).names == [name]


@pytest.mark.parametrize(
    "values",
    [pa.array([[1]]), pa.array([b"x"]), pa.array([1], pa.time32("s")), pa.array([None]), pa.array([{"a": 1}])],
)
def test_types_that_cannot_be_released_are_refused_by_name(values: pa.Array) -> None:
    with pytest.raises(SchemaError, match=r"'strange'.*--skip"):
        draft_schema(pa.table({"strange": values}))


def test_what_is_to_be_left_out_must_exist() -> None:
    with pytest.raises(SchemaError, match="no column 'wage'"):
        draft_schema(people(5), skip=("wage",))
    with pytest.raises(SchemaError, match="target 'wage'"):
        draft_schema(people(5), target="wage")


def test_a_pandas_index_is_not_drafted() -> None:
    frame = pd.DataFrame({"age": [1, 2]}, index=["Ada", "Bob"])
    assert draft_schema(frame).names == ["age"]


@pytest.mark.parametrize("one", [37, 37.5, "unknown", None], ids=str)
def test_what_one_record_did_to_a_type_waits_for_somebody_to_confirm_it(one: object, tmp_path: Path) -> None:
    """37 makes a column whole, 37.5 makes it decimal, "unknown" text; in pandas a gap makes whole numbers decimal."""
    table = tmp_path / "people.csv"
    table.write_text("age,owner\n" + "".join(f"{age},true\n" for age in [*range(20, 60), one]))
    frame = pd.read_csv(table) if one is None else table
    drafted = draft_schema(frame, target="owner")
    assert drafted.drafted
    ledger = Ledger()
    with pytest.raises(SchemaError, match=r"draft.*confirm"):
        release(frame, drafted, epsilon=1.0, delta=1e-4, ledger=ledger, output=tmp_path / "t.release")
    assert ledger.entries() == []
    assert list(tmp_path.iterdir()) == [table]


def test_a_draft_stays_one_on_its_way_through_a_document_until_it_is_confirmed(tmp_path: Path) -> None:
    drafted = draft_schema(people(50))
    path = tmp_path / "schema.yaml"
    path.write_text(drafted.to_yaml(), encoding="utf-8")
    assert Schema.load(path) == drafted
    assert Schema.load(path).drafted
    path.write_text(confirmed_text(drafted.to_yaml()), encoding="utf-8")
    assert Schema.load(path) == drafted.confirm()
    assert confirmed_text(drafted.to_yaml()) == drafted.confirm().to_yaml()
    published = publish(people(), Schema.load(path), tmp_path / "t.release")
    assert "drafted" not in published.manifest.schema
