"""How the tables of aggregates share the budget: by their size, the target, and by what can show in them.

All of it follows from public facts: levels of the codebook, the noise, and the number of records where that is public.
``private/aggregating.py`` has the rules in words.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from microtome.schema import Codebook

_FIRST_WEIGHT = 12.0
"""How much more a table of one column by class matters than one of two columns."""
_TARGET_WEIGHT = 3.0
"""How much more a table with the target matters than one of two other columns."""
_LEAST = 1e-9
"""Part of the largest weight that every table has at least."""
_DEPENDENCE = 0.1
"""What two columns share, as a part of what their table holds: of the squares that tables must show to be worth it."""
_RARE = 2.0 / 3.0
"""How the weight of a table grows as rows get fewer: with noise σ, its K cells of n rows are wrong by about Kσ/n, and
the sum of these errors at a given Σ 1/σ² is least where 1/σ² ∝ (K/n)^(2/3)."""
_HALVINGS = 60
"""Steps to the weights that follow from the noise that they make."""
_FEWEST = 1e-3
"""Share of people with a row below which a table counts as no rarer."""
_TRIPLE_WEIGHT = 0.5
"""How much a table of three columns matters at most, beside one of two of them: there are about as many of each, and
sums of the former inform the latter too."""


def table_weights(
    codebook: Codebook, pivot: int | None, target: int | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weight of the table of each column by class, and of each pair of columns; 0 where not measured."""
    sizes = np.array([block.width if block.width > 1 else 0 for block in codebook.blocks], dtype=float)
    if pivot is not None:
        sizes[pivot] = 0.0
    pairs = np.sqrt(np.outer(sizes, sizes))
    np.fill_diagonal(pairs, 0.0)
    if target is not None:
        pairs[target] *= _TARGET_WEIGHT
        pairs[:, target] *= _TARGET_WEIGHT
    first = np.zeros_like(sizes) if pivot is None else _FIRST_WEIGHT * np.sqrt(sizes)
    return first, pairs


def weights_of_views(
    codebooks: Sequence[Codebook],
    measured: Sequence[NDArray[np.bool_]],
    targets: Sequence[int | None],
    records_a_noise: float,
) -> list[NDArray[np.float64]]:
    """Weight of each pair of columns in all views of linked tables; 0 where not measured.

    Rows of a table may be behind few of all people, and it is these rows that its tables are about: where there are
    fewer, the same noise says less. And where so many cells share so few rows that what columns share would not show,
    others need the budget more.

    Args:
        codebooks: The codes of each view, those of steps included.
        measured: Which pairs of columns are counted in each.
        targets: The column of each that will be asked for, if one is declared.
        records_a_noise: All people, in units of the noise of a single table that takes the whole budget.
    """
    levels, there = zip(*(_there(codebook) for codebook in codebooks), strict=True)
    cells = [np.outer(one, one) for one in levels]
    shares = [np.minimum.outer(one, one) for one in there]
    usual = [
        np.where(counted, np.sqrt(one) * share**-_RARE, 0.0)  # what has no cells has no weight either
        for counted, one, share in zip(measured, cells, shares, strict=True)
    ]
    for weights, target in zip(usual, targets, strict=True):
        if target is not None:
            weights[target] *= _TARGET_WEIGHT
            weights[:, target] *= _TARGET_WEIGHT

    def faded(whole: float) -> list[NDArray[np.float64]]:
        """The weights if all together were so much: the less there is, the more every table shows."""
        shown = [
            _DEPENDENCE * (records_a_noise * share) ** 2 * share**-_RARE / (whole * np.maximum(one, 1.0))
            for one, share in zip(cells, shares, strict=True)
        ]
        return [weight * x**2 / (1.0 + x**2) for weight, x in zip(usual, shown, strict=True)]

    found, (low, high) = usual, (0.0, sum(map(weight_of_all, usual)))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if middle <= 0.0:
            break
        found = faded(middle)
        low, high = (middle, high) if sum(map(weight_of_all, found)) > middle else (low, middle)
    largest = max(float(one.max(initial=0.0)) for one in found)
    return [_at_least(one, largest) for one in found]


def weight_of_all(weights: NDArray[np.float64]) -> float:
    """The weight of all tables of a view together."""
    return float(np.triu(weights, 1).sum())


def _there(codebook: Codebook) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each column the levels of rows that are there, and the share of all people who have such a row."""
    widths = np.array([block.width for block in codebook.blocks])
    missing = np.array([code.cells.missing for code in codebook.codes])
    shares = [1.0 - (float(code.margins[-1]) if code.cells.missing else 0.0) for code in codebook.codes]
    levels = np.where(widths > 1, np.maximum(widths - missing, 1), 0)
    return levels.astype(float), np.clip(shares, _FEWEST, 1.0)


def weight_of_pairs(pairs: NDArray[np.float64]) -> float:
    """The weight of all tables of pairs."""
    return max(float(np.triu(pairs, 1).sum()), 1.0)


def target_first(pairs: NDArray[np.float64], target: int, records_a_noise: float) -> NDArray[np.float64]:
    """Less weight for tables without the target, where dependence that is a part of them would not show anyway."""
    shown = _DEPENDENCE * np.divide(records_a_noise**2, pairs**2, out=np.zeros_like(pairs), where=pairs > 0)
    faded = pairs * shown**2 / (1.0 + shown**2)
    faded[target], faded[:, target] = pairs[target], pairs[:, target]
    return _at_least(faded, float(pairs.max()))


def triple_weights(
    codebook: Codebook, focus: int | None, groups: NDArray[np.int64], records_a_noise: float
) -> NDArray[np.float64]:
    """Weight of the table of each pair of columns by groups of the focus: by what it can show under the noise."""
    sizes = np.array([block.width if block.width > 1 else 0 for block in codebook.blocks], dtype=float)
    num_groups = int(groups.max()) + 1
    if focus is None or num_groups == 1:
        return np.zeros((len(sizes), len(sizes)))
    sizes[focus] = 0.0
    cells = num_groups * np.outer(sizes, sizes)
    np.fill_diagonal(cells, 0.0)
    # With the noise of a table of two columns, σ² = noise²·total/√K, x = m²·√K/σ² is (n/noise)²/total/K.
    shown = np.divide(records_a_noise**2, cells, out=np.zeros_like(cells), where=cells > 0)
    weights = _TRIPLE_WEIGHT * np.sqrt(cells / num_groups) * shown**2 / (1.0 + shown**2)
    return np.where(cells > 0, _at_least(weights, float(np.sqrt(cells.max()))), 0.0)


def _at_least(weights: NDArray[np.float64], largest: float) -> NDArray[np.float64]:
    """Weights that leave no table so little that its noise would be too wide to be drawn."""
    found: NDArray[np.float64] = np.where(weights > 0, np.maximum(weights, _LEAST * largest), 0.0)
    return found


def noise_of(weights: NDArray[np.float64], unit: float, total: float) -> NDArray[np.float64]:
    """Noise of each table from its weight: ``unit`` is that of a single table of sensitivity 1."""
    noise = np.zeros_like(weights)
    measured = weights > 0
    noise[measured] = unit * np.sqrt(total / weights[measured])
    return noise
