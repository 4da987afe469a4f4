"""The code of a measured column: numbers, dates and times in intervals."""

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
from microtome.schema.cells import NumberCells, numbers_to_arrow
from microtome.schema.column import Column
from microtome.schema.column_code import LIKELY, UNKNOWN, CellCounts, ColumnCode, is_line, shared_parts, shares_of_kept
from microtome.schema.domain import covering_range
from microtome.schema.margins import falling_tails, filled_up, number_levels
from microtome.schema.rounding import RoundedCells, Rounding
from microtome.schema.smoothing import smoothed


@dataclass(frozen=True, kw_only=True, eq=False)
class NumberCode(ColumnCode):
    """What the profile knows of a measured column, and how its values are coded."""

    cells: NumberCells

    @classmethod
    def from_counts(
        cls,
        cells: NumberCells,
        given: CellCounts,
        *,
        rounding: tuple[NDArray[np.float64], float] | None = None,
        likely: tuple[float, float] | None = None,
    ) -> NumberCode:
        """Settle bounds, margins and levels of a column from its noisy counts.

        ``rounding`` has the noisy counts of its rounding classes with the standard deviation of their noise, ``likely``
        is where the search has found its numbers.
        """
        column, counts, noise_scale, total = given.column, given.counts, given.noise_scale, given.total
        found = column.is_declared or not given.search_noise
        if likely is not None:
            cells, counts = _trim(cells, counts, noise_scale, total, likely)
            found = float(counts.sum()) > UNKNOWN * total
        learns = not column.is_declared
        margins = _margins(cells, counts, noise_scale, total, learns=learns)
        rounded = single = None
        if rounding is not None:
            rounded = Rounding.from_counts(column, *rounding, cells=cells, margins=margins, total=total)
            margins = rounded.possible(cells, margins)
            if learns:
                cells = _closed(cells, rounded)
            single = rounded.singletons(cells)
        return cls(
            column=column,
            cells=cells,
            counts=counts,
            noise_scale=noise_scale,
            margins=margins,
            levels=number_levels(cells, margins, column.bins, given.rare, given.fineness, single=single),
            rounding=rounded,
            search_noise=given.search_noise,
            found=found,
        )

    @classmethod
    def from_parts(
        cls, column: Column, entry: Mapping[str, Any], prefix: str, arrays: Mapping[str, NDArray[Any]]
    ) -> NumberCode:
        """The inverse of ``to_parts``; refuses cells that no column can have."""
        cells = NumberCells.of(column, arrays[f"{prefix}/edges"])
        if not (is_line(cells.edges, np.float64) and len(cells.edges) > 1 and (np.diff(cells.edges) > 0).all()):
            raise SchemaError(f"column {column.name!r}: the edges of its cells do not increase")
        return cls(column=column, cells=cells, **shared_parts(column, cells, entry, prefix, arrays))

    def cells_to_parts(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The cells as plain values and arrays, for a file."""
        return {}, {"edges": self.cells.edges}

    def summary(self) -> dict[str, Any]:
        """Bounds, codes and the noise of rounding."""
        ends = self.cells.edges[[0, -1]] - [0.0, float(self.cells.integral)]
        values: dict[str, Any] = {"bounds": [str(value) for value in self._values_of(ends).to_pylist()]}
        if self.column.codes:
            values["codes"] = self.column.code_texts
        if self.rounding is not None:
            values["rounding_noise_scale"] = self.rounding.noise_scale
        return values

    @property
    def is_learnt(self) -> bool:
        """Whether bounds are declared, or the cells that were found hold most of the records."""
        return self.column.is_declared or self.found

    def level_scores(self) -> NDArray[np.float64] | None:
        """The mean number of each level, in standard deviations from the column's mean; ``None`` if there are none.

        A missing value scores 0.
        """
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

    def level_places(self) -> NDArray[np.float64] | None:
        """Where levels of several numbers lie among each other, as the share of records below their middles.

        NaN for levels of one value, which may be like no other; ``None`` if there are no numbers.
        """
        scores = self.level_scores()
        if scores is None:
            return None
        of_numbers, single = self.levels[: self.cells.num_values], self.cells.singletons()
        several = np.bincount(of_numbers, minlength=self.num_levels) > 1
        several[of_numbers[~single]] = True
        line = np.flatnonzero(several)
        line = line[np.argsort(scores[line], kind="stable")]
        shares = self.level_margins[line]
        places = np.full(self.num_levels, np.nan)
        places[line] = (np.cumsum(shares) - shares / 2.0) / max(shares.sum(), np.finfo(float).tiny)
        return places

    def draw_values(self, cells: NDArray[np.int64], rng: np.random.Generator) -> pa.Array:
        """Values of the user's own type for the given cells."""
        code = cells - self.cells.num_values
        numbers = self._drawer.draw(np.where(code >= 0, 0, cells), rng)
        values = self._values_of(numbers, code >= self.cells.num_codes)
        return self._with_codes(values, code) if self.column.codes else values

    @cached_property
    def _drawer(self) -> NumberCells | RoundedCells:
        return self.cells if self.rounding is None else RoundedCells(rounding=self.rounding, cells=self.cells)

    def _values_of(self, numbers: NDArray[np.float64], missing: NDArray[np.bool_] | None = None) -> pa.Array:
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


def _trim(
    cells: NumberCells, counts: NDArray[np.float64], noise_scale: float, total: float, likely: tuple[float, float]
) -> tuple[NumberCells, NDArray[np.float64]]:
    """Cut learnt cells to the range in which there are records, ``likely`` being where the search has found them."""
    values, others = counts[: cells.num_values], counts[cells.num_values :]
    total -= max(float(others.sum()), 0.0)
    places = np.searchsorted(cells.edges, likely)
    first, last = covering_range(cells.edges, values, noise_scale, total, (int(places[0]), int(places[1])))
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
    cells: NumberCells, counts: NDArray[np.float64], noise_scale: float, total: float, *, learns: bool
) -> NDArray[np.float64]:
    """Shares of cells. Where noise hides single cells they are averaged, and tails of numbers fall."""
    counts, kept = counts.copy(), np.ones(len(cells), dtype=bool)
    counts[: cells.num_values] = falling_tails(
        *smoothed(counts[: cells.num_values], cells.edges, noise_scale), cells.edges
    )
    if learns:
        kept[: cells.num_values] = _are_held(cells, counts[: cells.num_values], noise_scale)
    return shares_of_kept(cells, counts, kept, noise_scale, total, filled_up)


def _are_held(cells: NumberCells, counts: NDArray[np.float64], noise_scale: float) -> NDArray[np.bool_]:
    """Which cells hold records: all, or those of common values alone, if nothing between them stands out."""
    common = cells.singletons()
    rest, deviation = counts[~common].sum(), noise_scale * math.sqrt(max(int((~common).sum()), 1))
    alone = common.any() and counts[common].sum() > rest and rest < LIKELY * deviation
    return common if alone else np.ones(cells.num_values, dtype=bool)
