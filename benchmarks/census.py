"""The prediction tasks of the paper, Adult, German credit and Californian housing, from files that are never committed.

They are looked for in the folder named by the environment variable ``MICROTOME_DATA``, else in ``shared/data``
beside the checkout; the paper's own tables (California, whole) are downloaded by the ``folktables`` package where
there is internet. What is declared as public about them is what the survey's code book and the tasks' own
definitions publish: code lists (for want of the code book itself, the codes that occur anywhere in the file),
ages 0–99, hours 0–99, the tasks' income limits. No value of a single record is declared.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np
import pandas as pd

from microtome.schema import Column, Kind, Outside, Schema

TARGET = "label"
_CALIFORNIA_TARGET = {"Income": "PINCP", "PublicCoverage": "PUBCOV", "Mobility": "MIG"}
NUMERIC: dict[str, dict[str, tuple[float, float]]] = {
    "Income": {"AGEP": (0, 99), "WKHP": (0, 99)},
    "PublicCoverage": {"AGEP": (0, 99), "PINCP": (-20_000, 30_000)},
    "Mobility": {"AGEP": (0, 99), "PINCP": (-20_000, 1_500_000)},
    "Employment": {"AGEP": (0, 99)},
    "TravelTime": {"AGEP": (0, 99), "POVPIP": (0, 501)},
    "Adult": {
        "age": (17, 90),
        "fnlwgt": (10_000, 1_500_000),
        "education-num": (1, 16),
        "capital-gain": (0, 99_999),
        "capital-loss": (0, 4_500),
        "hours-per-week": (1, 99),
    },
    "Credit": {"duration_in_month": (1, 120), "credit_amount": (0, 20_000), "age_in_years": (18, 100)},
    "Housing": {
        "longitude": (-125.0, -114.0),
        "latitude": (32.0, 42.5),
        "housing_median_age": (0, 100),
        "total_rooms": (0, 40_000),
        "total_bedrooms": (0, 10_000),
        "population": (0, 40_000),
        "households": (0, 10_000),
        "median_income": (0.0, 20.0),
        TARGET: (0, 500_001),
    },
}
"""Numeric columns as the paper counts them; in Mobility WKHP and JWMNP are therefore categories. Where bounds are
fractions, so are the numbers."""
TASKS = ("Income", "PublicCoverage", "Mobility", "Employment", "TravelTime")
_ADULT = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship"),
    *("race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", TARGET),
)


class Source(StrEnum):
    """Where a table comes from. Figures of one source are never shown as another's."""

    STATES = "states14"
    CALIFORNIA = "california-40pct"
    FOLKTABLES = "folktables"
    ADULT = "adult"
    GERMAN_CREDIT = "german-credit"
    HOUSING = "housing"

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that this source has."""
        return {
            Source.ADULT: ("Adult",),
            Source.CALIFORNIA: tuple(_CALIFORNIA_TARGET),
            Source.GERMAN_CREDIT: ("Credit",),
            Source.HOUSING: ("Housing",),
        }.get(self, TASKS)

    @property
    def title(self) -> str:
        """What to call it in a report."""
        return {
            Source.STATES: "ACS 2018, 14 whole states",
            Source.CALIFORNIA: "ACS 2018, a 40 % sample of California",
            Source.FOLKTABLES: "ACS 2018, California, all rows (the paper's tables)",
            Source.ADULT: "UCI Adult",
            Source.GERMAN_CREDIT: "UCI German credit",
            Source.HOUSING: "California housing 1990",
        }[self]


@dataclass(frozen=True, kw_only=True)
class Task:
    """A table with its schema, split into training and test rows."""

    name: str
    schema: Schema
    train: pd.DataFrame
    test: pd.DataFrame

    @property
    def numeric(self) -> list[str]:
        """Names of the numeric columns."""
        return [column.name for column in self.schema.columns if not column.kind.is_categorical]

    @property
    def categorical(self) -> list[str]:
        """Names of the categorical columns, the target included where it is a class."""
        return [column.name for column in self.schema.columns if column.kind.is_categorical]

    @property
    def has_classes(self) -> bool:
        """Whether a class is to be predicted, and not a number."""
        return TARGET in self.categorical


def data_folder() -> Path:
    """Where the data is."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("MICROTOME_DATA", beside))


