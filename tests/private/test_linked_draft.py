"""Several tables are drafted together: keys and what hangs on what by names and contents, and no value written down."""

from __future__ import annotations

import pyarrow as pa
import pytest

from microtome.demo import clinic
from microtome.errors import SchemaError
from microtome.private.linked_draft import draft_linked
from microtome.schema import Cardinality


def bank() -> dict[str, pa.Table]:
    """Forty clients with twenty accounts of two holders each, orders at these, and districts."""
    people = list(range(100, 140))
    return {
        "order": pa.table({"order_id": range(60), "account_id": [n % 20 for n in range(60)], "sum": [1.5, 2.5] * 30}),
        "client": pa.table({"client_id": people, "district_id": [n % 5 for n in people], "sex": ["f", "m"] * 20}),
        "disp": pa.table(
            {
                "disp_id": range(40),
                "client_id": people,
                "account_id": [n // 2 for n in range(40)],
                "role": ["secret owner", "secret other"] * 20,
            }
        ),
        "account": pa.table({"account_id": range(20), "district_id": [n % 5 for n in range(20)]}),
        "district": pa.table({"district_id": range(5), "region": ["n", "s", "e", "w", "w"]}),
    }


def test_the_clinic_is_found_out() -> None:
    drafted = draft_linked(clinic(300))
    assert drafted.schema.drafted
    assert drafted.schema.names == ["patients", "visits", "prescriptions"]
    visits, prescriptions = drafted.schema.links["visits"], drafted.schema.links["prescriptions"]
    assert (visits.table, visits.foreign_key, visits.order) == ("patients", "patient", "day")
    assert (prescriptions.table, prescriptions.foreign_key, prescriptions.order) == ("visits", "visit", None)
    assert visits.most == 8  # the default, and not the twelve that somebody has
    assert not drafted.schema["visits"].schema["day"].missing


def test_what_is_public_is_not_for_a_draft_to_say() -> None:
    drafted = draft_linked(clinic(300))
    assert drafted.schema.public == ()
    assert any(remark.startswith("practices: left out. patients.practice") for remark in drafted.remarks)


def test_what_two_people_share_hangs_on_the_link_and_its_owner_is_left_to_be_said() -> None:
    drafted = draft_linked(bank())
    assert drafted.schema.names == ["client", "disp", "account", "order"]
    account = drafted.schema.links["account"]
    assert (account.table, account.cardinality, account.owner) == ("disp", Cardinality.SHARED, ("role", None))
    assert drafted.schema["disp"].key_column("account_id", "foreign key").dtype == "int64"
    with pytest.raises(SchemaError, match="declared categories of 'role'; declare them all"):
        drafted.schema.confirm()


def test_no_value_is_written_down() -> None:
    assert "secret" not in draft_linked(bank()).schema.to_yaml()


def test_one_row_a_parent_is_one_to_one() -> None:
    tables = bank()
    tables["order"] = tables["order"].slice(0, 20)
    assert draft_linked(tables).schema.links["order"].cardinality is Cardinality.ONE


def test_orphans_are_counted_for_the_holder() -> None:
    tables = bank()
    tables["order"] = tables["order"].set_column(1, "account_id", pa.array([77, *(n % 20 for n in range(59))]))
    assert "order.account_id: 1 rows name no row of account; correct them" in draft_linked(tables).remarks


def test_a_second_key_of_an_ancestor_is_dropped() -> None:
    tables = bank()
    owners = [100 + 2 * (n % 20) for n in range(60)]
    tables["order"] = tables["order"].append_column("client_id", pa.array(owners))
    drafted = draft_linked(tables)
    assert drafted.schema.links["order"].table == "account"
    assert any("order.client_id: left out (drop)" in remark for remark in drafted.remarks)


def test_people_are_named_where_names_do_not_tell() -> None:
    tables = bank()
    tables["holder"] = tables.pop("client").rename_columns(["holder_id", "district_id", "sex"])
    tables["disp"] = tables["disp"].rename_columns(["disp_id", "holder_id", "account_id", "role"])
    with pytest.raises(SchemaError, match=r"names do not tell which table is the people's: .*--people"):
        draft_linked(tables)
    assert draft_linked(tables, people="holder").schema.root.name == "holder"
    with pytest.raises(SchemaError, match="people is 'clients'; tables are"):
        draft_linked(tables, people="clients")
