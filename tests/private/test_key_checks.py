"""Keys that do not fit together are counted and named, table by table, and no value of theirs is told."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import microtome as mt
from microtome.demo import clinic, clinic_schema
from microtome.errors import TableError
from microtome.private.key_checks import check_keys
from microtome.private.opening import open_table
from microtome.schema import LinkedSchema

KEY = {"action": "surrogate", "dtype": "string"}
SCHEMA = LinkedSchema.from_dict(
    {
        "microtome-linked": 1,
        "tables": [
            {
                "table": "client",
                "key": "client",
                "columns": [{"name": "client", **KEY}, {"name": "sex", "kind": "categorical"}],
            },
            {
                "table": "disp",
                "key": "disp",
                "parent": "client",
                "foreign_key": "client",
                "min_rows": 1,
                "max_rows": 2,
                "columns": [
                    {"name": "disp", **KEY},
                    {"name": "client", **KEY},
                    {"name": "account", **KEY},
                    {"name": "role", "kind": "categorical", "categories": ["owner", "other"]},
                ],
            },
            {
                "table": "account",
                "key": "account",
                "parent": "disp",
                "foreign_key": "account",
                "cardinality": "m:n",
                "owner": {"role": "owner"},
                "columns": [{"name": "account", **KEY}, {"name": "open", "kind": "boolean"}],
            },
            {
                "table": "loan",
                "parent": "account",
                "foreign_key": "account",
                "cardinality": "1:1",
                "columns": [{"name": "account", **KEY}, {"name": "amount", "kind": "float"}],
            },
            {
                "table": "order",
                "key": "order",
                "parent": "account",
                "foreign_key": "account",
                "max_rows": 2,
                "columns": [{"name": "order", **KEY}, {"name": "account", **KEY}, {"name": "sum", "kind": "float"}],
            },
        ],
    }
)
TABLES: dict[str, dict[str, list[Any]]] = {
    "client": {"client": ["Ann", "Bob", "Cyd"], "sex": ["f", "m", "f"]},
    "disp": {
        "disp": ["d1", "d2", "d3"],
        "client": ["Ann", "Bob", "Cyd"],
        "account": ["a1", "a1", "a2"],
        "role": ["owner", "other", "owner"],
    },
    "account": {"account": ["a1", "a2"], "open": [True, False]},
    "loan": {"account": ["a1"], "amount": [5.0]},
    "order": {"order": ["o1", "o2"], "account": ["a1", "a1"], "sum": [1.0, 2.0]},
}


def checked(**changes: dict[str, list[Any]]) -> tuple[str, ...]:
    tables = copy.deepcopy(TABLES)
    for name, columns in changes.items():
        tables[name] |= columns
    return check_keys(SCHEMA, {name: open_table(pa.table(columns)) for name, columns in tables.items()})


def refusal(**changes: dict[str, list[Any]]) -> str:
    with pytest.raises(TableError) as refused:
        checked(**changes)
    return str(refused.value)


def test_keys_that_fit_together_pass_without_a_word() -> None:
    assert checked() == ()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"client": {"client": ["Ann", "Ann", "Cyd"]}},
            "'client': key 'client' is not unique: 1 of its values stand in",
        ),
        ({"client": {"client": ["Ann", "Ann", "Cyd"]}}, "'disp': 1 row without a parent: 'client' is no key of"),
        ({"client": {"client": ["Ann", None, "Cyd"]}}, "'client': key 'client' is missing in 1 row"),
        ({"disp": {"client": ["Ann", None, "Cyd"]}}, "'disp': 1 row without a parent: foreign key 'client' is missing"),
        ({"disp": {"client": ["Ann", None, "Cyd"]}}, "'disp': fewer rows here than min_rows, 1, for 1 row of 'client'"),
        ({"disp": {"disp": ["d1", "d1", "d3"]}}, "'disp': 1 of its keys hang on several rows of 'client'"),
        ({"disp": {"account": ["a1", None, "a2"]}}, "'account': 1 row of 'disp' name no row: 'account' is missing"),
        ({"disp": {"account": ["a1", "a7", "a2"]}}, "'account': 1 row of 'disp' name a row that is not here"),
        ({"disp": {"role": ["other", "other", "owner"]}}, "'account': 1 row without an owner"),
        ({"disp": {"role": ["owner", "owner", "owner"]}}, "'account': 1 row with several owners (role = owner"),
        ({"loan": {"account": ["a1", "a1"], "amount": [1.0, 2.0]}}, "'loan': several rows here for 1 row of 'account'"),
        ({"order": {"account": ["a1", "a8"]}}, "'order': 1 row without a parent: 'account' is no key of 'account'"),
        ({"client": {"client": ["Ann", "ANN ", "Cyd"]}}, "'client': 1 of the keys in 'client' are spelled in several"),
        ({"disp": {"client": ["ann", "Bob", "Cyd"]}}, "there; 1 of them would be with another spelling"),
        ({"disp": {"account": ["a1", "a1", " a2"]}}, "('account'); 1 of them would be with another spelling"),
    ],
)
def test_what_does_not_fit_is_counted_and_named(changes: dict[str, Any], said: str) -> None:
    told = refusal(**changes)
    assert said in told
    for value in ("Ann", "Bob", "Cyd", "a7", "a8", "d1"):
        assert value not in told


def test_all_problems_are_told_at_once() -> None:
    told = refusal(
        client={"client": ["Ann", "Ann", "Cyd"]},
        disp={"role": ["owner", "owner", "other"]},
        order={"account": ["a1", "a9"]},
    )
    assert len(told.splitlines()) == 5
    for part in ("'client': key", "'disp': 1 row without", "'account': 1 row without an owner", "several owners"):
        assert part in told


def test_rows_beyond_the_most_are_a_remark_and_no_error() -> None:
    remarks = checked(order={"order": ["o1", "o2", "o3"], "account": ["a1"] * 3, "sum": [1.0] * 3})
    assert remarks == (
        "table 'order': more rows here than max_rows, 2, for 1 row of 'account': 1 row will not be counted",
    )


def test_keys_of_another_type_are_refused() -> None:
    tables = {name: open_table(pa.table(columns)) for name, columns in TABLES.items()}
    tables["client"] = open_table(pa.table({"client": [1, 2, 3], "sex": ["f", "m", "f"]}))
    with pytest.raises(TableError, match=r"column 'client' is a key, of numbers here and of texts elsewhere"):
        check_keys(SCHEMA, tables)


def test_a_table_that_is_not_there_is_named() -> None:
    with pytest.raises(TableError, match="no table 'loan', 'order'; given are client, disp, account"):
        check_keys(SCHEMA, {name: open_table(pa.table(TABLES[name])) for name in ("client", "disp", "account")})


def test_a_release_is_refused_before_anything_is_reserved(tmp_path: Path) -> None:
    tables = clinic(60)
    nobody = pa.array([999_999] * tables["visits"].num_rows)
    tables["visits"] = tables["visits"].set_column(1, "patient", nobody)
    ledger, output = tmp_path / "ledger.json", tmp_path / "clinic.release"
    with pytest.raises(TableError, match=r"table 'visits': .* without a parent") as refused:
        mt.release(tables, clinic_schema(), epsilon=1, ledger=ledger, dataset="clinic", output=output)
    assert "999" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []
