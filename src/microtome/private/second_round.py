"""The second round of aggregates: which three columns share more than their pairs tell, and tables of these.

The pairs are published by now, and with them the table of any three columns that they would make by themselves: the
one that fits them and assumes nothing else. How far the records are from it, in counts that are misplaced, is a score.
It is an integer, and one record changes it by one for each cell that it moves. So some sets of three columns can be
chosen by *permute and flip* (McKenna and Sheldon, 2020): candidates in random order, each taken with probability
exp(−ε(best − score)/2s) until one is, where s is what a neighbour can change. This is ε-DP and leaves the best
candidate behind less often than the exponential mechanism.

Whatever is ε-DP is also μ-GDP, for μ = 2·Φ⁻¹(e^ε/(1 + e^ε)): the trade-off function of a Gaussian is convex, and at
that μ meets the one of randomised response in its kink (``mu_of_pure``). So choices and tables share one μ² with the
tables of pairs, and what the round gets follows from public figures: as many tables as show what they hold through the
noise, none where that would be none.

Columns are taken in a few groups of levels: a table has 64 cells at most.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microtome.accounting import mu_of_pure
from microtome.private.histograms import exact_counts
from microtome.private.joint_counts import JointCounts
from microtome.private.randomness import Randomness, noisy_counts
from microtome.schema import Codebook, project_to_simplex

Floats = NDArray[np.float64]
Triple = tuple[int, int, int]

MOST_COLUMNS = 32
"""Columns of which all sets of three are looked at; there are 4,960."""
_SHARE = 0.1
"""Of what all tables may spend, at most: noise elsewhere grows by 5 %."""
_SHOWN = 20
"""The noise of a cell is at most this part of what it would hold if all cells held the same."""
_STEPS = 250
"""A candidate that misplaces this part of the records fewer than another is taken e times less often."""
_SWEEPS = 20


@dataclass(frozen=True, kw_only=True)
class Round:
    """What the second round may spend.

    Attributes:
        count: Tables that it chooses.
        noise: Standard deviation of their counts.
        step: Misplaced counts by which a candidate falls behind that is taken e times less often.
        share: Of μ² that all tables have.
    """

    count: int
    noise: float
    step: int
    share: float


def plan_round(candidates: int, cells: int, *, unit_noise: float, total: float, cells_changed: int, most: int) -> Round:
    """As many tables as a share of the budget gives little enough noise; none where that would be less than one.

    Args:
        candidates: Sets of three columns to choose from.
        cells: Cells of the largest table.
        unit_noise: Noise of a single table of sensitivity 1 that takes the whole budget.
        total: The number of records as far as it is public.
        cells_changed: Cells of a table that a neighbour changes.
        most: Tables that are wanted at most.
    """
    budget, step = _SHARE / unit_noise**2, max(int(total / _STEPS), 1)
    choice, wanted = mu_of_pure(2.0 * cells_changed / step) ** 2, max(total, 1.0) / (_SHOWN * cells)
    count = min(int(budget / (choice + cells_changed / wanted**2)), candidates, most)
    if count < 1:
        return Round(count=0, noise=0.0, step=step, share=0.0)
    noise = math.sqrt(count * cells_changed / (budget - count * choice))
    return Round(count=count, noise=noise, step=step, share=_SHARE)


def strongest_columns(varied: list[int], second: Floats, codebook: Codebook) -> list[int]:
    """All of some columns, or of a wide table those that share most with some other by its noisy pairs."""
    if len(varied) <= MOST_COLUMNS:
        return varied
    blocks = [codebook.blocks[column] for column in varied]
    strongest = [
        max(_dependence(second[a.start : a.stop, b.start : b.stop]) for b in blocks if b is not a) for a in blocks
    ]
    return sorted(np.array(varied)[np.argsort(strongest)[::-1][:MOST_COLUMNS]].tolist())


def _dependence(table: Floats) -> float:
    """Counts of a table of pairs that independent columns would misplace."""
    table = np.maximum(table, 0.0)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / max(table.sum(), 1.0)
    return float(np.abs(table - expected).sum())


class TripleTally:
    """Exact counts of all candidates, filled block by block. Never leaves this package.

    Args:
        groups: The group of every level, column by column.
        candidates: The sets of three columns.
    """

    def __init__(self, groups: Sequence[NDArray[np.int64]], candidates: Sequence[Triple]) -> None:
        self.groups, self.candidates = groups, candidates
        self.size = 1 + max((int(one.max()) for one in groups), default=0)
        self._columns = sorted({column for triple in candidates for column in triple})
        self._counted = JointCounts([1 + int(groups[column].max()) for column in self._columns], 3)
        self._sent = np.zeros((len(candidates), self.size**3), np.int64)

    def add(self, levels: NDArray[np.int64], weight: int = 1) -> None:
        """Count the rows of a block, given as levels (rows × columns), each for so much."""
        if self._columns:
            self._counted.add([self.groups[column][levels[:, column]] for column in self._columns], weight=weight)

    def __reduce__(self) -> tuple[type[TripleTally], tuple[Sequence[NDArray[np.int64]], Sequence[Triple]]]:
        return TripleTally, (self.groups, self.candidates)

    def parts(self) -> list[pa.Array]:
        """What was counted, to be sent back."""
        return [pa.array(self._triples().ravel())]

    def add_parts(self, parts: Iterator[pa.Array]) -> None:
        """Add what another of the same candidates has sent."""
        self._sent += exact_counts(next(parts), self._sent.size).reshape(self._sent.shape)

    def merge(self, other: TripleTally) -> None:
        """Add what another of the same candidates has counted."""
        self._sent += other._triples()

    def _triples(self) -> NDArray[np.int64]:
        """Exact counts of all candidates (candidates × cells)."""
        place = {column: number for number, column in enumerate(self._columns)}
        tables = self._counted.tables([(place[a], place[b], place[c]) for a, b, c in self.candidates])
        counts = self._sent.copy()
        cells = counts.reshape(-1, self.size, self.size, self.size)
        for number, table in enumerate(tables):
            _, a, b, c = table.shape
            cells[number, :a, :b, :c] += table[0]
        return counts

    def publish(
        self,
        expected: NDArray[np.int64],
        spread: NDArray[np.int64],
        plan: Round,
        randomness: Randomness,
        digits: int = 0,
    ) -> tuple[list[Triple], Floats]:
        """The candidates that are chosen, and their tables under noise.

        Args:
            expected: What the published pairs make of every candidate, in whole counts.
            spread: Counts that chance alone would misplace there.
            plan: What the round may spend.
            randomness: All noise of the release.
            digits: Counts were made in steps of 2^−digits.
        """
        counts = self._triples()
        scores = np.abs(counts - (expected << digits)).sum(axis=1) - (spread << digits)
        left, chosen = list(range(len(scores))), []
        for number in range(plan.count):
            place = permute_and_flip(scores[left], plan.step << digits, randomness.stream("choice", number))
            chosen.append(left.pop(place))
        chosen.sort()
        shape = (-1, self.size, self.size, self.size)
        tables = [
            noisy_counts(
                np.ldexp(counts[one], -digits), plan.noise, randomness.stream("triples", number), digits=digits
            )
            for number, one in enumerate(chosen)
        ]
        return [self.candidates[one] for one in chosen], np.array(tables).reshape(shape)


def permute_and_flip(scores: NDArray[np.int64], step: int, stream: np.random.Generator) -> int:
    """The place of one of the best scores: those in random order, each with probability exp(−(best − score)/step).

    Whole numbers decide: no rounding tells anything of a score.
    """
    best = int(scores.max())
    for place in stream.permutation(len(scores)):
        if _happens(best - int(scores[place]), step, stream):
            return int(place)
    raise AssertionError("the best score is always taken")


def _happens(gap: int, step: int, stream: np.random.Generator) -> bool:
    """True with probability exp(−gap/step), by integer draws only (Canonne, Kamath and Steinke, 2020)."""
    whole, rest = divmod(gap, step)
    return all(_happens_within_one(step, step, stream) for _ in range(whole)) and _happens_within_one(
        rest, step, stream
    )


def _happens_within_one(gap: int, step: int, stream: np.random.Generator) -> bool:
    """The same for a gap of one step at most: von Neumann's series."""
    number = 1
    while int(stream.integers(0, step * number)) < gap:
        number += 1
    return number % 2 == 1


