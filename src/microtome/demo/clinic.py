"""A simulated clinic: patients, their visits over two years, and what was prescribed at these. Nobody is real.

The story, in the order in which it is drawn:

1. A patient has an age, a sex, one of eight practices (public: they are on the clinic's sign) and a chronic disease or
   none: high blood pressure and diabetes come with age, asthma is for the young, depression hits more women.
2. How often somebody comes: seldom if healthy, every quarter if chronically ill, more often when old. A fifth of the
   healthy never come.
3. Visits are a sequence. The chronically ill come for their disease at regular gaps, now and then something acute comes
   between; an injury or an infection is often followed by a check-up soon after; colds are a matter of winter.
4. Blood pressure is a patient's own level, higher for the old and the hypertensive, and sinks from visit to visit under
   treatment: two visits of a patient are more alike than two patients.
5. Drugs follow from the diagnosis, and the chronically ill mostly get again what they had. A prescription is for so
   many days as it takes to the next regular visit, or for the usual course.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microtome.demo.population import gumbel_choice, labels, sigmoid
from microtome.schema import Aside, Column, Kind, LinkedSchema, LinkedTable, Parent, PublicTable, Schema

DIAGNOSES = ("hypertension", "diabetes", "asthma", "depression", "infection", "injury", "back pain", "check-up")
DRUGS: dict[str, tuple[str, ...]] = {
    "hypertension": ("ramipril", "amlodipine", "bisoprolol"),
    "diabetes": ("metformin", "insulin"),
    "asthma": ("salbutamol", "budesonide"),
    "depression": ("sertraline", "citalopram"),
    "infection": ("amoxicillin", "paracetamol"),
    "injury": ("ibuprofen",),
    "back pain": ("ibuprofen", "paracetamol"),
    "check-up": (),
}
MOST_VISITS = 12
MOST_PRESCRIPTIONS = 3
_FIRST_DAY, _LAST_DAY = dt.date(2024, 1, 1), dt.date(2025, 12, 31)
_DAYS = (_LAST_DAY - _FIRST_DAY).days
_EPOCH_DAY = (_FIRST_DAY - dt.date(1970, 1, 1)).days
_CHRONIC = 4
"""The first diagnoses are chronic diseases; this number stands for having none."""
_INFECTION, _INJURY, _BACK_PAIN, _CHECK_UP = range(_CHRONIC, len(DIAGNOSES))
_HYPERTENSION = DIAGNOSES.index("hypertension")
_QUARTER = 91.0
_PRACTICES = PublicTable(
    name="practices",
    key="practice",
    rows={
        "practice": (1, 2, 3, 4, 5, 6, 7, 8),
        "place": ("Market Square", "Harbour", "Old Mill", "Station", "Hillside", "Park Road", "Meadows", "Airport"),
        "doctors": (6, 4, 3, 5, 2, 2, 1, 3),
    },
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def clinic(num_patients: int = 4_000, *, seed: int = 0) -> dict[str, pa.Table]:
    """Simulate the clinic: its tables by name. The seed chooses the clinic; a release of it draws its own noise."""
    rng = np.random.default_rng(seed)
    age, female, practice, smoker, chronic = _patients(num_patients, rng)
    patients = pa.table(
        {
            "patient": pa.array(np.arange(1, num_patients + 1)),
            "age": pa.array(age.astype(np.int64)),
            "sex": labels(female.astype(np.int64), ("male", "female")),
            "practice": pa.array(practice),
            "smoker": pa.array(smoker),
        }
    )
    owner, day, diagnosis = _visits(age, chronic, rng)
    pressure = _pressure(owner, diagnosis, age, chronic, smoker, rng)
    visits = pa.table(
        {
            "visit": pa.array(np.arange(1, len(owner) + 1)),
            "patient": pa.array(owner + 1),
            "day": pa.array((day + _EPOCH_DAY).astype(np.int32)).cast(pa.date32()),
            "diagnosis": labels(diagnosis, DIAGNOSES),
            "pressure": pa.array(pressure, mask=rng.random(len(owner)) < 0.04),
        }
    )
    return {
        "patients": patients,
        "visits": visits,
        "prescriptions": _prescriptions(owner, diagnosis, age, rng),
        "practices": _PRACTICES.table(),
    }


def clinic_schema() -> LinkedSchema:
    """What the clinic would declare: its forms' code lists and limits, and how often somebody may come at most."""
    patient, visit = (Aside(name=name, action="surrogate", dtype="int64") for name in ("patient", "visit"))
    drugs = tuple(dict.fromkeys(drug for known in DRUGS.values() for drug in known))
    patients = Schema(
        columns=(
            Column(name="age", kind=Kind.INTEGER, bounds=(0, 100), missing=False, unit="years"),
            Column(name="sex", kind=Kind.CATEGORICAL, categories=("male", "female"), missing=False),
            Column(name="practice", kind=Kind.CATEGORICAL, dtype="int64", missing=False),
            Column(name="smoker", kind=Kind.BOOLEAN, missing=False),
        ),
        aside=(patient,),
    )
    visits = Schema(
        columns=(
            Column(name="day", kind=Kind.DATE, bounds=(_FIRST_DAY, _LAST_DAY), missing=False),
            Column(name="diagnosis", kind=Kind.CATEGORICAL, categories=DIAGNOSES, missing=False),
            Column(name="pressure", kind=Kind.INTEGER, bounds=(70, 240), unit="mmHg, systolic"),
        ),
        aside=(visit, Aside(name="patient", action="surrogate", dtype="int64", place=1)),
    )
    prescriptions = Schema(
        columns=(
            Column(name="drug", kind=Kind.CATEGORICAL, categories=drugs, missing=False),
            Column(name="days", kind=Kind.INTEGER, bounds=(1, 100), missing=False),
        ),
        aside=(visit,),
    )
    in_visits = Parent(table="patients", foreign_key="patient", max_rows=MOST_VISITS, order="day")
    in_prescriptions = Parent(table="visits", foreign_key="visit", max_rows=MOST_PRESCRIPTIONS)
    return LinkedSchema(
        tables=(
            LinkedTable(name="patients", schema=patients, key="patient", references={"practice": "practices"}),
            LinkedTable(name="visits", schema=visits, key="visit", parent=in_visits),
            LinkedTable(name="prescriptions", schema=prescriptions, parent=in_prescriptions),
        ),
        public=(_PRACTICES,),
    )


