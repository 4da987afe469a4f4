"""Distances across links in levels as coarse as the rows allow, so that chance has less of a say in them.

The report cuts columns into 16 levels, or 40 by name, whatever the number of rows. In a table of some hundred rows a
cell of two such columns then holds one or two of them, and what two samples of one population differ by is most of what
is measured. Here each column of a pair has so few levels that a cell would hold 25 rows if all held the same: of
numbers levels next to each other are joined, of names all but the commonest.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from microtome.schema import LinkedSchema

Floats = NDArray[np.float64]
_ROWS_A_CELL = 25
_FEWEST = 2


class Coarse(NamedTuple):
    """Mean total variation of all pairs across a link, and what it would be by chance."""

    distance: float
    chance: float


def coarse(link: Any, schema: LinkedSchema, rows: tuple[int, int]) -> Coarse:
    """The distance across a link of the report.

    Args:
        link: What the report says of it.
        schema: What is public about the tables.
        rows: Of the table, real and synthetic.
    """
    most = max(math.isqrt(rows[0] // _ROWS_A_CELL), _FEWEST)
    distances, chances = [], []
    for pair in link.pairs:
        groups = [
            _groups(pair.real.sum(axis=1 - axis), most, named=_is_named(name, schema))
            for axis, name in enumerate(pair.names)
        ]
        real, synthetic = (_joined(table, *groups) for table in (pair.real, pair.synthetic))
        distances.append(0.5 * float(np.abs(real - synthetic).sum()))
        spread = 1.0 / rows[0] + 1.0 / rows[1]
        chances.append(0.5 * float(np.sqrt(2.0 / np.pi * real * (1.0 - real) * spread).sum()))
    return Coarse(float(np.mean(distances)), float(np.mean(chances)))


def _is_named(name: str, schema: LinkedSchema) -> bool:
    """Whether a column of the report has categories; numbers of rows have none."""
    table, _, column = name.partition(".")
    return bool(column) and schema[table].schema[column].kind.is_categorical


def _groups(shares: Floats, most: int, *, named: bool) -> NDArray[np.int64]:
    """The group of each level."""
    if len(shares) <= most:
        return np.arange(len(shares))
    if named:
        places = np.argsort(np.argsort(-shares, kind="stable"), kind="stable")
        return np.minimum(places, most - 1)
    middles = np.cumsum(shares) - shares / 2
    groups = np.minimum((middles / max(shares.sum(), 1e-300) * most).astype(np.int64), most - 1)
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


def _joined(table: Floats, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Floats:
    found = np.zeros((rows.max() + 1, columns.max() + 1))
    np.add.at(found, (rows[:, None], columns), table)
    return found
