"""Distances between rows of mixed tables, and the nearest of many rows to each of some.

Listed columns add 1 to the squared distance where values differ; measured ones the squared difference of their ranks
in the real table, both ends 0 and 1, so that no unit and no long tail outweighs the rest. The distance is divided by
the root of the number of columns: 0 for equal rows, 1 where all differ as much as can be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from microtome.evaluation.comparable_table import ComparableTable

Floats = NDArray[np.float64]
Points = NDArray[np.float32]
_CHUNK = 1 << 24
_SAME = 1e-3
"""Below this a distance is rounding error of equal rows."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Embedding:
    """Rows as points whose Euclidean distances are those of the module's text."""

    ordered: dict[str, Floats]

    @classmethod
    def fit(cls, real: ComparableTable) -> Embedding:
        """Learn the ranks of measured columns."""
        return cls(ordered={name: np.sort(values[~np.isnan(values)]) for name in real.measured
                            for values in [real.values[name]]})  # fmt: skip

    def points(self, table: ComparableTable) -> Points:
        """A point for each row."""
        blocks: list[Points] = []
        for name, values in table.values.items():
            gone = table.missing(name)
            if name in table.labels:
                width = len(table.labels[name]) + 1
                block = np.zeros((table.num_rows, width), np.float32)
                block[np.arange(table.num_rows), np.where(gone, width - 1, values)] = np.sqrt(0.5)
            else:
                block = np.zeros((table.num_rows, 2), np.float32)
                block[:, 0] = np.where(gone, 0.5, self._ranks(name, values))
                block[:, 1] = np.where(gone, np.sqrt(0.75), 0.0)
            blocks.append(block)
        return np.hstack(blocks) / np.float32(np.sqrt(len(blocks)))

    def _ranks(self, name: str, values: Floats) -> Floats:
        ordered = self.ordered[name]
        if len(ordered) == 0:
            return np.zeros(len(values))
        below, upto = (np.searchsorted(ordered, values, side=side) for side in ("left", "right"))
        ranks: Floats = (below + upto) / (2.0 * len(ordered))
        return ranks


def nearest(queries: Points, references: Points, count: int = 1) -> Floats:
    """Distances from each query to its ``count`` nearest references, ascending."""
    sizes = (references**2).sum(axis=1)
    found = np.empty((len(queries), count))
    step = max(1, _CHUNK // max(len(references), 1))
    for start in range(0, len(queries), step):
        part = queries[start : start + step]
        squares = (part**2).sum(axis=1)[:, None] + sizes - 2.0 * part @ references.T
        closest = np.sort(np.partition(squares, count - 1, axis=1)[:, :count], axis=1)
        found[start : start + step] = np.sqrt(np.maximum(closest, 0.0))
    found[found < _SAME] = 0.0
    return found
