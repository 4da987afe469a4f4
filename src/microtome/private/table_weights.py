"""How the tables of aggregates share the budget: by their size, the target, and by what can show in them.

All of it follows from public facts: levels of the codebook, the noise, and the number of records where that is public.
``private/aggregating.py`` has the rules in words.
"""

from __future__ import annotations

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
