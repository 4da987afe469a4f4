"""Exact histograms of private columns, filled block by block, on several threads if need be.

A record adds 1 to one count of a histogram at most: the number of them, and the noise of each, is all that accounting
needs to know. What several have counted merges exactly. Counts leave this package under noise only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from threading import Lock
from typing import assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microtome.errors import MicrotomeError, TableError
from microtome.private.cell_index import cell_indices, checked, numbers_within_bounds
from microtome.private.randomness import noisy_counts
from microtome.schema import Cells, Column, RoundingClasses

MOST_CATEGORIES = 1_000_000
"""Distinct values past which a column is taken for text or an identifier."""
NUM_BUCKETS = 1 << 12
"""Buckets into which numbers are scattered, to find those that many records share."""
_MIXED = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))
_HALF = np.uint64(33)

Counts = NDArray[np.int64]


class DenseHistogram:
    """Counts of cells that are known beforehand."""

    def __init__(self, size: int, count: Callable[[pa.Array], Counts]) -> None:
        self.counts = np.zeros(size, np.int64)
        self._count, self._lock = count, Lock()

    def add(self, array: pa.Array) -> None:
        """Count the values of a block."""
        counts = self._count(array)
        with self._lock:
            self.counts += counts

    def merge(self, other: Histogram) -> None:
        """Add what another of the same cells has counted."""
        match other:
            case DenseHistogram():
                self.counts += other.counts
            case SparseHistogram():
                raise MicrotomeError("counts of cells and of values do not add up; nothing is released")
            case never:
                assert_never(never)

    def noisy(self, scale: float, stream: np.random.Generator) -> NDArray[np.float64]:
        """The counts under noise."""
        return noisy_counts(self.counts.astype(float), scale, stream)


class SparseHistogram:
    """Counts of values that nobody knows beforehand."""

    def __init__(self, count: Callable[[pa.Array], Iterable[tuple[object, int]]], check: Callable[[int], None]) -> None:
        self.counts: Counter[object] = Counter()
        self._count, self._check, self._lock = count, check, Lock()

    def add(self, array: pa.Array) -> None:
        """Count the values of a block."""
        found = list(self._count(array))
        with self._lock:
            for value, number in found:
                self.counts[value] += number
        self._check(len(self.counts))

    def merge(self, other: Histogram) -> None:
        """Add what another has counted."""
        self.counts.update(other.counts)
        self._check(len(self.counts))

    def shown(
        self, scale: float, threshold: float, stream: np.random.Generator, known: Collection[object] = ()
    ) -> tuple[list[object], NDArray[np.float64]]:
        """Values whose noisy count passes the threshold, in sorted order; and these counts, that of missing ones last.

        Missing values, and those that are known, are no secret: their noisy counts are given whatever they are.
        """
        found = sorted({*self.counts, *known} - {None})  # type: ignore[type-var]
        exact = [self.counts[value] for value in found] + [self.counts[None]]
        noisy = noisy_counts(np.array(exact, dtype=float), scale, stream)
        kept = [place for place, value in enumerate(found) if noisy[place] > threshold or value in known]
        return [found[place] for place in kept], noisy[[*kept, -1]]


Histogram = DenseHistogram | SparseHistogram


def cell_histogram(column: Column, cells: Cells) -> DenseHistogram:
    """Counts of cells."""
    size = len(cells)
    return DenseHistogram(size, lambda array: np.bincount(cell_indices(array, column, cells), minlength=size))


def rounding_histogram(column: Column, classes: RoundingClasses) -> DenseHistogram:
    """Counts of rounding classes."""
    return DenseHistogram(len(classes), lambda array: classes.count(numbers_within_bounds(array, column)))


def bucket_histogram(column: Column) -> DenseHistogram:
    """Counts of the buckets into which numbers are scattered."""
    return DenseHistogram(
        NUM_BUCKETS,
        lambda array: np.bincount(buckets(numbers_within_bounds(array, column)), minlength=NUM_BUCKETS),
    )


def category_histogram(column: Column) -> SparseHistogram:
    """Counts of categories that nobody has declared."""

    def count(array: pa.Array) -> Iterable[tuple[object, int]]:
        counted = pc.value_counts(checked(array, column))
        return zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True)

    def check(number: int) -> None:
        if number > MOST_CATEGORIES:
            raise TableError(
                f"column {column.name!r} has more than {MOST_CATEGORIES:,} different values: free text and "
                "identifiers cannot be released; drop the column or declare its categories"
            )

    return SparseHistogram(count, check)


def number_histogram(column: Column, chosen: NDArray[np.bool_]) -> SparseHistogram:
    """Counts of the numbers in the chosen buckets, each by itself: so many of them as memory has room for."""

    def count(array: pa.Array) -> Iterable[tuple[object, int]]:
        numbers = numbers_within_bounds(array, column)
        values, counts = np.unique(numbers[chosen[buckets(numbers)]], return_counts=True)
        return zip((values + 0.0).tolist(), counts.tolist(), strict=True)

    return SparseHistogram(count, lambda number: None)


def buckets(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """The bucket of each number, by the last mixing of MurmurHash: whole-number arithmetic, each number by itself."""
    bits = (numbers + 0.0).view(np.uint64)  # −0 is 0
    for factor in _MIXED:
        bits = (bits ^ (bits >> _HALF)) * factor
    mixed: NDArray[np.int64] = ((bits ^ (bits >> _HALF)) % np.uint64(NUM_BUCKETS)).astype(np.int64)
    return mixed
