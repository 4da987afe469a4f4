"""The simulated clinic has the structure that linked tables are about, and keeps its own schema."""

from __future__ import annotations

import pandas as pd
import pytest

from microtome.demo import clinic, clinic_schema
from microtome.private.key_checks import check_keys
from microtome.private.opening import open_table


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    return {name: table.to_pandas() for name, table in clinic(2_000).items()}


def test_the_clinic_keeps_its_schema() -> None:
    schema, tables = clinic_schema(), clinic(500)
    assert check_keys(schema, {name: open_table(tables[name]) for name in schema.names}) == ()
    for table in schema.tables:
        assert tables[table.name].column_names == [one.name for one in table.schema.layout()]
        for column in table.schema.columns:
            values = tables[table.name][column.name].drop_null().to_pylist()
            if column.kind.is_categorical:
                assert set(values) <= set(column.categories or ())
            else:
                assert column.bounds is not None
                assert column.bounds[0] <= min(values) <= max(values) <= column.bounds[1]


def test_the_seed_chooses_the_clinic() -> None:
    assert clinic(100, seed=1)["visits"].equals(clinic(100, seed=1)["visits"])
    assert not clinic(100, seed=1)["visits"].equals(clinic(100, seed=2)["visits"])


def test_visits_are_sequences(tables: dict[str, pd.DataFrame]) -> None:
    visits = tables["visits"]
    of_patient = visits.groupby("patient")
    assert of_patient["day"].is_monotonic_increasing.all()
    following = of_patient["diagnosis"].shift(-1)
    after_injury = (following == "check-up")[(visits["diagnosis"] == "injury") & following.notna()].mean()
    assert after_injury > 2 * (visits["diagnosis"] == "check-up").mean()
    before = of_patient["pressure"].shift(1)
    assert visits["pressure"].corr(before) > 0.6


def test_the_chronically_ill_come_more_often_and_regularly(tables: dict[str, pd.DataFrame]) -> None:
    visits = tables["visits"]
    counts = visits.groupby("patient").size()
    ill = set(visits[visits["diagnosis"].isin(["hypertension", "diabetes"])]["patient"])
    often = counts[counts.index.isin(ill)].mean()
    assert often > 1.5 * counts[~counts.index.isin(ill)].mean()
    assert len(counts) < len(tables["patients"])  # some never come


def test_drugs_follow_from_diagnoses(tables: dict[str, pd.DataFrame]) -> None:
    joined = tables["prescriptions"].merge(tables["visits"], on="visit")
    assert set(joined[joined["diagnosis"] == "diabetes"]["drug"]) == {"metformin", "insulin"}
    assert not (joined["diagnosis"] == "check-up").any()
