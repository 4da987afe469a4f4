"""Pairs of columns of a report from a release alone: two-way tables with their noise taken out, and what it may hide.

A release tells levels apart, a report on two tables sixteen bins of numbers. A level that would be k bins, because many
records are in one interval, has its energy spread over k of them in the synthetic table, and in the real one as much as
strong dependence would put there: so entries of levels of k and l bins weigh 1/(kl) in what can be compared and 1/√(kl)
in what there is, which for columns that go together comes to the same as sixteen bins. Where values are not known at
all ("(other)", wide intervals) nothing counts as kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from microtome.evaluation.binning import Levels, joint_shares
from microtome.evaluation.comparable_table import ComparableTable
from microtome.evaluation.dependence import DependenceKept, cramers_v, residual
from microtome.evaluation.distributions import ColumnFigures
from microtome.evaluation.pairs import AllPairs, PairFigures, compare_pair
from microtome.evaluation.released_column import ReleasedColumn
from microtome.evaluation.released_columns import released_columns
from microtome.published import Release, TwoWayTables, consistent, two_way_tables
from microtome.published.tables import nearest_table, shrunk_table

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
_ENDED = "no next row"
_SIMULATIONS = 16
_ENTRIES = 1 << 14
"""Large tables are simulated less often: the mean over their entries settles sooner."""
_NOTHING = 1e-6


def compare_with_release(
    release: Release, synthetic: ComparableTable, rng: np.random.Generator
) -> tuple[list[ColumnFigures], AllPairs | None]:
    """Columns and pairs of a synthetic table against a release; no pairs where the release cannot tell of them."""
    noisy = two_way_tables(release)
    clean = None if noisy is None else consistent(noisy)
    columns = released_columns(release, clean, synthetic)
    figures = [column.figures(rng) for column in columns]
    return figures, None if noisy is None or clean is None else _pairs(noisy, clean, columns, rng)


def compare_steps_with_release(
    release: Release, synthetic: ComparableTable, following: ComparableTable, goes_on: Bools, rng: np.random.Generator
) -> list[PairFigures]:
    """Each column that steps with itself in the next row of the same parent; none where the release cannot tell.

    Args:
        release: What is compared with; what the next row has comes last in it, as levels of the column itself.
        synthetic: Rows.
        following: What the rows after these have.
        goes_on: Which of the rows have one after them.
        rng: Simulates noise.
    """
    noisy = two_way_tables(release)
    if noisy is None:
        return []
    clean, names = consistent(noisy), [code.column.name for code in release.codebook.codes]
    now, later = (
        {column.code.column.name: column for column in released_columns(release, clean, table)}
        for table in (synthetic, following)
    )
    steps = []
    for place, name in enumerate(release.view.steps, start=len(release.view.schema.columns)):
        pair = names.index(name), place
        if pair not in clean.tables:
            continue
        labels, ended = _level_labels(now[name]), release.codebook.codes[place].num_levels - 1
        codes = np.where(goes_on, later[name].levels, ended)
        levels = Levels(labels=labels, codes=(now[name].levels,)), Levels(labels=(*labels, _ENDED), codes=(codes,))
        found = compare_pair(
            (name, "in the next row"),
            (levels[0].labels, levels[1].labels),
            (clean.tables[pair], joint_shares(*levels, 0)),
            (np.inf, max(len(codes), 1)),
        )
        steps.append(_with_noise(found, noisy.noise[pair], (clean.margins[pair[0]], clean.margins[place]), rng))
    return steps


def _pairs(
    noisy: TwoWayTables, clean: TwoWayTables, columns: list[ReleasedColumn], rng: np.random.Generator
) -> AllPairs:
    levels = [Levels(labels=_level_labels(column), codes=(column.levels,)) for column in columns]
    names = tuple(column.code.column.name for column in columns)
    pairs, dependence = {}, DependenceKept()
    for (first, second), table in clean.tables.items():
        if second >= len(columns):
            continue
        noise = noisy.noise[first, second]
        found = compare_pair(
            (names[first], names[second]),
            (levels[first].labels, levels[second].labels),
            (table, joint_shares(levels[first], levels[second], 0)),
            (np.inf, max(len(columns[0].cells), 1)),
        )
        margins = clean.margins[first], clean.margins[second]
        pairs[first, second] = _with_noise(found, noise, margins, rng)
        bins = np.outer(columns[first].hidden_bins, columns[second].hidden_bins)
        dependence.add(
            noisy.tables[first, second],
            found.synthetic,
            product=np.outer(*margins),
            noise=noise,
            seen=np.outer(columns[first].resolved, columns[second].resolved) / bins,
            there=1.0 / np.sqrt(bins),
        )
    return AllPairs(names=names, pairs=pairs, kept=dependence.kept(_measured(columns, pairs)), kept_by_chance=None)


def _measured(columns: list[ReleasedColumn], pairs: Iterable[tuple[int, int]]) -> float:
    """Of all that pairs of columns could share the part that is in some of them."""
    spreads = [column.spread for column in columns]
    whole = sum(first * second for first, second in combinations(spreads, 2))
    return min(sum(spreads[first] * spreads[second] for first, second in pairs) / whole, 1.0) if whole > 0 else 1.0


def _with_noise(
    pair: PairFigures, noise: Floats, margins: tuple[Floats, Floats], rng: np.random.Generator
) -> PairFigures:
    """What noise alone does to a pair's figures; where nothing stood out of it, what it could hide."""
    height, width = pair.real.shape
    if pair.dependence < _NOTHING:
        freedom = (height - 1) * (width - 1)
        hidden = 2.0 * np.sqrt(2.0 / freedom) * freedom * noise**2 / noise.size
        weights = 1.0 / np.maximum(np.outer(*margins), 1e-12)
        most = min(float(np.sqrt((hidden * weights).sum() / (min(height, width) - 1))), 1.0)
        return replace(
            pair, dependence=0.0, dependence_error=most, floor=min(0.5 * float(np.sqrt(hidden.sum() * noise.size)), 1.0)
        )
    errors, gaps = [], []
    for _ in range(int(np.clip(_ENTRIES // noise.size, 2, _SIMULATIONS))):
        again = pair.real + noise * rng.standard_normal(noise.shape)
        estimate = nearest_table(shrunk_table(again, noise, *margins), *margins)
        errors.append(cramers_v(estimate, np.inf) - pair.dependence)
        gaps.append(0.5 * np.abs(residual(estimate) - residual(pair.real)).sum())
    return replace(pair, dependence_error=float(np.sqrt(np.mean(np.square(errors)))), floor=float(np.mean(gaps)))


def _level_labels(column: ReleasedColumn) -> tuple[str, ...]:
    """What each level is called: its value, or the ends of its values, or how many they are."""
    code = column.code
    places = [np.flatnonzero(code.levels[: code.cells.num_values] == level) for level in range(code.num_levels)]
    names = [column.level_label(cells) if len(cells) else "missing" for cells in places]
    for place, text in enumerate(code.column.code_texts):
        names[code.levels[code.cells.num_values + place]] = text
    return tuple(names)