def load_task(name: str, seed: int, *, source: Source = Source.STATES, rows: int | None = None) -> Task:
    """A task, 80 % of its rows (or of the first ``rows`` in shuffled order) for training by the given seed."""
    frame = _read(name, source)
    order = np.random.default_rng(seed).permutation(len(frame))[:rows]
    cut = int(0.8 * len(order))
    train, test = (frame.iloc[part].reset_index(drop=True) for part in (order[:cut], order[cut:]))
    return Task(name=name, schema=_schema(frame, NUMERIC[name]), train=train, test=test)


def _read(name: str, source: Source) -> pd.DataFrame:
    if name not in source.tasks:
        raise ValueError(f"source {source} has no task {name}; it has {', '.join(source.tasks)}")
    if source is Source.FOLKTABLES:
        return _download(name)
    if source is Source.ADULT:
        return _read_adult()
    if source is Source.GERMAN_CREDIT:
        frame = pd.read_csv(_stored("german_credit", "german_credit.csv")).rename(columns={"credit_risk": TARGET})
        return frame.assign(**{TARGET: (frame[TARGET] == 2).astype("int8")})
    if source is Source.HOUSING:
        frame = pd.read_parquet(_stored("housing", "california_housing_1990.parquet"))
        return frame.rename(columns={"median_house_value": TARGET}).dropna(ignore_index=True)
    if source is Source.STATES:
        return pd.read_parquet(_stored("acs14", f"ACS{name}.parquet"))
    frame = pd.read_parquet(_stored("acs_ca", f"ACS{name}_CA2018_40pct.parquet"))
    return frame.drop(columns="split").rename(columns={_CALIFORNIA_TARGET[name]: TARGET}).reset_index(drop=True)


def _stored(folder: str, name: str) -> Path:
    path = data_folder() / folder / name
    if not path.exists():
        raise SystemExit(f"{path} is not there: let MICROTOME_DATA name the folder that has {folder}/{name}")
    return path


def _download(name: str) -> pd.DataFrame:
    """The paper's table of a task, as folktables builds it; the survey's file is kept beside the other data."""
    try:
        import folktables
    except ImportError:
        raise SystemExit("--source folktables needs the package of that name: pip install folktables") from None
    survey = folktables.ACSDataSource(
        survey_year="2018", horizon="1-Year", survey="person", root_dir=str(data_folder() / "folktables")
    )
    problem = getattr(folktables, f"ACS{name}")
    features, labels, _ = problem.df_to_numpy(survey.get_data(states=["CA"], download=True))
    return pd.DataFrame(features, columns=problem.features).assign(**{TARGET: np.asarray(labels).astype("int8")})


def _read_adult() -> pd.DataFrame:
    """Both files of Adult; the second has a comment line on top and a dot after each label."""
    parts = [
        pd.read_csv(_stored("adult", name), names=list(_ADULT), skipinitialspace=True, skiprows=skipped)
        for name, skipped in (("adult.data.gz", 0), ("adult.test.gz", 1))
    ]
    frame = pd.concat(parts, ignore_index=True)
    return frame.assign(**{TARGET: frame[TARGET].str.startswith(">50K").astype("int8")})


def _schema(frame: pd.DataFrame, numeric: dict[str, tuple[float, float]]) -> Schema:
    columns = []
    for name in frame.columns:
        dtype = str(frame[name].dtype)
        if name in numeric:
            kind = Kind.FLOAT if isinstance(numeric[name][0], float) else Kind.INTEGER
            column = Column(
                name=name, kind=kind, dtype=dtype, bounds=numeric[name], missing=False, outside=Outside.CLAMP
            )
        elif dtype == "bool":
            column = Column(name=name, kind=Kind.BOOLEAN, missing=False)
        else:
            stored = "string" if dtype in ("object", "str") else dtype
            codes = tuple(sorted(frame[name].unique().tolist()))
            column = Column(name=name, kind=Kind.CATEGORICAL, dtype=stored, categories=codes, missing=False)
        columns.append(column)
    return Schema(columns=tuple(columns), target=TARGET)
