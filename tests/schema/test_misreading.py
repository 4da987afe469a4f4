"""Values that cannot be read are told of in words that anybody understands, with what to do."""

import pyarrow as pa
import pytest

from microtome.schema import Column, Kind
from microtome.schema.misreading import cast_error, misread


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
