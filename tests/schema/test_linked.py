"""Schemas of several tables: what is read is written again, and everything that is wrong is told at once."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from microtome.errors import SchemaError
from microtome.schema import LinkedSchema
from microtome.schema.linked_view import linked_views
from microtome.schema.unit import Unit

KEY = {"action": "surrogate", "dtype": "int64"}
BANK: dict[str, Any] = {
    "microtome-linked": 1,
    "tables": [
        {
            "table": "order",
            "parent": "account",
            "foreign_key": "account_id",
            "max_rows": 5,
            "order": "day",
            "columns": [
                {"name": "account_id", **KEY},
                {"name": "day", "kind": "date", "bounds": ["2013-01-01", "2017-12-31"], "missing": "never"},
                {"name": "amount", "kind": "float", "bounds": [0, 10_000]},
            ],
        },
        {
            "table": "client",
            "key": "client_id",
            "references": {"district_id": "district"},
            "columns": [
                {"name": "client_id", **KEY},
                {"name": "sex", "kind": "categorical", "categories": ["f", "m"]},
                {"name": "district_id", "kind": "categorical", "dtype": "int64"},
            ],
        },
        {
            "table": "disp",
            "key": "disp_id",
            "parent": "client",
            "foreign_key": "client_id",
            "min_rows": 1,
            "max_rows": 2,
            "columns": [
                {"name": "disp_id", **KEY},
                {"name": "client_id", **KEY},
                {"name": "account_id", **KEY},
                {"name": "role", "kind": "categorical", "categories": ["owner", "disponent"], "missing": "never"},
            ],
        },
        {
            "table": "account",
            "key": "account_id",
            "parent": "disp",
            "foreign_key": "account_id",
            "cardinality": "m:n",
            "owner": {"role": "owner"},
            "columns": [{"name": "account_id", **KEY}, {"name": "joint", "kind": "boolean"}],
        },
        {
            "table": "district",
            "public": True,
            "key": "district_id",
            "rows": {"district_id": [1, 2, 5], "a_region": ["Prague", "Prague", None]},
        },
    ],
}


def changed(**tables: dict[str, Any]) -> dict[str, Any]:
    """The bank's document with some entries of its tables replaced."""
    document = copy.deepcopy(BANK)
    for entry in document["tables"]:
        entry |= tables.get(entry["table"], {})
    return document


def refusal(document: Any) -> str:
    with pytest.raises(SchemaError) as refused:
        LinkedSchema.from_dict(document)
    return str(refused.value)


def test_tables_are_kept_parents_first() -> None:
    bank = LinkedSchema.from_dict(BANK)
    assert bank.names == ["client", "disp", "account", "order"]
    assert bank.root.name == "client"
    assert [table.name for table in bank.ancestors("order")] == ["client", "disp", "account"]
    assert [table.name for table in bank.children("disp")] == ["account"]
    assert bank.max_rows_of_person("order") == 2 * 1 * 5
    assert bank.max_rows_of_person("client") == 1
    assert set(bank.links) == {"disp", "account", "order"}


def test_numbers_that_are_settled_are_counted_with_nothing() -> None:
    card = {"table": "card", "parent": "disp", "foreign_key": "disp_id", "cardinality": "1:1"}
    columns = [{"name": "disp_id", **KEY}, {"name": "gold", "kind": "boolean", "missing": "never"}]
    document = changed(disp={"max_rows": 1})
    document["tables"].append({**card, "columns": columns})
    views = linked_views(LinkedSchema.from_dict(document))
    assert views["client"].view.settled == ("number of disp",)
    assert set(views["disp"].view.settled) == {"number of account", "client: number of disp"}
    told = {"client: number of disp", "disp: role", "disp: number of account"}
    assert set(views["account"].view.settled) == set(views["order"].view.settled) == told
    assert set(views["card"].view.settled) == {"client: number of disp", "disp: number of card"}
    for one in views.values():
        measured, names = one.view.measured_pairs(), one.view.schema.names
        assert not any(measured[names.index(name)].any() for name in one.view.settled)
    order = views["order"].view
    assert order.measured_pairs()[order.schema.names.index("account: number of order")].any()


