"""The second private pass of an aggregates release: noisy tables of counts over all records.

With a pivot column of V classes, everything is counted class by class: how often each level of each other column
occurs (*first*), and how often each pair of levels of two other columns occurs (*second*). Together with the
profile these are all two-way tables, and all three-way tables with the pivot. Without a pivot there is one class,
and the profile already holds what *first* would.

A record is in one class and adds 1 to one cell of each table, so the classes cost nothing, and with noise σ_t on
the cells of table t the pass is a Gaussian mechanism with

    μ² = s · Σ_t 1/σ_t²,

s being 1 where a neighbour loses or gains a record and 2 where one is replaced (one cell loses, another gains).
Entries of a symmetric matrix are noised once, and blocks within a column, which the profile knows, are not
measured. The noise goes by 1/σ_t² ∝ weight·√K_t for a table of K_t cells: wide tables get more of the budget than
narrow ones, but do not drown them. Tables with the target weigh more, since what predicts it will be asked for, and
where records are so few that other tables would show nothing, these get next to nothing: with x as below for their
cells, and a tenth of that for what columns share, the part (x/10)²/(1 + (x/10)²) of what they would get.

The classes of a pivot share no noise: summed over V of them, a table has √V times the noise it would have without.
So there is none unless it is asked for.

What two columns share differs from level to level of a third, and no pair tells. So with a *focus*, by default the
target, all pairs of other columns are counted once more by groups of its levels (*third*): tables of three columns
beside those of two, not in their place. How much of the budget they get follows from what they can show: with m
records expected in each of K cells under noise σ, a table stands out by x = m²·√K/σ², and gets the share x²/(1 + x²)
of what it would get at best. Where there are few records that is next to nothing. Tables of many columns have no focus
unless one is named: they would be four times as large for tables that say nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microtome.accounting import Event, FailureEvent, GaussianEvent
from microtome.errors import MicrotomeError, ParameterError
from microtome.private.histograms import exact_counts
from microtome.private.joint_counts import JointCounts
from microtome.private.pair_counts import pair_matrices
from microtome.private.plan import unit_noise
from microtome.private.randomness import LATTICE_GAP, Randomness, noisy_counts
from microtome.private.second_round import MOST_COLUMNS, Round, plan_round, strongest_columns
from microtome.private.table_weights import noise_of, table_weights, target_first, triple_weights, weight_of_pairs
from microtome.private.weighting import ONE_ROW, Weighting
from microtome.schema import WIDE, Codebook, Schema
from microtome.schema.column_code import ColumnCode
from microtome.settings import NO_FOCUS, NO_PIVOT, TARGET, PrivacySettings

MOST_CLASSES = 32
"""Levels that a pivot may have."""
MOST_GROUPS = 4
"""Groups of levels of the focus: every one is another product in each step of a fit."""


@dataclass(frozen=True, kw_only=True)
class TableBudget:
    """What all tables together may spend, settled by public facts before the profile is known.

    Attributes:
        unit_noise: Noise of a single table of sensitivity 1 that fits beside the profile.
        events: What this pass does to the data, however the tables share the budget.
        weighting: What one person's rows count for.
    """

    unit_noise: float
    events: tuple[Event, ...]
    weighting: Weighting = ONE_ROW


@dataclass(frozen=True, kw_only=True, eq=False)
class AggregatePlan:
    """What is measured, with which noise.

    Attributes:
        pivot: Position of the pivot column, or ``None``.
        num_classes: Its levels; 1 without one.
        first_noise: Noise of the counts of each column's levels by class; 0 where not measured.
        pair_noise: Noise of the counts of each pair of columns by class; 0 where not measured.
        focus: Position of the column by whose groups pairs are counted once more, or ``None``.
        groups: The group of each of its levels; one group without a focus.
        triple_noise: Noise of the counts of each pair of columns by group; 0 where not measured.
        round: What is left to a second round, which chooses tables of three columns.
        events: What this pass does to the data.
        digits: Binary digits behind the point of what is counted.
    """

    pivot: int | None
    num_classes: int
    first_noise: NDArray[np.float64]
    pair_noise: NDArray[np.float64]
    focus: int | None
    groups: NDArray[np.int64]
    triple_noise: NDArray[np.float64]
    round: Round
    events: tuple[Event, ...]
    digits: int = 0

    @property
    def num_parts(self) -> int:
        """Classes of the pivot or groups of the focus: records of each are counted apart."""
        return self.num_classes if self.focus is None else int(self.groups.max()) + 1

    def two_way_noise(self) -> NDArray[np.float64]:
        """Noise of a count of two columns, all classes together; sums over the groups of the focus inform it too."""
        noise = self.pair_noise * math.sqrt(self.num_classes)
        both = (noise > 0) & (self.triple_noise > 0)
        noise[both] = (noise[both] ** -2.0 + self.triple_noise[both] ** -2.0 / self.num_parts) ** -0.5
        return noise

    def parts_of(self, levels: NDArray[np.int64]) -> NDArray[np.int64]:
        """The class or group of each row of levels."""
        if self.focus is not None:
            return self.groups[levels[:, self.focus]]
        return np.zeros(len(levels), np.int64) if self.pivot is None else levels[:, self.pivot]


def choose_pivot(settings: PrivacySettings, schema: Schema) -> int | None:
    """The pivot column, if there is to be one. Known before anything is spent."""
    name = settings.pivot
    if name == NO_PIVOT:
        return None
    if name not in schema.names:
        raise ParameterError(f"pivot {name!r} is not a column; columns are {', '.join(schema.names)}")
    column = schema[name]
    if column.categories is not None and len(column.categories) <= MOST_CLASSES:
        return schema.names.index(name)
    raise ParameterError(
        f"pivot {name!r} must have its categories declared, at most {MOST_CLASSES} of them; choose another column, or "
        f"{NO_PIVOT!r}"
    )


def choose_focus(settings: PrivacySettings, schema: Schema) -> int | None:
    """The column whose levels pairs are counted by once more, if there is to be one. Known before anything is spent."""
    name = schema.target if settings.focus == TARGET else settings.focus
    if name is None or name == NO_FOCUS:
        return None
    if name not in schema.names:
        raise ParameterError(f"focus {name!r} is not a column; columns are {', '.join(schema.names)}")
    if settings.pivot != NO_PIVOT:
        if settings.focus == TARGET:
            return None
        raise ParameterError("a pivot counts everything by its classes: no focus beside it; take one of them")
    if settings.focus == TARGET and len(schema.columns) > WIDE:
        return None
    return schema.names.index(name)


def plan_tables(
    settings: PrivacySettings, schema: Schema, spent: Sequence[Event], weighting: Weighting = ONE_ROW
) -> TableBudget:
    """The least noise with which profile and tables together keep the promise.

    Failures are counted for all tables that there can be: columns of a single level, which only the profile tells, have
    none, but what the pass costs must not depend on it.
    """
    columns = len(schema.columns)
    tables = columns * (columns - 1) // 2 + (0 if choose_pivot(settings, schema) is None else columns)
    by_focus = choose_focus(settings, schema) is not None
    tables += (columns - 1) * (columns - 2) // 2 if by_focus else 0
    steps = columns * (2 if by_focus else 1) if weighting.most_rows > 1 else 0
    tables += settings.triples + steps
    touched = max(settings.neighbours.cells_changed * tables * weighting.most_rows, 1)
    failure = FailureEvent(probability=touched * LATTICE_GAP, reason="discrete noise of the tables")
    unit = unit_noise(settings, [*spent, failure])
    return TableBudget(unit_noise=unit, events=(GaussianEvent(mu=1.0 / unit), failure), weighting=weighting)


def plan_aggregates(
    settings: PrivacySettings,
    schema: Schema,
    codebook: Codebook,
    budget: TableBudget,
    total: float,
    groups: NDArray[np.int64] | None = None,
    measured: NDArray[np.bool_] | None = None,
    weights: NDArray[np.float64] | None = None,
) -> AggregatePlan:
    """How the tables of a codebook share the budget; ``total`` is the number of records as far as it is public.

    ``groups`` are those of the levels of the focus where they are given with the codebook, ``measured`` says which
    pairs of columns are counted, where those are not all, and ``weights`` how they share the budget, where that is not
    for these columns alone to say.
    """
    pivot = choose_pivot(settings, schema)
    num_classes = 1 if pivot is None else codebook.codes[pivot].num_levels
    target = None if schema.target is None else schema.names.index(schema.target)
    counted = np.ones((len(codebook.codes),) * 2, dtype=bool) if measured is None else measured
    first, pairs = table_weights(codebook, pivot, target)
    pairs = np.where(counted, pairs if weights is None else weights, 0.0)
    changed = settings.neighbours.cells_changed
    if target is not None and (~counted).sum() <= len(counted):  # rows of people have more to ask for than the target
        pairs = target_first(pairs, target, total / (budget.unit_noise * math.sqrt(changed * weight_of_pairs(pairs))))
    focus = choose_focus(settings, schema)
    if focus is None:
        groups = np.zeros(1, np.int64)
    elif groups is None:
        groups = level_groups(codebook.codes[focus])
    second = plan_round(
        math.comb(min(len(_varied(codebook, pivot, focus, len(schema.columns))), MOST_COLUMNS), 3),
        MOST_GROUPS**3,
        unit_noise=budget.unit_noise,
        total=total,
        cells_changed=changed,
        most=settings.triples,
    )
    noise = budget.unit_noise * math.sqrt(changed / (1.0 - second.share))
    triples = triple_weights(codebook, focus, groups, total / (noise * math.sqrt(weight_of_pairs(pairs))))
    triples = np.where(counted, triples, 0.0)
    weight = float(first.sum() + np.triu(pairs + triples, 1).sum())
    return AggregatePlan(
        pivot=pivot,
        num_classes=num_classes,
        first_noise=noise_of(first, noise, weight),
        pair_noise=noise_of(pairs, noise, weight),
        focus=focus,
        groups=groups,
        triple_noise=noise_of(triples, noise, weight),
        round=second,
        events=budget.events,
        digits=budget.weighting.digits,
    )


def _varied(codebook: Codebook, pivot: int | None, focus: int | None, own: int) -> list[int]:
    """Columns that may be in a table of three of the second round. With a pivot, or the focus, there is one already.

    Columns that have no values of their own come last, and are none of them.
    """
    if pivot is not None:
        return []
    codes = codebook.codes[:own]
    return [column for column, code in enumerate(codes) if code.num_levels > 1 and column != focus]


def known_candidates(plan: AggregatePlan, codebook: Codebook, own: int) -> list[int] | None:
    """The columns that the second round looks at where these are all that there are; ``None`` where pairs decide."""
    varied = _varied(codebook, plan.pivot, plan.focus, own)
    return varied if len(varied) <= MOST_COLUMNS else None


def round_candidates(plan: AggregatePlan, codebook: Codebook, second: NDArray[np.float64], own: int) -> list[int]:
    """The columns that the second round looks at; ``own`` of all have values of their own."""
    return strongest_columns(_varied(codebook, plan.pivot, plan.focus, own), second, codebook)


def level_groups(code: ColumnCode) -> NDArray[np.int64]:
    """The levels of a column in a few groups.

    Numbers next to each other, about as many in each group; of categories the most frequent each by itself, and the
    others together.
    """
    shares, size = code.level_margins, min(code.num_levels, MOST_GROUPS)
    if code.level_scores() is None:
        places = np.argsort(np.argsort(-shares, kind="stable"), kind="stable")
        return np.minimum(places, size - 1)
    middles = np.cumsum(shares) - shares / 2
    groups = np.minimum((middles / shares.sum() * size).astype(np.int64), size - 1)
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


def table_bytes(settings: PrivacySettings, schema: Schema, dim: int) -> int:
    """The size of all tables for rows of this length."""
    pivot = choose_pivot(settings, schema)
    classes = 1 if pivot is None else len(schema.columns[pivot].categories or ()) + 2
    classes += 0 if choose_focus(settings, schema) is None else MOST_GROUPS
    return 8 * classes * dim * (dim + 1)


class AggregateTally:
    """Exact counts by class, filled block by block, on several threads if need be. Never leaves this package."""

    def __init__(self, codebook: Codebook, plan: AggregatePlan) -> None:
        self.codebook, self.plan, self._lock = codebook, plan, Lock()
        self._widths = np.array([block.width for block in codebook.blocks])
        self.num_rows = 0
        self._counted = JointCounts(self._widths.tolist(), 2, plan.num_parts)
        self._sent = np.zeros((plan.num_parts, codebook.dim, codebook.dim), np.int64)

    def add(self, levels: NDArray[np.int64], weight: int = 1) -> None:
        """Count the rows of a block, given as levels (rows × columns), each for so much."""
        if len(levels) and ((levels.min(axis=0) < 0) | (levels.max(axis=0) >= self._widths)).any():
            raise MicrotomeError("a level is outside its column; nothing was released")
        self._counted.add(levels.T, self.plan.parts_of(levels), weight)
        with self._lock:
            self.num_rows += len(levels)

    def __reduce__(self) -> tuple[type[AggregateTally], tuple[Codebook, AggregatePlan]]:
        return AggregateTally, (self.codebook, self.plan)

    def parts(self) -> list[pa.Array]:
        """What was counted, to be sent back; counts of one column are within those of pairs."""
        return [pa.array([self.num_rows]), pa.array(self._pairs().ravel())]

    def add_parts(self, parts: Iterator[pa.Array]) -> None:
        """Add what another of the same plan has sent."""
        self.num_rows += int(exact_counts(next(parts), 1)[0])
        self._sent += exact_counts(next(parts), self._sent.size).reshape(self._sent.shape)

    def merge(self, other: AggregateTally) -> None:
        """Add what another of the same plan has counted."""
        self.num_rows += other.num_rows
        self._sent += other._pairs()

    def _pairs(self) -> NDArray[np.int64]:
        """Exact counts of all pairs of levels (parts × d × d), those of each column on the diagonal."""
        return pair_matrices(self._counted, self._widths.tolist(), self.plan.num_parts) + self._sent

    def publish(self, randomness: Randomness) -> dict[str, NDArray[np.float64]]:
        """The noisy tables *first*, *second* and, with a focus, *third*; zero wherever nothing is measured."""
        plan, exact = self.plan, self._pairs()
        if plan.focus is None:
            found = {"first": self._noisy_first(exact.diagonal(axis1=1, axis2=2), randomness)}
            return {**found, "second": self._noisy_pairs("second", exact, plan.pair_noise, randomness)}
        together = exact.sum(axis=0, keepdims=True)
        return {
            "first": np.zeros((1, self.codebook.dim)),
            "second": self._noisy_pairs("second", together, plan.pair_noise, randomness),
            "third": self._noisy_pairs("third", exact, plan.triple_noise, randomness),
        }

    def _noisy_first(self, counts: NDArray[np.int64], randomness: Randomness) -> NDArray[np.float64]:
        noisy = np.zeros(counts.shape)
        for number, (column, part) in enumerate(self._parts()):
            if self.plan.first_noise[column] > 0:
                stream = randomness.stream("first", number)
                exact = np.ldexp(counts[:, part], -self.plan.digits)
                noisy[:, part] = noisy_counts(exact, self.plan.first_noise[column], stream, digits=self.plan.digits)
        return noisy

    def _noisy_pairs(
        self, name: str, counts: NDArray[np.int64], noise: NDArray[np.float64], randomness: Randomness
    ) -> NDArray[np.float64]:
        noisy = np.zeros(counts.shape)
        owners = np.repeat(np.arange(len(self._widths)), self._widths)
        for column, left in self._parts():
            others = np.flatnonzero((owners > column) & (noise[column, owners] > 0))
            scales = noise[column, owners[others]]
            exact = np.ldexp(counts[:, left, others], -self.plan.digits)
            tables = noisy_counts(exact, scales, randomness.stream(name, column), digits=self.plan.digits)
            noisy[:, left, others], noisy[:, others, left] = tables, tables.transpose(0, 2, 1)
        return noisy

    def _parts(self) -> Iterator[tuple[int, slice]]:
        for column, block in enumerate(self.codebook.blocks):
            yield column, slice(block.start, block.stop)
