"""Rules: what is read, what is refused and with which words, and which values and cells break them."""

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from microtome import Column, Schema
from microtome.errors import SchemaError
from microtome.schema.rule_text import parse_rule

COLUMNS = (
    Column(name="age", kind="integer", bounds=(0, 99), missing=False),
    Column(name="marital", kind="categorical", categories=("N", "M", "never-married"), missing=True),
    Column(name="sex", kind="categorical", categories=("M", "F"), missing=False),
    Column(name="pregnant", kind="boolean", missing=False),
    Column(name="admission", kind="date", bounds=("2020-01-01", "2020-12-31"), missing=False),
    Column(name="discharge date", kind="date", bounds=("2020-01-01", "2021-03-31"), missing=True),
    Column(name="stay", kind="integer", bounds=(0, 400), missing=True),
    Column(name="a", kind="float", bounds=(0, 10), missing=False),
    Column(name="b", kind="float", bounds=(0, 10), missing=False),
    Column(name="total", kind="float", bounds=(0, 20), missing=True),
    Column(name="district", kind="categorical", categories=("A", "B", "C"), missing=False),
    Column(name="home", kind="categorical", categories=("A", "B", "D"), missing=False),
    Column(name="density", kind="float", bounds=(0, 5000), missing=False),
    Column(name="grade", kind="ordered", categories=("low", "mid", "high"), missing=False),
    Column(name="opens", kind="time", missing=True),
    Column(name="town", kind="categorical", missing=True),
    Column(name="income", kind="float", bounds=(0, 1e6), codes=("refused",), missing=True),
)
DENSITIES = {"A": 120, "B": 85.5, "C": 7}


def schema(*rules: Any) -> Schema:
    return Schema(columns=COLUMNS, rules=rules)


def broken(rule: Any, **row: Any) -> bool:
    """Whether a row breaks a rule."""
    described = schema(rule)
    values = {name: pa.array([row[name]], described[name].storage_type) for name in described.ruled.columns}
    return sum(described.ruled.broken_rows(pa.table(values)).values()) == 1


@pytest.mark.parametrize(
    ("rule", "kept", "breaks"),
    [
        ("age >= 18", {"age": 18}, {"age": 17}),
        ("age != 18", {"age": 17}, {"age": 18}),
        ("age in [18, 20]", {"age": 20}, {"age": 19}),
        ("age not in (18, 20)", {"age": 19}, {"age": 20}),
        ("marital = never-married", {"marital": "never-married"}, {"marital": "N"}),
        ("marital is missing or marital = N", {"marital": None}, {"marital": "M"}),
        ("marital is not missing", {"marital": "M"}, {"marital": None}),
        ("grade >= mid", {"grade": "high"}, {"grade": "low"}),
        ("a < b", {"a": 1.0, "b": 1.5}, {"a": 1.5, "b": 1.5}),
        ("a != b", {"a": 1.0, "b": 1.5}, {"a": 1.5, "b": 1.5}),
        ("discharge date >= admission", {"discharge date": 1, "admission": 1}, {"discharge date": 1, "admission": 2}),
        ("admission >= 2020-03-01", {"admission": dt.date(2020, 3, 1)}, {"admission": dt.date(2020, 2, 29)}),
        ("opens > 08:30", {"opens": dt.time(8, 31)}, {"opens": dt.time(8, 30)}),
        ("if age < 15: marital = N", {"age": 15, "marital": "M"}, {"age": 14, "marital": "M"}),
        ("if age < 15 then marital = N", {"age": 14, "marital": "N"}, {"age": 14, "marital": "M"}),
        (
            {"if age < 15 or age > 90": "marital = N and pregnant = no"},
            {"age": 14, "marital": "N", "pregnant": False},
            {"age": 91, "marital": "N", "pregnant": True},
        ),
        ({"never": "sex = M and pregnant = yes"}, {"sex": "F", "pregnant": True}, {"sex": "M", "pregnant": True}),
        ("total = a + b", {"total": 0.3, "a": 0.1, "b": 0.2}, {"total": 0.31, "a": 0.1, "b": 0.2}),
        ("a + b = total", {"total": 0.3, "a": 0.1, "b": 0.2}, {"total": 0.31, "a": 0.1, "b": 0.2}),
        ("a = b", {"a": 0.5, "b": 0.5}, {"a": 0.5, "b": 0.25}),
        (
            "stay = discharge date - admission",
            {"stay": 3, "discharge date": 8, "admission": 5},
            {"stay": 2, "discharge date": 8, "admission": 5},
        ),
        ("home = district", {"home": "A", "district": "A"}, {"home": "A", "district": "B"}),
        (
            "if sex = M: home = district",
            {"sex": "F", "home": "D", "district": "C"},
            {"sex": "M", "home": "D", "district": "C"},
        ),
        (
            {"density": {"from": "district", "table": DENSITIES}},
            {"density": 7, "district": "C"},
            {"density": 8, "district": "C"},
        ),
        ("town = Bern or town = Thun", {"town": "Bern"}, {"town": "Basel"}),
        ("income > 100", {"income": "refused"}, {"income": "99.5"}),
    ],
)
def test_a_rule_is_kept_and_broken_by_the_rows_it_should(
    rule: Any, kept: dict[str, Any], breaks: dict[str, Any]
) -> None:
    assert not broken(rule, **kept)
    assert broken(rule, **breaks)


