"""``release`` runs the forecast first: it refuses before anything is spent, and tells nothing of a protected number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import microtome as mt
from microtome.accounting import Neighbours
from microtome.demo import population, population_schema
from microtome.errors import ForecastError, ParameterError, PoorReleaseWarning, TableError
from microtome.forecasting.foresight import foresee
from microtome.private import open_table, table
from microtome.published import ReleaseKind
from microtome.settings import PrivacySettings, RunSettings
from support import people, people_schema

TOWN = population_schema()


class Listener:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.expected = ""
        self.cautions: tuple[str, ...] = ()

    def __call__(self, expected: str, cautions: Sequence[str]) -> None:
        self.expected, self.cautions = expected, tuple(cautions)


def test_a_worthless_release_is_refused_before_anything_is_spent(tmp_path: Path) -> None:
    book, output = tmp_path / "book.json", tmp_path / "t.release"
    with pytest.raises(ForecastError, match="next to nothing would be learnt: 200 records") as refusal:
        mt.release(population(200), TOWN, epsilon=1, ledger=book, output=output)
    for said in ("district", "declare its categories", "becomes useful from about ε = ", "--anyway"):
        assert said in str(refusal.value)
    assert list(tmp_path.iterdir()) == []


def test_whoever_insists_gets_it(tmp_path: Path) -> None:
    made = mt.release(population(200), TOWN, epsilon=1, anyway=True, output=tmp_path / "t.release")
    assert made.manifest.promise.epsilon == 1


def test_columns_that_cannot_be_learnt_are_named_and_the_release_is_made() -> None:
    with pytest.warns(PoorReleaseWarning, match="Will not be learnt: ") as told:
        mt.release(population(380), TOWN, epsilon=1)
    assert [Path(one.filename) for one in told] == [Path(__file__)]


def test_a_good_release_is_made_without_a_warning() -> None:
    told = Listener()
    mt.release(population(30_000), TOWN, epsilon=2, run=RunSettings(tell=told))
    assert told.cautions == ()
    assert told.expected.startswith("The table would be good")


@pytest.mark.parametrize("epsilon", [20.0, 0.01])
def test_an_unusual_epsilon_gets_a_word_from_whoever_insists_too(epsilon: float) -> None:
    with pytest.warns(PoorReleaseWarning, match=f"ε = {epsilon:g} is"):
        mt.release(people(400), people_schema(), epsilon=epsilon, anyway=True)


def guarded(rows: pa.Table) -> tuple[table.PrivateTable, list[int]]:
    """A table that does not say how many rows it has, and how often it was read."""
    read: list[int] = []
    whole = open_table(rows)

    def stream(columns: Sequence[Any]) -> Iterator[pa.RecordBatch]:
        read.append(len(columns))
        yield from whole.stream(columns)

    return replace(whole, num_rows=None, stream=stream), read


def test_records_are_counted_beforehand_where_their_number_is_public() -> None:
    source, read = guarded(people(400))
    made = mt.release(source, people_schema(), epsilon=5, anyway=True)
    assert read[0] == 1  # once to count, then for search, profile and tables
    assert read[1] == read[-1] == 7
    assert 1 not in read[1:]
    assert made.manifest.promise.delta == 1e-6


@pytest.mark.parametrize("kind", list(ReleaseKind))
def test_a_protected_number_is_neither_counted_nor_told(kind: ReleaseKind) -> None:
    """Two tables of other sizes are told the same, get the same δ, and are read by nobody but the passes."""
    said = []
    for number in (300, 900):
        source, read = guarded(people(number))
        told = Listener()
        capacity = 100_000 if kind is ReleaseKind.RECORDS else None
        made = mt.release(
            source, people_schema(), epsilon=5, kind=kind, neighbours="add-remove", capacity=capacity,
            run=RunSettings(tell=told),
        )  # fmt: skip
        said.append((told.expected, told.cautions, made.manifest.promise.delta))
        assert read[0] == read[-1] == 7  # the first look is that of a pass, at all columns
        assert 1 not in read
    assert said[0] == said[1]


def test_a_refusal_for_delta_tells_no_protected_number() -> None:
    with pytest.raises(ParameterError, match="too large for this table") as refusal:
        mt.release(people(437), people_schema(), epsilon=5, delta=0.01, neighbours="add-remove", anyway=True)
    assert "437" not in str(refusal.value)


def test_the_forecast_of_a_protected_number_is_that_of_the_capacity() -> None:
    settings = PrivacySettings(
        epsilon=1, delta=1e-6, neighbours=Neighbours.ADD_REMOVE, kind=ReleaseKind.RECORDS, capacity=150
    )
    for number in (None, 10, 10**6):
        with pytest.raises(ForecastError, match="150 records"):
            foresee(settings, TOWN, number, Listener())


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_default_delta_fits_the_table(ending: str, tmp_path: Path) -> None:
    path, rows = tmp_path / f"t.{ending}", pa.table({"x": [True, False] * 100_000})
    (pacsv.write_csv if ending == "csv" else pq.write_table)(rows, path)
    schema = mt.Schema(columns=(mt.Column(name="x", kind="boolean", missing=False),))
    assert mt.release(path, schema, epsilon=1).manifest.promise.delta == 1e-7


@pytest.mark.parametrize("rows", [0, 1])
def test_tables_that_are_too_small_are_refused_as_such(rows: int) -> None:
    with pytest.raises(TableError, match="at least 2 are needed"):
        mt.release(people(10).slice(0, rows), people_schema(), epsilon=1)
