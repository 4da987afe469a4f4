"""How often each pair of levels of two columns occurs, for all pairs of columns, as one matrix for each part."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

import numpy as np

from microtome.private.joint_counts import Ints, JointCounts


def pair_counts(levels: Ints, widths: Sequence[int]) -> Ints:
    """Counts of all pairs of levels (d × d), given levels column by column (columns × rows); symmetric."""
    counted = JointCounts(widths, 2)
    counted.add(levels)
    counts: Ints = pair_matrices(counted, widths, 1)[0]
    return counts


def pair_matrices(counted: JointCounts, widths: Sequence[int], num_parts: int) -> Ints:
    """Counts of all pairs of levels (parts × d × d), symmetric.

    The blocks of a column with itself hold its own counts on their diagonals.
    """
    starts = np.cumsum([0, *widths])
    counts = np.zeros((num_parts, starts[-1], starts[-1]), np.int64)
    places = [slice(start, stop) for start, stop in pairwise(starts)]
    singles = [(column,) for column in range(len(widths))]
    for (column,), table in zip(singles, counted.tables(singles), strict=True):
        part = np.arange(starts[column], starts[column + 1])
        counts[:, part, part] = table
    pairs = list(combinations(range(len(widths)), 2))
    for (one, other), table in zip(pairs, counted.tables(pairs), strict=True):
        counts[:, places[one], places[other]] = table
        counts[:, places[other], places[one]] = table.transpose(0, 2, 1)
    return counts
