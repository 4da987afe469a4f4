"""The first private pass: noisy one-way histograms of all columns.

A record adds 1 to one cell of each column, so column c with noise σ_c costs μ_c² = s/σ_c², where s is 1 where
a neighbour loses or gains a record and 2 where one is replaced (one cell loses, another gains). The costs add
up to the profile's μ². Wide columns get more of it: the total variation of a K-cell histogram is about K·σ_c,
and Σ K_c·σ_c at fixed Σ 1/σ_c² is least for 1/σ_c² ∝ K_c^(2/3).

Numbers whose cells hold many values are counted a second time, by how round they are: a histogram more, to which a
record adds at most 1, and which gets little.

Categories that nobody declared are learnt by thresholding: a category is kept if its noisy count exceeds T. A
category that only one record has must not show, save with a probability that the ledger counts in δ. What all
the others have together is the total less what is shown: counting it would touch the same record twice.

The total is public, except under ``add-remove``: there it is one more count, with a noise of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.stats import norm

from microtome.accounting import Neighbours
from microtome.errors import TableError, together
from microtome.private.cell_index import cell_indices, checked, numbers_within_bounds
from microtome.private.randomness import GRID, Randomness, noisy_counts
from microtome.schema import (
    COARSE,
    CategoryCells,
    Cells,
    Codebook,
    Column,
    ColumnCode,
    Fineness,
    Schema,
    initial_cells,
    rounding_classes,
)

MOST_CATEGORIES = 1_000_000
"""Distinct values past which a column is taken for text or an identifier."""
_WIDTH_UNKNOWN = 64
_WIDTH_MOST = 1024
_WIDTH_TOTAL = 8
_WIDTH_ROUNDING = 8


@dataclass(frozen=True, kw_only=True)
class ProfileBudget:
    """What the profile may spend.

    Attributes:
        mu: Its Gaussian privacy parameter.
        threshold_delta: Probability, in all, that a category of one record alone shows.
        neighbours: The relation under which both hold.
    """

    mu: float
    threshold_delta: float
    neighbours: Neighbours

    def noise_scales(self, widths: Sequence[int]) -> list[float]:
        """Noise of each column's counts, for columns of the given numbers of cells."""
        shares = np.array(widths, dtype=float) ** (2.0 / 3.0)
        shares /= shares.sum()
        return [float(np.sqrt(self.neighbours.cells_changed / share) / self.mu) for share in shares]

    def threshold(self, noise_scale: float, num_learnt: int) -> float:
        """The noisy count T below which an undeclared category is not shown.

        A category with one record passes with probability Φ(−(T−1)/σ), T raised by the half step by which the
        grid may round a count up. At most one such category a column tells neighbours apart, two where a record
        is replaced.
        """
        tail = self.threshold_delta / (num_learnt * self.neighbours.cells_changed)
        return float(1.0 + noise_scale * (norm.isf(tail) + 0.5 / GRID))


@dataclass(frozen=True, kw_only=True)
class Profile:
    """What the first pass publishes: the codebook, and the number of records as far as it is public."""

    codebook: Codebook
    total: float


