"""The YAML document: what is written is read back, and what is wrong in it is named."""

import datetime as dt
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from microtome.errors import SchemaError
from microtome.schema import Column, Kind, Outside, Schema

EVERY_KIND = Schema(
    columns=(
        Column(name="learnt", kind=Kind.CATEGORICAL),
        Column(name="text", kind=Kind.CATEGORICAL, categories=("a", "null", "yes", "1", "ü[b]", "#x: y")),
        Column(name="codes", kind=Kind.CATEGORICAL, dtype="int8", categories=(3, -1)),
        Column(name="reals", kind=Kind.CATEGORICAL, dtype="float32", categories=(0.1, 2.5)),
        Column(name="days", kind=Kind.CATEGORICAL, dtype="date", categories=(dt.date(2020, 2, 29),)),
        Column(name="times", kind=Kind.CATEGORICAL, dtype="datetime", categories=(dt.datetime(2020, 2, 29, 1, 2, 3),)),
        Column(name="answers", kind=Kind.ORDERED, categories=("no", "maybe", "yes"), missing=False),
        Column(name="flag", kind=Kind.BOOLEAN),
        Column(name="whole", kind=Kind.INTEGER, bounds=(-5, 5), outside=Outside.CLAMP, bins=4),
        Column(name="whole as float", kind=Kind.INTEGER, dtype="float64"),
        Column(name="measure", kind=Kind.FLOAT, bounds=(-1e-300, 1e300), weight=1e-3, unit="kg: net"),
        Column(name="short", kind=Kind.FLOAT, dtype="float32", bounds=(0.1, 0.3)),
        Column(name="born", kind=Kind.DATE, bounds=(dt.date(1900, 1, 1), dt.date(2020, 12, 31))),
        Column(name="at", kind=Kind.DATETIME, bounds=(dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2, 3, 4, 5, 6))),
    ),
    target="flag",
)


def written(schema: Schema, folder: Path) -> Path:
    path = folder / "schema.yaml"
    path.write_text(schema.to_yaml(), encoding="utf-8")
    return path


def test_round_trip_of_every_kind(tmp_path: Path) -> None:
    assert Schema.load(written(EVERY_KIND, tmp_path)) == EVERY_KIND
    assert Schema.from_dict(EVERY_KIND.to_dict()) == EVERY_KIND


@pytest.mark.parametrize("weight", [None, 1.0, 2.5])
def test_the_target_s_weight_survives(weight: float | None, tmp_path: Path) -> None:
    target = Column(name="y", kind=Kind.BOOLEAN, weight=weight)
    schema = Schema(columns=(Column(name="x", kind=Kind.FLOAT), Column(name="z", kind=Kind.FLOAT), target), target="y")
    again = Schema.load(written(schema, tmp_path))
    assert [column.weight for column in again.columns] == [column.weight for column in schema.columns]
    assert again == schema


def test_document_says_what_is_declared_and_what_is_learnt() -> None:
    lines = EVERY_KIND.to_yaml().splitlines()
    marked = [line for line in lines if "categories:" in line or "bounds:" in line]
    assert len(marked) == len(EVERY_KIND.columns)
    for line, column in zip(marked, EVERY_KIND.columns, strict=True):
        assert line.endswith("# declared" if column.is_declared else "# to be learnt with budget")


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


@given(names=st.lists(names, min_size=1, max_size=4, unique=True), unit=names | st.none())
def test_round_trip_of_odd_names(names: list[str], unit: str | None, tmp_path_factory: pytest.TempPathFactory) -> None:
    columns = [Column(name=name, kind=Kind.CATEGORICAL, categories=tuple(names), unit=unit) for name in names]
    schema = Schema(columns=tuple(columns), target=names[-1])
    assert Schema.load(written(schema, tmp_path_factory.mktemp("yaml"))) == schema


COLUMN = "{name: income, kind: float, "
REFUSED = [
    ("[]", "microtome-schema"),
    ("hello", "microtome-schema"),
    ("columns: []", "microtome-schema"),
    ("microtome-schema: 2\ncolumns: []", "2"),
    ("microtome-schema: 1\ncolumns: []", "no columns"),
    ("microtome-schema: 1\ncolumns: income", "list"),
    ("microtome-schema: 1\ncolumns: [{kind: float}]", "name"),
    ("microtome-schema: 1\ncolumns: [{name: 5, kind: float}]", "5"),
    ("microtome-schema: 1\ncolumns: [income]", "income"),
    ("microtome-schema: 1\nrows: 5\ncolumns: []", "rows"),
    (f"microtome-schema: 1\ntarget: wage\ncolumns: [{COLUMN}}}]", "wage"),
    (f"microtome-schema: 1\ncolumns: [{COLUMN}}}, {COLUMN}}}]", "income"),
    (f"microtome-schema: 1\ncolumns: [{COLUMN} colour: red}}]", "colour"),
    ("microtome-schema: 1\ncolumns: [{name: income, kind: real}]", "real"),
    ("microtome-schema: 1\ncolumns: [{name: notes, kind: text}]", "free text and identifiers cannot be released"),
    ("microtome-schema: 1\ncolumns: [{name: nr, kind: identifier}]", "free text and identifiers cannot be released"),
    (f"microtome-schema: 1\ncolumns: [{COLUMN} dtype: money}}]", "money"),
    (f"microtome-schema: 1\ncolumns: [{COLUMN} bounds: 5}}]", "5"),
    (f"microtome-schema: 1\ncolumns: [{COLUMN} bounds: [1]}}]", "[1]"),
    (f"microtome-schema: 1\ncolumns: [{COLUMN} bounds: [5, 1]}}]", "[5, 1]"),
    (f"microtome-schema: 1\ncolumns: [{COLUMN} missing: sometimes}}]", "sometimes"),
    (f"microtome-schema: 1\ncolumns: [{COLUMN} outside: drop}}]", "drop"),
    (f"microtome-schema: 1\ncolumns: [{COLUMN} weight: heavy}}]", "heavy"),
    (f"microtome-schema: 1\ncolumns: [{COLUMN} weight: .nan}}]", "nan"),
    (f"microtome-schema: 1\ncolumns: [{COLUMN} bins: true}}]", "True"),
    (f"microtome-schema: 1\ncolumns: [{COLUMN} bins: 8.5}}]", "8.5"),
    (f"microtome-schema: 1\ncolumns: [{COLUMN} bins: .inf}}]", "inf"),
    ("a: [b", "YAML"),
]


@pytest.mark.parametrize(("text", "value"), REFUSED)
def test_refusal_names_file_and_value(text: str, value: str, tmp_path: Path) -> None:
    path = tmp_path / "schema.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SchemaError) as refused:
        Schema.load(path)
    assert str(path) in str(refused.value)
    assert value in str(refused.value)
    if "income," in text and "target" not in text:
        assert "'income'" in str(refused.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="no such file"):
        Schema.load(tmp_path / "absent.yaml")
    with pytest.raises(SchemaError, match="cannot be read"):
        Schema.load(tmp_path)
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00\x9f")
    with pytest.raises(SchemaError, match="cannot be read"):
        Schema.load(tmp_path / "binary.yaml")


def test_column_by_name() -> None:
    assert EVERY_KIND["flag"].kind is Kind.BOOLEAN
    with pytest.raises(SchemaError, match="'flags'"):
        EVERY_KIND["flags"]
