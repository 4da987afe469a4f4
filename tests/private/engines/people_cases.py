"""People with several rows, and with keys and values on which two ways of counting might part."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from microtome.schema import Column, Kind, Schema
from microtome.schema.unit import Unit

COLUMNS = (
    Column(name="ward", kind=Kind.CATEGORICAL, categories=("a", "ä", "a\u0308", "", " "), outside="clamp"),
    Column(name="cost", kind=Kind.FLOAT, bounds=(-2.0, 3.0), outside="clamp"),
    Column(name="day", kind=Kind.DATE, bounds=(dt.date(2020, 1, 1), dt.date(2020, 2, 1)), missing=False),
    Column(name="number", kind=Kind.INTEGER, bounds=(-9, 9)),
    Column(name="urgent", kind=Kind.BOOLEAN),
)
"""The last but one is as wide as no histogram of common numbers is."""


def visits_schema(most: int, *, order: str | None = None) -> Schema:
    return Schema(columns=COLUMNS, unit=Unit(key="who", max_rows=most, order=order))


KEYS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), ["7", "70", "7.1", "ä", "a", "a b", "None", "𝛿", "'", "\\", "a\nb"]),
    "whole": (pa.int64(), [7, -7, 0, 2**62, -(2**63), 2**63 - 1, 1, 10]),
    "stored as floats": (pa.float64(), [7.0, -7.0, 0.0, -0.0, 2.0**53 - 1, 1.0, 10.0]),
    "days": (pa.date32(), [dt.date(1969, 12, 31), dt.date(1970, 1, 1), dt.date(2024, 2, 29)]),
}
"""Keys that must be told apart, or taken for the same."""
_ROWS = st.tuples(
    st.sampled_from([None, "a", "ä", "a\u0308", "", " ", "b", "𝛿"]),
    st.sampled_from([None, math.nan, 0.0, -0.0, 1.5, 1e-300, -2.0, 0.1, 1e300]),
    st.dates(dt.date(2020, 1, 1), dt.date(2020, 2, 1)),
    st.sampled_from([None, -9, 0, 3, 9]),
    st.sampled_from([None, True, False]),
)


def visits(sort: str, most: int = 60) -> st.SearchStrategy[pa.Table]:
    """Tables of visits, with keys of a sort; values repeat, so that people have equal rows."""
    kind, keys = KEYS[sort]
    rows = st.lists(st.tuples(st.sampled_from(keys), _ROWS), min_size=1, max_size=most)
    return rows.map(lambda drawn: visits_table([who for who, _ in drawn], [row for _, row in drawn], kind))


def visits_table(who: list[Any], rows: list[tuple[Any, ...]], kind: pa.DataType) -> pa.Table:
    types = (pa.string(), pa.float64(), pa.date32(), pa.int64(), pa.bool_())
    columns = zip(*rows, strict=True)
    arrays = [pa.array(list(values), own) for values, own in zip(columns, types, strict=True)]
    return pa.table([pa.array(who, kind), *arrays], names=["who", *(column.name for column in COLUMNS)])


def many_visits(people: int = 120) -> pa.Table:
    """A table that every engine is to release as the same file."""
    who = [f"p {n % 7}{'ä' if n % 3 else ' '}{n}" for n in range(people) for _ in range(1 + n * 7 % 6)]
    start = dt.date(2020, 1, 1)
    rows = [
        (
            [None, "a", "ä", "a\u0308", "", "b"][n * n % 6],
            [None, math.nan, 0.0, -0.0, 1.5, -1.0, 2.25][n % 7],
            start + dt.timedelta(days=n * 11 % 32),
            [None, -9, 0, 3, 9][n % 5],
            [None, True, False][n % 3],
        )
        for n in range(len(who))
    ]
    return visits_table(who, rows, pa.string())
