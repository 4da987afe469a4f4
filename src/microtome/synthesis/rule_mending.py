"""The last resort for rows that break rules: the least that makes them true.

What a rule says last gives way first: in "if age < 15: marital = N" the marital status, in "a <= b" column a. A number
moves to the nearest that is allowed, a category becomes the likeliest that is. Where that breaks another rule, the next
turn lets another part of the rule give way, or the other column. Columns that are computed do not move by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from microtome.schema import ColumnCode
from microtome.schema.formula import Bools, Either, Every, Extent, Floats, Formula, Gap, Limit, OneOf, Order
from microtome.schema.rules import Rules
from microtome.schema.scale import Scale

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}


@dataclass(frozen=True, kw_only=True, eq=False)
class Mending:
    """Mends rows.

    Attributes:
        rules: What they have to keep.
        codes: The codes of all columns, by which values are likely.
    """

    rules: Rules
    codes: Mapping[str, ColumnCode]

    @property
    def turns(self) -> int:
        """After how many turns it has no end: what one rule moves may have to pass through all others."""
        return 2 * len(self.rules.checks) + 4

    def mended(self, table: pa.Table, turn: int) -> pa.Table:
        """Rows in which every broken rule had its way once, one after the other."""
        rows = _Rows(mending=self, table=table, extents=self.rules.extents(table))
        for check in self.rules.checks:
            failing = check.fails(rows.extents)
            if failing.any():
                rows.mend(check.formula, failing, turn)
        return rows.table


@dataclass(kw_only=True, eq=False)
class _Rows:
    """Rows that are being mended."""

    mending: Mending
    table: pa.Table
    extents: dict[str, Extent]

    def mend(self, formula: Formula, failing: Bools, turn: int) -> None:
        """Make a formula true in the rows where it fails, if columns that may move can do it."""
        match formula:
            case Every(parts=parts):
                for part in parts:
                    self.mend(part, failing & part.fails(self.extents), turn)
            case Either(parts=parts):
                self.mend(parts[-1 - turn % len(parts)], failing, turn // len(parts))
            case Limit(column=column, operator=operator, number=number):
                there = np.full(len(failing), number)
                self._move(column, failing, _beside(operator, there, self._scale(column)))
            case OneOf(column=column, numbers=numbers, wanted=wanted):
                self._move(column, failing, self._likely(column, numbers, wanted=wanted))
            case Gap(column=column, wanted=True):
                self._move(column, failing, np.full(len(failing), np.nan))
            case Gap(column=column):
                self._move(column, failing, self._likely(column, (), wanted=False))
            case Order(left=left, operator=operator, right=right):
                if turn % 2:
                    left, operator, right = right, _MIRRORED[operator], left
                self._move(left, failing, _beside(operator, self.extents[right].low, self._scale(left)))

    def _scale(self, column: str) -> Scale:
        return self.mending.rules.scales[column]

    def _likely(self, column: str, numbers: tuple[float, ...], *, wanted: bool) -> Floats:
        """The nearest of some numbers or the likeliest of some categories, or of all but these."""
        scale, code, here = self._scale(column), self.mending.codes[column], self.extents[column].low
        if wanted and not scale.column.kind.is_categorical:
            listed = np.array(numbers)
            return np.asarray(listed[np.argmin(np.abs(here[:, None] - listed), axis=1)])
        cells = scale.cells(code.cells)
        good = ~cells.absent & np.isfinite(cells.low) & (np.isin(cells.low, numbers) == wanted)
        if not good.any():
            return np.full(len(here), numbers[0] if wanted else np.nan)
        best = int(np.argmax(np.where(good, code.margins, -1.0)))
        return np.full(len(here), cells.low[best])

    def _move(self, column: str, rows: Bools, places: Floats) -> None:
        """Put a column of some rows at other places, NaN for missing, inside its bounds."""
        if column in {one.column for one in self.mending.rules.computed}:
            return
        scale = self._scale(column)
        low, high = scale.bounds()
        missing = np.isnan(places) & scale.column.missing
        values = scale.values(np.clip(np.nan_to_num(places), low, high), missing)
        before = self.table.column(column).combine_chunks()
        after = pc.if_else(pa.array(rows), values, before)
        self.table = self.table.set_column(
            self.table.column_names.index(column), self.table.schema.field(column), after
        )
        self.extents[column] = self.mending.rules.extents(self.table, [column])[column]


def _beside(operator: str, there: Floats, scale: Scale) -> Floats:
    """The places nearest to others that compare with them so."""
    match operator:
        case "<" | "!=":
            return _next(there, scale.step, -1)
        case ">":
            return _next(there, scale.step, 1)
        case "<=":
            return there if scale.step is None else np.floor(there)
        case ">=":
            return there if scale.step is None else np.ceil(there)
        case _:
            return there


def _next(there: Floats, step: float | None, direction: int) -> Floats:
    if step is None:
        return np.asarray(np.nextafter(there, direction * math.inf))
    return np.ceil(there) - 1.0 if direction < 0 else np.floor(there) + 1.0
