"""Can people be told apart by their own columns and by what is behind them: counts, means and shares of their rows?"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from microtome.evaluation.comparable_table import ComparableTable
from microtome.evaluation.detector import Detection, detect
from microtome.evaluation.linked_tables import LinkedTables, Sides
from microtome.evaluation.number_tables import extended

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_SHARES = 6
"""Values of a listed column whose share among a person's rows is a feature of the person."""


def detect_people(sides: Sides, rng: np.random.Generator, most: int) -> Detection | str:
    """Whether people are told apart by their own columns and what is behind them."""
    first, second = _people(sides)
    return detect(first, second, rng, most)


def _people(sides: Sides) -> tuple[ComparableTable, ComparableTable]:
    """The people of both sides with counts, means and shares of the rows behind them."""
    root = sides[0].schema.root.name
    features: tuple[dict[str, Floats], dict[str, Floats]] = ({}, {})
    for name in sides[0].schema.links:
        common = {
            column: np.argsort(-np.bincount(codes[codes >= 0], minlength=1), kind="stable")[:_SHARES]
            for column in sides[0].coded[name].listed
            if len(codes := sides[0].coded[name].values[column])
        }
        for side, made in zip(sides, features, strict=True):
            made |= _behind(side, name, root, common)
    return tuple(extended(side.coded[root], made, whole=False) for side, made in zip(sides, features, strict=True))  # type: ignore[return-value]


def _behind(side: LinkedTables, name: str, root: str, common: dict[str, Ints]) -> dict[str, Floats]:
    """Counts, means and shares of a table's rows, person by person."""
    table, places, people = side.coded[name], side.places_in(name, root), side.coded[root].num_rows
    known = places >= 0
    number = np.bincount(places[known], minlength=people).astype(np.float64)
    found = {f"{name}: rows": number}

    def mean(values: Floats, present: NDArray[np.bool_]) -> Floats:
        kept = known & present
        total = np.bincount(places[kept], weights=values[kept], minlength=people)
        counted = np.bincount(places[kept], minlength=people)
        return np.where(counted > 0, total / np.maximum(counted, 1), np.nan)

    for column in table.measured:
        found[f"{name}: mean {column}"] = mean(table.values[column], ~np.isnan(table.values[column]))
    for column, codes in common.items():
        for code in codes:
            share = (table.values[column] == code).astype(np.float64)
            found[f"{name}: {column} = {table.labels[column][code]}"] = mean(share, np.ones(len(share), dtype=bool))
    return found
