"""The profile: noisy one-way histograms of all columns.

A record adds 1 to one cell of each column, so column c with noise σ_c costs μ_c² = s/σ_c², where s is 1 where
a neighbour loses or gains a record and 2 where one is replaced (one cell loses, another gains). The costs add
up to the profile's μ². Wide columns get more of it: the total variation of a K-cell histogram is about K·σ_c,
and Σ K_c·σ_c at fixed Σ 1/σ_c² is least for 1/σ_c² ∝ K_c^(2/3).

Numbers whose cells hold many values are counted a second time, by how round they are: a histogram more, to which a
record adds at most 1, and which gets little.

What nobody declared has been searched for (``searching``). Numbers are counted on the cells that were found. Categories
are counted all, and those are shown that the search has found, and those whose noisy count exceeds a threshold T: one
that only one record has must not show, save with a probability that the ledger counts in δ.

The total is public, except under ``add-remove``: there it is one more count, with a noise of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microtome.errors import MicrotomeError, together
from microtome.private.domain import Domain
from microtome.private.histograms import (
    DenseHistogram,
    Histogram,
    SparseHistogram,
    category_histogram,
    cell_histogram,
    exact_counts,
    rounding_histogram,
)
from microtome.private.profile_budget import ProfileBudget, histogram_weights
from microtome.private.randomness import Randomness, noisy_counts
from microtome.private.searching import is_searched, search_weight
from microtome.private.weighting import TableBlock, rows_of
from microtome.schema import (
    COARSE,
    CategoryCells,
    CellCounts,
    Cells,
    Codebook,
    Column,
    Fineness,
    Schema,
    code_from_counts,
    initial_cells,
    rounding_classes,
)

_WIDTH_CATEGORIES, _WIDTH_NUMBERS = 64, 128
"""Cells that columns are expected to have once they are searched for."""
_WIDTH_INCOMPLETE = 256
"""As how many cells categories count of which some are yet to be found."""
_WIDTH_LEARNT = 32
"""As how many cells a learnt column counts at least: what few cells hold decides on more than their own error."""
_WIDTH_MOST = 1024
_WIDTH_TOTAL = 8
_WIDTH_ROUNDING = 8


@dataclass(frozen=True, kw_only=True)
class Profile:
    """What the profile publishes: the codebook, and the number of records as far as it is public."""

    codebook: Codebook
    total: float


class Tally:
    """Exact counts of all columns, on the cells that are declared or that the search has found.

    Private: it never leaves this package.

    Args:
        schema: What is public about the columns.
        domains: What the search has found of some.
        counted: Histograms of declared columns that the search has filled: these are not counted again.
    """

    def __init__(
        self,
        schema: Schema,
        domains: Mapping[int, Domain] | None = None,
        counted: Mapping[int, DenseHistogram] | None = None,
    ) -> None:
        self.num_rows = 0
        self._schema, self._columns, self._domains = schema, schema.columns, domains or {}
        self._cells = [self._cells_of(place, column) for place, column in enumerate(schema.columns)]
        self._counted = {place: one for place, one in (counted or {}).items() if place not in self._domains}
        self._histograms = [
            self._counted[place] if place in self._counted else _histogram(column, self._cells[place])
            for place, column in enumerate(schema.columns)
        ]
        classes = {place: rounding_classes(column) for place, column in enumerate(schema.columns)}
        self._rounding = {
            place: rounding_histogram(schema.columns[place], found)
            for place, found in classes.items()
            if found is not None and (place not in self._domains or self._domains[place].rounding is None)
        }
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[Tally], tuple[Schema, Mapping[int, Domain], Mapping[int, DenseHistogram]]]:
        return Tally, (self._schema, self._domains, self._counted)

    @property
    def questions(self) -> list[tuple[int, Histogram]]:
        """All histograms that are to be filled, each with the place of its column."""
        asked = [(place, one) for place, one in enumerate(self._histograms) if place not in self._counted]
        return [*asked, *self._rounding.items()]

    @property
    def columns(self) -> set[str]:
        """Columns whose values are looked at."""
        return {histogram.by.column.name for _, histogram in self.questions}

    def parts(self) -> list[pa.Array]:
        """What was counted, to be sent back."""
        return [pa.array([self.num_rows]), *(part for _, one in self.questions for part in one.parts())]

    def add_parts(self, parts: Iterator[pa.Array]) -> None:
        """Add what another of the same schema has sent."""
        self.num_rows += int(exact_counts(next(parts), 1)[0])
        for _, histogram in self.questions:
            histogram.add_parts(parts)

    @property
    def num_columns(self) -> int:
        """How many columns are counted."""
        return len(self._columns)

    def add(self, block: TableBlock) -> None:
        """Count the rows of a block."""
        rows, weight = rows_of(block)
        with self._lock:
            self.num_rows += rows.num_rows
        with together() as attempts:
            for _, histogram in self.questions:
                with attempts:
                    histogram.add(rows.column(histogram.by.column.name).combine_chunks(), weight)

    def merge(self, other: Tally) -> None:
        """Add what another of the same schema has counted."""
        self.num_rows += other.num_rows
        for (_, mine), (_, theirs) in zip(self.questions, other.questions, strict=True):
            mine.merge(theirs)

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
        protected = budget.neighbours.protects_count
        scales = budget.noise_by_weight(self._weights(protects_count=protected))
        rounding_scales = dict(zip(self._rounding, scales[self.num_columns :], strict=False))
        total = float(self.num_rows if num_records is None else num_records)
        if protected:
            stream = randomness.stream("profile-total")
            total = max(float(noisy_counts(np.array([total]), scales[-1], stream)[0]), 1.0)
        codes = []
        for index, column in enumerate(self._columns):
            cells, counts = self._noisy(index, budget, scales[index], total, randomness.stream("profile", index))
            domain = self._domains.get(index)
            rounding = None if domain is None else domain.rounding
            if index in self._rounding:
                stream = randomness.stream("profile-rounding", index)
                scale = rounding_scales[index]
                rounding = self._rounding[index].noisy(scale, stream, budget.weighting.digits), scale
            codes.append(
                code_from_counts(
                    cells,
                    CellCounts(
                        column=column,
                        counts=counts,
                        noise_scale=scales[index],
                        total=total,
                        fineness=fineness,
                        search_noise=() if domain is None else domain.search_noise,
                    ),
                    rounding=rounding,
                    likely=None if domain is None else domain.likely,
                )
            )
        return Profile(codebook=Codebook(codes=tuple(codes), centred=centred), total=total)

    def _weights(self, *, protects_count: bool) -> NDArray[np.float64]:
        left = [self._domains[place].left if place in self._domains else 0.0 for place in range(self.num_columns)]
        return profile_weights(
            self._columns,
            [len(cells) for cells in self._cells],
            left,
            rounding=len(self._rounding),
            protects_count=protects_count,
        )

    def _noisy(
        self, index: int, budget: ProfileBudget, scale: float, total: float, stream: np.random.Generator
    ) -> tuple[Cells, NDArray[np.float64]]:
        """The cells of a column and their noisy counts; categories that are not shown have the rest of all records.

        Counting them would touch a record twice.
        """
        digits = budget.weighting.digits
        match self._histograms[index], self._cells[index]:
            case DenseHistogram() as histogram, cells:
                return cells, histogram.noisy(scale, stream, digits)
            case SparseHistogram() as values, CategoryCells() as named:
                known = set(named.categories)
                shown, noisy = values.shown(scale, budget.threshold(scale), stream, known, digits)
                counts = noisy if named.missing else noisy[:-1]
                found = replace(named, categories=tuple(shown))  # type: ignore[arg-type]
                return found, np.insert(counts, len(shown), total - counts.sum())
        raise MicrotomeError(f"column {self._columns[index].name!r}: numbers alone are no profile; nothing is released")

    def _cells_of(self, place: int, column: Column) -> Cells:
        if place in self._domains:
            return self._domains[place].cells
        cells = initial_cells(column)
        if cells is None:
            raise MicrotomeError(f"column {column.name!r} was not searched for; nothing is released")
        return cells


def _histogram(column: Column, cells: Cells) -> Histogram:
    """Categories that nobody has declared may be others than those that are known by now."""
    return category_histogram(column) if _learns_categories(column) else cell_histogram(column, cells)


def _learns_categories(column: Column) -> bool:
    return column.kind.is_categorical and is_searched(column)


def total_weight(columns: Sequence[Column], *, protects_count: bool) -> float:
    """Weights of all histograms of search and profile, by which the budget is shared. Public facts."""
    widths = [_expected_width(column) for column in columns] + [_WIDTH_TOTAL] * protects_count
    widths += [_WIDTH_ROUNDING] * sum(rounding_classes(column) is not None and column.is_declared for column in columns)
    return float(histogram_weights(widths).sum()) + sum(map(search_weight, columns))


def profile_weights(
    columns: Sequence[Column], cells: Sequence[int], left: Sequence[float], *, rounding: int, protects_count: bool
) -> NDArray[np.float64]:
    """By which histograms share the budget; categories of which some are yet to be found have half, if need be.

    Args:
        columns: The columns.
        cells: How many cells each has.
        left: About which share of all records has a category that is not known.
        rounding: Histograms of rounding.
        protects_count: Whether the number of records is one more count.
    """
    least = [1 if column.is_declared else _WIDTH_LEARNT for column in columns]
    widths = [max(min(number, _WIDTH_MOST), few) for number, few in zip(cells, least, strict=True)]
    weights = histogram_weights(widths + [_WIDTH_ROUNDING] * rounding + [_WIDTH_TOTAL] * protects_count)
    missing = np.pad(np.array(left), (0, len(weights) - len(columns)))
    if not missing.any():
        return weights
    others = float(weights[missing == 0.0].sum())
    whole = max(others, float(histogram_weights([_WIDTH_INCOMPLETE])[0]) * int((missing > 0.0).sum()))
    return np.where(missing > 0.0, whole * missing / missing.sum(), weights)


def least_noise(columns: Sequence[Column], budget: ProfileBudget) -> list[float]:
    """The least noise that the counts of each column can have, whatever the search finds; public facts.

    That is if no other column that is searched for has more than one cell, and the search had cost nothing.
    """
    known = [None if is_searched(column) else _expected_width(column) for column in columns]
    least = histogram_weights([1 if width is None else width for width in known])
    most = histogram_weights([_WIDTH_MOST if width is None else width for width in known])
    shares = most / (least.sum() - least + most)
    return [float(np.sqrt(budget.neighbours.cells_changed / share) / budget.mu) for share in shares]


def _expected_width(column: Column) -> int:
    cells = initial_cells(column)
    if cells is not None:
        return _width(cells)
    return _WIDTH_CATEGORIES if column.kind.is_categorical else _WIDTH_NUMBERS


def _width(cells: Cells) -> int:
    return min(len(cells), _WIDTH_MOST)
