"""What is foretold of single columns, and what to declare where that is little."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from microtome.forecasting.anticipated import Anticipated
from microtome.schema import Column
from microtome.schema.margins import rare_share

ROUGH, LOST = 0.15, 0.35
"""Errors from which a column is roughly learnt, and from which it is mostly noise."""


class Learning(StrEnum):
    """How much of a column comes through."""

    WELL = "learnt"
    ROUGHLY = "roughly"
    NOT = "not learnt"


@dataclass(frozen=True, kw_only=True)
class ColumnForecast:
    """What is foretold of one column.

    Attributes:
        name: Its name.
        declared: Whether its categories or bounds are declared.
        count_noise: Standard deviation of the noise in its counts.
        smallest_share: Share of the records that a value needs to show as itself.
        error: Total variation of a listed column, Kolmogorov–Smirnov distance of a measured one: 0 is perfect.
        learning: How much of it comes through.
        advice: What to do about it; empty where it is learnt.
    """

    name: str
    declared: bool
    count_noise: float
    smallest_share: float
    error: float
    learning: Learning
    advice: str


def forecast_columns(release: Anticipated) -> tuple[ColumnForecast, ...]:
    """All columns in order."""
    return tuple(_column(release, index) for index in range(len(release.schema.columns)))


def _column(release: Anticipated, index: int) -> ColumnForecast:
    column, noise, threshold = release.schema.columns[index], release.count_noise[index], release.thresholds[index]
    error = release.errors[index][0]
    learning = Learning.WELL if error < ROUGH else Learning.ROUGHLY if error < LOST else Learning.NOT
    share = rare_share(noise, release.num_rows) if threshold is None else threshold / release.num_rows
    return ColumnForecast(
        name=column.name,
        declared=column.is_declared,
        count_noise=noise,
        smallest_share=min(share, 1.0),
        error=error,
        learning=learning,
        advice="" if error < ROUGH else _advice(column),
    )


def _advice(column: Column) -> str:
    """What would help, from public knowledge only."""
    what = "categories" if column.kind.is_categorical else "bounds"
    if not column.is_declared:
        return f"declare its {what} if a code book, a form or a law states them"
    if column.kind.is_categorical and len(column.categories or ()) > 2:
        return "join categories to fewer, leave the column out, or raise ε"
    return "leave the column out, or raise ε" if column.kind.is_categorical else "narrow its bounds, or raise ε"
