"""Whether the private rows keep the rules is told to nobody: it would be a count of records without noise."""

import ast
import logging
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import microtome
from microtome import Column, Schema
from microtome.published import Release
from microtome.settings import RunSettings
from support import FixedRandomness, publish

COLUMNS = (
    Column(name="first", kind="integer", bounds=(0, 9), missing=False),
    Column(name="last", kind="integer", bounds=(0, 9), missing=False),
    Column(name="total", kind="integer", bounds=(0, 18), missing=False),
    Column(name="town", kind="categorical", categories=("A", "B"), missing=False),
    Column(name="zone", kind="categorical", categories=("x", "y"), missing=False),
)
RULES: tuple[Any, ...] = (
    "first <= last",
    "total = first + last",
    "if town = A: first < 5",
    {"zone": {"from": "town", "table": {"A": "x", "B": "y"}}},
)


def table(*, keeps: bool) -> pa.Table:
    rng = np.random.default_rng(0)
    first, town = rng.integers(0, 5, 400), rng.choice(["A", "B"], 400)
    if keeps:
        last, total, zone = first + 2, 2 * first + 2, np.where(town == "A", "x", "y")
    else:
        last, total, zone = 4 - first, first, np.where(town == "A", "y", "x")
    values = {"first": first, "last": last, "total": total, "town": town, "zone": zone}
    return pa.table({column.name: pa.array(values[column.name], column.arrow_type) for column in COLUMNS})


def released(source: pa.Table, rules: tuple[Any, ...], path: Path, kind: str) -> Release:
    schema = Schema(columns=COLUMNS, rules=rules)
    return publish(source, schema, path, randomness=FixedRandomness(3), kind=kind)


@pytest.mark.parametrize("kind", ["aggregates", "records"])
@pytest.mark.parametrize("keeps", [True, False])
def test_a_release_is_the_same_with_and_without_rules_whatever_the_rows(
    kind: str, keeps: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """All that was counted, noise and all, to the last bit: rules are carried along and not looked at."""
    source = table(keeps=keeps)
    with warnings.catch_warnings(), caplog.at_level(logging.DEBUG):
        warnings.simplefilter("error")
        ruled = released(source, RULES, tmp_path / "ruled.release", kind)
        plain = released(source, (), tmp_path / "plain.release", kind)
    assert ruled.manifest.promise == plain.manifest.promise
    assert ruled.manifest.contents == plain.manifest.contents
    for one, other in zip(ruled.codebook.codes, plain.codebook.codes, strict=True):
        np.testing.assert_array_equal(one.counts, other.counts)
    for name in ("first", "second"):
        if hasattr(ruled, name):
            np.testing.assert_array_equal(getattr(ruled, name), getattr(plain, name))
    if kind == "records":
        np.testing.assert_array_equal(ruled.rows(0, 50), plain.rows(0, 50))  # type: ignore[attr-defined]
    assert len(ruled.schema.rules) == len(RULES)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records


def test_a_table_that_breaks_every_rule_gets_the_same_words(tmp_path: Path) -> None:
    """Progress and warnings of the whole way from a table to a release, side by side."""
    said = []
    for keeps in (True, False):
        messages: list[tuple[Any, ...]] = []
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            microtome.release(
                table(keeps=keeps),
                Schema(columns=COLUMNS, rules=RULES),
                epsilon=1.0,
                delta=1e-5,
                output=tmp_path / f"{keeps}.release",
                anyway=True,
                run=RunSettings(threads=1, progress=lambda *one, heard=messages: heard.append(one)),
            )
        said.append((messages, [str(one.message) for one in warned]))
    assert said[0] == said[1]
    assert said[0][0]


def test_what_sees_private_rows_never_asks_for_rules() -> None:
    """No name of the rules occurs in the code that sees rows, apart from the schema that it hands on whole."""
    folder = Path(microtome.__file__).parent / "private"
    for path in sorted(folder.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        modules = {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not names & {"rules", "ruled", "broken", "broken_rows"}, path.name
        assert not any("rule" in module or "formula" in module for module in modules), path.name