def test_what_refers_to_a_public_table_has_its_keys_for_categories() -> None:
    bank = LinkedSchema.from_dict(BANK)
    assert bank.root.schema["district_id"].categories == (1, 2, 5)
    assert bank.public[0].table().to_pydict() == BANK["tables"][4]["rows"]


def test_documents_are_read_as_they_were_written(tmp_path: Path) -> None:
    bank = LinkedSchema.from_dict(BANK)
    again = LinkedSchema.from_dict(json.loads(json.dumps(bank.to_dict(), sort_keys=True)))
    assert again == bank
    assert list(again.public[0].rows) == ["district_id", "a_region"]  # in their order, also where keys are sorted
    (tmp_path / "bank.yaml").write_text(bank.to_yaml(), encoding="utf-8")
    assert LinkedSchema.load(tmp_path / "bank.yaml") == bank


def test_rows_of_public_tables_are_read_from_beside_the_document(tmp_path: Path) -> None:
    (tmp_path / "district.csv").write_text("district_id,region\n1,Prague\n2,Prague\n5,\n", encoding="utf-8")
    document = LinkedSchema.from_dict(BANK).to_yaml()
    before, _, _ = document.partition("    rows:")
    (tmp_path / "bank.yaml").write_text(before + "    rows: district.csv\n", encoding="utf-8")
    assert LinkedSchema.load(tmp_path / "bank.yaml").public[0].keys == (1, 2, 5)
    (tmp_path / "district.csv").unlink()
    with pytest.raises(SchemaError, match=r"public table 'district'.*district\.csv cannot be read"):
        LinkedSchema.load(tmp_path / "bank.yaml")


def test_a_bare_one_to_one_is_not_taken_for_sixty_one(tmp_path: Path) -> None:
    document = changed(order={"cardinality": "1:1", "max_rows": None, "order": None})
    text = LinkedSchema.from_dict(document).to_yaml().replace("'1:1'", "1:1")
    assert "cardinality: 1:1" in text
    (tmp_path / "bank.yaml").write_text(text, encoding="utf-8")
    assert LinkedSchema.load(tmp_path / "bank.yaml") == LinkedSchema.from_dict(document)


def test_a_draft_is_a_draft_until_it_is_confirmed() -> None:
    draft = LinkedSchema.from_dict(BANK | {"drafted": True})
    assert draft.drafted
    assert "drafted: true" in draft.to_yaml()
    assert draft.confirm() == LinkedSchema.from_dict(BANK)