def _patients(count: int, rng: np.random.Generator) -> tuple[Floats, Bools, Ints, Bools, Ints]:
    age = np.clip(np.round(rng.gamma(3.0, 15.5, count)), 0, 100)
    female = rng.random(count) < 0.53
    doctors = np.array(_PRACTICES.rows["doctors"], dtype=float)
    practice = 1 + gumbel_choice(rng, np.log(doctors) + 0.012 * (age[:, None] - 45) * np.linspace(-1, 1, len(doctors)))
    smoker = rng.random(count) < np.where(age < 16, 0.0, 0.32 - 0.003 * age - 0.05 * female)
    scores = np.stack(
        [
            -2.6 + 0.055 * (age - 30) + 0.3 * smoker - 6.0 * (age < 20),
            -3.4 + 0.05 * (age - 30) - 0.2 * female - 3.0 * (age < 12),
            -2.2 - 0.012 * age + 0.4 * smoker,
            -2.4 + 0.6 * female - 0.004 * np.abs(age - 38) ** 1.5 - 6.0 * (age < 12),
            np.zeros(count),
        ],
        axis=1,
    )
    return age, female, practice, smoker, gumbel_choice(rng, scores)


def _visits(age: Floats, chronic: Ints, rng: np.random.Generator) -> tuple[Ints, Floats, Ints]:
    """Patient, day and diagnosis of every visit, patient by patient and in order of time."""
    ill = chronic < _CHRONIC
    comes = rng.random(len(age)) < np.where(ill, 0.97, 0.8)
    day = np.where(ill, rng.uniform(0, _QUARTER, len(age)), rng.uniform(0, _DAYS, len(age)))
    tempo = rng.gamma(6.0, 1.0 / 6.0, len(age)) * np.exp(0.006 * (45 - age))
    last = np.full(len(age), -1)
    found: list[tuple[Ints, Floats, Ints]] = []
    for _ in range(MOST_VISITS):
        here = np.flatnonzero(comes & (day <= _DAYS))
        diagnosis = _diagnosed(day[here], last[here], chronic[here], age[here], rng)
        found.append((here, np.floor(day[here]), diagnosis))
        last[here] = diagnosis
        day[here] += np.maximum(1.0, _gap(diagnosis, ill[here], tempo[here], rng))
    patient, days, diagnosis = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((days, patient))
    return patient[order], days[order], diagnosis[order]


