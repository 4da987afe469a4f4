"""The ACS prediction tasks of the paper, from files that are never committed.

They are looked for in the folder named by the environment variable ``MICROTOME_DATA``, else in ``shared/data``
beside the checkout. What is declared as public about them is what the survey's code book and the tasks' own
definitions publish: code lists (for want of the code book itself, the codes that occur anywhere in the file),
ages 0–99, hours 0–99, the tasks' income limits. No value of a single record is declared.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from microtome.schema import Column, Kind, Outside, Schema

TARGET = "label"
_CALIFORNIA_TARGET = {"Income": "PINCP", "PublicCoverage": "PUBCOV", "Mobility": "MIG"}
NUMERIC: dict[str, dict[str, tuple[int, int]]] = {
    "Income": {"AGEP": (0, 99), "WKHP": (0, 99)},
    "PublicCoverage": {"AGEP": (0, 99), "PINCP": (-20_000, 30_000)},
    "Mobility": {"AGEP": (0, 99), "PINCP": (-20_000, 1_500_000)},
    "Employment": {"AGEP": (0, 99)},
    "TravelTime": {"AGEP": (0, 99), "POVPIP": (0, 501)},
}
"""Numeric columns as the paper counts them; in Mobility WKHP and JWMNP are therefore categories."""
TASKS = tuple(NUMERIC)


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
        """Names of the categorical columns, the target included."""
        return [column.name for column in self.schema.columns if column.kind.is_categorical]


def data_folder() -> Path:
    """Where the data is."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("MICROTOME_DATA", beside))


def load_task(name: str, seed: int, *, california: bool = False) -> Task:
    """A task, 80 % of its rows for training by the given seed."""
    frame = _read(name, california)
    order = np.random.default_rng(seed).permutation(len(frame))
    cut = int(0.8 * len(frame))
    train, test = (frame.iloc[part].reset_index(drop=True) for part in (order[:cut], order[cut:]))
    return Task(name=name, schema=_schema(frame, NUMERIC[name]), train=train, test=test)


def _read(name: str, california: bool) -> pd.DataFrame:
    if not california:
        return pd.read_parquet(data_folder() / "acs14" / f"ACS{name}.parquet")
    frame = pd.read_parquet(data_folder() / "acs_ca" / f"ACS{name}_CA2018_40pct.parquet")
    return frame.drop(columns="split").rename(columns={_CALIFORNIA_TARGET[name]: TARGET}).reset_index(drop=True)


def _schema(frame: pd.DataFrame, numeric: dict[str, tuple[int, int]]) -> Schema:
    columns = []
    for name in frame.columns:
        dtype = str(frame[name].dtype)
        if name in numeric:
            column = Column(
                name=name, kind=Kind.INTEGER, dtype=dtype, bounds=numeric[name], missing=False, outside=Outside.CLAMP
            )
        elif dtype == "bool":
            column = Column(name=name, kind=Kind.BOOLEAN, missing=False)
        else:
            codes = tuple(sorted(frame[name].unique().tolist()))
            column = Column(name=name, kind=Kind.CATEGORICAL, dtype=dtype, categories=codes, missing=False)
        columns.append(column)
    return Schema(columns=tuple(columns), target=TARGET)
