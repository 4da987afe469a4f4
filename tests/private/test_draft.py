"""A first schema says what the types say and nothing that is in the rows."""

import random
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

from microtome import release
from microtome.accounting import Ledger
from microtome.errors import SchemaError
from microtome.private import draft_schema
from microtome.private.draft import draft
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
    assert [column.name for column in drafted.columns if column.is_declared] == ["owner", "age"]
    assert drafted["age"].suggested == "age in years"
    pacsv.write_csv(table, tmp_path / "people.csv")
    from_file = draft_schema(tmp_path / "people.csv", target="owner")
    assert {column.name: column.kind for column in from_file.columns} == KINDS


def test_draft_does_not_depend_on_the_values() -> None:
    assert draft_schema(people(50, seed=1)) == draft_schema(people(7, seed=2))


@pytest.mark.parametrize(
    ("name", "action"),
    [
        *[
            (name, "surrogate")
            for name in ("id", "person_id", "ID", "customer-id", "MRN", "account_number", "patientId")
        ],
        *[(name, "surrogate") for name in ("Kundennummer", "invoice no", "UUID")],
        *[(name, "drop") for name in ("email", "phone", "first_name", "Surname", "home address", "Téléphone", "name")],
        *[(name, "drop") for name in ("comments", "free_text", "Bemerkung")],
    ],
)
def test_identifiers_and_free_text_are_set_aside(name: str, action: str) -> None:
    table = pa.table({name: [f"v{number}" for number in range(40)], "age": [1] * 40})
    drafted = draft_schema(table)
    assert [(one.name, one.action) for one in drafted.aside] == [(name, action)]
    assert drafted.names == ["age"]
    assert draft_schema(table, skip=(name,)).aside == ()


@pytest.mark.parametrize("name", ["telephone", "MRN", "email", "customer_id", "comment"])
def test_a_name_alone_decides_nothing_where_there_are_few_values(name: str) -> None:
    drafted = draft_schema(pa.table({name: ["A191", "A192"] * 50}))
    assert drafted.aside == ()
    assert drafted[name].kind is Kind.CATEGORICAL


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        (range(1000, 1400), "surrogate"),
        (random.Random(1).sample(range(400), 400), "surrogate"),
        (random.Random(1).sample(range(10**9, 10**10), 400), "surrogate"),
        ([value * 13_700 % 90_001 for value in range(400)], None),
        ([20 + value % 60 for value in range(400)], None),
    ],
    ids=["rising", "dense", "long", "amounts", "ages"],
)
def test_numbers_that_are_keys_are_known_by_their_values(values: Sequence[int], wanted: str | None) -> None:
    drafted = draft_schema(pa.table({"x": list(values), "y": [True] * 400}))
    assert [one.action for one in drafted.aside] == ([wanted] if wanted else [])


@pytest.mark.parametrize(("spelled", "wanted"), [("K{0}", "surrogate"), ("{1} of {2}", "drop")])
def test_texts_of_their_own_without_a_digit_are_no_keys(spelled: str, wanted: str) -> None:
    """Titles of jobs: made-up keys in their place would be told from them at a glance."""
    words = [spelled.format(number, chr(97 + number // 26), chr(97 + number % 26)) for number in range(400)]
    drafted = draft_schema(pa.table({"x": words, "y": [True] * 400}))
    assert [one.action for one in drafted.aside] == [wanted]


def test_a_numeric_key_with_few_values_is_a_code_and_no_number() -> None:
    drafted = draft_schema(pa.table({"district_id": [value % 70 for value in range(4000)]}))
    assert (drafted["district_id"].kind, drafted["district_id"].dtype) == (Kind.CATEGORICAL, "int64")


@pytest.mark.parametrize("name", ["identity", "width", "idea", "paid", "video", "grid", "number_of_rooms", "num_rooms"])
def test_ordinary_names_are_not_taken_for_identifiers(name: str) -> None:
    assert draft_schema(pa.table({name: ["a"]})).names == [name]


def test_the_target_is_never_set_aside() -> None:
    assert (
        draft_schema(pa.table({"code": [f"v{n}" for n in range(60)], "y": [1.5] * 60}), target="code").target == "code"
    )


@pytest.mark.parametrize("values", [pa.array([[1]]), pa.array([b"x"]), pa.array([None]), pa.array([{"a": 1}])])
def test_the_draft_does_not_stop_at_types_that_cannot_be_released(values: pa.Array) -> None:
    found = draft(pa.table({"strange": values, "age": [1]}))
    assert [(one.name, one.action) for one in found.schema.aside] == [("strange", "drop")]
    assert found.remarks[0].startswith("strange: left out")
    with pytest.raises(SchemaError, match="no column is left to release"):
        draft_schema(pa.table({"strange": values}))


def test_types_with_zones_and_times_of_day() -> None:
    zoned = pa.array([0], pa.timestamp("ns", tz="Europe/Berlin"))
    drafted = draft_schema(pa.table({"at": zoned, "clock": pa.array([1], pa.time32("s"))}))
    assert (drafted["at"].kind, drafted["at"].zone) == (Kind.DATETIME, "Europe/Berlin")
    assert drafted["clock"].kind is Kind.TIME


def test_whole_numbers_that_a_gap_made_floats_are_whole() -> None:
    drafted = draft_schema(pd.DataFrame({"rooms": [1.0, 2.0, None] * 9, "size": [1.5, 2.0, None] * 9}))
    assert (drafted["rooms"].kind, drafted["rooms"].dtype) == (Kind.INTEGER, "float64")
    assert drafted["size"].kind is Kind.FLOAT


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


@pytest.mark.parametrize(
    ("others", "code", "is_told"),
    [(range(1, 300), 9999, True), (range(80), -99, True), (range(9999), 9999, False), (range(90), 99, False)],
)
def test_codes_far_from_all_other_numbers_are_told(others: range, code: int, is_told: bool) -> None:
    said: list[str] = []
    frame = pd.DataFrame({"months": [*others, *others, code, code, code], "amount": 1.5})
    schema = draft_schema(frame, remarks=said.append)
    assert schema["months"].codes == (), "the holder declares them, not the draft"
    assert any(f"codes: [{code}]" in one for one in said) is is_told
