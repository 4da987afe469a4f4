"""Columns that follow from another: what is certain in the tables, or known anyhow, is to be certain in components.

Where a district has one density, the table of both has as many full cells as there are districts, and they hold all
records, as far as the noise lets tell. Errors by cell do not mind a little in every other cell, and what components
know has its price (``AggregateLoss``): a mixture left to these blurs what is certain. So every record outside of the
full cells of such a table is charged for by itself.

That a cell is not full is no evidence by itself: under strong noise cells of few records never are. What is left out
has to be missed, cell by cell or in all cells of few records together: there are clearly fewer records than there would
be if the columns were independent.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from microtome.divergences import Moments
from microtome.generators.splitting import Support
from microtome.published import AggregatesRelease
from microtome.published.second_moments import level_margins
from microtome.published.table_margins import combined
from microtome.schema import ColumnCode
from microtome.training.rule_cells import forbidden_pairs

CHARGE = 150.0
"""χ² for a share of records outside of the full cells that is as large as its standard error."""
_FULL = 3.0
"""Standard deviations of the noise above which a cell is full."""
_MISSED = 2.0
"""Standard errors by which full cells may fall short of all records."""
_CLEAR = 10.0
"""Standard errors by which independent columns would miss the full cells."""
_SHOWN = 4.0
"""Standard errors by which records outside of the full cells are fewer than with independent columns."""

_LEAST = 1e-9

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


class Certainty:
    """The tables of a release in which one column follows from the other.

    Args:
        release: What is fitted; one without a pivot.
        num_entries: Entries of tables of pairs: what χ² is divided by.

    Attributes:
        supports: Which levels go together in these tables.
    """

    def __init__(self, release: AggregatesRelease, num_entries: int) -> None:
        self._charges: list[tuple[slice, slice, Float[Tensor, "a b"]]] = []
        self.supports: list[Support] = []
        counts = level_margins(release) * release.num_records
        blocks, codes = release.codebook.blocks, release.codebook.codes
        self._tie(release, num_entries)
        self._forbid(release, num_entries)
        missing = {block.start: _missing_level(code) for block, code in zip(blocks, codes, strict=True)}
        for (a, left), (b, right) in combinations(enumerate(blocks), 2):
            rows, columns = slice(left.start, left.stop), slice(right.start, right.stop)
            table, noise = _pair(release, a, b, rows, columns)
            if len(table) < table.shape[1]:
                rows, columns, table = columns, rows, table.T
            if noise is None or not _follows(table, noise, release.num_records, counts[columns]):
                continue
            found = _together(table, noise, counts[rows])
            both = _both_there(table.shape, (missing[rows.start], missing[columns.start]))
            expected = _expected(table, (counts[rows], counts[columns]), both)
            together = _shown(found, table, noise, expected, both)
            if together.all():
                continue
            error = noise * np.sqrt(together.sum())
            charge = np.where(together, 0.0, CHARGE * release.num_records / error / num_entries)
            self._charges.append((rows, columns, torch.tensor(charge, dtype=torch.float32)))
            self.supports.append(Support(rows=rows, columns=columns, together=torch.tensor(together)))

    def _tie(self, release: AggregatesRelease, num_entries: int) -> None:
        """What is known without tables: which levels tell of rows that are there, and which of none."""
        blocks, codes = release.codebook.blocks, release.codebook.codes
        for tie in () if release.presence is None else release.presence.ties:
            rows, columns = (slice(blocks[one].start, blocks[one].stop) for one in tie.columns)
            error = codes[tie.columns[1]].noise_scale * np.sqrt(tie.together.sum())
            charge = np.where(tie.together, 0.0, CHARGE * release.num_records / error / num_entries)
            self._charges.append((rows, columns, torch.tensor(charge, dtype=torch.float32)))
            together = torch.tensor(tie.together)
            self.supports.append(Support(rows=rows, columns=columns, together=together, is_known=True))

    def _forbid(self, release: AggregatesRelease, num_entries: int) -> None:
        """What rules of the schema say: pairs of levels that no record has."""
        forbidden, blocks = forbidden_pairs(release), release.codebook.blocks
        for (a, left), (b, right) in combinations(enumerate(blocks), 2):
            rows, columns = slice(left.start, left.stop), slice(right.start, right.stop)
            shut, noise = forbidden[rows, columns], release.mechanism.pair_noise[a][b]
            if shut.any() and noise > 0:
                charge = shut * (CHARGE * release.num_records / (noise * np.sqrt((~shut).sum())) / num_entries)
                self._charges.append((rows, columns, torch.tensor(charge, dtype=torch.float32)))

    def __call__(self, rows: Float[Tensor, "b d"]) -> Float[Tensor, ""]:
        """What distributions of levels that weigh alike are charged."""
        charged = [(rows[:, a] @ charge * rows[:, b]).sum() for a, b, charge in self._charges]
        return torch.stack(charged).sum() / len(rows) if charged else rows.new_zeros(())

    def of_moments(self, found: Moments) -> Float[Tensor, ""]:
        """What distributions are charged whose moments are known."""
        charged = [(charge * found.second[a, b]).sum() for a, b, charge in self._charges]
        return torch.stack(charged).sum() if charged else found.second.new_zeros(())


def _pair(release: AggregatesRelease, a: int, b: int, rows: slice, columns: slice) -> tuple[Floats, float | None]:
    """All that is known of the counts of two columns, with the noise; ``None`` where they were not counted."""
    focus, noise = release.mechanism.focus, release.mechanism.pair_noise[a][b]
    table = release.second[0, rows, columns]
    if noise <= 0:
        return table, None
    if focus is None or release.third is None or focus.noise[a][b] <= 0:
        return table, noise
    variances = [np.full((1, 1), noise**2), np.full((1, 1), focus.num_groups * focus.noise[a][b] ** 2)]
    counts, variance = combined([table, release.third[:, rows, columns].sum(axis=0)], variances)
    return counts, float(np.sqrt(variance[0, 0]))


def _follows(table: Floats, noise: float, total: float, counts: Floats) -> bool:
    """Whether the second column follows from the first, the wider one: a full cell a level, and they hold all records.

    What nearly everybody has follows from anything, as far as the noise lets tell. So it must show that the columns are
    not independent with these margins: far more records would then lie outside of the full cells than the noise hides.
    And no level of the second column may have records (``counts``) that would fill a cell, and none that is full.
    """
    full = table > _FULL * noise
    cells = int(full.sum())
    if cells < 2 or full.sum(axis=1).max() > 1 or (counts[~full.any(axis=0)] > _FULL * noise).any():
        return False
    error, held = noise * np.sqrt(cells), np.where(full, table, 0.0)
    outside = total - (held.sum(axis=1) * np.where(full, held.sum(axis=0), 0.0).sum(axis=1)).sum() / total
    return bool(total - held.sum() <= _MISSED * error and outside >= _CLEAR * error)


def _together(table: Floats, noise: float, counts: Floats) -> Bools:
    """Which levels go with each of the wider column's: those of full cells, or else of the one that may hold it all.

    A level that has too few records to fill a cell has them in its fullest one, if these are about as many as it has;
    otherwise it may go with any.
    """
    full = table > _FULL * noise
    fullest = table.max(axis=1, keepdims=True)
    empty = fullest <= _FULL * noise
    whole = counts[:, None] - fullest <= _MISSED * noise
    together: Bools = full | (empty & ((table == fullest) | ~whole))
    return together


def _both_there(shape: tuple[int, ...], missing: tuple[int | None, int | None]) -> Bools:
    """Cells of records that have a value of both columns."""
    rows, columns = (np.arange(size) != gone for size, gone in zip(shape, missing, strict=True))
    return np.outer(rows, columns)


def _expected(table: Floats, margins: tuple[Floats, Floats], both: Bools) -> Floats:
    """What the cells would hold if the columns were independent, in records that have a value of both.

    Two columns of a row that is not there are missing together, which says nothing of their values.
    """
    expected: Floats = np.outer(*margins) / max(float(margins[0].sum()), _LEAST)
    there = np.where(both, expected, 0.0)
    return np.where(both, there * max(float(table[both].sum()), 0.0) / max(float(there.sum()), _LEAST), expected)


def _shown(together: Bools, table: Floats, noise: float, expected: Floats, both: Bools) -> Bools:
    """The same without what noise alone may have left out: cells in which nothing is missed may hold records.

    Cells that cannot show it by themselves show it together, each by what it should hold; those of missing values apart
    from others. Where no cell of a row is full the fullest was chosen, and the largest of k numbers of pure noise is
    about √(2·ln k) standard deviations above the others.
    """
    apart, missed = ~together, expected - table
    shown = apart & (expected >= _SHOWN * noise) & (missed >= _FULL * noise)
    by_lot = ~(table > _FULL * noise).any(axis=1)
    left = apart & ~shown
    for part in (left & both, left & ~both):
        few = np.where(part, expected, 0.0)
        luck = np.sqrt(2.0 * np.log(table.shape[1])) * few[by_lot].max(axis=1).sum()
        if (few * missed).sum() / noise - luck >= _SHOWN * np.linalg.norm(few):
            shown |= part
    return ~shown


def _missing_level(code: ColumnCode) -> int | None:
    """The level of missing values, if they have one of their own."""
    own = code.cells.missing and int((code.levels == code.levels[-1]).sum()) == 1
    return int(code.levels[-1]) if own else None
