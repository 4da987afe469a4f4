"""Texts in formats of their own: read strictly, each by itself, and written back alike."""

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from microtome.errors import SchemaError
from microtome.schema import Column


def read(kind: str, written: str, texts: list[str | None]) -> list[Any]:
    column = Column(name="x", kind=kind, format=written)
    assert column.notation is not None
    return column.notation.read(pa.array(texts, pa.string()), column.arrow_type).to_pylist()


def written(kind: str, form: str, values: list[Any]) -> list[Any]:
    column = Column(name="x", kind=kind, format=form)
    assert column.notation is not None
    return column.notation.write(pa.array(values, column.arrow_type)).to_pylist()


CASES = [
    ("float", "$#,##0.00", "$1,234.50", 1234.5),
    ("float", "$#,##0.00", "-$3.00", -3.0),
    ("float", "#.##0,00 €", "1.234.567,89 €", 1234567.89),
    ("float", "# ##0,##", "1 234,5", 1234.5),
    ("float", "#'##0.00", "1'234.50", 1234.5),
    ("float", "0,0%", "12,5%", 12.5),
    ("float", "0.00", "7.10", 7.1),
    ("integer", "#,##0", "1,234", 1234),
    ("integer", "#,##0", "-12", -12),
    ("date", "%d.%m.%Y", "31.01.2026", dt.date(2026, 1, 31)),
    ("date", "%-m/%-d/%y", "1/5/70", dt.date(1970, 1, 5)),
    ("date", "%d-%b-%Y", "29-Feb-2024", dt.date(2024, 2, 29)),
    ("date", "%B %-d, %Y", "March 3, 1899", dt.date(1899, 3, 3)),
    ("date", "%Y%m%d", "20240131", dt.date(2024, 1, 31)),
    ("datetime", "%-m/%-d/%Y %-I:%M %p", "1/31/2026 2:05 PM", dt.datetime(2026, 1, 31, 14, 5)),
    ("datetime", "%Y-%m-%dT%H:%M:%S%:z", "2026-01-31T14:05:00+00:00", dt.datetime(2026, 1, 31, 14, 5)),
    ("time", "%H:%M", "14:05", dt.time(14, 5)),
    ("time", "%-I:%M %p", "12:00 AM", dt.time(0, 0)),
    ("boolean", "FALSE/TRUE", "TRUE", True),
    ("boolean", "no/yes", "no", False),
]


@pytest.mark.parametrize(("kind", "form", "text", "value"), CASES)
def test_texts_are_read_and_written_back_alike(kind: str, form: str, text: str, value: Any) -> None:
    assert read(kind, form, [text, None]) == [value, None]
    assert written(kind, form, [value, None]) == [text, None]


@pytest.mark.parametrize(
    ("kind", "form", "text", "value"),
    [
        ("float", "$#,##0.00", "5", 5.0),
        ("float", "$#,##0.00", "(1,200.00)", -1200.0),
        ("float", "$#,##0.00", " $ -3.5 ", -3.5),
        ("float", "# ##0,##", "1\u202f234,5", 1234.5),
        ("float", "0.00", ".5", 0.5),
        ("integer", "#,##0", "-5.00", -5),
        ("datetime", "%Y-%m-%dT%H:%M:%S%z", "2026-01-31T14:05:00+02:00", dt.datetime(2026, 1, 31, 12, 5)),
        ("datetime", "%Y-%m-%dT%H:%M:%S%z", "2026-01-31T14:05:00Z", dt.datetime(2026, 1, 31, 14, 5)),
        ("date", "%d %b %Y", "03 jan 2020", dt.date(2020, 1, 3)),
    ],
)
def test_other_ways_to_say_the_same(kind: str, form: str, text: str, value: Any) -> None:
    assert read(kind, form, [text]) == [value]


@pytest.mark.parametrize(
    ("kind", "form", "text"),
    [
        ("float", "$#,##0.00", "1,23"),
        ("float", "$#,##0.00", "12€"),
        ("float", "$#,##0.00", "$"),
        ("float", "$#,##0.00", "(5"),
        ("float", "$#,##0.00", "--5"),
        ("float", "0.0%", "0.5"),
        ("integer", "#,##0", "1.5"),
        ("date", "%d.%m.%Y", "31.02.2026"),
        ("date", "%d.%m.%Y", "1.1.2026"),
        ("date", "%m/%d/%Y", "31/12/2026"),
        ("time", "%H:%M", "24:00"),
        ("boolean", "no/yes", "Yes"),
    ],
)
def test_what_is_written_otherwise_is_refused_with_its_text(kind: str, form: str, text: str) -> None:
    with pytest.raises(pa.ArrowInvalid) as refused:
        read(kind, form, [None, text])
    assert repr(text) in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        ("date", "%d.%m"),
        ("date", "%d.%m.%Y %H:%M"),
        ("date", "%d.%d.%m.%Y"),
        ("date", "%d.%m.%Y %Q"),
        ("time", "%I:%M"),
        ("time", "%Y"),
        ("float", "#,##0,00"),
        ("float", "12"),
        ("boolean", "yes"),
        ("categorical", "0"),
    ],
)
def test_formats_that_make_no_sense_are_refused_by_name(kind: str, form: str) -> None:
    with pytest.raises(SchemaError, match="column 'x'"):
        Column(name="x", kind=kind, format=form)


@given(st.lists(st.sampled_from(["$1,234.50", "7", "(3.00)", "-$0.10", "99,999,999.99"]), min_size=1, max_size=12))
def test_a_numbers_meaning_is_its_own(texts: list[str]) -> None:
    """Whatever stands beside it, wherever it stands: the bits are those that it has alone."""
    alone = [read("float", "$#,##0.00", [text])[0] for text in texts]
    assert [value.hex() for value in read("float", "$#,##0.00", list(texts))] == [value.hex() for value in alone]


@given(st.lists(st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)), min_size=1, max_size=8))
def test_times_come_back_to_the_microsecond(times: list[dt.datetime]) -> None:
    form = "%-d. %B %Y, %I:%M:%S.%f %p"
    texts = written("datetime", form, times)
    assert read("datetime", form, texts) == times
    assert [read("datetime", form, [text])[0] for text in texts] == times