@pytest.mark.parametrize(
    ("rule", "row"),
    [
        ("discharge date >= admission", {"discharge date": None, "admission": 2}),
        ("if age < 15: marital = N", {"age": 14, "marital": None}),
        ("never: age < 15 and marital = M", {"age": 14, "marital": None}),
        ("total = a + b", {"total": None, "a": 1.0, "b": 2.0}),
        ("if marital = N: age < 15", {"age": 50, "marital": None}),
    ],
)
def test_a_missing_value_breaks_nothing_unless_said(rule: str, row: dict[str, Any]) -> None:
    assert not broken(rule, **row)


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        (["discharg date >= admission"], ["character 1", "no column 'discharg date'", "mean 'discharge date'?"]),
        (["agee < 15 and marital = X"], ["'agee'", "did you mean 'age'?", "'X' is not a category of 'marital'"]),
        (["age < 200"], ["character 7", "200 is outside the bounds of 'age', 0 … 99"]),
        (["age in [18, 18.5]"], ["whole numbers only"]),
        (["marital < N"], ["'marital' is categorical, which has no order for '<'"]),
        (["sex is missing"], ["'sex' is never missing"]),
        (["if age < 15 marital = N"], ["there should be a ':' or 'then'"]),
        (["age <"], ["at its end there should be a column or a value"]),
        (["age < 15 age"], ["neither a column nor a value of 'age'"]),
        (["a + b <= total"], ["a sum stands by itself"]),
        (["total = a + marital"], ["'marital' is categorical; sums are of numbers and dates"]),
        (["stay = admission + 3"], ["dates and numbers do not add up so"]),
        (["a = total + b"], ["'total' may be missing and its sum 'a' may not"]),
        (["stay = a + 1"], ["'stay' holds whole numbers"]),
        (["total = total + a"], ["on both sides"]),
        (["a < a"], ["compared with itself"]),
        (["a < admission"], ["'a' is float and 'admission' is date; they do not compare"]),
        (["town = home"], ["declare the categories of 'town'"]),
        (["income = refused"], ["'refused' is a code of column 'income'"]),
        ([{"density": {"from": "district", "table": {"A": 1, "B": 2}}}], ["not say what follows from district = C"]),
        ([{"density": {"from": "distrct", "table": {"A": 1}}}], ["no column 'distrct'", "did you mean 'district'?"]),
        ([{"density": {"from": "district", "table": {"A": 1, "B": 2, "C": 9999}}}], ["9999 is outside the bounds"]),
        ([{"density": {"from": "district"}}], ["needs 'from', a column, and 'table' or 'file'"]),
        ([{"density": {"from": "district", "file": "x.csv"}}], ["is read from beside the schema's own file"]),
        ([3], ["rule 3 is not understood"]),
        ("age < 15", ["'rules' is 'age < 15'; it must be a list"]),
        (["agee < 15", "age << 15", "marital = X"], ["'agee'", "'age << 15'", "'X'"]),
    ],
)
def test_what_is_wrong_is_named_with_its_place_and_all_at_once(rules: Any, words: list[str]) -> None:
    with pytest.raises(SchemaError) as caught:
        Schema(columns=COLUMNS, rules=rules)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    "rules",
    [
        ["a < b", "b < a"],
        ["a < b", "b < total", "total <= a"],
        ["if age < 15: marital = N", "if age < 15: marital = M"],
        ["if age < 15: marital = N", "if age < 10: marital in [M, never-married]"],
        ["if sex = M: a < b", "if sex = M: b < a"],
        ["marital = M", "never: marital = M"],
        ["age < 15", "if age > 20: sex = M"],
        ["total = a + b", "total = b + a"],
        ["a = b", "b = a"],
        ["if age < 15: marital = N", "if sex = F: age < 10", "never: marital = N and sex = F"],
        [{"density": {"from": "district", "table": DENSITIES}}, "density > 200"],
        ["total = a + b", "total > 15", "a < 4"],
    ],
)
def test_clashing_rules_are_refused_with_those_that_clash(rules: list[Any]) -> None:
    others = ["admission <= discharge date", "never: sex = M and pregnant = yes"]
    with pytest.raises(SchemaError, match=r"clash") as caught:
        schema(*others[:1], *rules, *others[1:])
    for rule in rules:
        named = rule if isinstance(rule, str) else "density: from district by a table"
        assert repr(named) in str(caught.value)
    assert not any(repr(other) in str(caught.value) for other in others)
    for left_out in range(len(rules)):
        schema(*others, *rules[:left_out], *rules[left_out + 1 :])


@pytest.mark.parametrize("rule", ["if age < 15: age > 20", "a < b and b < a", "if age < 3 and age > 5: sex = M"])
def test_a_rule_that_can_never_hold_is_refused(rule: str) -> None:
    with pytest.raises(SchemaError, match="can never"):
        schema(rule)


