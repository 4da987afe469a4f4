"""Margins that tables of pairs tell: every table of two columns, summed over one of them, counts the other's levels.

A release by another's codebook has no profile of its own. Its margins are made of its tables, after the noise: cells of
a level have the shares among themselves that the codebook's first release found, and levels have those of these tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from microtome.schema import Codebook, ColumnCode, project_to_simplex

Floats = NDArray[np.float64]


def table_counts(
    first: Floats, second: Floats, noise: tuple[Sequence[float], Floats], codebook: Codebook
) -> tuple[Floats, Floats]:
    """How often each level occurs in each class (v × d), and the variance (d): what all its tables say of it.

    Args:
        first: Noisy counts of levels by class; where they were measured.
        second: Noisy counts of pairs of levels by class.
        noise: Standard deviations: of ``first`` for each column, of ``second`` for each pair; 0 where not measured.
        codebook: The columns.

    Returns:
        Counts, and their variance, which is infinite where nothing was measured.
    """
    firsts, pairs = noise
    counts, variance = np.zeros_like(first), np.full(codebook.dim, np.inf)
    widths = np.array([block.width for block in codebook.blocks])
    sums = np.add.reduceat(second, np.cumsum(widths) - widths, axis=2)
    for index, block in enumerate(codebook.blocks):
        part, others = slice(block.start, block.stop), np.flatnonzero(pairs[index] > 0)
        estimates = [first[:, part]] if firsts[index] > 0 else []
        variances = [firsts[index] ** 2] if firsts[index] > 0 else []
        estimates += [sums[:, part, other] for other in others]
        variances += list(widths[others] * pairs[index, others] ** 2)
        if estimates:
            counts[:, part], own = combined(estimates, [np.full((1, block.width), one) for one in variances])
            variance[part] = own[0]
    return counts, variance


def combined(estimates: Sequence[Floats], variances: Sequence[Floats]) -> tuple[Floats, Floats]:
    """The mean of independent estimates, each weighted by what its noise leaves it worth, and its variance."""
    weights = 1.0 / np.maximum(variances, np.finfo(float).tiny)
    total = weights.sum(axis=0)
    return (np.array(estimates) * weights).sum(axis=0) / total, 1.0 / total


def with_table_margins(codebook: Codebook, second: Floats, pair_noise: Floats, total: float) -> Codebook:
    """The codebook with the margins that tables of all records tell; as it is in columns that are in no table."""
    none = np.zeros((1, codebook.dim))
    counts, variance = table_counts(none, second, (np.zeros(len(codebook.codes)).tolist(), pair_noise), codebook)
    codes = [
        _with_margins(code, counts[0, block.start : block.stop], variance[block.start], total)
        for code, block in zip(codebook.codes, codebook.blocks, strict=True)
    ]
    return replace(codebook, codes=tuple(codes))


def _with_margins(code: ColumnCode, counts: Floats, variance: float, total: float) -> ColumnCode:
    if not np.isfinite(variance):
        return code
    cells = np.bincount(code.levels, minlength=code.num_levels)
    known = code.level_margins[code.levels] > 0
    shares = np.where(known, code.margins, 1.0) / np.where(known, code.level_margins[code.levels], cells[code.levels])
    margins = project_to_simplex(counts, total)[code.levels] * shares
    # One figure stands for all cells of a column: the one by which no level seems better known than it is.
    noise = float(np.sqrt(variance / cells.min()))
    return replace(code, counts=counts[code.levels] * shares, margins=margins / margins.sum(), noise_scale=noise)
