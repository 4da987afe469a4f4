"""The tables on which forecasts are held against what came of a release: real ones, and the simulated town.

What is declared of them is what their code books, forms and maps publish. *Drafted* schemas declare the types and the
target and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from census import Source, data_folder, load_task
from microtome.demo import population, population_schema
from microtome.private import draft_schema
from microtome.schema import Column, Kind, Outside, Schema

_HOUSING: dict[str, tuple[float, float]] = {
    "longitude": (-125.0, -114.0),
    "latitude": (32.0, 42.5),
    "housing_median_age": (1, 52),
    "total_rooms": (1, 50_000),
    "total_bedrooms": (0, 10_000),
    "population": (1, 50_000),
    "households": (1, 10_000),
    "median_income": (0.0, 16.0),
    "median_house_value": (10_000, 500_001),
}
_CREDIT: dict[str, tuple[int, int]] = {
    "duration_in_month": (1, 72),
    "credit_amount": (0, 20_000),
    "age_in_years": (18, 80),
}
_UNDRAFTED = ["telephone"]
"""Columns that a draft takes for identifiers by their names."""
_LOAN: dict[str, tuple[float, float]] = {"amount": (0, 1_000_000), "payments": (0, 20_000)}
_SEED = 0
"""Of which rows are taken, the same for every ε."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A table of some rows, and what is public about it."""

    table: str
    schema: Schema
    rows: pd.DataFrame


def load_case(name: str, num_rows: int) -> Case | None:
    """Some rows of a table by its name, in random order; ``None`` if it has fewer."""
    frame, schema = TABLES[name]()
    if len(frame) < num_rows:
        return None
    order = np.random.default_rng(_SEED).permutation(len(frame))[:num_rows]
    return Case(table=name, schema=schema, rows=frame.iloc[order].reset_index(drop=True))


@cache
def _housing() -> tuple[pd.DataFrame, Schema]:
    frame = pd.read_parquet(data_folder() / "housing" / "california_housing_1990.parquet")
    return frame, declared(frame, _HOUSING, "median_house_value")


@cache
def _loans() -> tuple[pd.DataFrame, Schema]:
    frame = pd.read_csv(data_folder() / "czech_bank" / "loan.csv")[[*_LOAN, "duration", "status"]]
    return frame, declared(frame, _LOAN, "status")


@cache
def _credit() -> tuple[pd.DataFrame, Schema]:
    frame = pd.read_csv(data_folder() / "german_credit" / "german_credit.csv")
    return frame, declared(frame, _CREDIT, "credit_risk")


def declared(frame: pd.DataFrame, bounds: dict[str, tuple[float, float]], target: str) -> Schema:
    """Numbers with the bounds that are given, all else with the codes that occur anywhere in the file."""
    columns = []
    for name in frame.columns:
        dtype, missing = str(frame[name].dtype), bool(frame[name].isna().any())
        if name in bounds:
            kind = Kind.FLOAT if dtype == "float64" else Kind.INTEGER
            columns.append(
                Column(name=name, kind=kind, dtype=dtype, bounds=bounds[name], missing=missing, outside=Outside.CLAMP)
            )
            continue
        codes = tuple(sorted(frame[name].dropna().unique().tolist()))
        stored = "string" if dtype in ("object", "str") else dtype
        columns.append(Column(name=name, kind=Kind.CATEGORICAL, dtype=stored, categories=codes, missing=missing))
    return Schema(columns=tuple(columns), target=target)


@cache
def _task(name: str, source: Source) -> tuple[pd.DataFrame, Schema]:
    task = load_task(name, _SEED, source=source)
    return pd.concat([task.train, task.test], ignore_index=True), task.schema


@cache
def _town() -> tuple[pd.DataFrame, Schema]:
    return population(50_000).to_pandas(), population_schema()


def _drafted(load: Callable[[], tuple[pd.DataFrame, Schema]]) -> Callable[[], tuple[pd.DataFrame, Schema]]:
    """The same rows with nothing declared but types and target."""

    def draft() -> tuple[pd.DataFrame, Schema]:
        frame, declared = load()
        told_apart = frame.drop(columns=_UNDRAFTED, errors="ignore")
        return told_apart, draft_schema(told_apart, target=declared.target).confirm()

    return draft


TABLES: dict[str, Callable[[], tuple[pd.DataFrame, Schema]]] = {
    "housing": _housing,
    "German credit": _credit,
    "Adult": lambda: _task("Adult", Source.ADULT),
    "Income, California": lambda: _task("Income", Source.CALIFORNIA),
    "PublicCoverage, California": lambda: _task("PublicCoverage", Source.CALIFORNIA),
    "the simulated town": _town,
    "housing, drafted": _drafted(_housing),
    "German credit, drafted": _drafted(_credit),
    "Adult, drafted": _drafted(lambda: _task("Adult", Source.ADULT)),
    "Mobility, California": lambda: _task("Mobility", Source.CALIFORNIA),
    "Mobility, California, drafted": _drafted(lambda: _task("Mobility", Source.CALIFORNIA)),
    "loans of a bank": _loans,
    "loans of a bank, drafted": _drafted(_loans),
}
"""By name: all rows and the schema."""
UNSEEN = ("Mobility, California", "Mobility, California, drafted", "loans of a bank", "loans of a bank, drafted")
"""Tables that were first released when the constants and bands of the forecast were settled."""
