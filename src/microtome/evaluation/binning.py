"""Every column cut into a few levels, so that any two columns make a table, whatever their kinds.

Listed columns keep their commonest values and pool the rest; measured ones are cut at quantiles of the real table,
with a level of its own for a value that many rows share. Missing values are a level.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from microtome.evaluation.comparable_table import ComparableTable
from microtome.evaluation.values import short_number
from microtome.schema import Column

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
BINS = 16
"""Quantile bins of a measured column."""
NAMED = 40
"""Values of a listed column with a level of their own."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Levels:
    """The levels of one column in some tables.

    Attributes:
        labels: What each level is called.
        codes: The level of every row, one array a table; −1 for a value that has none.
    """

    labels: tuple[str, ...]
    codes: tuple[Ints, ...]

    def shares(self, table: int) -> Floats:
        """Share of each level in a table."""
        codes = self.codes[table]
        counted = np.bincount(codes[codes >= 0], minlength=len(self.labels))
        return np.asarray(counted / max(len(codes), 1), dtype=np.float64)


def cut_columns(real: ComparableTable, *others: ComparableTable) -> list[Levels]:
    """Levels of all columns, cut by the real table, in that table and in others."""
    return [_cut(column, real, others) for column in real.columns]


def joint_shares(first: Levels, second: Levels, table: int) -> Floats:
    """Two-way table of shares of two columns in one of the tables."""
    a, b = first.codes[table], second.codes[table]
    height, width = len(first.labels), len(second.labels)
    kept = (a >= 0) & (b >= 0)
    keys = a * width + b if kept.all() else a[kept] * width + b[kept]
    return np.bincount(keys, minlength=height * width).reshape(height, width) / max(len(a), 1)


def pairs_of(columns: list[Levels]) -> list[tuple[int, int]]:
    """All pairs of columns that have more than one level."""
    varying = [index for index, levels in enumerate(columns) if len(levels.labels) > 1]
    return list(combinations(varying, 2))


def _cut(column: Column, real: ComparableTable, others: tuple[ComparableTable, ...]) -> Levels:
    tables = (real, *others)
    if column.name in real.labels:
        labels, place = _named(real.labels[column.name], real.values[column.name])
        codes = [place[table.values[column.name]] for table in tables]
    else:
        edges = _edges(real.values[column.name])
        labels = _interval_labels(column, edges)
        codes = [_locate(edges, table.values[column.name], len(labels)) for table in tables]
    missing = [table.missing(column.name) for table in tables]
    if any(one.any() for one in missing):
        codes = [np.where(gone, len(labels), code) for gone, code in zip(missing, codes, strict=True)]
        labels = (*labels, "missing")
    return Levels(labels=labels, codes=tuple(codes))


def _named(labels: tuple[str, ...], codes: Ints) -> tuple[tuple[str, ...], Ints]:
    """Levels of a listed column, and the level of each label (the last entry serves the missing, −1)."""
    counts = np.bincount(codes[codes >= 0], minlength=len(labels))
    if len(labels) <= NAMED:
        return labels, np.append(np.arange(len(labels)), 0)
    common = np.sort(np.argsort(-counts, kind="stable")[: NAMED - 1])
    place = np.full(len(labels) + 1, NAMED - 1)
    place[common] = np.arange(NAMED - 1)
    return (*(labels[index] for index in common), "all others"), place


def _edges(values: Floats) -> Floats:
    """Where a measured column is cut: left ends of all levels but the first, in order."""
    present = values[~np.isnan(values)]
    if len(present) == 0:
        return np.empty(0)
    quantiles = np.quantile(present, np.arange(1, BINS) / BINS, method="inverted_cdf")
    points = quantiles[:-1][quantiles[:-1] == quantiles[1:]]
    edges = np.unique(np.concatenate([quantiles, np.nextafter(points, np.inf)]))
    inner: Floats = edges[edges > present.min()]
    return inner


def _locate(edges: Floats, values: Floats, width: int) -> Ints:
    return np.minimum(np.searchsorted(edges, values, side="right"), width - 1).astype(np.int64)


def _interval_labels(column: Column, edges: Floats) -> tuple[str, ...]:
    if len(edges) == 0:
        return ("any",)
    texts = [short_number(column, edge) for edge in edges]
    inner = [
        low if high_edge == np.nextafter(low_edge, np.inf) else f"{low} to {high}"
        for low, high, low_edge, high_edge in zip(texts[:-1], texts[1:], edges[:-1], edges[1:], strict=True)
    ]
    return (f"below {texts[0]}", *inner, f"from {texts[-1]}")
