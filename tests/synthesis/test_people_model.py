"""From a table of people with several rows to synthetic people: release, fit, sample, in a file and back."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import microtome as mt
from microtome.errors import ModelError, ParameterError, SchemaError
from microtome.published.statement import privacy_statement
from microtome.schema.unit import Unit

MOST = 5


def visits(num_people: int = 1_500, seed: int = 0) -> pd.DataFrame:
    """Visits of patients: severity goes on from one to the next, costs follow it, and the sex stays."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(num_people):
        sex, day, severity = rng.choice(["f", "m"]), int(rng.integers(100)), int(rng.integers(3))
        for _ in range(1 + int(rng.binomial(MOST, 0.3))):
            cost = 10.0 * (1 + severity) + float(rng.integers(5))
            rows.append((f"MARKER{number:05d}", sex, day, severity, cost, cost + 1.0))
            severity = severity if rng.random() < 0.8 else int(rng.integers(3))
            day += int(rng.integers(1, 20))
    frame = pd.DataFrame(rows, columns=["patient", "sex", "day", "severity", "cost", "billed"])
    return frame.sample(frac=1.0, random_state=seed).reset_index(drop=True)


def schema_of(**changes: object) -> mt.Schema:
    return mt.Schema(
        columns=(
            mt.Column(name="sex", kind="categorical", categories=("f", "m"), missing=False),
            mt.Column(name="day", kind="integer", bounds=(0, 300), missing=False),
            mt.Column(name="severity", kind="categorical", dtype="int64", categories=(0, 1, 2), missing=False),
            mt.Column(name="cost", kind="float", bounds=(0.0, 50.0), missing=False),
            mt.Column(name="billed", kind="float", bounds=(0.0, 60.0), missing=False),
        ),
        rules=("billed = cost + 1",),
        unit=Unit(key="patient", order="day", constant=("sex",), **{"max_rows": MOST, **changes}),  # type: ignore[arg-type]
    )


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> mt.Release:
    output = tmp_path_factory.mktemp("people") / "visits.release"
    return mt.release(visits(), schema_of(), epsilon=20.0, delta=1e-5, output=output)


@pytest.fixture(scope="module")
def model(release: mt.Release) -> mt.Synthesizer:
    return mt.Synthesizer(mt.FitSettings(steps=400), random_state=0).fit(release)


@pytest.fixture(scope="module")
def drawn(model: mt.Synthesizer) -> pd.DataFrame:
    return model.sample(1_500, random_state=1)


def steps(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Every row that has a next one, and the next ones."""
    rows = frame.sort_values(["patient", "day"], kind="stable").reset_index(drop=True)
    same = rows["patient"].to_numpy()[1:] == rows["patient"].to_numpy()[:-1]
    return rows[:-1][same], rows[1:][same]


def test_the_file_holds_no_key_and_counts_people(release: mt.Release) -> None:
    assert b"MARKER" not in release.path.read_bytes()
    assert release.num_records == 1_500
    assert release.table_schema.names == ["sex", "day", "severity", "cost", "billed"]


def test_people_have_as_many_rows_as_they_should(drawn: pd.DataFrame) -> None:
    assert drawn["patient"].nunique() == 1_500
    shares = [frame.groupby("patient").size().value_counts(normalize=True) for frame in (visits(), drawn)]
    assert (shares[0].clip(upper=MOST) - shares[1]).abs().max() < 0.05


def test_rows_have_the_columns_of_the_table_and_keys_of_their_own(drawn: pd.DataFrame) -> None:
    assert list(drawn.columns) == list(visits(5).columns)
    assert not set(drawn["patient"]) & set(visits()["patient"])


def test_what_is_constant_stays_and_times_do_not_go_back(drawn: pd.DataFrame) -> None:
    assert (drawn.groupby("patient")["sex"].nunique() == 1).all()
    assert (drawn.groupby("patient")["day"].diff().dropna() >= 0).all()


def test_rules_hold_in_every_row(drawn: pd.DataFrame) -> None:
    assert np.allclose(drawn["billed"], drawn["cost"] + 1.0)


def test_rows_follow_from_the_row_before(drawn: pd.DataFrame) -> None:
    before, after = steps(drawn)
    stays = (before["severity"].to_numpy() == after["severity"].to_numpy()).mean()
    assert abs(stays - 0.8667) < 0.15  # 0.8 and a third of the rest; 0.33 by chance
    assert np.corrcoef(drawn["severity"], drawn["cost"])[0, 1] > 0.8


def test_conditions_choose_people(model: mt.Synthesizer) -> None:
    frame = model.sample(50, conditions={"sex": "f", "number of rows": 3}, random_state=2)
    assert set(frame["sex"]) == {"f"}
    assert (frame.groupby("patient").size() == 3).all()
    with pytest.raises(ModelError, match="'cost' may differ from row to row"):
        model.sample(5, conditions={"cost": 20.0})


def test_a_model_comes_back_from_its_file(model: mt.Synthesizer, tmp_path: Path) -> None:
    model.save(tmp_path / "visits.model")
    again = mt.Synthesizer.load(tmp_path / "visits.model").sample(20, random_state=3)
    pd.testing.assert_frame_equal(again, model.sample(20, random_state=3))


def test_the_statement_speaks_of_people(release: mt.Release) -> None:
    text = privacy_statement(release)
    assert "everything that they contributed" in text
    assert "the number of people, 1,500" in text
    assert "has k contributions" not in text


def test_the_ledger_says_that_rows_go_together(tmp_path: Path) -> None:
    book = mt.Ledger(tmp_path / "book.json")
    mt.release(visits(300), schema_of(), epsilon=5.0, delta=1e-5, ledger=book, dataset="clinic")
    assert [entry.purpose for entry in book.entries("clinic")] == ["release of aggregates, a person's rows together"]


def test_the_number_of_people_is_not_told_where_it_is_protected() -> None:
    released = mt.release(visits(400), schema_of(), epsilon=5.0, delta=1e-5, neighbours="add-remove")
    assert not released.manifest.contents.records_exact


def test_records_take_one_row_a_person_or_nothing() -> None:
    with pytest.raises(ParameterError, match="max_rows 5"):
        mt.release(visits(50), schema_of(), epsilon=5.0, delta=1e-5, kind="records")
    released = mt.release(visits(50), schema_of(max_rows=1), epsilon=5.0, delta=1e-5, kind="records", anyway=True)
    assert released.num_records == 50


def test_a_unit_that_does_not_fit_its_columns_is_refused_all_at_once() -> None:
    columns = schema_of().columns
    with pytest.raises(SchemaError, match=r"'sex' is never published[\s\S]*'ward'[\s\S]*'month'"):
        mt.Schema(columns=columns, unit=Unit(key="sex", order="month", constant=("ward",)))
    with pytest.raises(SchemaError, match="max_rows is 0"):
        Unit(key="patient", max_rows=0)


def test_a_unit_survives_its_document() -> None:
    schema = schema_of()
    assert mt.Schema.loads(schema.to_yaml()) == schema == mt.Schema.from_dict(schema.to_dict())
    short = mt.Schema.loads("microtome-schema: 1\nunit: who\ncolumns: [{name: age, kind: integer}]")
    assert short.unit == Unit(key="who")
