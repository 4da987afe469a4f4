"""Values that cannot be read are told of in words that anybody understands, with what to do."""

import re

import pyarrow as pa
import pytest

from microtome.schema import Column, Kind
from microtome.schema.misreading import cast_error, misread, rows_in_words


@pytest.mark.parametrize(
    ("value", "wanted", "said"),
    [
        ("'k.A.'", "double", "'k.A.' is not a number; .*codes: \\['k.A.'\\]"),
        ("'k.A.'", "int64", "'k.A.' is not a whole number; .*codes: \\['k.A.'\\]"),
        ("'37.5'", "int64", "'37.5' is not a whole number; .*kind: float"),
        ("'unknown'", "date32[day]", "not a date like 2026-01-31; .*codes: \\['unknown'\\]"),
        ("'late'", "timestamp[us]", "not a date with a time"),
        ("'late'", "time32[s]", "not a time of day"),
        ("'perhaps'", "bool", "not true or false; .*kind: categorical"),
    ],
)
def test_a_value_is_told_of_with_its_remedy(value: str, wanted: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        raise ValueError(misread(value, wanted))


def test_what_arrow_cannot_turn_is_told_in_our_words() -> None:
    column = Column(name="income", kind=Kind.FLOAT)
    with pytest.raises(pa.ArrowInvalid) as caught:
        pa.array(["1.5", "k.A."]).cast(pa.float64())
    assert cast_error(column, pa.string(), caught.value).startswith("'k.A.' is not a number")
    with pytest.raises(pa.ArrowInvalid) as caught:
        pa.array([37.5]).cast(pa.int64())
    assert "is not a whole number" in cast_error(column, pa.float64(), caught.value)


def test_codes_are_no_remedy_for_categories_and_for_other_types() -> None:
    error = pa.ArrowInvalid("values are stored as int64")
    assert "codes" in cast_error(Column(name="born", kind=Kind.DATE), pa.large_string(), error)
    assert "codes" not in cast_error(Column(name="born", kind=Kind.DATE), pa.int64(), error)
    assert "codes" not in cast_error(Column(name="sex", kind=Kind.CATEGORICAL), pa.string(), error)


@pytest.mark.parametrize(
    ("kind", "format_text", "texts", "said"),
    [
        (Kind.FLOAT, "#.##0,##", ["1.399,65", "k.A."], r"'k\.A\.' is not a number in the format .*codes: \['k\.A\.'\]"),
        (Kind.INTEGER, "#,##0", ["1,399", "13.50"], "'13.50' is not a whole number in the format .*correct its format"),
        (Kind.DATE, "%d.%m.%Y", ["31.01.2026", "?", "30.02.2026"], "'?' is not a date in the format .*nor is '30.02"),
        (Kind.BOOLEAN, "no/yes", ["yes", "maybe"], "'maybe' is not true or false in the format .*kind: categorical"),
    ],
)
def test_a_value_that_is_not_in_the_format_is_told_of_with_its_row(
    kind: Kind, format_text: str, texts: list[str], said: str
) -> None:
    column = Column(name="x", kind=kind, format=format_text)
    assert column.notation is not None
    values = pa.array([None, *texts])
    with pytest.raises(pa.ArrowInvalid) as caught:
        column.notation.read(values, column.arrow_type)
    assert re.search(said, cast_error(column, values.type, caught.value))
    assert rows_in_words(values, caught.value, 10) == "row 13"


def test_the_row_of_a_value_that_arrow_cannot_turn() -> None:
    values = pa.array(["1.5", "2", "k.A."])
    with pytest.raises(pa.ArrowInvalid) as caught:
        values.cast(pa.float64())
    assert rows_in_words(values, caught.value, 10) == "row 13"
    assert rows_in_words(pa.array([37.5]), caught.value, 10) == "rows 11 to 11"
