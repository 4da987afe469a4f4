"""All pairs of columns: how dependent they are on both sides, and which pairs differ most.

The side that is compared with gives tables of shares: counts of a real table, or a release's consistent tables. Every
gap has a *floor*. Under a release it is what the known noise alone would make of it; between two tables it is what
chance would, were both drawn from one population: a cell of share p then differs by √(2p/π·(1/n + 1/m)) on average.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from microtome.evaluation.binning import Levels, cut_columns, joint_shares, pairs_of
from microtome.evaluation.comparable_table import ComparableTable
from microtome.evaluation.dependence import DependenceKept, Kept, cramers_v, pair_error, residual
from microtome.evaluation.fidelity import mean_of

Floats = NDArray[np.float64]
Pair = tuple[int, int]
_WORST = 12
_INDEPENDENT = 1.5
"""Columns whose pairs share no more than this many times what independent ones would by chance have nothing to keep."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PairFigures:
    """What is said of one pair of columns.

    Attributes:
        names: The two columns.
        labels: The levels of both.
        real: Two-way table of shares on the real side.
        synthetic: That of the synthetic table.
        dependence: Cramér's V on the real side; 0 where nothing stands out of the known noise.
        dependence_error: Standard deviation of its known noise, or the most that the noise could hide; ``None`` without
            noise.
        synthetic_dependence: V in the synthetic table.
        similarity: 1 − the total variation between both tables.
        gap: Total variation between what both say beyond their margins; the worst pairs are those with the largest.
        floor: What ``gap`` would be by chance, or by the known noise, alone.
    """

    names: tuple[str, str]
    labels: tuple[tuple[str, ...], tuple[str, ...]]
    real: Floats
    synthetic: Floats
    dependence: float
    dependence_error: float | None
    synthetic_dependence: float
    similarity: float
    gap: float
    floor: float

    @property
    def is_hidden(self) -> bool:
        """Whether the known noise hides whatever dependence there is."""
        return self.dependence_error is not None and self.dependence == 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class AllPairs:
    """All pairs of columns.

    Attributes:
        names: The columns in order.
        pairs: By the columns' positions.
        kept: Dependence kept: 1 is perfect, 0 is what independent columns have; ``None`` where nothing is dependent, or
            the known noise hides it.
        kept_by_chance: What a second sample of real rows would be expected to keep; ``None`` under a release.
    """

    names: tuple[str, ...]
    pairs: dict[Pair, PairFigures]
    kept: Kept | None
    kept_by_chance: float | None

    def __repr__(self) -> str:
        return f"<{len(self.pairs)} pairs of {len(self.names)} columns, kept={self.kept}>"

    def worst(self, count: int = _WORST) -> list[PairFigures]:
        """The pairs with the largest gap beyond their floor."""
        return sorted(self.pairs.values(), key=lambda pair: pair.floor - pair.gap)[:count]

    def matrix(self, what: str) -> list[list[float | None]]:
        """A figure of all pairs as a symmetric matrix; ``None`` on the diagonal and where there is no figure."""
        size = len(self.names)
        found: list[list[float | None]] = [[None] * size for _ in range(size)]
        for (first, second), pair in self.pairs.items():
            found[first][second] = found[second][first] = getattr(pair, what)
        return found


def compare_pair(
    names: tuple[str, str],
    labels: tuple[tuple[str, ...], tuple[str, ...]],
    tables: tuple[Floats, Floats],
    num_rows: tuple[float, float],
) -> PairFigures:
    """A pair of columns from its tables on both sides."""
    real, synthetic = tables
    return PairFigures(
        names=names,
        labels=labels,
        real=real,
        synthetic=synthetic,
        dependence=cramers_v(real, num_rows[0]),
        dependence_error=None,
        synthetic_dependence=cramers_v(synthetic, num_rows[1]),
        similarity=1.0 - 0.5 * float(np.abs(real - synthetic).sum()),
        gap=0.5 * float(np.abs(residual(real) - residual(synthetic)).sum()),
        floor=_chance(real, num_rows),
    )


def mean_distance(pairs: Iterable[PairFigures]) -> float | None:
    """Mean total variation of some pairs."""
    return mean_of(1.0 - pair.similarity for pair in pairs)


def _chance(shares: Floats, num_rows: tuple[float, float]) -> float:
    """Total variation that is expected between two samples of one population."""
    differences = np.sqrt(2.0 / np.pi * shares * (1.0 / num_rows[0] + 1.0 / num_rows[1]))
    return 0.5 * float(np.minimum(differences, 2.0 * shares).sum())


def compare_pairs(real: ComparableTable, synthetic: ComparableTable) -> AllPairs:
    """All pairs of columns of two tables, cut into levels by the real one."""
    columns = cut_columns(real, synthetic)
    names = tuple(column.name for column in real.columns)
    pairs, dependence, chance, whole = {}, DependenceKept(), 0.0, 0.0
    for first, second in pairs_of(columns):
        tables = [joint_shares(columns[first], columns[second], side) for side in (0, 1)]
        pairs[first, second] = compare_pair(
            (names[first], names[second]),
            (columns[first].labels, columns[second].labels),
            (tables[0], tables[1]),
            (real.num_rows, synthetic.num_rows),
        )
        dependence.add(tables[0], tables[1])
        whole += float((residual(tables[0]) ** 2).sum())
        chance += _chance_energy(tables[0])
    if whole <= _INDEPENDENT * chance / real.num_rows:
        return AllPairs(names=names, pairs=pairs, kept=None, kept_by_chance=None)
    by_chance = max(1.0 - chance * (1.0 / real.num_rows + 1.0 / synthetic.num_rows) / whole, 0.0)
    return AllPairs(names=names, pairs=pairs, kept=dependence.kept(), kept_by_chance=by_chance)


def _chance_energy(shares: Floats) -> float:
    """‖R − R̂‖² that is expected between two samples of a population without dependence, times their harmonic size."""
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    return (1.0 - float(rows @ rows)) * (1.0 - float(columns @ columns))


def listed_pair_error(real: ComparableTable, synthetic: ComparableTable) -> float | None:
    """Pair error over listed columns as they are, without pooling of rare values."""
    columns = [
        Levels(
            labels=(*real.labels[name], "missing"),
            codes=tuple(
                np.where(table.missing(name), len(real.labels[name]), table.values[name]) for table in (real, synthetic)
            ),
        )
        for name in real.listed
    ]
    return pair_error(
        (joint_shares(columns[first], columns[second], 0), joint_shares(columns[first], columns[second], 1))
        for first, second in pairs_of(columns)
    )
