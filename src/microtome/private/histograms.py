"""Exact histograms of private columns, filled block by block, on several threads if need be.

A record adds 1 to one count of a histogram at most, or parts to several that sum to 1 at most (``weighting``): the
number of histograms, and the noise of each, is all that accounting needs to know. What several have counted merges
exactly. Counts leave this package under noise only.

What values are counted *by* is a record of public facts: it can be sent to where the values are (``engines``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Protocol, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microtome.errors import MicrotomeError, TableError
from microtome.private.cell_index import cell_counts, checked, numbers_within_bounds
from microtome.private.randomness import noisy_counts
from microtome.schema import Cells, Column, RoundingClasses

MOST_CATEGORIES = 1_000_000
"""Distinct values past which a column is taken for text or an identifier."""
NUM_BUCKETS = 1 << 12
"""Buckets into which numbers are scattered, to find those that many records share."""
_MIXED = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))
_HALF = np.uint64(33)

Counts = NDArray[np.int64]


class IntoCells(Protocol):
    """Which cell a value is counted in."""

    @property
    def column(self) -> Column:
        """Whose values they are."""
        ...

    def __len__(self) -> int:
        """How many cells there are."""
        ...

    def count(self, array: pa.Array) -> Counts:
        """How many values are in each."""
        ...


class IntoValues(Protocol):
    """Which values are counted."""

    @property
    def column(self) -> Column:
        """Whose they are."""
        ...

    @property
    def arrow_type(self) -> pa.DataType:
        """Their type."""
        ...

    def count(self, array: pa.Array) -> Iterable[tuple[object, int]]:
        """The values, and how often each occurs."""
        ...

    def check(self, number: int) -> None:
        """Refuse so many different values."""
        ...


class DenseHistogram:
    """Counts of cells that are known beforehand. A copy that is sent elsewhere, by pickling it, arrives empty."""

    def __init__(self, by: IntoCells) -> None:
        self.counts = np.zeros(len(by), np.int64)
        self.by, self._lock = by, Lock()

    def __reduce__(self) -> tuple[type[DenseHistogram], tuple[IntoCells]]:
        return DenseHistogram, (self.by,)

    def add(self, array: pa.Array, weight: int = 1) -> None:
        """Count the values of a block, each for so much."""
        counts = weight * self.by.count(array)
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

    def parts(self) -> list[pa.Array]:
        """What was counted, to be sent."""
        return [pa.array(self.counts)]

    def add_parts(self, parts: Iterator[pa.Array]) -> None:
        """Add what another has sent."""
        self.counts += exact_counts(next(parts), len(self.counts))

    def noisy(self, scale: float, stream: np.random.Generator, digits: int = 0) -> NDArray[np.float64]:
        """The counts under noise; they were made in steps of 2^−digits."""
        return noisy_counts(np.ldexp(self.counts, -digits), scale, stream, digits=digits)


class SparseHistogram:
    """Counts of values that nobody knows beforehand."""

    def __init__(self, by: IntoValues, counts: Counter[object] | None = None) -> None:
        self.counts: Counter[object] = Counter() if counts is None else counts
        self.by, self._lock = by, Lock()

    def add(self, array: pa.Array, weight: int = 1) -> None:
        """Count the values of a block, each for so much."""
        found = list(self.by.count(array))
        with self._lock:
            for value, number in found:
                self.counts[value] += weight * number
        self.by.check(len(self.counts))

    def merge(self, other: Histogram) -> None:
        """Add what another has counted."""
        self.counts.update(other.counts)
        self.by.check(len(self.counts))

    def parts(self) -> list[pa.Array]:
        """What was counted, to be sent: values, and their counts."""
        return [pa.array(list(self.counts), self.by.arrow_type), pa.array(list(self.counts.values()), pa.int64())]

    def add_parts(self, parts: Iterator[pa.Array]) -> None:
        """Add what another has sent."""
        values = next(parts)
        found = zip(values.to_pylist(), exact_counts(next(parts), len(values)).tolist(), strict=True)
        self.merge(SparseHistogram(self.by, Counter(dict(found))))

    def shown(
        self,
        scale: float,
        threshold: float,
        stream: np.random.Generator,
        known: Collection[object] = (),
        digits: int = 0,
    ) -> tuple[list[object], NDArray[np.float64]]:
        """Values whose noisy count passes the threshold, in sorted order; and these counts, that of missing ones last.

        Missing values, and those that are known, are no secret: their noisy counts are given whatever they are.
        """
        found = sorted({*self.counts, *known} - {None})  # type: ignore[type-var]
        exact = [self.counts[value] for value in found] + [self.counts[None]]
        noisy = noisy_counts(np.ldexp(np.array(exact), -digits), scale, stream, digits=digits)
        kept = [place for place, value in enumerate(found) if noisy[place] > threshold or value in known]
        return [found[place] for place in kept], noisy[[*kept, -1]]


Histogram = DenseHistogram | SparseHistogram


def exact_counts(sent: pa.Array, size: int) -> Counts:
    """Counts that were sent, if they are so many, and are counts."""
    counts: Counts = np.asarray(sent)
    if counts.dtype != np.int64 or len(counts) != size or (counts < 0).any():
        raise MicrotomeError("what was counted elsewhere does not fit what was asked; nothing is released")
    return counts


def cell_histogram(column: Column, cells: Cells) -> DenseHistogram:
    """Counts of cells."""
    return DenseHistogram(ByCell(column, cells))


def rounding_histogram(column: Column, classes: RoundingClasses) -> DenseHistogram:
    """Counts of rounding classes."""
    return DenseHistogram(ByRounding(column, classes))


def bucket_histogram(column: Column) -> DenseHistogram:
    """Counts of the buckets into which numbers are scattered."""
    return DenseHistogram(ByBucket(column))


def category_histogram(column: Column) -> SparseHistogram:
    """Counts of categories that nobody has declared."""
    return SparseHistogram(ByCategory(column))


def number_histogram(column: Column, chosen: NDArray[np.bool_]) -> SparseHistogram:
    """Counts of the numbers in the chosen buckets, each by itself."""
    return SparseHistogram(ByNumber(column, chosen))


@dataclass(frozen=True, eq=False)
class ByCell:
    """In which cell a value is."""

    column: Column
    cells: Cells

    def __len__(self) -> int:
        return len(self.cells)

    def count(self, array: pa.Array) -> Counts:
        """How many values are in each cell."""
        return cell_counts(array, self.column, self.cells)


@dataclass(frozen=True, eq=False)
class ByRounding:
    """Of which rounding class a number is."""

    column: Column
    classes: RoundingClasses

    def __len__(self) -> int:
        return len(self.classes)

    def count(self, array: pa.Array) -> Counts:
        """How many numbers are of each class."""
        return self.classes.count(numbers_within_bounds(array, self.column))


@dataclass(frozen=True, eq=False)
class ByBucket:
    """Into which bucket a number is scattered."""

    column: Column

    def __len__(self) -> int:
        return NUM_BUCKETS

    def count(self, array: pa.Array) -> Counts:
        """How many numbers are in each bucket."""
        return np.bincount(buckets(numbers_within_bounds(array, self.column)), minlength=len(self))


@dataclass(frozen=True, eq=False)
class ByCategory:
    """Which category, of those that nobody has declared, a value is."""

    column: Column

    @property
    def arrow_type(self) -> pa.DataType:
        """That of the column."""
        return self.column.arrow_type

    def count(self, array: pa.Array) -> Iterable[tuple[object, int]]:
        """The categories, and how often each occurs."""
        counted = pc.value_counts(checked(array, self.column))
        return zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True)

    def check(self, number: int) -> None:
        """Refuse what is no column of categories."""
        if number > MOST_CATEGORIES:
            raise TableError(
                f"column {self.column.name!r} has more than {MOST_CATEGORIES:,} different values: free text and "
                "identifiers cannot be released; drop the column or declare its categories"
            )


@dataclass(frozen=True, eq=False)
class ByNumber:
    """Which number in the chosen buckets a value is: so many of them as memory has room for."""

    column: Column
    chosen: NDArray[np.bool_]

    @property
    def arrow_type(self) -> pa.DataType:
        """That of numbers, whatever they count."""
        return pa.float64()

    def count(self, array: pa.Array) -> Iterable[tuple[object, int]]:
        """The numbers, and how often each occurs."""
        numbers = numbers_within_bounds(array, self.column)
        values, counts = np.unique(numbers[self.chosen[buckets(numbers)]], return_counts=True)
        return zip((values + 0.0).tolist(), counts.tolist(), strict=True)

    def check(self, number: int) -> None:
        """There are as many as there are."""


def buckets(numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    """The bucket of each number, by the last mixing of MurmurHash: whole-number arithmetic, each number by itself."""
    bits = (numbers + 0.0).view(np.uint64)  # −0 is 0
    for factor in _MIXED:
        bits = (bits ^ (bits >> _HALF)) * factor
    mixed: NDArray[np.int64] = ((bits ^ (bits >> _HALF)) % np.uint64(NUM_BUCKETS)).astype(np.int64)
    return mixed
