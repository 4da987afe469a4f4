"""Conditional sampling against brute force: sample without conditions and keep the rows that meet them."""

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency, ks_2samp

from microtome.errors import ModelError
from microtome.synthesis import Synthesizer, conditions_from_text

NUM_ROWS = 6000
Meets = Callable[[pd.DataFrame], "pd.Series[bool]"]
SAME, DIFFERENT = 1e-3, 1e-6
"""p-values: two samples of one law pass the first, other laws fail the second."""
CUT = {"dates": "seen"}
"""Conditions that cut a bin, and a column whose numbers go with those inside of it: drawn as for the whole bin."""
NEARLY = 0.03
"""How far such a column's distribution may be off."""


def p_value(first: pd.Series, second: pd.Series) -> float:
    """Of the hypothesis that two columns have one distribution; measured columns are cut into eight parts."""
    both = pd.concat([first, second], ignore_index=True)
    if both.nunique() > 12:
        both = both.rank(pct=True).mul(8).round()
    origin = np.repeat([0, 1], [len(first), len(second)])
    table = pd.crosstab(origin, both.astype(object).where(both.notna(), "missing").astype(str))
    table = table.loc[:, table.sum() >= 20]
    return 1.0 if table.shape[1] < 2 else float(chi2_contingency(table).pvalue)


CASES: dict[str, tuple[dict[str, Any], Meets]] = {
    "value": ({"town": "Bern"}, lambda frame: frame["town"] == "Bern"),
    "two columns": (
        {"grade": "high", "owner": True},
        lambda frame: (frame["grade"] == "high") & frame["owner"].fillna(False).astype(bool),
    ),
    "list": ({"grade": ["low", "mid"]}, lambda frame: frame["grade"].isin(["low", "mid"])),
    "range": ({"age": (30, 50)}, lambda frame: frame["age"].between(30, 50).fillna(False).astype(bool)),
    "open range": ({"age": (None, 20)}, lambda frame: (frame["age"] <= 20).fillna(False).astype(bool)),
    "values of a measured column": ({"age": [*range(10, 30)]}, lambda frame: frame["age"].isin(range(10, 30))),
    "range that cuts bins": ({"income": (1234.5, 9876.5)}, lambda frame: frame["income"].between(1234.5, 9876.5)),
    "point mass": ({"income": 0.0}, lambda frame: frame["income"] == 0.0),
    "missing": ({"income": None}, lambda frame: frame["income"].isna()),
    "missing or small": (
        {"income": [None, (0, 5000)]},
        lambda frame: frame["income"].isna() | frame["income"].between(0, 5000),
    ),
    "dates": (
        {"joined": ("2020-03-10", dt.date(2021, 1, 20))},
        lambda frame: frame["joined"].between(dt.date(2020, 3, 10), dt.date(2021, 1, 20)),
    ),
    "times": (
        {"seen": ("2020-03-10T12:00:00", "2021-01-20")},
        lambda frame: frame["seen"].between(pd.Timestamp("2020-03-10 12:00"), pd.Timestamp("2021-01-20")),
    ),
}


@pytest.fixture(scope="module")
def unconditioned(people_model: Synthesizer) -> pd.DataFrame:
    return people_model.sample(60_000, random_state=1)


@pytest.mark.parametrize("case", CASES)
def test_conditional_rows_are_those_that_rejection_keeps(
    case: str, people_model: Synthesizer, unconditioned: pd.DataFrame
) -> None:
    conditions, meets = CASES[case]
    found = people_model.sample_conditions(conditions, NUM_ROWS, random_state=2)
    assert len(found) == NUM_ROWS
    assert meets(found).all()
    kept = unconditioned[meets(unconditioned)]
    assert len(kept) > 500
    for column in found:
        if column == CUT.get(case):
            assert ks_2samp(found[column].dropna(), kept[column].dropna()).statistic < NEARLY
        else:
            assert p_value(found[column], kept[column]) > SAME / len(found.columns), column


def test_other_columns_follow_the_condition(planted_model: Synthesizer) -> None:
    everybody = planted_model.sample(40_000, random_state=1)
    found = planted_model.sample_conditions({"shape": "long", "large": False}, NUM_ROWS, random_state=2)
    kept = everybody[(everybody["shape"] == "long") & ~everybody["large"]]
    assert p_value(found["colour"], kept["colour"]) > SAME
    assert p_value(found["colour"], everybody["colour"]) < DIFFERENT
    assert (found["colour"] == "blue").mean() > 0.6


def test_rare_and_contradictory_conditions_still_hold(planted_model: Synthesizer) -> None:
    found = planted_model.sample_conditions({"shape": "long", "colour": "red", "large": True}, 500, random_state=2)
    assert (found["shape"] == "long").all()
    assert (found["colour"] == "red").all()
    assert found["large"].all()


