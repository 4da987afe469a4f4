"""One column after the profile: its margins and levels, and values drawn by them.

What is measured differs from what is named in ``number_code`` and ``category_code``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microtome.errors import SchemaError
from microtome.schema.cells import Cells
from microtome.schema.column import Column
from microtome.schema.margins import COARSE, Fineness, rare_share
from microtome.schema.rounding import Rounding
from microtome.schema.rounding_classes import rounding_classes

CERTAIN = 4.0
"""Standard deviations of the noise above which values are taken to be missing at all."""
LIKELY = 2.5
"""The same of categories that are not shown. They have the noise of all that are, and leaving them out costs more."""
UNKNOWN = 0.5
"""Share of records, "(other)" or beyond what stands out, from which on a column is not known."""
_SUM_SLACK = 1e-6
"""How far from 1 the margins of a file may add up to."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CellCounts:
    """Noisy counts of a column's cells, from which its code is settled.

    Attributes:
        column: The public description.
        counts: Noisy number of records in each cell.
        noise_scale: Standard deviation of the noise in ``counts``.
        total: The number of records.
        fineness: Of columns that say nothing of it themselves.
        search_noise: The noise of every histogram that was needed to find the cells.
    """

    column: Column
    counts: NDArray[np.float64]
    noise_scale: float
    total: float
    fineness: Fineness = COARSE
    search_noise: tuple[float, ...] = ()

    @property
    def rare(self) -> float:
        """The share of records that cannot be told from noise."""
        return rare_share(self.noise_scale, self.total)


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnCode(ABC):
    """What the profile knows of one column, and how its values are coded.

    Attributes:
        column: The public description.
        cells: The partition of its values.
        counts: Noisy number of records in each cell.
        noise_scale: Standard deviation of the noise in ``counts``.
        margins: Share of each cell, made from ``counts``.
        levels: The level of each cell.
        rounding: How round its numbers are, where cells do not tell.
        search_noise: Standard deviation of the noise of every histogram that was needed to find its cells.
        found: Whether the cells of numbers that were searched for hold most of the records.
    """

    column: Column
    cells: Cells
    counts: NDArray[np.float64]
    noise_scale: float
    margins: NDArray[np.float64]
    levels: NDArray[np.int64]
    rounding: Rounding | None = None
    search_noise: tuple[float, ...] = ()
    found: bool = True

    @property
    @abstractmethod
    def is_learnt(self) -> bool:
        """Whether the release knows this column: its values are declared, or most of them stood out from the noise."""

    @abstractmethod
    def level_scores(self) -> NDArray[np.float64] | None:
        """The mean number of each level, in standard deviations from the column's mean; ``None`` if there are none.

        A missing value scores 0.
        """

    @abstractmethod
    def level_places(self) -> NDArray[np.float64] | None:
        """Where levels of several numbers lie among each other, as the share of records below their middles.

        NaN for levels of one value, which may be like no other; ``None`` if there are no numbers.
        """

    @abstractmethod
    def draw_values(self, cells: NDArray[np.int64], rng: np.random.Generator) -> pa.Array:
        """Values of the user's own type for the given cells."""

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """What is published of its values, for people and programs."""

    @abstractmethod
    def cells_to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The cells as plain values and arrays, for a file."""

    @cached_property
    def num_levels(self) -> int:
        """Number of levels L, the width of the column's block."""
        return int(self.levels.max()) + 1

    @cached_property
    def level_margins(self) -> NDArray[np.float64]:
        """Share of each level."""
        return np.bincount(self.levels, weights=self.margins, minlength=self.num_levels).astype(np.float64)

    def draw(self, levels: NDArray[np.int64], rng: np.random.Generator) -> pa.Array:
        """Values of the user's own type for the given levels."""
        return self.draw_values(self._draw_cells(levels, rng), rng)

    def _draw_cells(self, levels: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """A cell of each given level, by the margins inside it: shares come out as nearly as whole rows allow."""
        cells, ends = self._cells_by_level
        order, numbers = stratified_order(levels, rng)
        numbers += np.repeat(np.arange(self.num_levels), np.bincount(levels, minlength=self.num_levels))
        drawn = np.empty(len(levels), np.int64)
        drawn[order] = np.repeat(cells, np.diff(np.searchsorted(numbers, ends), prepend=0))
        return drawn

    @cached_property
    def _cells_by_level(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Cells level after level, and for each its level plus its cumulative share of that, which is 1 in the end."""
        cells = np.argsort(self.levels, kind="stable")
        owners = self.levels[cells]
        mass = self.level_margins[owners]
        before = (np.cumsum(self.level_margins) - self.level_margins)[owners]
        shares = np.divide(np.cumsum(self.margins[cells]) - before, mass, out=np.ones_like(mass), where=mass > 0)
        # The last cell of a level that has a share, and what is behind it, ends with the level, whatever was rounded.
        held = (self.margins[cells] > 0).astype(np.int64)
        rest = held.sum() - np.cumsum(held)
        behind = np.append(rest, 0)[np.searchsorted(owners, owners, side="right")]
        ends = owners.astype(np.float64) + np.where(rest == behind, 1.0, np.clip(shares, 0.0, 1.0))
        return cells.astype(np.int64), ends

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The code as plain values and arrays, for a file."""
        own_entry, own_arrays = self.cells_to_parts()
        entry: dict[str, Any] = {"noise_scale": self.noise_scale} | own_entry
        arrays = {"counts": self.counts, "margins": self.margins, "levels": self.levels} | own_arrays
        if self.search_noise:
            entry |= {"search_noise": list(self.search_noise), "found": self.found}
        if self.rounding is not None:
            arrays |= {"rounding": self.rounding.counts, "rates": self.rounding.rates}
            entry["rounding_noise"] = self.rounding.noise_scale
        return entry, arrays


def shares_of_kept(
    cells: Cells,
    counts: NDArray[np.float64],
    kept: NDArray[np.bool_],
    noise_scale: float,
    total: float,
    nearest: Callable[[NDArray[np.float64], float], NDArray[np.float64]],
) -> NDArray[np.float64]:
    """Shares of cells, none for those that are not kept, nor for missing values that noise may have made.

    ``nearest`` makes shares of the others.
    """
    if cells.missing:
        kept[-1] = counts[-1] > CERTAIN * noise_scale
    margins = np.zeros(len(cells))
    margins[kept] = nearest(counts[kept], total)
    return margins


def stratified(groups: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Uniform numbers that fill [0, 1) evenly within each group: one in each of as many equal parts, in random order.

    Each number by itself is uniform; drawn by these, values have the shares they should have with far less scatter
    than independent draws.
    """
    order, rising = stratified_order(groups, rng)
    numbers = np.empty(len(groups))
    numbers[order] = rising
    return numbers


def stratified_order(
    groups: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Places group by group, each in random order, and the numbers of ``stratified`` in that order, which rise.

    Group, random bits and place are sorted as one number each, which is faster than to shuffle and then to sort.
    """
    count = len(groups)
    for_place, for_group = np.uint64(count.bit_length()), np.uint64(int(groups.max(initial=0)).bit_length())
    keys = rng.integers(0, 1 << 64, size=count, dtype=np.uint64) >> for_group
    keys = (keys >> for_place) << for_place
    keys |= np.arange(count, dtype=np.uint64)
    keys |= groups.astype(np.uint64) << (np.uint64(64) - for_group) if for_group else np.uint64(0)
    keys.sort()
    order = (keys & ((np.uint64(1) << for_place) - np.uint64(1))).astype(np.int64)
    sizes = np.bincount(groups)
    ranks = np.arange(count) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return order, (ranks + rng.random(count)) / np.repeat(sizes, sizes)


def shared_parts(
    column: Column, cells: Cells, entry: Mapping[str, Any], prefix: str, arrays: Mapping[str, NDArray[Any]]
) -> dict[str, Any]:
    """What a file says of any column, checked, by attribute; the names of its arrays begin with ``prefix``."""
    counts, margins = arrays[f"{prefix}/counts"], arrays[f"{prefix}/margins"]
    levels = arrays[f"{prefix}/levels"]
    _check_counts(column, len(cells), counts, margins, levels)
    return {
        "counts": counts,
        "noise_scale": _checked_noise(column, entry["noise_scale"]),
        "margins": margins,
        "levels": levels,
        "rounding": _rounding_from_parts(column, entry, prefix, arrays),
        "search_noise": tuple(_checked_noise(column, value) for value in entry.get("search_noise", ())),
        "found": _checked_truth(column, entry.get("found", True)),
    }


def _check_counts(column: Column, size: int, counts: NDArray[Any], margins: NDArray[Any], levels: NDArray[Any]) -> None:
    """Refuse counts, margins and levels that do not fit the cells, or are no counts, shares and levels."""
    lines = is_line(counts, np.float64) and is_line(margins, np.float64) and is_line(levels, np.int64)
    if not lines or not len(counts) == len(margins) == len(levels) == size:
        raise SchemaError(f"column {column.name!r}: counts, margins and levels do not fit its cells")
    if not margins.min() >= 0 or not abs(margins.sum() - 1.0) <= _SUM_SLACK:
        raise SchemaError(f"column {column.name!r}: its margins are no shares, at least 0 and 1 together")
    found = np.unique(levels)
    if not np.array_equal(found, np.arange(len(found))):
        raise SchemaError(f"column {column.name!r}: its levels are not 0, 1, … without a gap")


def is_line(values: NDArray[Any], dtype: type) -> bool:
    """Whether these are finite numbers of the type, one after the other."""
    return values.ndim == 1 and values.dtype == dtype and bool(np.isfinite(values).all())


def _checked_noise(column: Column, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise SchemaError(f"column {column.name!r}: the noise of its counts is {value!r}; it must be above 0")
    return float(value)


def _checked_truth(column: Column, value: Any) -> bool:
    if not isinstance(value, bool):
        raise SchemaError(f"column {column.name!r}: 'found' is {value!r}; it must be true or false")
    return value


def _rounding_from_parts(
    column: Column, entry: Mapping[str, Any], prefix: str, arrays: Mapping[str, NDArray[Any]]
) -> Rounding | None:
    """What a file says of a column's rounding; files of earlier versions say nothing."""
    if "rounding_noise" not in entry:
        return None
    classes, counts, rates = rounding_classes(column), arrays[f"{prefix}/rounding"], arrays[f"{prefix}/rates"]
    lines = is_line(counts, np.float64) and is_line(rates, np.float64)
    if classes is None or not lines or not len(counts) == len(rates) == len(classes) or not rates.min() >= 0:
        raise SchemaError(f"column {column.name!r}: the counts of its rounding do not fit its classes")
    noise = _checked_noise(column, entry["rounding_noise"])
    return Rounding(classes=classes, counts=counts, noise_scale=noise, rates=rates)
