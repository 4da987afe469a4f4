"""How much two columns have to do with each other, and how much of it a synthetic table has kept.

For a table of shares t with margins r and c, *dependence* is Cramér's V with Bergsma's correction for chance,

    φ² = Σ (t − rc)²/(rc),   V = √( max(0, φ² − (h−1)(w−1)/(n−1)) / (min(h̃, w̃) − 1) ),   k̃ = k − (k−1)²/(n−1),

0 for independent columns and 1 where one follows from the other. *Pair error* is what independent columns cannot fake:
the total variation between what real and synthetic tables say beyond their own margins, Σ|R − R̂| / Σ|R| with
R = t − rc over all pairs. 0 is perfect, 1 is what independent columns have.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def residual(table: Floats) -> Floats:
    """What a table of shares says beyond its margins."""
    return np.asarray(table - np.outer(table.sum(axis=1), table.sum(axis=0)), dtype=np.float64)


def cramers_v(table: Floats, num_rows: float) -> float:
    """Bias-corrected Cramér's V of a table of shares of so many rows; levels that do not occur are left out."""
    table = table[np.ix_(table.sum(axis=1) > 0, table.sum(axis=0) > 0)]
    height, width = table.shape
    if min(height, width) < 2 or num_rows < 2:
        return 0.0
    product = np.outer(table.sum(axis=1), table.sum(axis=0))
    phi2 = float(((table - product) ** 2 / product).sum())
    return v_from_phi2(phi2 - (height - 1) * (width - 1) / (num_rows - 1), height, width, num_rows)


def v_from_phi2(phi2: float, height: int, width: int, num_rows: float) -> float:
    """V from a φ² that is already corrected for chance."""
    tall, wide = (size - (size - 1) ** 2 / (num_rows - 1) for size in (height, width))
    most = min(tall, wide) - 1.0
    return float(np.sqrt(min(max(phi2, 0.0) / most, 1.0))) if most > 0 else 0.0


def pair_error(tables: Iterable[tuple[Floats, Floats]]) -> float | None:
    """Error of what pairs of columns share, relative to that of independent columns; real table first."""
    error, size = 0.0, 0.0
    for real, synthetic in tables:
        wanted = residual(real)
        error += float(np.abs(wanted - residual(synthetic)).sum())
        size += float(np.abs(wanted).sum())
    return error / size if size > 0 else None
