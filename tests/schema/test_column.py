"""What may be declared about a column, and what every refusal says."""

import datetime as dt
import math
from typing import Any

import pyarrow as pa
import pytest

from microtome.errors import SchemaError
from microtome.schema import DTYPES, Column, Kind, Outside

REFUSED = [
    ({"kind": "text"}, "text"),
    ({"kind": "float", "outside": "ignore"}, "ignore"),
    ({"kind": "float", "dtype": "float128"}, "float128"),
    ({"kind": "float", "dtype": "int64"}, "int64"),
    ({"kind": "date", "dtype": "string"}, "string"),
    ({"kind": "boolean", "dtype": "int8"}, "int8"),
    ({"kind": "categorical", "bounds": (0, 1)}, "bounds"),
    ({"kind": "float", "categories": ("a",)}, "categories"),
    ({"kind": "float", "weight": 0.0}, "0.0"),
    ({"kind": "float", "weight": -2.0}, "-2.0"),
    ({"kind": "float", "weight": math.nan}, "nan"),
    ({"kind": "float", "weight": math.inf}, "inf"),
    ({"kind": "float", "bins": 1}, "1"),
    ({"kind": "float", "bins": 1025}, "1025"),
    ({"kind": "ordered"}, "ordered"),
    ({"kind": "categorical", "categories": ()}, "categories"),
    ({"kind": "categorical", "categories": ("a", "b", "a")}, "'a'"),
    ({"kind": "categorical", "categories": ("a", None)}, "missing"),
    ({"kind": "categorical", "categories": ("a", 3)}, "string"),
    ({"kind": "categorical", "dtype": "int64", "categories": (1, 2.5)}, "int64"),
    ({"kind": "categorical", "dtype": "int8", "categories": (1, 300)}, "300"),
    ({"kind": "categorical", "dtype": "float64", "categories": (1.0, math.inf)}, "inf"),
    ({"kind": "categorical", "dtype": "float64", "categories": (1.0, math.nan)}, "nan"),
    ({"kind": "categorical", "dtype": "date", "categories": ("yesterday",)}, "yesterday"),
    ({"kind": "float", "bounds": (1.0,)}, "(1.0,)"),
    ({"kind": "float", "bounds": (1.0, 2.0, 3.0)}, "3.0"),
    ({"kind": "float", "bounds": "12"}, "12"),
    ({"kind": "float", "bounds": ("low", 2.0)}, "low"),
    ({"kind": "float", "bounds": (False, True)}, "False"),
    ({"kind": "float", "bounds": (2.0, 1.0)}, "2.0"),
    ({"kind": "float", "bounds": (1.0, 1.0)}, "1.0"),
    ({"kind": "float", "bounds": (math.nan, 1.0)}, "nan"),
    ({"kind": "float", "bounds": (0.0, math.inf)}, "inf"),
    ({"kind": "float", "bounds": (-1.7e308, 1.7e308)}, "1.7e+308"),
    ({"kind": "integer", "bounds": (0.5, 3)}, "0.5"),
    ({"kind": "integer", "bounds": (0, 2**53)}, "2^53"),
    ({"kind": "date", "bounds": ("2020-01-01", "soon")}, "soon"),
    ({"kind": "date", "bounds": (5, 6)}, "5"),
    ({"kind": "datetime", "bounds": ("2020-01-01", "2020-13-01")}, "2020-13-01"),
]


@pytest.mark.parametrize(("declared", "value"), REFUSED)
def test_refusal_names_column_and_value(declared: dict, value: str) -> None:
    with pytest.raises(SchemaError) as refused:
        Column(name="my column", **declared)
    assert "'my column'" in str(refused.value)
    assert value in str(refused.value)


def test_kind_and_policy_may_be_given_by_name() -> None:
    column = Column(name="x", kind="integer", outside="clamp", bounds=[0, 9])  # type: ignore[arg-type]
    assert column == Column(name="x", kind=Kind.INTEGER, outside=Outside.CLAMP, bounds=(0, 9))


def test_every_kind_has_a_default_dtype() -> None:
    for kind in Kind:
        categories = ("a",) if kind is Kind.ORDERED else None
        column = Column(name="x", kind=kind, categories=categories)
        assert column.arrow_type == DTYPES[column.dtype]


def test_boolean_needs_no_declaration() -> None:
    column = Column(name="x", kind=Kind.BOOLEAN)
    assert column.categories == (False, True)
    assert column.is_declared


@pytest.mark.parametrize(
    ("kind", "given", "settled", "numbers"),
    [
        (Kind.DATE, ("1970-01-02", dt.datetime(1970, 1, 11, 5)), (dt.date(1970, 1, 2), dt.date(1970, 1, 11)), (1, 10)),
        (
            Kind.DATE,
            (dt.date(1969, 12, 31), dt.date(1970, 1, 1)),
            (dt.date(1969, 12, 31), dt.date(1970, 1, 1)),
            (-1, 0),
        ),
        (
            Kind.DATETIME,
            ("1970-01-01T00:00:01", dt.date(1970, 1, 2)),
            (dt.datetime(1970, 1, 1, 0, 0, 1), dt.datetime(1970, 1, 2)),
            (1e6, 86_400e6),
        ),
    ],
)
def test_dates_are_settled_to_their_own_type(kind: Kind, given: tuple, settled: tuple, numbers: tuple) -> None:
    column = Column(name="x", kind=kind, bounds=given)
    assert column.bounds == settled
    assert [type(bound) for bound in column.bounds or ()] == [type(bound) for bound in settled]
    assert column.number_bounds() == numbers


def test_bounds_of_short_floats_mean_what_the_type_can_hold() -> None:
    column = Column(name="x", kind=Kind.FLOAT, dtype="float32", bounds=(0.1, 0.3))
    stored = pa.array([0.1, 0.3], pa.float32()).to_pylist()
    assert column.number_bounds() == tuple(stored)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"kind": "categorical", "codes": ("N",)}, "they are categories"),
        ({"kind": "integer", "codes": ("N", "N")}, "listed twice"),
        ({"kind": "integer", "codes": (9999, "9999")}, "listed twice"),
        ({"kind": "integer", "codes": (" ",)}, "missing"),
        ({"kind": "integer", "codes": (True,)}, "neither a text nor a number"),
        ({"kind": "integer", "dtype": "int8", "codes": (9999,)}, "not of dtype int8"),
        ({"kind": "integer", "codes": "N"}, "must be a list"),
    ],
)
def test_impossible_codes_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        Column(name="x", **settings)


def test_codes_are_kept_as_people_write_them() -> None:
    column = Column(name="x", kind="float", codes=("N", "9999", 7.5))  # type: ignore[arg-type]
    assert column.codes == ("N", 9999, 7.5)
    assert column.code_texts == ["N", "9999", "7.5"]
    assert column.storage_type == pa.string()
