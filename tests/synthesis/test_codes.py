"""Special codes in measured columns, from a CSV file to synthetic rows, conditions and the report."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from microtome.api import release
from microtome.evaluation import report
from microtome.published import Release
from microtome.schema import Column, Kind, Schema
from microtome.synthesis import Synthesizer, conditions_from_text
from microtome.training import FitSettings
from support import repeatable_noise

ROWS = 3000
SCHEMA = Schema(
    columns=(
        Column(name="income", kind=Kind.INTEGER, codes=("N", ">200"), missing=False),
        Column(name="score", kind=Kind.FLOAT, bounds=(0.0, 100.0), codes=(9999,)),
        Column(name="day", kind=Kind.DATE, codes=("unknown",), missing=False),
        Column(name="sex", kind=Kind.CATEGORICAL, categories=("f", "m"), missing=False),
    ),
    target="sex",
)


def messy() -> pd.DataFrame:
    """Codes depend on another column: women are refused, men are rich."""
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], ROWS)
    income = rng.lognormal(10, 0.5, ROWS).round(-2).astype(int).astype(object)
    income[(sex == "f") & (rng.random(ROWS) < 0.3)] = "N"
    income[(sex == "m") & (rng.random(ROWS) < 0.2)] = ">200"
    score = rng.normal(50, 10, ROWS).clip(0, 100).round(1)
    score[rng.random(ROWS) < 0.1] = 9999
    days = pd.Series(pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 2000, ROWS), unit="D"))
    day = days.dt.strftime("%Y-%m-%d").astype(object)
    day[rng.random(ROWS) < 0.2] = "unknown"
    return pd.DataFrame({"income": income, "score": score, "day": day, "sex": sex})


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Release:
    folder = tmp_path_factory.mktemp("codes")
    messy().to_csv(folder / "messy.csv", index=False)
    with repeatable_noise():
        found = release(folder / "messy.csv", SCHEMA, epsilon=5.0, delta=1e-6, output=folder / "messy.release")
    assert found.unlearnt == ()
    return found


@pytest.fixture(scope="module")
def model(released: Release) -> Synthesizer:
    return Synthesizer(FitSettings(steps=150), random_state=0).fit(released)


def test_codes_are_given_back_as_written_and_as_often(model: Synthesizer) -> None:
    made = model.sample(ROWS, random_state=1)
    for name, codes in (("income", ["N", ">200"]), ("score", [9999.0]), ("day", ["unknown"])):
        for code in codes:
            assert (made[name] == code).mean() == pytest.approx((messy()[name] == code).mean(), abs=0.03)
        assert not made[name].isna().any()
    numbers = pd.to_numeric(made["income"], errors="coerce").dropna()
    assert (numbers % 100 == 0).mean() > 0.9
    assert made["score"][made["score"] != 9999].between(0, 100).all()
    assert pd.to_datetime(made["day"][made["day"] != "unknown"]).between("2014-01-01", "2021-12-31").all()


def test_codes_depend_on_other_columns_as_they_did(model: Synthesizer) -> None:
    made = model.sample(ROWS, random_state=2)
    refused, rich = made["sex"][made["income"] == "N"], made["sex"][made["income"] == ">200"]
    assert (refused == "f").mean() > 0.8
    assert (rich == "m").mean() > 0.8


def test_conditions_on_codes(model: Synthesizer) -> None:
    assert set(model.sample(50, conditions={"income": "N"})["income"]) == {"N"}
    assert set(model.sample(50, conditions={"score": 9999})["score"]) == {9999.0}
    ranged = model.sample(50, conditions={"score": (40, 60)})["score"]
    assert ranged.between(40, 60).all()
    wanted = conditions_from_text(model.model.codebook, ["income=N|>200"])
    assert set(model.sample(80, conditions=wanted)["income"]) == {"N", ">200"}


def test_the_report_copes(model: Synthesizer, released: Release, tmp_path: Path) -> None:
    for name, table in (("real", messy()), ("made", model.sample(ROWS, random_state=3))):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    whole = report(tmp_path / "real.csv", tmp_path / "made.csv", schema=SCHEMA)
    public = report(None, tmp_path / "made.csv", release=released)
    for one in (whole, public):
        scores = {column.name: column.score for column in one.figures.columns}
        assert all(score is not None and score > 0.9 for score in scores.values())