def _diagnosed(day: Floats, last: Ints, chronic: Ints, age: Floats, rng: np.random.Generator) -> Ints:
    winter = np.cos(2 * np.pi * day / 365.25)
    scores = np.full((len(day), len(DIAGNOSES)), -np.inf)
    ill = chronic < _CHRONIC
    scores[np.flatnonzero(ill), chronic[ill]] = 2.2
    scores[:, _INFECTION] = 0.6 + 1.0 * winter - 0.015 * (age - 30)
    scores[:, _INJURY] = -0.3 - 0.02 * (age - 25)
    scores[:, _BACK_PAIN] = -0.4 - 0.0016 * (age - 52) ** 2
    scores[:, _CHECK_UP] = -0.6 + 0.01 * (age - 40) + 2.4 * np.isin(last, (_INFECTION, _INJURY))
    return gumbel_choice(rng, scores)


def _gap(diagnosis: Ints, ill: Bools, tempo: Floats, rng: np.random.Generator) -> Floats:
    """Days to the next visit."""
    regular = rng.normal(_QUARTER, 12.0, len(diagnosis))
    seldom = rng.exponential(300.0, len(diagnosis)) / tempo
    soon = rng.gamma(4.0, 3.5, len(diagnosis))
    after_acute = np.isin(diagnosis, (_INFECTION, _INJURY)) & (rng.random(len(diagnosis)) < 0.55)
    return np.where(after_acute, soon, np.where(ill, regular, seldom))


def _pressure(
    owner: Ints, diagnosis: Ints, age: Floats, chronic: Ints, smoker: Bools, rng: np.random.Generator
) -> Ints:
    level = 112 + 0.28 * age + 5 * smoker + 24 * (chronic == _HYPERTENSION) + rng.normal(0, 7, len(age))
    treated = _times_before(owner, diagnosis == _HYPERTENSION)
    now = level[owner] - 4.0 * np.minimum(treated, 5) + rng.normal(0, 6, len(owner))
    pressure: Ints = np.clip(np.round(now), 70, 240).astype(np.int64)
    return pressure


def _times_before(owner: Ints, happened: Bools) -> Ints:
    """How often it had happened to the same patient before; visits are patient by patient."""
    before: Ints = np.cumsum(happened) - happened
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    times: Ints = before - np.repeat(before[starts], np.diff(np.append(starts, len(owner))))
    return times


def _prescriptions(owner: Ints, diagnosis: Ints, age: Floats, rng: np.random.Generator) -> pa.Table:
    chronic = diagnosis < _CHRONIC
    any_drug = rng.random(len(owner)) < np.where(chronic, 0.92, np.where(diagnosis == _CHECK_UP, 0.0, 0.6))
    more = rng.random((len(owner), MOST_PRESCRIPTIONS - 1)) < 0.35 * sigmoid(0.04 * (age[owner] - 60))[:, None]
    number = any_drug * (1 + more.sum(axis=1))
    visit = np.repeat(np.arange(len(owner)), number)
    again = rng.integers(0, 2**31, len(age))[owner[visit]]  # a patient's usual drug
    usual = rng.random(len(visit)) < 0.85
    place = np.where(usual & chronic[visit], again, rng.integers(0, 2**31, len(visit)))
    drugs = [_one_of(DRUGS[DIAGNOSES[code]], at) for code, at in zip(diagnosis[visit], place, strict=True)]
    course = rng.choice([5, 7, 10, 14], size=len(visit), p=[0.3, 0.35, 0.25, 0.1])
    days = np.where(chronic[visit], np.where(rng.random(len(visit)) < 0.8, 90, 30), course)
    return pa.table({"visit": pa.array(visit + 1), "drug": pa.array(drugs), "days": pa.array(days)})


def _one_of(names: Sequence[str], place: int) -> str:
    return names[place % len(names)]