def expected_tables(
    second: Floats,
    pair_noise: Floats,
    codebook: Codebook,
    groups: Sequence[NDArray[np.int64]],
    candidates: Sequence[Triple],
    total: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What published pairs make of every candidate (cells × candidates), and counts that chance misplaces there.

    Only public numbers enter: noisy pairs, and margins of the profile.
    """
    size = 1 + max((int(one.max()) for one in groups), default=0)
    needed = sorted({pair for triple in candidates for pair in combinations(triple, 2)})
    pairs = {pair: _grouped_pair(pair, second, codebook, groups, size, total) for pair in needed}
    spreads = {(a, b): pair_noise[a, b] ** 2 * len(groups[a]) * len(groups[b]) / size**2 for a, b in needed}
    ab, ac, bc = (np.array([pairs[t[i], t[j]] for t in candidates]) for i, j in ((0, 1), (0, 2), (1, 2)))
    tables = np.full((len(candidates), size, size, size), total / size**3)
    for _ in range(_SWEEPS):
        for axis, wanted in ((3, ab), (2, ac), (1, bc)):
            found = tables.sum(axis=axis)
            ratio = np.divide(wanted, found, out=np.zeros_like(found), where=found > 0)
            tables *= np.expand_dims(ratio, axis)
    noise = np.array([sum(spreads[pair] for pair in combinations(triple, 2)) for triple in candidates]) / size**2
    spread = np.sqrt(2.0 / math.pi * (tables + noise[:, None, None, None])).reshape(len(tables), -1).sum(axis=1)
    return np.rint(tables.reshape(len(tables), -1)).astype(np.int64), np.rint(spread).astype(np.int64)


def _grouped_pair(
    pair: tuple[int, int],
    second: Floats,
    codebook: Codebook,
    groups: Sequence[NDArray[np.int64]],
    size: int,
    total: float,
) -> Floats:
    """A noisy table of two columns in groups, with the margins of the profile."""
    (a, b), parts = pair, [codebook.blocks[column] for column in pair]
    left, right = (np.eye(size)[groups[column]] for column in pair)
    table = left.T @ second[parts[0].start : parts[0].stop, parts[1].start : parts[1].stop] @ right
    table = project_to_simplex(table.ravel(), total).reshape(size, size) * total
    margins = [
        np.maximum(one.T @ codebook.codes[column].level_margins, 0.0) * total for one, column in ((left, a), (right, b))
    ]
    for _ in range(_SWEEPS):
        for axis, wanted in ((1, margins[0]), (0, margins[1])):
            found = table.sum(axis=axis)
            table = table * np.expand_dims(np.divide(wanted, found, out=np.zeros_like(found), where=found > 0), axis)
    return table