def test_everything_that_is_wrong_is_told_at_once() -> None:
    told = refusal(
        changed(
            order={"max_rows": 0},
            client={"key": "number"},
            disp={"parent": "clients"},
            account={"columns": [{"name": "account_id", **KEY}, {"name": "joint", "kind": "boolaen"}]},
        )
    )
    assert "table 'order': max_rows is 0" in told
    assert "table 'client': key 'number' is no column" in told
    assert "table 'disp': parent 'clients' is not a private table" in told
    assert "table 'account': column 'joint'" in told


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"client": {"parent": "order", "foreign_key": "client_id"}}, "in a circle: account → disp → client → order"),
        ({"client": {"parent": "order", "foreign_key": "client_id"}}, "no table without a parent"),
        ({"order": {"parent": "order"}}, "in a circle: order → order"),
        (
            {"order": {"parent": None, "foreign_key": None, "order": None, "max_rows": None}},
            "order, client have no parent",
        ),
        ({"order": {"parent": None}}, "'order': foreign_key, max_rows, order is given, but no 'parent'"),
        ({"order": {"parent": "district"}}, "'district' is not a private table"),
        ({"order": {"foreign_key": None}}, "'foreign_key' is missing"),
        ({"order": {"foreign_key": "amount"}}, "foreign key 'amount' would be released or dropped"),
        ({"order": {"order": "when"}}, "order is 'when'; released columns are day, amount"),
        ({"order": {"max_rows": 2.5}}, "max_rows is 2.5"),
        ({"order": {"max_rows": True}}, "max_rows is True"),
        ({"order": {"min_rows": 6}}, "min_rows is 6"),
        ({"order": {"cardinality": "1:1"}}, "max_rows is 5, but 1:1 means one row at most"),
        ({"order": {"cardinality": "n:m"}}, "cardinality is 'n:m'; it must be one of 1:1, 1:n, m:n"),
        ({"order": {"owner": {"role": "owner"}}}, "which is for m:n only"),
        ({"order": {"kye": "day"}}, "an unknown key 'kye'"),
        ({"client": {"key": None}}, "table 'client': 'key' is missing, and table 'disp' hangs on it"),
        ({"client": {"key": 3}}, "key is 3; it must be a name"),
        ({"client": {"references": {"sex": "district"}}}, "is not of whole numbers"),
        ({"client": {"references": {"district_id": "districts"}}}, "'districts', which is no public table"),
        ({"client": {"references": {"town": "district"}}}, "references has 'town'"),
        ({"account": {"owner": None}}, "protected for none of them"),
        ({"account": {"owner": {"role": "holder"}}}, "'holder' is not among the declared categories of 'role'"),
        ({"account": {"owner": {"rank": "owner"}}}, "owner 'rank' is no released column"),
        ({"account": {"key": None}}, "m:n needs 'key', the column that disp.account_id holds"),
        ({"account": {"table": "order"}}, "table 'order' is described twice"),
        ({"district": {"key": "a_region"}}, "its key 'a_region' is missing in a row"),
        ({"district": {"rows": {"district_id": [1, 1]}}}, "more than once for 1 values: 1"),
        ({"district": {"rows": {"district_id": [1, 2], "region": ["a"]}}}, "different numbers of rows"),
        ({"district": {"rows": "district.csv"}}, "are read from beside the schema's own file"),
        ({"district": {"rows": None}}, "rows must name a CSV or Parquet file"),
        ({"district": {"public": "yes"}}, "'public' is 'yes'"),
    ],
)
def test_a_wrong_document_is_refused_in_words(tables: dict[str, Any], said: str) -> None:
    document = changed(**tables)
    if said.startswith("is not of whole"):
        document["tables"][4]["rows"]["district_id"] = ["1", "2", "5"]
        document["tables"][1]["references"] = {"district_id": "district"}
    assert said in refusal(document)


def test_a_table_has_no_unit_of_its_own() -> None:
    schema = LinkedSchema.from_dict(BANK)
    root = schema.root
    rows = replace(root.schema, unit=Unit(key=str(root.key)))
    with pytest.raises(SchemaError, match="the people of linked tables are the root's rows"):
        replace(root, schema=rows)


def test_keys_of_different_types_are_refused() -> None:
    document = copy.deepcopy(BANK)
    document["tables"][2]["columns"][1] = {"name": "client_id", "action": "surrogate", "dtype": "string"}
    document["tables"][3]["columns"][0] = {"name": "account_id", "action": "surrogate", "dtype": "string"}
    told = refusal(document)
    assert "keys are of different types: disp.client_id is string, client.client_id is int64" in told
    assert "keys are of different types: disp.account_id is int64, account.account_id is string" in told


@pytest.mark.parametrize("document", [None, [], {}, {"microtome-linked": True}, {"microtome-linked": 2}])
def test_what_is_no_such_document_is_refused(document: Any) -> None:
    assert "linked" in refusal(document)


def test_a_document_without_tables_is_refused() -> None:
    assert "'tables' must be a list" in refusal({"microtome-linked": 1, "tables": "client"})
    assert "no table without a parent" in refusal({"microtome-linked": 1, "tables": []})
    assert "needs its name under 'table'" in refusal({"microtome-linked": 1, "tables": [3]})
