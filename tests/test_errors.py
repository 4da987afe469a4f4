"""All that is wrong is told at once."""

from pathlib import Path

import pyarrow as pa
import pytest

import microtome as mt
from microtome.errors import ParameterError, SchemaError, TableError, together

AGE = mt.Column(name="age", kind="integer", bounds=(0, 99), missing=False)
TOWN = mt.Column(name="town", kind="categorical", categories=("Bern", "Köln"))
PAY = mt.Column(name="pay", kind="float", bounds=(0, 10))
SCHEMA = mt.Schema(columns=(AGE, TOWN, PAY))


def attempt_all(*errors: Exception) -> None:
    with together() as attempts:
        for error in errors:
            with attempts:
                raise error


def test_one_error_is_itself_and_several_are_one() -> None:
    first, second = TableError("a"), TableError("b")
    with pytest.raises(TableError) as told:
        attempt_all(first)
    assert told.value is first
    with pytest.raises(TableError) as told:
        attempt_all(first, second, first)
    assert str(told.value) == "a\nb"


def test_what_is_not_ours_is_raised_at_once() -> None:
    with pytest.raises(ZeroDivisionError):
        attempt_all(ParameterError("a"), ZeroDivisionError())


def test_endless_lists_are_cut() -> None:
    with pytest.raises(TableError, match="… and 80 more"):
        attempt_all(*(TableError(str(number)) for number in range(100)))


def test_a_schema_document_names_every_wrong_column(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(
        "microtome-schema: 1\ncolumns:\n"
        "  - {name: a, kind: integer, bounds: [5, 1]}\n"
        "  - {name: b, kind: colour}\n"
        "  - {name: c, kind: float}\n"
        "  - {name: d, kind: float, lower: 1, upper: 2}\n"
    )
    with pytest.raises(SchemaError) as told:
        mt.Schema.load(path)
    for part in ("'a': bounds", "'b': kind is 'colour'", "'d' has unknown keys 'lower', 'upper'"):
        assert part in str(told.value)
    assert "'c'" not in str(told.value)


def release(table: pa.Table) -> str:
    ledger = mt.Ledger()
    with pytest.raises(TableError) as told:
        mt.release(table, SCHEMA, epsilon=1, anyway=True, delta=1e-6, ledger=ledger)
    assert ledger.spent("table", delta=1e-6) == 0
    return str(told.value)


def test_columns_of_another_type_are_all_named() -> None:
    told = release(pa.table({"age": ["old", "1"], "town": ["Bern", "Bern"], "pay": ["much", "1"]}))
    assert "'age'" in told
    assert "'pay'" in told
    assert "'town'" not in told


def test_columns_outside_what_is_declared_are_all_named() -> None:
    told = release(pa.table({"age": [None, 1], "town": ["Paris", "Bern"], "pay": [1.0, 11.0]}))
    for part in ("'age' has a missing value", "'Paris'", "11"):
        assert part in told
