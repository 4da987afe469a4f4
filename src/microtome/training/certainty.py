"""Columns that follow from another: what is certain in the tables is to be certain in the components.

Where a district has one density, the table of both has as many full cells as there are districts, and they hold all
records, as far as the noise lets tell. Errors by cell do not mind a little in every other cell, and what components
know has its price (``AggregateLoss``): a mixture left to these blurs what is certain. So every record outside of the
full cells of such a table is charged for by itself.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from microtome.published import AggregatesRelease
from microtome.published.table_margins import combined

CHARGE = 150.0
"""χ² for a share of records outside of the full cells that is as large as its standard error."""
_FULL = 3.0
"""Standard deviations of the noise above which a cell is full."""
_MISSED = 2.0
"""Standard errors by which full cells may fall short of all records."""
_MOST_CELLS = 1.25
"""Full cells for each level of the wider column."""

Floats = NDArray[np.float64]


class Certainty:
    """The tables of a release in which one column follows from the other.

    Args:
        release: What is fitted; one without a pivot.
        num_entries: Entries of tables of pairs: what χ² is divided by.
    """

    def __init__(self, release: AggregatesRelease, num_entries: int) -> None:
        self._charges: list[tuple[slice, slice, Float[Tensor, "a b"]]] = []
        blocks = release.codebook.blocks
        for (a, left), (b, right) in combinations(enumerate(blocks), 2):
            rows, columns = slice(left.start, left.stop), slice(right.start, right.stop)
            table, noise = _pair(release, a, b, rows, columns)
            charge = None if noise is None else _charge(table, noise, release.num_records)
            if charge is not None:
                self._charges.append((rows, columns, torch.tensor(charge / num_entries, dtype=torch.float32)))

    @property
    def num_tables(self) -> int:
        """Tables in which one column follows from the other."""
        return len(self._charges)

    def __call__(self, rows: Float[Tensor, "b d"]) -> Float[Tensor, ""]:
        """What distributions of levels that weigh alike are charged."""
        charged = [(rows[:, a] @ charge * rows[:, b]).sum() for a, b, charge in self._charges]
        return torch.stack(charged).sum() / len(rows) if charged else rows.new_zeros(())


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


def _charge(table: Floats, noise: float, total: float) -> Floats | None:
    """What a share of records costs cell by cell; ``None`` unless one column follows from the other."""
    full = table > _FULL * noise
    cells = int(full.sum())
    error = noise * np.sqrt(max(cells, 1))
    if not 0 < cells <= _MOST_CELLS * max(table.shape) or cells == table.size:
        return None
    if total - table[full].sum() > _MISSED * error or total < _FULL * error:
        return None
    return np.where(full, 0.0, CHARGE * total / error)
