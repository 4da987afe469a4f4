"""How far off two-way tables would be, and how much of the dependence between columns would come through.

With L_a × L_b levels under noise σ on every cell, and n records, three things are between a fitted model's table and
the real one. Each is a total variation; they are unrelated, so their squares add up:

* the margins, as far off as the columns are by themselves;
* dependence that the noise hides. Typical columns are D = 0.14·min(g_a, g_b) from independence, g = 1 − Σp² being
  Gini's index of a column. A fit looks for structure of few dimensions, so of the noise of all cells only
  E = κ·√(2/π)/2·(σ/n)·√(L_a·L_b·(L_a + L_b)) disturbs it, and D·E/√(D² + E²) is lost: all of D where noise is strong.
  Of D only that part can be seen at all that levels tell apart; the rest is lost;
* chance: what makes these n records differ from any smooth table, F = ½·Σ√(2p/πn). It has no structure, so all the
  noise N = √(2/π)/2·(σ/n)·L_a·L_b hides it, and F·N/√(F² + N²) is lost.

0.14 and κ were chosen on subsets of California’s census, of Adult and of housing, for the error of pairs and for the
share of dependence that is kept (``benchmarks/forecast.py``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from microtome.forecasting.anticipated import Anticipated
from microtome.forecasting.trial import Draw

Floats = NDArray[np.float64]
_DEPENDENCE = 0.14
_STRUCTURE = 0.5
"""κ."""
_MEAN_OF_HALF = math.sqrt(2.0 / math.pi) / 2.0
"""Half the mean of |z|, z standard normal: what a cell adds to a total variation."""


@dataclass(frozen=True, kw_only=True)
class PairForecast:
    """What is foretold of two-way tables.

    Attributes:
        error: Total variation between real and synthetic tables, mean over pairs of columns.
        kept: Share of what columns have to do with each other that comes through: 0 for none, as in a table of
            independent columns, 1 for all.
    """

    error: float
    kept: float


@dataclass(frozen=True, kw_only=True)
class _Pair:
    """The parts of one table's error, and what there is to lose."""

    margins: float
    dependence: float
    lost_dependence: float
    chance: float
    lost_chance: float

    @property
    def error(self) -> float:
        return min(math.hypot(self.margins, self.lost_dependence, self.lost_chance), 1.0)


def forecast_pairs(release: Anticipated) -> PairForecast | None:
    """All pairs of columns; ``None`` where there are none, or none that is measured in this way."""
    noise = release.pair_noise
    usual = [draws[len(draws) // 2] for draws in release.draws]
    levels = [draw.shape.table_levels() for draw in usual]
    told = [_told(draw) for draw in usual]
    varying = [index for index, shares in enumerate(levels) if len(shares) > 1]
    if noise is None or len(varying) < 2:
        return None
    pairs = [
        _pair(release, noise[a, b], (a, b), (levels[a], levels[b]), told[a] * told[b])
        for a, b in combinations(varying, 2)
    ]
    there = math.fsum(math.hypot(pair.dependence, pair.chance) for pair in pairs)
    lost = math.fsum(math.hypot(pair.lost_dependence, pair.lost_chance) for pair in pairs)
    return PairForecast(error=math.fsum(pair.error for pair in pairs) / len(pairs), kept=1.0 - lost / there)


def _told(draw: Draw) -> float:
    """Which part of a column's variety its levels tell apart: Gini's index of levels over that of values."""
    whole, coded = (1.0 - float(shares @ shares) for shares in (draw.shape.table_levels(), draw.true_levels()))
    return min(coded / whole, 1.0) if whole > 0 else 1.0


def _pair(
    release: Anticipated, noise: float, columns: tuple[int, int], levels: tuple[Floats, Floats], told: float
) -> _Pair:
    widths = [release.codebook.blocks[index].width for index in columns]
    of_cell = _MEAN_OF_HALF * (noise or math.inf) / release.num_rows
    product = np.outer(*levels)
    dependence = _DEPENDENCE * min(1.0 - float(shares @ shares) for shares in levels)
    chance = float(np.minimum(_MEAN_OF_HALF * np.sqrt(product / release.num_rows), product).sum())
    seen = told * dependence
    lost = _lost(seen, _STRUCTURE * of_cell * math.sqrt(widths[0] * widths[1] * sum(widths)))
    return _Pair(
        margins=math.hypot(*(release.errors[index][1] for index in columns)),
        dependence=dependence,
        lost_dependence=lost + dependence - seen,
        chance=chance,
        lost_chance=_lost(chance, of_cell * widths[0] * widths[1]),
    )


def _lost(signal: float, noise: float) -> float:
    """What is left out of a signal that is shrunk as its noise demands."""
    return signal if math.isinf(noise) else signal * noise / math.hypot(signal, noise)
