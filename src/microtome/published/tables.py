"""Every two-way table of a release, noisy as released, and made consistent.

*As released*: shares of all records in each pair of levels of two columns, with the standard deviation of the noise of
each. Aggregates count them (summed over the classes of a pivot; pairs with the pivot are the counts by class); of
records they are second moments.

*Consistent*: noisy tables have negative entries, and no two of them agree on the margins they share. Noise of entries
is independent and its size known, so

1. a column's margin is estimated by the profile and by the sums of every table it is in; these estimates are averaged
   with weights 1/variance and projected onto the simplex;
2. what a table T says beyond its margins r and c, R = T − rcᵀ without its row and column means, is shrunk as a whole:
   by 1 − (1 + 2√(2/f))·V/‖R‖² (not below 0), V being the energy that noise alone is expected to have in its
   f = (h−1)(w−1) degrees of freedom (the positive-part James–Stein rule, with two standard errors to be cleared);
3. the result is replaced by the nearest table, in least squares, that has no negative entry and exactly these margins:

       min ‖X − T‖²   over X ≥ 0, X1 = r, Xᵀ1 = c.

   Its solution is X = max(T + u1ᵀ + 1vᵀ, 0). Given v, each u_i is the shift that projects row i of T + 1vᵀ onto the
   simplex of sum r_i, and the other way round; taking turns climbs the concave dual to its optimum (as Sinkhorn's
   scaling does for entropy in place of squares). Under heavy noise that is slow, so Newton steps are put in between.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from microtome.published.aggregates import AggregatesRelease
from microtome.published.artefact import Release, unknown_release
from microtome.published.records import RecordsRelease
from microtome.published.second_moments import (
    has_moments,
    level_margins,
    margin_noise,
    one_hot_moments,
    slice_sums,
)
from microtome.published.table_margins import combined
from microtome.schema import project_to_simplex

Floats = NDArray[np.float64]
Pair = tuple[int, int]
_TURNS = 100
_TOLERANCE = 1e-9
_RIDGE = 1e-9
_HALVINGS = 20


@dataclass(frozen=True, kw_only=True, eq=False)
class TwoWayTables:
    """Margins and tables of all pairs of columns, as shares of all records.

    Attributes:
        margins: Share of each level, column by column.
        margin_noise: Standard deviation of the noise of each.
        tables: For each pair of columns the share of every pair of levels; no entry for a pair that was not measured.
        noise: Standard deviation of the noise of each entry.
        sums_inform: Whether the sums of a table tell something of the margins that the profile does not know. Those of
            records do not: their second moments are turned into tables by the profile's margins. Nor do those of a
            release by another's codebook: its margins are made of them.
    """

    margins: tuple[Floats, ...]
    margin_noise: tuple[Floats, ...]
    tables: dict[Pair, Floats]
    noise: dict[Pair, Floats]
    sums_inform: bool


def two_way_tables(release: Release) -> TwoWayTables | None:
    """All that a release says of pairs of columns; ``None`` where its directions do not span the rows."""
    match release:
        case AggregatesRelease():
            second, noise = _counted(release)
        case RecordsRelease():
            if not has_moments(release):
                return None
            second, noise = one_hot_moments(release, slice_sums(release, 0, release.num_rows))
        case _:
            raise unknown_release(release)
    parts = [slice(block.start, block.stop) for block in release.codebook.blocks]
    varying = [index for index, block in enumerate(release.codebook.blocks) if block.width > 1]
    pairs = [pair for pair in combinations(varying, 2) if noise[parts[pair[0]], parts[pair[1]]].all()]
    margins, deviations = level_margins(release), margin_noise(release)
    return TwoWayTables(
        margins=tuple(margins[part] for part in parts),
        margin_noise=tuple(deviations[part] for part in parts),
        tables={(first, latter): second[parts[first], parts[latter]] for first, latter in pairs},
        noise={(first, latter): noise[parts[first], parts[latter]] for first, latter in pairs},
        sums_inform=_sums_inform(release),
    )


def _sums_inform(release: Release) -> bool:
    match release:
        case AggregatesRelease():
            return release.mechanism.like is None
        case RecordsRelease():
            return False
        case _:
            raise unknown_release(release)


def consistent(noisy: TwoWayTables) -> TwoWayTables:
    """The same without negative entries, all tables with the same margins; their noise stays what was released."""
    margins, deviations = zip(*(_combined_margin(noisy, column) for column in range(len(noisy.margins))), strict=True)
    tables = {
        (first, second): nearest_table(
            shrunk_table(table, noisy.noise[first, second], margins[first], margins[second]),
            margins[first],
            margins[second],
        )
        for (first, second), table in noisy.tables.items()
    }
    return replace(noisy, margins=margins, margin_noise=deviations, tables=tables)


def shrunk_table(table: Floats, noise: Floats, rows: Floats, columns: Floats) -> Floats:
    """The table with the given margins and with as much of what it says beyond them as its noise lets stand."""
    product = np.outer(rows, columns)
    residual = centred(table - product)
    freedom = (len(rows) - 1) * (len(columns) - 1)
    expected = float((noise**2).mean()) * freedom
    kept = 1.0 - (1.0 + 2.0 * np.sqrt(2.0 / freedom)) * expected / max(float((residual**2).sum()), 1e-300)
    shrunk: Floats = product + max(kept, 0.0) * residual
    return shrunk


def centred(residual: Floats) -> Floats:
    """Without its row and column means: what is not about the margins."""
    without_rows = residual - residual.mean(axis=1, keepdims=True)
    found: Floats = without_rows - without_rows.mean(axis=0, keepdims=True)
    return found


def nearest_table(table: Floats, rows: Floats, columns: Floats) -> Floats:
    """The table without negative entries and with the given margins that is nearest in least squares."""
    lift, shift = np.zeros(len(rows)), np.zeros(len(columns))
    for _ in range(_TURNS):
        lift = _lift(table + shift, rows)
        shift = _lift((table + lift[:, None]).T, columns)
        found: Floats = np.maximum(table + lift[:, None] + shift, 0.0)
        if np.abs(found.sum(axis=1) - rows).max() <= _TOLERANCE:
            return found
        lift, shift = _newton_step(table, rows, columns, lift, shift)
    return found


def _newton_step(table: Floats, rows: Floats, columns: Floats, lift: Floats, shift: Floats) -> tuple[Floats, Floats]:
    """A semi-smooth Newton step up the dual rᵀu + cᵀv − ½‖max(T + u1ᵀ + 1vᵀ, 0)‖², halved until it climbs."""

    def dual(u: Floats, v: Floats) -> tuple[float, Floats]:
        found = np.maximum(table + u[:, None] + v, 0.0)
        return float(rows @ u + columns @ v - 0.5 * (found**2).sum()), found

    value, found = dual(lift, shift)
    slope = np.concatenate([rows - found.sum(axis=1), columns - found.sum(axis=0)])
    active = (found > 0).astype(np.float64)
    curvature = np.block([[np.diag(active.sum(axis=1)), active], [active.T, np.diag(active.sum(axis=0))]])
    curvature[np.diag_indices_from(curvature)] += _RIDGE
    step = np.linalg.solve(curvature, slope)
    for _ in range(_HALVINGS):
        u, v = lift + step[: len(lift)], shift + step[len(lift) :]
        if dual(u, v)[0] > value:
            return u, v
        step *= 0.5
    return lift, shift


def _lift(lines: Floats, sums: Floats) -> Floats:
    """For each line the number u with Σ max(line + u, 0) = its sum."""
    descending = -np.sort(-lines, axis=1)
    candidates = (sums[:, None] - np.cumsum(descending, axis=1)) / np.arange(1, lines.shape[1] + 1)
    active = np.maximum((descending + candidates > 0).sum(axis=1), 1)
    lift: Floats = np.take_along_axis(candidates, active[:, None] - 1, axis=1)[:, 0]
    return lift


def _combined_margin(noisy: TwoWayTables, column: int) -> tuple[Floats, Floats]:
    """The profile's margin and the sums of the column's tables, weighted by what their noise leaves them worth.

    With it the standard deviation of what noise is left.
    """
    estimates, variances = [noisy.margins[column]], [noisy.margin_noise[column] ** 2]
    for pair, table in noisy.tables.items():
        if noisy.sums_inform and column in pair:
            other = 1 - pair.index(column)
            estimates.append(table.sum(axis=other))
            variances.append((noisy.noise[pair] ** 2).sum(axis=other))
    margin, variance = combined(estimates, variances)
    return project_to_simplex(margin, 1.0), np.sqrt(variance)


def _counted(release: AggregatesRelease) -> tuple[Floats, Floats]:
    """Two-way tables of all classes together, and of the pivot with every column, as shares with their noise."""
    classes, total = len(release.second), release.num_records
    second, noise = release.second.sum(axis=0), release.second_noise() * np.sqrt(classes)
    if release.pivot is not None:
        block = release.codebook.blocks[release.pivot]
        part = slice(block.start, block.stop)
        second[part], noise[part] = release.first, release.first_noise()
        second[:, part], noise[:, part] = release.first.T, release.first_noise()[:, None]
    if release.third is not None:
        _improve(second, noise, release.third.sum(axis=0), release.third_noise() * np.sqrt(len(release.third)))
    return second / total, noise / total


def _improve(second: Floats, noise: Floats, other: Floats, other_noise: Floats) -> None:
    """Combine tables, in place, with a second measurement of some of them."""
    both = (noise > 0) & (other_noise > 0)
    second[both], variance = combined([second[both], other[both]], [noise[both] ** 2, other_noise[both] ** 2])
    noise[both] = np.sqrt(variance)
