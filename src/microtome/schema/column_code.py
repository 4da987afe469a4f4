"""One column after the profile: its cells, margins and levels, and values drawn by them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, assert_never

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microtome.errors import SchemaError
from microtome.schema.cells import OTHER, CategoryCells, Cells, NumberCells, numbers_to_arrow
from microtome.schema.column import DTYPES, Column
from microtome.schema.margins import (
    COARSE,
    Fineness,
    category_levels,
    falling_tails,
    most_category_levels,
    most_number_levels,
    number_levels,
    project_to_simplex,
    rare_share,
    significant_range,
)
from microtome.schema.rounding import RoundedCells, Rounding, rounding_classes

_SUM_SLACK = 1e-6
"""How far from 1 the margins of a file may add up to."""


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
    """

    column: Column
    cells: Cells
    counts: NDArray[np.float64]
    noise_scale: float
    margins: NDArray[np.float64]
    levels: NDArray[np.int64]
    rounding: Rounding | None = None

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
    ) -> ColumnCode:
        """Settle bounds, margins and levels of a column from its noisy counts.

        ``fineness`` is for columns that say nothing of it themselves, ``rounding`` the noisy counts of its rounding
        classes with the standard deviation of their noise.
        """
        rare, rounded = rare_share(noise_scale, total), None
        match cells:
            case NumberCells():
                if not column.is_declared:
                    cells, counts = _trim(cells, counts, noise_scale)
                margins = project_to_simplex(_with_falling_tails(cells, counts, noise_scale), total)
                if rounding is not None:
                    rounded = Rounding.from_counts(column, *rounding, cells=cells, margins=margins)
                    margins = rounded.possible(cells, margins)
                levels = number_levels(cells, margins, column.bins, rare, fineness)
            case CategoryCells():
                if rounding is not None:
                    raise SchemaError(f"column {column.name!r}: categories are not rounded, and have no such counts")
                margins = project_to_simplex(counts, total)
                levels = category_levels(margins, _pool(column, fineness), rare, missing=cells.missing)
        return cls(
            column=column,
            cells=cells,
            counts=counts,
            noise_scale=noise_scale,
            margins=margins,
            levels=levels,
            rounding=rounded,
        )

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
        match self.cells:
            case CategoryCells():
                return None
            case NumberCells():
                numbers = self.cells.middles()
        shares = self.margins[: self.cells.num_values]
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
        return self._values(cells, rng)

    @cached_property
    def _values(self) -> Callable[[NDArray[np.int64], np.random.Generator], pa.Array]:
        match self.cells:
            case CategoryCells():
                return partial(_draw_categories, self, self.cells)
            case NumberCells() if self.rounding is None:
                return partial(_draw_numbers, self, self.cells)
            case NumberCells():
                return partial(_draw_numbers, self, RoundedCells(rounding=self.rounding, cells=self.cells))

    def values_of(self, numbers: NDArray[np.float64], missing: NDArray[np.bool_] | None = None) -> pa.Array:
        """Numbers as values of the user's own type, inside the declared bounds."""
        bounds = self.column.number_bounds() or (-math.inf, math.inf)
        return numbers_to_arrow(self.column, np.clip(numbers, *bounds), missing)

    def _draw_cells(self, levels: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """A cell of each given level, by the margins inside it: shares come out as nearly as whole rows allow."""
        order = np.argsort(self.levels, kind="stable")
        cumulative = np.cumsum(self.margins[order])
        ends = np.cumsum(self.level_margins)
        starts = ends - self.level_margins
        targets = starts[levels] + stratified(levels, rng) * self.level_margins[levels]
        found = np.searchsorted(cumulative, targets, side="right")
        last = np.searchsorted(self.levels[order], levels, side="right") - 1
        first = np.searchsorted(self.levels[order], levels, side="left")
        return order[np.clip(found, first, last)]

    def to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The code as plain values and arrays, for a file."""
        arrays: dict[str, NDArray[Any]] = {"counts": self.counts, "margins": self.margins, "levels": self.levels}
        entry: dict[str, Any] = {"noise_scale": self.noise_scale}
        match self.cells:
            case NumberCells(edges=edges):
                arrays["edges"] = edges
            case CategoryCells(categories=categories, other=other):
                values = pa.array(list(categories), type=self.column.arrow_type)
                entry |= {"categories": values.cast(_json_type(values.type)).to_pylist(), "other": other}
            case _:
                assert_never(self.cells)
        if self.rounding is not None:
            arrays |= {"rounding": self.rounding.counts, "rates": self.rounding.rates}
            entry["rounding_noise"] = self.rounding.noise_scale
        return entry, arrays


def most_levels(column: Column, cells: Cells | None, rare_share: float, fineness: Fineness) -> int | None:
    """The most levels that a column can have, whatever its counts; ``None`` if there is no bound.

    ``cells`` are those it is counted on, ``None`` where its categories have yet to be learnt.
    """
    match cells:
        case NumberCells():
            return most_number_levels(len(cells), column.bins, rare_share, fineness)
        case CategoryCells():
            return most_category_levels(len(cells), _pool(column, fineness), rare_share)
        case None:
            return most_category_levels(None, _pool(column, fineness), rare_share)


def _draw_numbers(
    code: ColumnCode, drawer: NumberCells | RoundedCells, cells: NDArray[np.int64], rng: np.random.Generator
) -> pa.Array:
    missing = cells >= code.cells.num_values
    return code.values_of(drawer.draw(np.where(missing, 0, cells), rng), missing)


def _draw_categories(
    code: ColumnCode, public: CategoryCells, cells: NDArray[np.int64], rng: np.random.Generator
) -> pa.Array:
    """Categories by their cells; where "(other)" has no name in the column's type, a named one in its stead."""
    named, nameless = len(public.categories), public.other and code.column.dtype != "string"
    if nameless and named:
        shares = code.margins[:named] if code.margins[:named].sum() > 0 else np.ones(named)
        cells = np.where(cells == named, rng.choice(named, size=len(cells), p=shares / shares.sum()), cells)
    values: list[Any] = [
        *public.categories,
        *([None if nameless else OTHER] * public.other),
        *([None] * public.missing),
    ]
    return pa.array(values, type=code.column.arrow_type).take(pa.array(cells))


def stratified(groups: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Uniform numbers that fill [0, 1) evenly within each group: one in each of as many equal parts, in random order.

    Each number by itself is uniform; drawn by these, values have the shares they should have with far less scatter
    than independent draws.
    """
    shuffled = rng.permutation(len(groups))
    ordered = shuffled[np.argsort(groups[shuffled], kind="stable")]
    sizes = np.bincount(groups)
    starts = np.cumsum(sizes) - sizes
    owners = groups[ordered]
    numbers = np.empty(len(groups))
    numbers[ordered] = (np.arange(len(groups)) - starts[owners] + rng.random(len(groups))) / sizes[owners]
    return numbers


def code_from_parts(
    column: Column, entry: Mapping[str, Any], prefix: str, arrays: Mapping[str, NDArray[Any]]
) -> ColumnCode:
    """The inverse of ``ColumnCode.to_parts``; the names of its arrays begin with ``prefix``."""
    make = _category_cells if column.kind.is_categorical else _number_cells
    cells = make(column, entry, prefix, arrays)
    counts, margins = arrays[f"{prefix}/counts"], arrays[f"{prefix}/margins"]
    levels = arrays[f"{prefix}/levels"]
    _check_counts(column, len(cells), counts, margins, levels)
    return ColumnCode(
        column=column,
        cells=cells,
        counts=counts,
        noise_scale=_checked_noise(column, entry["noise_scale"]),
        margins=margins,
        levels=levels,
        rounding=_rounding_from_parts(column, entry, prefix, arrays),
    )


def _number_cells(
    column: Column, entry: Mapping[str, Any], prefix: str, arrays: Mapping[str, NDArray[Any]]
) -> NumberCells:
    """Cells of numbers; refuses what no column can have: a file may have been made by a broken program."""
    del entry
    edges = arrays[f"{prefix}/edges"]
    if not (_is_line(edges, np.float64) and len(edges) > 1 and (np.diff(edges) > 0).all()):
        raise SchemaError(f"column {column.name!r}: the edges of its cells do not increase")
    return NumberCells(edges=edges, integral=column.kind.is_integral, missing=column.missing)


def _category_cells(
    column: Column, entry: Mapping[str, Any], prefix: str, arrays: Mapping[str, NDArray[Any]]
) -> CategoryCells:
    """The same of categories."""
    del prefix, arrays
    values = pa.array(entry["categories"], type=_json_type(column.arrow_type)).cast(column.arrow_type)
    cells = CategoryCells(categories=tuple(values.to_pylist()), other=entry["other"], missing=column.missing)
    if not isinstance(cells.other, bool) or None in cells.categories or not cells.num_values:
        raise SchemaError(f"column {column.name!r}: its coded categories are no list of values")
    if len(set(cells.categories)) < len(cells.categories):
        raise SchemaError(f"column {column.name!r}: a category is coded twice")
    if column.categories is not None and cells.categories != column.categories:
        raise SchemaError(f"column {column.name!r}: its coded categories are not the declared ones")
    return cells


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
    cells: NumberCells, counts: NDArray[np.float64], noise_scale: float
) -> tuple[NumberCells, NDArray[np.float64]]:
    """Cut a grid of undeclared bounds to the range in which there are records."""
    first, last = significant_range(counts[: cells.num_values], noise_scale)
    edges = cells.edges[first : last + 1]
    kept = np.concatenate([counts[first:last], counts[cells.num_values :]])
    return NumberCells(edges=edges, integral=cells.integral, missing=cells.missing), kept


def _with_falling_tails(cells: NumberCells, counts: NDArray[np.float64], noise_scale: float) -> NDArray[np.float64]:
    values = falling_tails(counts[: cells.num_values], noise_scale)
    return np.concatenate([values, counts[cells.num_values :]])


def _pool(column: Column, fineness: Fineness) -> float:
    return fineness.pool if column.pool is None else column.pool


def _json_type(arrow_type: pa.DataType) -> pa.DataType:
    """Dates and times travel in JSON as text."""
    return DTYPES["string"] if pa.types.is_temporal(arrow_type) else arrow_type
