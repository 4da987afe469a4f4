"""Coded tables as matrices for learners: one column a value for linear models, one a column for trees.

Scales, common values and fill-ins are taken from the tables that a learner is trained on, so that nothing of a test
table leaks into them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from microtome.evaluation.comparable_table import ComparableTable

Floats = NDArray[np.float64]
_LEAST_ROWS = 5
"""A value needs so many training rows to get a column of its own; rarer ones of a column share one."""
_MOST_CATEGORIES = 250
"""Gradient boosting of scikit-learn takes 255 categories; rarer values are pooled."""


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearFeatures:
    """One-hot values and standardised numbers (missing ones at the mean, with a mark)."""

    places: dict[str, NDArray[np.int64]]
    moments: dict[str, tuple[float, float]]
    num_values: int

    @classmethod
    def fit(cls, table: ComparableTable, names: list[str]) -> LinearFeatures:
        """Learn which values get a column, and the scale of numbers."""
        places: dict[str, NDArray[np.int64]] = {}
        moments: dict[str, tuple[float, float]] = {}
        width = 0
        for name in names:
            values = table.values[name]
            if name in table.labels:
                counts = np.bincount(values + 1, minlength=len(table.labels[name]) + 1)
                kept, rare = counts >= _LEAST_ROWS, (counts > 0) & (counts < _LEAST_ROWS)
                places[name] = np.where(kept, width + np.cumsum(kept) - 1, -1)
                width += int(kept.sum())
                places[name][rare] = width
                width += int(rare.any())
            else:
                present = values[~np.isnan(values)]
                with np.errstate(over="ignore"):  # Beyond 1e150 the spread is infinite, and the column says nothing.
                    mean, spread = (float(present.mean()), float(present.std())) if len(present) else (0.0, 1.0)
                moments[name] = (mean, spread or 1.0)
        return cls(places=places, moments=moments, num_values=width)

    def transform(self, table: ComparableTable) -> sp.csr_matrix:
        """The matrix of a table; values unknown in training have no column."""
        every = np.arange(table.num_rows)
        rows, columns, data = [], [], []
        for name, places in self.places.items():
            place = places[table.values[name] + 1]
            known = place >= 0
            rows.append(every[known])
            columns.append(place[known])
            data.append(np.ones(int(known.sum())))
        for number, (name, (mean, spread)) in enumerate(self.moments.items()):
            values, at = table.values[name], self.num_values + 2 * number
            gone = np.isnan(values)
            rows += [every, every[gone]]
            columns += [np.full(table.num_rows, at), np.full(int(gone.sum()), at + 1)]
            data += [np.where(gone, 0.0, (values - mean) / spread), np.ones(int(gone.sum()))]
        width = self.num_values + 2 * len(self.moments)
        entries = (np.concatenate(data), (np.concatenate(rows), np.concatenate(columns)))
        return sp.csr_matrix(entries, shape=(table.num_rows, width))


@dataclass(frozen=True, kw_only=True, eq=False)
class TreeFeatures:
    """One column a column: positions of values (the commonest apart, the rest together), and numbers as they are."""

    names: list[str]
    places: dict[str, Floats]

    @classmethod
    def fit(cls, table: ComparableTable, names: list[str]) -> TreeFeatures:
        """Learn which values are common."""
        places = {}
        for name in names:
            if name in table.labels:
                counts = np.bincount(table.values[name] + 1, minlength=len(table.labels[name]) + 1)
                place = np.full(len(counts), float(_MOST_CATEGORIES))
                common = np.argsort(-counts[1:], kind="stable")[:_MOST_CATEGORIES] + 1
                place[common] = np.arange(len(common))
                place[0] = np.nan
                places[name] = place
        return cls(names=list(names), places=places)

    @property
    def categorical(self) -> list[bool]:
        """Which columns are positions."""
        return [name in self.places for name in self.names]

    def transform(self, table: ComparableTable) -> Floats:
        """The matrix of a table."""
        columns = [
            self.places[name][table.values[name] + 1] if name in self.places else table.values[name]
            for name in self.names
        ]
        return np.stack(columns, axis=1).astype(np.float64)