def test_a_column_outside_the_bounds_of_another_clashes_with_the_schema() -> None:
    small = Column(name="small", kind="integer", bounds=(0, 5), missing=False)
    large = Column(name="large", kind="integer", bounds=(5, 9), missing=False)
    Schema(columns=(small, large), rules=("small >= large",))
    with pytest.raises(SchemaError, match="can never hold"):
        Schema(columns=(small, large), rules=("small > large",))


def test_many_small_steps_do_not_fit_between_bounds() -> None:
    columns = tuple(Column(name=name, kind="integer", bounds=(0, 2), missing=False) for name in "abcd")
    Schema(columns=columns, rules=("a < b", "b < c", "c <= d"))
    with pytest.raises(SchemaError, match="clash"):
        Schema(columns=columns, rules=("a < b", "b < c", "c < d"))


def test_a_document_keeps_its_rules_and_a_release_can_carry_them() -> None:
    described = schema(
        "discharge date >= admission",
        {"if age < 15": "marital = N"},
        {"density": {"from": "district", "table": DENSITIES}},
    )
    assert Schema.loads(described.to_yaml()) == described
    assert Schema.from_dict(described.to_dict()) == described
    assert described.published().rules == described.rules
    assert "rules" not in schema().to_dict()


def test_rules_are_written_in_yaml_as_people_write_them() -> None:
    text = (
        schema().to_yaml()
        + """\
rules:
  - discharge date >= admission
  - if age < 15: marital = N
  - never: sex = M and pregnant = yes
  - total = a + b
  - density: {from: district, table: {A: 120, B: 85.5, C: 7}}
"""
    )
    read = Schema.loads(text)
    assert read.rules[1] == "if age < 15: marital = N"
    assert len(read.ruled.checks) == 3
    assert [one.column for one in read.ruled.computed] == ["total", "density"]


def test_a_table_may_stand_in_a_file_beside_the_schema(tmp_path: Path) -> None:
    (tmp_path / "densities.csv").write_text("district,name,density\nA,x,120\nB,y,85.5\nC,z,7\n")
    path = tmp_path / "schema.yaml"
    path.write_text(schema().to_yaml() + "rules:\n  - density: {from: district, file: densities.csv}\n")
    (rule,) = Schema.load(path).ruled.computed
    assert rule.column == "density"
    assert Schema.load(path).to_dict()["rules"][0]["density"]["table"][1] == ["B", "85.5"]
    (tmp_path / "densities.csv").write_text("district,name\nA,x\n")
    with pytest.raises(
        SchemaError, match=r"densities\.csv needs the columns district and density; it has district, name"
    ):
        Schema.load(path)


def test_rules_about_columns_that_are_not_released_are_refused() -> None:
    document = schema().to_dict()
    document["columns"].append({"name": "name", "action": "drop"})
    with pytest.raises(SchemaError, match="'name' is not released"):
        Schema.from_dict(document | {"rules": ["name = x"]})


def test_names_may_be_both_column_and_category_if_quoted() -> None:
    columns = (
        Column(name="kind", kind="categorical", categories=("other", "IN", "OR"), missing=False),
        Column(name="other", kind="categorical", categories=("other", "IN"), missing=False),
    )
    with pytest.raises(SchemaError, match="is a column and a category of 'kind'"):
        Schema(columns=columns, rules=("kind = other",))
    (check,) = Schema(columns=columns, rules=('kind = "other"',)).ruled.checks
    assert check.columns == ["kind"]
    (computed,) = Schema(columns=columns, rules=("kind = `other`",)).ruled.computed
    assert computed.sources == ["other"]
    (check,) = Schema(columns=columns, rules=("kind = IN or kind = OR",)).ruled.checks
    assert check.columns == ["kind"]


def test_the_search_for_clashes_ends_with_many_columns_and_categories() -> None:
    columns = tuple(
        Column(name=f"c{number}", kind="categorical", categories=tuple(map(str, range(500))), missing=False)
        for number in range(30)
    )
    rules = [f"if c{number} = 7: c{number + 1} != 7" for number in range(29)]
    assert len(Schema(columns=columns, rules=tuple(rules)).ruled.checks) == 29


@pytest.mark.parametrize("text", ["", "and", "if", "(a < b", "a in [", "a in [b", "a is", "a ! b", "a = = b", "never:"])
def test_texts_that_are_no_rules_are_errors_of_the_schema(text: str) -> None:
    with pytest.raises(SchemaError, match="rule "):
        parse_rule(text)


def test_a_rule_is_judged_on_whole_cells_only_where_all_their_values_break_it() -> None:
    described = schema("if age < 15: marital = N").ruled
    from microtome.schema import CategoryCells, NumberCells

    ages = NumberCells.of(COLUMNS[0], np.array([0.0, 10.0, 20.0, 100.0]))
    statuses = CategoryCells(categories=("N", "M", "never-married"), other=False, missing=True)
    extents = {
        "age": described.scales["age"].cells(ages).along(0, 2),
        "marital": described.scales["marital"].cells(statuses).along(1, 2),
    }
    expected = [[False, True, True, False], [False] * 4, [False] * 4]
    assert described.broken(extents).tolist() == expected