@pytest.mark.parametrize(
    "value", [np.int64(30), np.float64(30.0), 30, 30.0, [np.int64(30)], (np.int64(30), np.int64(30)), (29.5, 30.5)]
)
def test_numpy_numbers_are_numbers(value: Any, people_model: Synthesizer) -> None:
    assert people_model.sample_conditions({"age": value}, 20, random_state=0)["age"].eq(30).all()


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan, pd.NA, pd.NaT, [pd.NA]])
def test_any_sign_of_missing_is_missing(missing: Any, people_model: Synthesizer) -> None:
    found = people_model.sample_conditions({"grade": missing, "age": missing}, 20, random_state=0)
    assert found["grade"].isna().all()
    assert found["age"].isna().all()


@pytest.mark.parametrize("value", [np.str_("Bern"), ("Bern",), ["Bern", "Bern"]])
def test_categories_of_any_form(value: Any, people_model: Synthesizer) -> None:
    assert (people_model.sample_conditions({"town": value}, 20, random_state=0)["town"] == "Bern").all()


@pytest.mark.parametrize(
    ("conditions", "said"),
    [
        ({"planet": "Mars"}, "no column 'planet'.*town, grade"),
        ({"town": "Mars"}, "no category 'Mars'.*'Bern'"),
        ({"town": None}, "'town' has no missing values"),
        ({"joined": None}, "'joined' has no missing values"),
        ({"age": 500}, "'age' is never 500 in this model: the condition is impossible"),
        ({"age": (50, 30)}, "impossible"),
        ({"age": 30.5}, "impossible"),
        ({"age": (1, 2, 3)}, "not a pair"),
        ({"age": "old"}, "'old' is not a number"),
        ({"age": True}, "True is not a number"),
        ({"joined": "yesterday"}, "'yesterday' is not a date"),
        ({"joined": ("1900-01-01", "1901-01-01")}, "impossible"),
        ({"town": []}, "impossible"),
        ({"age": []}, "impossible"),
    ],
)
def test_conditions_that_cannot_be_met_are_explained(
    conditions: dict[str, Any], said: str, people_model: Synthesizer
) -> None:
    with pytest.raises(ModelError, match=said):
        people_model.sample_conditions(conditions, 5)


@pytest.mark.parametrize(
    ("text", "meets"),
    [
        ("town=Bern", lambda frame: frame["town"] == "Bern"),
        (" town = Bern|Köln ", lambda frame: frame["town"].isin(["Bern", "Köln"])),
        ("owner=true", lambda frame: frame["owner"].astype(bool)),
        ("age=30..40", lambda frame: frame["age"].between(30, 40)),
        ("age=30", lambda frame: frame["age"] == 30),
        ("age=80..", lambda frame: frame["age"] >= 80),
        ("age=..7", lambda frame: frame["age"] <= 7),
        ("age=3|5|90..", lambda frame: frame["age"].isin([3, 5]) | (frame["age"] >= 90)),
        ("income=", lambda frame: frame["income"].isna()),
        (
            "joined=2020-06-01..2020-06-30",
            lambda frame: frame["joined"].map(lambda day: (day.year, day.month)) == (2020, 6),
        ),
    ],
)
def test_conditions_as_a_person_writes_them(text: str, meets: Meets, people_model: Synthesizer) -> None:
    conditions = conditions_from_text(people_model.model.codebook, [text])
    found = people_model.sample_conditions(conditions, 100, random_state=0)
    assert meets(found).all()


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["town"], "write column=value"),
        (["planet=Mars"], "with one of the columns town"),
        (["age=old"], "'old' is not a number, nor low..high"),
        (["town=Bern", "town=Köln"], "'town' has one already; write town=a|b"),
        (["=3"], "write column=value"),
    ],
)
def test_texts_that_make_no_sense(texts: list[str], said: str, people_model: Synthesizer) -> None:
    with pytest.raises(ModelError) as caught:
        conditions_from_text(people_model.model.codebook, texts)
    assert said in str(caught.value)


def test_categories_with_bars_can_be_meant(planted_model: Synthesizer) -> None:
    codebook = planted_model.model.codebook
    code = codebook.codes[0]
    odd = replace(code, cells=replace(code.cells, categories=("a|b", "a", "b")))
    changed = replace(codebook, codes=(odd, *codebook.codes[1:]))
    assert conditions_from_text(changed, ["shape=a|b"]) == {"shape": ["a|b"]}
    assert conditions_from_text(changed, ["shape=b|a"]) == {"shape": ["b", "a"]}
