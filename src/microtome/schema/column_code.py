"""One column after the profile: its cells, margins and levels, and values drawn by them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from microtome.errors import SchemaError
from microtome.schema.cells import OTHER, CategoryCells, Cells, NumberCells, numbers_to_arrow
from microtome.schema.column import DTYPES, Column
from microtome.schema.domain import covering_range
from microtome.schema.margins import (
    COARSE,
    Fineness,
    category_levels,
    falling_tails,
    number_levels,
    project_to_simplex,
    rare_share,
)
from microtome.schema.rounding import RoundedCells, Rounding, rounding_classes

_SUM_SLACK = 1e-6
"""How far from 1 the margins of a file may add up to."""
_CERTAIN = 4.0
"""Standard deviations of the noise above which values are taken to be missing at all."""
_LIKELY = 2.5
"""The same of categories that are not shown. They have the noise of all that are, and leaving them out costs more."""
_UNKNOWN = 0.5
"""Share of records, "(other)" or beyond what stands out, from which on a column is not known."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnCode:
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

    @classmethod
    def from_counts(
        cls,
        column: Column,
        cells: Cells,
        counts: NDArray[np.float64],
        *,
        noise_scale: float,
        total: float,
        fineness: Fineness = COARSE,
        rounding: tuple[NDArray[np.float64], float] | None = None,
        likely: tuple[float, float] | None = None,
        search_noise: tuple[float, ...] = (),
    ) -> ColumnCode:
        """Settle bounds, margins and levels of a column from its noisy counts.

        ``fineness`` is for columns that say nothing of it themselves, ``rounding`` the noisy counts of its rounding
        classes with the standard deviation of their noise, ``likely`` where the search has found its numbers, and
        ``search_noise`` the noise of that search.
        """
        found = not (isinstance(cells, NumberCells) and search_noise)
        if isinstance(cells, NumberCells) and likely is not None:
            cells, counts = _trim(cells, counts, noise_scale, total, likely)
            found = float(counts.sum()) > _UNKNOWN * total
        learns = not column.is_declared
        margins = _margins(cells, counts, noise_scale, total, learns=learns)
        rounded = None
        if rounding is not None:
            if not isinstance(cells, NumberCells):
                raise SchemaError(f"column {column.name!r}: categories are not rounded, and have no such counts")
            rounded = Rounding.from_counts(column, *rounding, cells=cells, margins=margins, total=total)
            margins = rounded.possible(cells, margins)
            if learns:
                cells = _closed(cells, rounded)
        rare = rare_share(noise_scale, total)
        if isinstance(cells, NumberCells):
            single = None if rounded is None else rounded.singletons(cells)
            levels = number_levels(cells, margins, column.bins, rare, fineness, single=single)
        else:
            pool = fineness.pool if column.pool is None else column.pool
            levels = category_levels(margins, pool, rare, missing=cells.missing)
        return cls(
            column=column,
            cells=cells,
            counts=counts,
            noise_scale=noise_scale,
            margins=margins,
            levels=levels,
            rounding=rounded,
            search_noise=search_noise,
            found=found,
        )

    @cached_property
    def is_learnt(self) -> bool:
        """Whether the release knows this column: its values are declared, or most of them stood out from the noise."""
        if self.column.is_declared:
            return True
        if isinstance(self.cells, NumberCells):
            return self.found
        return bool(self.margins[len(self.cells.categories)] < _UNKNOWN)

    @cached_property
    def num_levels(self) -> int:
        """Number of levels L, the width of the column's block."""
        return int(self.levels.max()) + 1

    @cached_property
    def level_margins(self) -> NDArray[np.float64]:
        """Share of each level."""
        return np.bincount(self.levels, weights=self.margins, minlength=self.num_levels).astype(np.float64)

    def level_scores(self) -> NDArray[np.float64] | None:
        """The mean number of each level, in standard deviations from the column's mean; ``None`` if there are none.

        A missing value scores 0.
        """
        if not isinstance(self.cells, NumberCells):
            return None
        shares = self.margins[: self.cells.num_values]
        numbers = self.cells.middles()
        numbers = numbers / max(np.abs(numbers).max(), np.finfo(float).tiny)
        apart = numbers - (shares @ numbers) / max(shares.sum(), np.finfo(float).tiny)
        spread = math.sqrt(shares @ apart**2)
        if not spread > 0:
            return None
        levels = self.levels[: self.cells.num_values]
        sums = np.bincount(levels, weights=shares * apart / spread, minlength=self.num_levels)
        return np.divide(sums, self.level_margins, out=np.zeros(self.num_levels), where=self.level_margins > 0)

    def draw(self, levels: NDArray[np.int64], rng: np.random.Generator) -> pa.Array:
        """Values of the user's own type for the given levels."""
        return self.draw_values(self._draw_cells(levels, rng), rng)

    def draw_values(self, cells: NDArray[np.int64], rng: np.random.Generator) -> pa.Array:
        """Values of the user's own type for the given cells."""
        if isinstance(self.cells, CategoryCells):
            return self._category_values().take(pa.array(self._without_other(cells, rng)))
        code = cells - self.cells.num_values
        numbers = self._drawer.draw(np.where(code >= 0, 0, cells), rng)
        values = self.values_of(numbers, code >= self.cells.num_codes)
        return self._with_codes(values, code) if self.column.codes else values

    @cached_property
    def _drawer(self) -> NumberCells | RoundedCells:
        assert isinstance(self.cells, NumberCells)
        return self.cells if self.rounding is None else RoundedCells(rounding=self.rounding, cells=self.cells)

    def values_of(self, numbers: NDArray[np.float64], missing: NDArray[np.bool_] | None = None) -> pa.Array:
        """Numbers as values of the user's own type, inside the declared bounds."""
        bounds = self.column.number_bounds() or (-math.inf, math.inf)
        return numbers_to_arrow(self.column, np.clip(numbers, *bounds), missing)

    def _with_codes(self, values: pa.Array, code: NDArray[np.int64]) -> pa.Array:
        """Values in the type that has room for codes, and these where there are some."""
        stored = self.column.storage_type
        own = values.type == stored
        written = pa.array(list(self.column.codes) if own else self.column.code_texts, type=stored)
        values = values if own else values.cast(stored)
        coded = (code >= 0) & (code < len(self.column.codes))
        return pc.if_else(pa.array(coded), written.take(pa.array(np.where(coded, code, 0))), values)

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
        rest = np.cumsum((self.margins[cells] > 0)[::-1])[::-1] - (self.margins[cells] > 0)
        behind = np.append(rest, 0)[np.searchsorted(owners, owners, side="right")]
        return cells, owners + np.where(rest == behind, 1.0, np.clip(shares, 0.0, 1.0))

    def _without_other(self, cells: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Where "(other)" has no name in the column's type, a named category in its stead, if there is one."""
        assert isinstance(self.cells, CategoryCells)
        named = len(self.cells.categories)
        if not self.cells.other or self.column.dtype == "string" or named == 0:
            return cells
        shares = self.margins[:named] if self.margins[:named].sum() > 0 else np.ones(named)
        replacement = rng.choice(named, size=len(cells), p=shares / shares.sum())
        return np.where(cells == named, replacement, cells)

    def _category_values(self) -> pa.Array:
        assert isinstance(self.cells, CategoryCells)
        values: list[Any] = list(self.cells.categories)
        if self.cells.other:
            values.append(OTHER if self.column.dtype == "string" else None)
        return pa.array([*values, None] if self.cells.missing else values, type=self.column.arrow_type)

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The code as plain values and arrays, for a file."""
        arrays: dict[str, NDArray[Any]] = {"counts": self.counts, "margins": self.margins, "levels": self.levels}
        entry: dict[str, Any] = {"noise_scale": self.noise_scale}
        if self.search_noise:
            entry |= {"search_noise": list(self.search_noise), "found": self.found}
        if isinstance(self.cells, NumberCells):
            arrays["edges"] = self.cells.edges
        else:
            values = pa.array(list(self.cells.categories), type=self.column.arrow_type)
            entry["categories"] = values.cast(_json_type(values.type)).to_pylist()
            entry["other"] = self.cells.other
        if self.rounding is not None:
            arrays |= {"rounding": self.rounding.counts, "rates": self.rounding.rates}
            entry["rounding_noise"] = self.rounding.noise_scale
        return entry, arrays


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


def code_from_parts(
    column: Column, entry: Mapping[str, Any], prefix: str, arrays: Mapping[str, NDArray[Any]]
) -> ColumnCode:
    """The inverse of ``ColumnCode.to_parts``; the names of its arrays begin with ``prefix``."""
    cells: Cells
    if column.kind.is_categorical:
        values = pa.array(entry["categories"], type=_json_type(column.arrow_type)).cast(column.arrow_type)
        cells = CategoryCells(categories=tuple(values.to_pylist()), other=entry["other"], missing=column.missing)
    else:
        cells = NumberCells.of(column, arrays[f"{prefix}/edges"])
    counts, margins = arrays[f"{prefix}/counts"], arrays[f"{prefix}/margins"]
    levels = arrays[f"{prefix}/levels"]
    _check_cells(column, cells)
    _check_counts(column, len(cells), counts, margins, levels)
    return ColumnCode(
        column=column,
        cells=cells,
        counts=counts,
        noise_scale=_checked_noise(column, entry["noise_scale"]),
        margins=margins,
        levels=levels,
        rounding=_rounding_from_parts(column, entry, prefix, arrays),
        search_noise=tuple(_checked_noise(column, value) for value in entry.get("search_noise", ())),
        found=_checked_truth(column, entry.get("found", True)),
    )


def _check_cells(column: Column, cells: Cells) -> None:
    """Refuse cells that no column can have: a file may have been made by a broken program."""
    if isinstance(cells, NumberCells):
        edges = cells.edges
        if not (_is_line(edges, np.float64) and len(edges) > 1 and (np.diff(edges) > 0).all()):
            raise SchemaError(f"column {column.name!r}: the edges of its cells do not increase")
        return
    if not isinstance(cells.other, bool) or None in cells.categories or not cells.num_values:
        raise SchemaError(f"column {column.name!r}: its coded categories are no list of values")
    if len(set(cells.categories)) < len(cells.categories):
        raise SchemaError(f"column {column.name!r}: a category is coded twice")
    if column.categories is not None and cells.categories != column.categories:
        raise SchemaError(f"column {column.name!r}: its coded categories are not the declared ones")


def _check_counts(column: Column, size: int, counts: NDArray[Any], margins: NDArray[Any], levels: NDArray[Any]) -> None:
    """Refuse counts, margins and levels that do not fit the cells, or are no counts, shares and levels."""
    lines = _is_line(counts, np.float64) and _is_line(margins, np.float64) and _is_line(levels, np.int64)
    if not lines or not len(counts) == len(margins) == len(levels) == size:
        raise SchemaError(f"column {column.name!r}: counts, margins and levels do not fit its cells")
    if not margins.min() >= 0 or not abs(margins.sum() - 1.0) <= _SUM_SLACK:
        raise SchemaError(f"column {column.name!r}: its margins are no shares, at least 0 and 1 together")
    found = np.unique(levels)
    if not np.array_equal(found, np.arange(len(found))):
        raise SchemaError(f"column {column.name!r}: its levels are not 0, 1, … without a gap")


def _is_line(values: NDArray[Any], dtype: type) -> bool:
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
    lines = _is_line(counts, np.float64) and _is_line(rates, np.float64)
    if classes is None or not lines or not len(counts) == len(rates) == len(classes) or not rates.min() >= 0:
        raise SchemaError(f"column {column.name!r}: the counts of its rounding do not fit its classes")
    noise = _checked_noise(column, entry["rounding_noise"])
    return Rounding(classes=classes, counts=counts, noise_scale=noise, rates=rates)


def _trim(
    cells: NumberCells, counts: NDArray[np.float64], noise_scale: float, total: float, likely: tuple[float, float]
) -> tuple[NumberCells, NDArray[np.float64]]:
    """Cut learnt cells to the range in which there are records, ``likely`` being where the search has found them."""
    values, others = counts[: cells.num_values], counts[cells.num_values :]
    total -= max(float(others.sum()), 0.0)
    places = np.searchsorted(cells.edges, likely)
    first, last = covering_range(values, noise_scale, total, (int(places[0]), int(places[1])))
    trimmed = replace(cells, edges=cells.edges[first : last + 1])
    return trimmed, np.concatenate([values[first:last], others])


def _closed(cells: NumberCells, rounding: Rounding) -> NumberCells:
    """The cells with the last one cut to the one number that it holds, if it holds one: that is the largest of all."""
    if cells.integral or not rounding.singletons(cells)[-1]:
        return cells
    edges = cells.edges.copy()
    edges[-1] = np.nextafter(edges[-2], np.inf)
    return replace(cells, edges=edges)


def _margins(
    cells: Cells, counts: NDArray[np.float64], noise_scale: float, total: float, *, learns: bool
) -> NDArray[np.float64]:
    """Shares of cells. Tails of numbers fall, and missing or other values that noise may have made are none."""
    counts, kept = counts.copy(), np.ones(len(cells), dtype=bool)
    if isinstance(cells, NumberCells):
        counts[: cells.num_values] = falling_tails(counts[: cells.num_values], noise_scale)
        if learns:
            kept[: cells.num_values] = _are_held(cells, counts[: cells.num_values], noise_scale)
    elif learns and cells.categories:
        place = len(cells.categories)
        kept[place] = counts[place] > _LIKELY * noise_scale * math.sqrt(len(cells) - 1)
    if cells.missing:
        kept[-1] = counts[-1] > _CERTAIN * noise_scale
    margins = np.zeros(len(cells))
    margins[kept] = project_to_simplex(counts[kept], total)
    return margins


def _are_held(cells: NumberCells, counts: NDArray[np.float64], noise_scale: float) -> NDArray[np.bool_]:
    """Which cells hold records: all, or those of common values alone, if nothing between them stands out."""
    common = cells.singletons()
    rest, deviation = counts[~common].sum(), noise_scale * math.sqrt(max(int((~common).sum()), 1))
    alone = common.any() and counts[common].sum() > rest and rest < _LIKELY * deviation
    return common if alone else np.ones(cells.num_values, dtype=bool)


def _json_type(arrow_type: pa.DataType) -> pa.DataType:
    """Dates and times travel in JSON as text."""
    return DTYPES["string"] if pa.types.is_temporal(arrow_type) else arrow_type
