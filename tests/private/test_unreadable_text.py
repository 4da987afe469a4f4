"""A text file with values that cannot be read: all columns are named at once, and nothing is spent."""

from __future__ import annotations

from pathlib import Path

import pytest

import microtome as mt
from microtome.errors import TableError
from microtome.schema import Dialect

KINDS = {"a": "integer", "b": "categorical", "c": "float", "d": "boolean"}


def schema() -> mt.Schema:
    dtypes = {"categorical": "string"}
    columns = tuple(mt.Column(name=name, kind=kind, dtype=dtypes.get(kind)) for name, kind in KINDS.items())
    return mt.Schema(columns=columns, file=Dialect(separator=";"))


def refusal(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TableError) as error:
        mt.release(path, schema(), epsilon=1, anyway=True, ledger=path.with_suffix(".json"))
    assert not path.with_suffix(".json").exists() or "reserved" not in path.with_suffix(".json").read_text()
    return str(error.value)


def test_every_column_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    rows = ["1;x;2.5;true"] * 20 + [
        "1;x;n.b.;true",
        "1;x;2.5;perhaps",
        "many;x;2.5;true",
        "few;x;;true",
        "many;x;0;true",
    ]
    said = refusal(tmp_path / "t.csv", "\n".join(["a;b;c;d", *rows]) + "\n").splitlines()
    assert len(said) == 3
    for column, line, value in (("a", 24, "many"), ("c", 22, "n.b."), ("d", 23, "perhaps")):
        assert any(f"column {column!r}, line {line}: {value!r} is not" in one for one in said)
    assert "'many' is not a whole number, nor is 'few'; if everybody knows of them as codes" in said[0]
    assert "(codes: ['many', 'few'])" in said[0]
    assert "(codes: ['n.b.'])" in said[1]
    assert "kind: categorical" in said[2]


def test_a_file_that_is_broken_itself_is_told_once(tmp_path: Path) -> None:
    said = refusal(tmp_path / "t.csv", "a;b;c;d\n1;x;2.5;true\n1;x;2.5\n")
    assert "Expected 4 columns, got 3" in said
    assert len(said.splitlines()) <= 2
