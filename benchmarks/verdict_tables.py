"""The tables that verdicts are tried on: any number of rows of seven tables, columns declared and merely drafted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

import microtome as mt
from census import Source, data_folder, load_task
from forecast_tables import declared
from microtome.demo import population, population_schema
from microtome.schema import Schema

_HOUSING: dict[str, tuple[float, float]] = {
    "longitude": (-125.0, -114.0),
    "latitude": (32.0, 42.5),
    "housing_median_age": (0, 100),
    "total_rooms": (0, 40_000),
    "total_bedrooms": (0, 10_000),
    "population": (0, 40_000),
    "households": (0, 10_000),
    "median_income": (0.0, 20.0),
    "median_house_value": (0, 500_001),
}
_GERMAN = {"duration_in_month": (1, 120), "credit_amount": (0, 20_000), "age_in_years": (18, 100)}
_POPULATION = 20_000


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows, and what somebody who knows them would declare."""

    frame: pd.DataFrame
    declared: Schema

    def some(self, rows: int, seed: int) -> pd.DataFrame:
        """So many of its rows at random."""
        return self.frame.sample(rows, random_state=seed).reset_index(drop=True)

    def schema(self, frame: pd.DataFrame, *, declared: bool) -> Schema:
        """The declared schema, or what a draft makes of the rows as they are."""
        return self.declared if declared else mt.draft_schema(frame, target=self.declared.target).confirm()


def load(name: str) -> Table:
    """One of the tables by name."""
    return TABLES[name]()


def _task(name: str, source: Source) -> Table:
    task = load_task(name, 0, source=source)
    return Table(frame=task.train, declared=task.schema)


def _housing() -> Table:
    frame = pd.read_parquet(data_folder() / "housing" / "california_housing_1990.parquet")
    return Table(frame=frame, declared=declared(frame, _HOUSING, "median_house_value"))


def _german_credit() -> Table:
    frame = pd.read_csv(data_folder() / "german_credit" / "german_credit.csv")
    frame = frame.rename(columns={"telephone": "has_line"})  # two codes, where a draft would expect numbers to call
    return Table(frame=frame, declared=declared(frame, _GERMAN, "credit_risk"))


def _town() -> Table:
    return Table(frame=population(_POPULATION).to_pandas(), declared=population_schema())


TABLES: dict[str, Callable[[], Table]] = {
    "housing": _housing,
    "adult": lambda: _task("Adult", Source.ADULT),
    "california": lambda: _task("Income", Source.CALIFORNIA),
    "german_credit": _german_credit,
    "town": _town,
    "employment": lambda: _task("Employment", Source.STATES),
    "travel_time": lambda: _task("TravelTime", Source.STATES),
}
