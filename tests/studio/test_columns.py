"""The draft, corrected column by column, and confirmed."""

from __future__ import annotations

import pytest
from studio_support import Visitor, problem, small_table

from microtome.schema import Kind, Schema


@pytest.fixture
def visitor(visitor: Visitor) -> Visitor:
    visitor.opened("people.csv", small_table())
    return visitor


def schema(visitor: Visitor) -> Schema:
    found = visitor.studio.desk.contents.schema
    assert found is not None
    return found


def test_a_column_is_declared(visitor: Visitor) -> None:
    fields = {"name": "visits", "role": "integer", "low": "0", "high": "9", "outside": "clamp", "unit": "a year"}
    assert visitor.post("/columns/change", **fields).status == 303
    column = schema(visitor)["visits"]
    assert (column.bounds, column.missing, str(column.outside), column.unit) == ((0, 9), False, "clamp", "a year")
    assert "0 … 9" in visitor.get("/columns").text
    assert visitor.post("/columns/change", **{**fields, "low": "", "high": "", "missing": "yes"}).status == 303
    assert schema(visitor)["visits"].bounds is None


def test_a_column_becomes_another_kind_and_goes_aside(visitor: Visitor) -> None:
    visitor.post("/columns/change", name="visits", role="ordered", categories="0\n1\n2\n3\n4\n5\n6", outside="refuse")
    assert schema(visitor)["visits"].kind is Kind.ORDERED
    visitor.post("/columns/change", name="visits", role="drop")
    assert schema(visitor).names_aside == ["visits"]
    visitor.post("/columns/change", name="visits", role="integer", low="0", high="9", outside="refuse")
    assert schema(visitor)["visits"].bounds == (0, 9)


def test_what_makes_no_sense_is_refused_and_stays_in_the_form(visitor: Visitor) -> None:
    before = schema(visitor)
    answer = visitor.post("/columns/change", name="visits", role="integer", low="9", high="0", outside="refuse")
    assert answer.status == 422
    assert "not in order" in problem(answer)
    assert 'value="9"' in answer.text
    assert schema(visitor) == before
    for fields in ({"name": "nobody", "role": "integer"}, {"name": "visits", "role": "colour"}):
        assert visitor.post("/columns/change", outside="refuse", **fields).status == 422


def test_all_problems_of_a_document_are_told_at_once(visitor: Visitor) -> None:
    text = schema(visitor).to_yaml().replace("kind: integer", "kind: number")
    answer = visitor.post("/columns/document", document=text)
    assert answer.status == 422
    assert "age" in problem(answer)
    assert "visits" in problem(answer)
    assert "kind: number" in answer.text


def test_rules_come_with_the_document(visitor: Visitor) -> None:
    text = schema(visitor).to_yaml() + "rules:\n  - age >= visits\n"
    assert visitor.post("/columns/document", document=text).status == 303
    assert len(schema(visitor).rules) == 1


def test_the_target(visitor: Visitor) -> None:
    visitor.post("/columns/target", target="sex")
    assert schema(visitor).target == "sex"
    visitor.post("/columns/target", target="")
    assert schema(visitor).target is None
    assert visitor.post("/columns/target", target="nobody").status == 422


def test_a_draft_is_confirmed_by_somebody_who_says_so(visitor: Visitor) -> None:
    refused = visitor.post("/columns/confirm", suggestions="keep")
    assert refused.status == 422
    assert schema(visitor).drafted
    assert schema(visitor)["age"].suggested
    visitor.post("/columns/confirm", suggestions="drop", public="yes")
    assert not schema(visitor).drafted
    assert schema(visitor)["age"].bounds is None


def test_a_page_that_is_older_than_the_desk_changes_nothing(visitor: Visitor) -> None:
    seen = visitor.studio.desk.version
    assert visitor.post("/columns/target", version=seen, target="sex").status == 303
    answer = visitor.post("/columns/target", version=seen, target="age")
    assert answer.status == 422
    assert "another tab" in problem(answer)
    assert schema(visitor).target == "sex"


def test_names_from_a_file_are_shown_as_text(visitor: Visitor) -> None:
    nasty = "<img src=x onerror=alert(1)>"
    visitor.opened("nasty.csv", f'"{nasty}",age\n'.encode() + b"a,1\nb,2\n" * 40)
    text = visitor.get("/columns").text
    assert nasty not in text
    assert "&lt;img src=x" in text