class Tally:
    """Exact counts of all columns, filled block by block, on several threads if need be.

    Private: it never leaves this package.
    """

    def __init__(self, schema: Schema) -> None:
        self.num_rows = 0
        self._columns = schema.columns
        self._cells = [initial_cells(column) for column in schema.columns]
        self._counts = [np.zeros(0 if cells is None else len(cells), np.int64) for cells in self._cells]
        self._classes = {at: one for at, one in enumerate(map(rounding_classes, schema.columns)) if one is not None}
        self._rounding = {index: np.zeros(len(classes), np.int64) for index, classes in self._classes.items()}
        self._values: list[Counter[object]] = [Counter() for _ in self._cells]
        self._lock = Lock()

    def add(self, block: pa.Table) -> None:
        """Count the rows of a block."""
        with self._lock:
            self.num_rows += block.num_rows
        with together() as attempts:
            for index, column in enumerate(self._columns):
                with attempts:
                    self._add_column(index, column, block.column(index).combine_chunks())

    def _add_column(self, index: int, column: Column, array: pa.Array) -> None:
        if (cells := self._cells[index]) is None:
            self._add_values(index, column, pc.value_counts(checked(array, column)))
        else:
            counts = np.bincount(cell_indices(array, column, cells), minlength=len(cells))
            with self._lock:
                self._counts[index] += counts
        if index in self._classes:
            counts = self._classes[index].count(numbers_within_bounds(array, column))
            with self._lock:
                self._rounding[index] += counts

    def merge(self, other: Tally) -> None:
        """Add what another of the same schema has counted."""
        self.num_rows += other.num_rows
        for mine, theirs in zip(self._counts, other._counts, strict=True):
            mine += theirs
        for index, counts in other._rounding.items():
            self._rounding[index] += counts
        for index, column in enumerate(self._columns):
            self._values[index].update(other._values[index])
            self._require_few_values(index, column)

    def publish(
        self,
        budget: ProfileBudget,
        randomness: Randomness,
        *,
        centred: bool,
        fineness: Fineness = COARSE,
        num_records: int | None = None,
    ) -> Profile:
        """The noisy profile: the codebook that everything after it is built on.

        ``num_records`` is the number of records where null ones, which count in no cell, are among them.
        """
        scales = histogram_noise(self._columns, budget)
        rounding_scales = dict(zip(self._classes, scales[len(self._cells) :], strict=False))
        total = float(self.num_rows if num_records is None else num_records)
        if budget.neighbours.protects_count:
            stream = randomness.stream("profile-total")
            total = max(float(noisy_counts(np.array([total]), scales[-1], stream)[0]), 1.0)
        num_learnt = sum(cells is None for cells in self._cells)
        codes = []
        for index, column in enumerate(self._columns):
            scale, stream = scales[index], randomness.stream("profile", index)
            cells = self._cells[index]
            if cells is None:
                threshold = budget.threshold(scale, num_learnt)
                cells, counts = self._learn_categories(index, scale, threshold, total, stream)
            else:
                counts = noisy_counts(self._counts[index].astype(float), scale, stream)
            rounding = None
            if index in rounding_scales:
                exact = self._rounding[index].astype(float)
                stream = randomness.stream("profile-rounding", index)
                rounding = noisy_counts(exact, rounding_scales[index], stream), rounding_scales[index]
            codes.append(
                ColumnCode.from_counts(
                    column, cells, counts, noise_scale=scale, total=total, fineness=fineness, rounding=rounding
                )
            )
        return Profile(codebook=Codebook(codes=tuple(codes), centred=centred), total=total)

    def _add_values(self, index: int, column: Column, counted: pa.StructArray) -> None:
        values = self._values[index]
        with self._lock:
            for entry in counted.to_pylist():
                values[entry["values"]] += entry["counts"]
        self._require_few_values(index, column)

    def _require_few_values(self, index: int, column: Column) -> None:
        if len(self._values[index]) > MOST_CATEGORIES:
            raise TableError(
                f"column {column.name!r} has more than {MOST_CATEGORIES:,} different values: free text and "
                "identifiers cannot be released; drop the column or declare its categories"
            )

    def _learn_categories(
        self, index: int, scale: float, threshold: float, total: float, stream: np.random.Generator
    ) -> tuple[Cells, NDArray[np.float64]]:
        """Categories whose noisy count passes the threshold, in sorted order; the rest is "(other)"."""
        missing, values = self._columns[index].missing, self._values[index]
        known = sorted(value for value in values if value is not None)  # type: ignore[type-var]
        exact = [values[value] for value in known] + [values[None]]
        noisy = noisy_counts(np.array(exact, dtype=float), scale, stream)
        shown = np.flatnonzero(noisy[:-1] > threshold)
        categories = tuple(known[place] for place in shown)
        counts = np.concatenate([noisy[shown], noisy[-1:] if missing else noisy[:0]])
        cells = CategoryCells(categories=categories, other=True, missing=missing)  # type: ignore[arg-type]
        return cells, np.insert(counts, len(shown), total - counts.sum())


def histogram_noise(columns: Sequence[Column], budget: ProfileBudget) -> list[float]:
    """Noise of the counts of every column, of their rounding, and of the total where it is counted; public facts."""
    widths = [_width(initial_cells(column)) for column in columns]
    widths += [_WIDTH_ROUNDING] * sum(rounding_classes(column) is not None for column in columns)
    return budget.noise_scales(widths + [_WIDTH_TOTAL] * budget.neighbours.protects_count)


def _width(cells: Cells | None) -> int:
    return _WIDTH_UNKNOWN if cells is None else min(len(cells), _WIDTH_MOST)
