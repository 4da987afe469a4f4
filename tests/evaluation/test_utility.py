"""Train on synthetic, test on real; and telling synthetic from real rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from evaluation_support import blurred
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from microtome.demo import population, population_schema
from microtome.evaluation.comparable_table import ComparableTable, code_tables, shuffled_columns
from microtome.evaluation.detector import Detection, chance_deviation, detect
from microtome.evaluation.tables import read_table
from microtome.evaluation.utility import MODELS, Target, Utility, _curve, logistic_auc, utility


def coded(*tables: pa.Table) -> list[ComparableTable]:
    return code_tables([read_table(table, "a table") for table in tables], population_schema())[0]


@pytest.fixture(scope="module")
def tables() -> list[ComparableTable]:
    whole = population(6_000, seed=3)
    real = whole.slice(0, 4_000)
    return coded(real, blurred(real, 0.2, seed=1), whole.slice(4_000))


@pytest.fixture(scope="module")
def useful(tables: list[ComparableTable]) -> Utility:
    real, made, test = tables
    alone = shuffled_columns(real, np.random.default_rng(0))
    found = utility({"real": real, "synthetic": made, "independent columns": alone}, test, "insured")
    assert isinstance(found, Utility)
    return found


def test_good_rows_teach_more_than_blurred_and_those_more_than_none(useful: Utility) -> None:
    assert useful.classes == ("false", "true")
    assert set(useful.scores) == set(MODELS)
    for scores in useful.scores.values():
        assert scores["real"].auc > scores["synthetic"].auc - 0.01
        assert scores["synthetic"].auc > 0.65
        assert 0.35 < scores["independent columns"].auc < 0.6
        assert scores["real"].calibration_error < 0.08
        assert len(scores["real"].curve) == 10


def test_auc_is_that_of_a_plain_pipeline(tables: list[ComparableTable]) -> None:
    """One-hot values (rare ones together), scaled numbers, logistic regression: as scikit-learn would be used."""
    whole = population(6_000, seed=3).to_pandas()
    numbers = ["age", "hours", "household", "commute"]
    listed = ["sex", "district", "education", "status", "occupation", "marital", "owner"]
    columns = [*numbers, *listed]
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", min_frequency=5), listed), (StandardScaler(), numbers)
    )
    model = make_pipeline(encode, LogisticRegression(max_iter=300)).fit(whole[columns][:4000], whole["insured"][:4000])
    theirs = roc_auc_score(whole["insured"][4000:], model.predict_proba(whole[columns][4000:])[:, 1])
    some = [
        table.with_values({name: table.values[name] for name in (*columns, "insured")}, table.num_rows)
        for table in (tables[0], tables[2])
    ]
    assert logistic_auc(some[0], some[1], "insured") == pytest.approx(theirs, abs=1e-3)


def test_targets_of_every_kind_have_classes(tables: list[ComparableTable]) -> None:
    real = tables[0]
    assert len(Target.settle(real, "district").classes) == 10
    income = Target.settle(real, "income")
    rows, classes = income.of(real)
    assert income.classes[1].startswith("above ")
    assert rows.num_rows == int((~np.isnan(real.values["income"])).sum())
    assert abs(classes.mean() - 0.5) < 0.02
    missing = Target.settle(real, "satisfaction").of(real)[0]
    assert missing.num_rows == int((real.values["satisfaction"] >= 0).sum())


def test_several_classes_are_scored_as_means(tables: list[ComparableTable]) -> None:
    real, made, test = tables
    found = utility({"real": real, "synthetic": made}, test, "marital")
    assert isinstance(found, Utility)
    assert found.classes == ("single", "married", "divorced", "widowed")
    assert 0.6 < found.scores["gradient boosting"]["real"].auc < 0.95


def test_a_synthetic_table_of_one_class_predicts_that_class(tables: list[ComparableTable]) -> None:
    real, made, test = tables
    one = made.take(np.flatnonzero(made.values["insured"] == 1))
    found = utility({"real": real, "synthetic": one}, test, "insured")
    assert isinstance(found, Utility)
    assert found.scores["logistic regression"]["synthetic"].auc == 0.5


def test_what_cannot_be_predicted_is_said(tables: list[ComparableTable]) -> None:
    real = tables[0]
    same = real.take(np.flatnonzero(real.values["insured"] == 1))
    assert "one class only" in str(utility({"real": same}, same, "insured"))
    assert "test rows are fewer" in str(utility({"real": real}, real.take(np.arange(5)), "insured"))


def test_calibration_is_read_off_groups() -> None:
    rng = np.random.default_rng(0)
    believed = rng.random(50_000)
    honest = _curve(believed, rng.random(50_000) < believed)
    bold = _curve(believed, rng.random(50_000) < 0.5)
    assert max(abs(predicted - observed) for predicted, observed in honest) < 0.03
    assert max(abs(predicted - observed) for predicted, observed in bold) > 0.4


def test_detector_sees_what_is_off_and_only_that(tables: list[ComparableTable]) -> None:
    real, _, other = tables
    rng = np.random.default_rng(0)
    alike = detect(real, other, rng, 2_000)
    assert isinstance(alike, Detection)
    assert all(abs(auc - 0.5) < 4 * alike.chance + 0.01 for auc in alike.auc.values())
    older = other.with_values({**other.values, "age": other.values["age"] + 15}, other.num_rows)
    found = detect(real, older, rng, 2_000)
    assert isinstance(found, Detection)
    assert found.auc["gradient boosting"] > 0.85
    assert found.giveaways[0][0] == "age"
    assert "too few" in str(detect(real.take(np.arange(10)), other, rng, 2_000))


def test_chance_deviation_is_that_of_random_scores() -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], [60, 80])
    areas = [roc_auc_score(truth, rng.random(140)) for _ in range(400)]
    assert np.std(areas) == pytest.approx(chance_deviation(60, 80), rel=0.12)


def test_values_unknown_to_the_training_rows_do_no_harm() -> None:
    schema = population_schema()
    town = population(3_000, seed=4).to_pandas()
    town["district"] = pd.Series(["known"] * 2_000 + ["unknown"] * 1_000)
    raw = [read_table(town.iloc[part], "t") for part in (slice(0, 2_000), slice(2_000, 3_000))]
    train, test = code_tables(raw, schema)[0]
    found = utility({"real": train}, test, "insured")
    assert isinstance(found, Utility)
    assert found.scores["gradient boosting"]["real"].auc > 0.65
