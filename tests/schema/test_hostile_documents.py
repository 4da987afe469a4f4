"""Schemas that nobody writes on purpose: refused with a word of where and what, in no time, never by another error."""

import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from microtome.errors import SchemaError
from microtome.images import ImageSchema
from microtome.schema import Schema
from microtome.schema_file import load_schema

COLUMN = "microtome-schema: 1\ncolumns:\n  - {name: a, kind: KIND, REST}\n"


def refused(path: Path, text: str, *said: str) -> None:
    path.write_text(text, encoding="utf-8")
    start = time.monotonic()
    with pytest.raises(SchemaError) as error:
        Schema.load(path)
    assert time.monotonic() - start < 5
    assert str(error.value).startswith(f"{path}: ")
    for part in said:
        assert part in str(error.value)


@pytest.mark.parametrize(
    ("kind", "rest", "said"),
    [
        ("date", "bounds: [2020-13-45, 2021-01-01]", "month must be in 1..12"),
        ("date", "bounds: ['2020-13-45', '2021-01-01']", "is not a date"),
        ("datetime", "bounds: [2020-01-01T25:00:00, 2021-01-01]", "hour must be in 0..23"),
        ("categorical", "missing: [a, 1]", "missing is ['a', 1]"),
        ("categorical", "missing: {a: 1}", "missing is {'a': 1}"),
        ("[categorical]", "missing: never", "kind is ['categorical']"),
        ("categorical", "categories: [[a], {b: c}]", "categories are not all of dtype"),
        ("categorical", "dtype: int64, categories: [99999999999999999999999]", "categories are not all of dtype"),
        ("float", f"bounds: [0, {'9' * 400}]", "larger than any number"),
        ("float", "bounds: [.nan, .inf]", "not finite"),
        ("float", f"weight: {'9' * 400}", "weight is too large"),
        ("integer", f"bins: {'9' * 5000}", "digits"),
        ("integer", "unit: [1, 2]", "unit is [1, 2]"),
        ("integer", "bins: 3, bins: 4", "line 3: the key 'bins' is there twice"),
        ("integer", "? [a, b] : c", "unhashable key"),
        ("integer", "&x bounds: *x", "aliases"),
    ],
)
def test_values_that_cannot_be(kind: str, rest: str, said: str, tmp_path: Path) -> None:
    refused(tmp_path / "s.yaml", COLUMN.replace("KIND", kind).replace("REST", rest), said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 100_000, "nested deeper"),
        ("a: " + "{b: " * 5000, "nested deeper"),
        ("- " * 5000 + "x", "nested deeper"),
        ("microtome-schema: true\ncolumns: [{name: a, kind: integer}]", "version True"),
        ("microtome-schema: 1\nmicrotome-schema: 1", "there twice"),
        ("a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(f"b{n}: [*a,*a,*a,*a]\n" for n in range(9)), "aliases"),
        ("!!python/object/apply:os.system ['true']", "could not determine a constructor"),
        ("a: \x1b[31m", "special characters are not allowed"),
    ],
)
def test_documents_that_are_traps(text: str, said: str, tmp_path: Path) -> None:
    refused(tmp_path / "s.yaml", text, said)
    with pytest.raises(SchemaError):
        ImageSchema.load(tmp_path / "s.yaml")


def test_files_of_another_kind_are_named(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"PAR1\xff\xfe" * 10)
    with pytest.raises(SchemaError, match=r"it is a table \(Parquet\), not a schema"):
        Schema.load(tmp_path / "t.parquet")
    with pytest.raises(SchemaError, match="cannot be read"):
        load_schema(tmp_path)


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.dates() | st.datetimes()
    | st.sampled_from(["learn", "clamp", "allowed", "never", "date", "float", "integer", "boolean", "string", 10**400]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
KEYS = ["kind", "dtype", "categories", "bounds", "missing", "outside", "weight", "bins", "pool", "unit"]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entries=st.dictionaries(st.sampled_from(KEYS), VALUES), target=VALUES, kind=st.sampled_from(["float", "date"]))
def test_any_values_at_all_are_a_schema_or_refused(
    entries: dict[str, Any], target: Any, kind: str, tmp_path: Path
) -> None:
    column = {"name": "a", "kind": kind, **entries}
    document = {"microtome-schema": 1, "target": target, "columns": [column]}
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    try:
        Schema.load(tmp_path / "s.yaml")
    except SchemaError as error:
        assert str(error)  # noqa: PT017


IMAGE_KEYS = ["height", "width", "channels", "range", "mean", "classes", "components"]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entries=st.dictionaries(st.sampled_from(IMAGE_KEYS), VALUES))
def test_any_values_at_all_are_an_image_schema_or_refused(entries: dict[str, Any], tmp_path: Path) -> None:
    document = {"microtome-image-schema": 1, "height": 4, "width": 4, "range": [0, 1], **entries}
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    try:
        ImageSchema.load(tmp_path / "s.yaml")
    except SchemaError as error:
        assert str(error)  # noqa: PT017
