"""A simulated town of some 50,000 adults: nobody real, but with the structure of real microdata.

The story, in the order in which it is drawn:

1. District (200 of them, Zipf-sized) has an *affluence*, hidden, which all else leans on.
2. Age and sex; education by age (older cohorts less) and affluence; year of birth follows from age.
3. Employment status by age, sex and education; occupation by education; weekly hours by status.
4. Income: zero for most who do not work (the point mass), log-normal for others around a wage that grows
   with education, occupation, hours, age and affluence.
5. Household size and marital status by age; home owner by age and income; commute by status and district.
6. Date of registration, later for the young; satisfaction, an ordered answer, by income and health.
7. Target ``insured``: logistic in income, age, employment, marital status and education.
8. Values go missing: income is refused more often by the well-off, satisfaction by the young.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
from numpy.typing import NDArray

from microtome.schema import Column, Kind, Schema
from microtome.whole_file import whole_file

EDUCATION = ("none", "primary", "secondary", "vocational", "bachelor", "master", "doctorate")
STATUS = ("employed", "self-employed", "unemployed", "retired", "student", "at home")
OCCUPATION = ("agriculture", "industry", "construction", "trade", "transport", "office", "health", "teaching",
              "engineering", "management", "no occupation")  # fmt: skip
MARITAL = ("single", "married", "divorced", "widowed")
SATISFACTION = ("very low", "low", "middling", "high", "very high")
NUM_DISTRICTS = 200
_REFERENCE = dt.date(2026, 1, 1)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def population(num_people: int = 50_000, *, seed: int = 0) -> pa.Table:
    """Simulate the town. The seed chooses the town; a release of it draws its own noise."""
    rng = np.random.default_rng(seed)
    affluence, district = _districts(num_people, rng)
    age = np.clip(np.round(18 + 72 * rng.beta(1.4, 2.0, num_people)), 18, 99)
    female = rng.random(num_people) < 0.5 + 0.002 * (age - 45)
    education = _ordered(rng, 2.9 - 0.022 * (age - 45) + 0.9 * affluence, spread=1.15, top=len(EDUCATION) - 1)
    status = _status(rng, age, female, education)
    works = status <= 1
    occupation = np.where(works, _occupation(rng, education), len(OCCUPATION) - 1)
    hours = np.where(works, np.clip(np.round(rng.normal(38 - 7 * female * (age < 50), 8)), 4, 80), 0)
    income = _income(rng, works, status, education, occupation, hours, age, affluence)
    marital = _marital(rng, age, income)
    household = 1 + rng.poisson(np.where(marital == 1, 1.6, 0.4) * np.where(age < 60, 1.3, 0.5))
    owner = rng.random(num_people) < sigmoid(-2.2 + 0.04 * (age - 40) + 0.00003 * income + 0.7 * (marital == 1))
    commute = np.where(works, np.round(rng.gamma(2.0, 9.0 + 5.0 * (affluence < 0)), 1), 0.0)
    registered = _registered(rng, age)
    happy = _ordered(rng, 1.8 + 0.000012 * income - 0.5 * (status == 2) + 0.4 * (marital == 1), spread=0.9, top=4)
    insured = rng.random(num_people) < sigmoid(
        -1.6
        + 0.00005 * income
        + 0.03 * (age - 40)
        + 0.9 * (status == 0)
        + 0.25 * (education - 2)
        + 0.4 * (marital == 1)
    )
    refuses = rng.random(num_people) < 0.02 + 0.08 * (income > np.quantile(income, 0.8))
    silent = rng.random(num_people) < 0.03 + 0.1 * (age < 30)
    return pa.table(
        {
            "age": pa.array(age.astype(np.int64)),
            "sex": labels(female.astype(np.int64), ("male", "female")),
            "district": pa.array([f"D{number:03d}" for number in district]),
            "education": labels(education, EDUCATION),
            "status": labels(status, STATUS),
            "occupation": labels(occupation, OCCUPATION),
            "hours": pa.array(hours.astype(np.int64)),
            "income": pa.array(np.round(income, 2), mask=refuses),
            "marital": labels(marital, MARITAL),
            "household": pa.array(household.astype(np.int64)),
            "owner": pa.array(owner),
            "commute": pa.array(commute),
            "registered": pa.array(registered.astype(np.int32)).cast(pa.date32()),
            "satisfaction": labels(happy, SATISFACTION, missing=silent),
            "insured": pa.array(insured),
        }
    )


def write_people(path: Path, people: pa.Table) -> None:
    """Write people to a CSV file, whole or not at all."""
    with whole_file(path) as file:
        pacsv.write_csv(people, file)


def population_schema() -> Schema:
    """What the town's statistics office would declare: code lists and the form's limits, but no more.

    District names, income, commute and the range of registration dates are left to be learnt with budget.
    """
    return Schema(
        columns=(
            Column(name="age", kind=Kind.INTEGER, bounds=(18, 99), missing=False, unit="years"),
            Column(name="sex", kind=Kind.CATEGORICAL, categories=("male", "female"), missing=False),
            Column(name="district", kind=Kind.CATEGORICAL, missing=False),
            Column(name="education", kind=Kind.ORDERED, categories=EDUCATION, missing=False),
            Column(name="status", kind=Kind.CATEGORICAL, categories=STATUS, missing=False),
            Column(name="occupation", kind=Kind.CATEGORICAL, categories=OCCUPATION, missing=False),
            Column(name="hours", kind=Kind.INTEGER, bounds=(0, 80), missing=False, unit="hours a week"),
            Column(name="income", kind=Kind.FLOAT, unit="euros a year"),
            Column(name="marital", kind=Kind.CATEGORICAL, categories=MARITAL, missing=False),
            Column(name="household", kind=Kind.INTEGER, bounds=(1, 20), missing=False, unit="persons"),
            Column(name="owner", kind=Kind.BOOLEAN, missing=False),
            Column(name="commute", kind=Kind.FLOAT, missing=False, unit="minutes"),
            Column(name="registered", kind=Kind.DATE, missing=False),
            Column(name="satisfaction", kind=Kind.ORDERED, categories=SATISFACTION),
            Column(name="insured", kind=Kind.BOOLEAN, missing=False),
        ),
        target="insured",
    )


def _districts(num_people: int, rng: np.random.Generator) -> tuple[Floats, Ints]:
    sizes = 1.0 / np.arange(3, NUM_DISTRICTS + 3)
    district = rng.choice(NUM_DISTRICTS, size=num_people, p=sizes / sizes.sum())
    return rng.normal(0.0, 1.0, NUM_DISTRICTS)[district], district


def _ordered(rng: np.random.Generator, centre: Floats, *, spread: float, top: int) -> Ints:
    return np.clip(np.round(rng.normal(centre, spread)), 0, top).astype(np.int64)


def _status(rng: np.random.Generator, age: Floats, female: NDArray[np.bool_], education: Ints) -> Ints:
    scores = np.stack(
        [
            1.5 + 0.25 * education - 6.0 * (age > 66),
            -0.8 + 0.15 * education + 0.01 * (age - 40) - 3.0 * (age > 70),
            -0.4 - 0.3 * education - 4.0 * (age > 64),
            -9.0 + 0.25 * (age - 30),
            2.5 - 0.45 * (age - 19),
            -0.8 + 0.9 * female - 0.2 * education,
        ],
        axis=1,
    )
    return gumbel_choice(rng, scores)


def _occupation(rng: np.random.Generator, education: Ints) -> Ints:
    levels = np.array([0.6, 1.6, 1.8, 2.3, 1.9, 3.2, 3.4, 4.8, 4.6, 4.4])
    scores = -0.9 * (education[:, None] - levels) ** 2 / 1.6
    return gumbel_choice(rng, scores)


def _income(
    rng: np.random.Generator,
    works: NDArray[np.bool_],
    status: Ints,
    education: Ints,
    occupation: Ints,
    hours: Floats,
    age: Floats,
    affluence: Floats,
) -> Floats:
    premium = np.array([-0.25, 0.05, 0.0, -0.1, -0.05, 0.05, 0.1, 0.0, 0.3, 0.5, -0.6])[occupation]
    experience = 0.02 * (age - 18) - 0.00025 * (age - 18) ** 2
    wage = np.exp(9.15 + 0.13 * education + premium + experience + 0.18 * affluence + rng.normal(0, 0.35, len(age)))
    earned = wage * np.where(works, hours / 38.0, 1.0)
    pension = wage * rng.uniform(0.3, 0.8, len(age))
    has_pension = (status == 3) | ((status == 2) & (rng.random(len(age)) < 0.5))
    return np.where(works, earned, np.where(has_pension, pension, 0.0))


def _marital(rng: np.random.Generator, age: Floats, income: Floats) -> Ints:
    scores = np.stack(
        [
            2.5 - 0.09 * (age - 18),
            0.6 + 0.02 * (age - 30) + 0.000008 * income - 3.0 * (age < 22),
            -1.4 + 0.02 * (age - 30) - 3.0 * (age < 25),
            -6.5 + 0.09 * (age - 30),
        ],
        axis=1,
    )
    return gumbel_choice(rng, scores)


def _registered(rng: np.random.Generator, age: Floats) -> Floats:
    latest = (_REFERENCE - dt.date(1970, 1, 1)).days
    years = np.minimum(rng.exponential(9.0, len(age)), np.minimum(age - 17.0, 40.0))
    return np.floor(latest - 365.25 * years)


def gumbel_choice(rng: np.random.Generator, scores: Floats) -> Ints:
    """One option a row, with probability proportional to exp(score)."""
    chosen: Ints = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
    return chosen


def sigmoid(score: Floats) -> Floats:
    """The probability that a score stands for."""
    return 1.0 / (1.0 + np.exp(-score))


def labels(codes: Ints, names: tuple[str, ...], missing: NDArray[np.bool_] | None = None) -> pa.Array:
    """Codes as what they stand for."""
    return pa.array(names).take(pa.array(codes, mask=missing))
