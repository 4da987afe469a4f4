"""The real side of a report from a release alone: free to publish, and honest about its noise.

Margins are the profile's, on the cells it counted; two-way tables are the release's consistent ones. What the known
noise makes of a figure is found by simulation: noise of the stated size is added to what was estimated, the estimate
is made again, and its distance from the first is what noise alone leaves. No real row is needed.

A model that was trained on the release has followed some of its noise, so what it was trained on understates its error.
The page says so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from microtome.evaluation.coded import MISSING, CodedTable, labels_of
from microtome.evaluation.dependence import cramers_v, residual
from microtome.evaluation.distributions import (
    ColumnFigures,
    Coverage,
    Distribution,
    bars,
    binned,
    display_edges,
    interval_labels,
    listed_coverage,
    shares_of,
)
from microtome.evaluation.levels import Levels, joint_shares
from microtome.evaluation.pairs import AllPairs, PairFigures, compare_pair
from microtome.evaluation.values import short_number
from microtome.published import Release, TwoWayTables, consistent, two_way_tables
from microtome.published.tables import centred, nearest_table, shrunk_table
from microtome.schema import OTHER, CategoryCells, ColumnCode, NumberCells, project_to_simplex

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_SIMULATIONS = 16
_ENTRIES = 1 << 14
"""Large tables are simulated less often: the mean over their entries settles sooner."""
_TAIL = 0.005
_CLEAR = 3.0
"""Dependence over all pairs has to stand out by so many standard deviations to be divided by."""
_NOTHING = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False)
class CodedColumn:
    """A column of the synthetic table on the cells of a release; −1 for a value that has no cell."""

    code: ColumnCode
    cells: Ints

    @property
    def levels(self) -> Ints:
        """The level of every row."""
        return np.where(self.cells >= 0, self.code.levels[self.cells], MISSING)


def code_column(code: ColumnCode, table: CodedTable) -> CodedColumn:
    """Find the cell of every value of a column."""
    name, cells = code.column.name, code.cells
    values, gone = table.values[name], table.missing(name)
    if isinstance(cells, NumberCells):
        found = cells.locate(np.where(gone, 0.0, values))  # Beyond the ends is at the ends, as the release has it too.
    else:
        found = np.append(_cell_of_label(code, table.labels[name]), MISSING)[values]
    found = np.where(gone, len(cells) - 1 if cells.missing else MISSING, found)
    if isinstance(cells, NumberCells) and name in table.codes:
        found = np.where(table.codes[name] >= 0, cells.num_values + table.codes[name], found)
    return CodedColumn(code=code, cells=found)


def compare_with_release(
    release: Release, synthetic: CodedTable, rng: np.random.Generator
) -> tuple[list[ColumnFigures], AllPairs | None]:
    """Columns and pairs of a synthetic table against a release; no pairs where the release cannot tell of them."""
    coded = [code_column(code, synthetic) for code in release.codebook.codes]
    columns = [
        _measured_column(one, synthetic, release.num_records, rng)
        if isinstance(one.code.cells, NumberCells)
        else _listed_column(one, synthetic, release.num_records, rng)
        for one in coded
    ]
    noisy = two_way_tables(release)
    return columns, None if noisy is None else _pairs(release, noisy, coded, rng)


def _cell_of_label(code: ColumnCode, labels: tuple[str, ...]) -> Ints:
    """The cell of each label of the synthetic table: "(other)" for one without a name, −1 if there is no such cell."""
    names = _cell_labels(code)
    place = {label: index for index, label in enumerate(names)}
    assert isinstance(code.cells, CategoryCells)
    unnamed = len(names) - 1 if code.cells.other else MISSING
    return np.array([place.get(label, unnamed) for label in labels], dtype=np.int64)


def _cell_labels(code: ColumnCode) -> tuple[str, ...]:
    """What the cells of a listed column are called, the one for missing values left out."""
    assert isinstance(code.cells, CategoryCells)
    named = labels_of(code.column, code.cells.categories)
    return (*named, OTHER) if code.cells.other else tuple(named)


def _listed_column(one: CodedColumn, table: CodedTable, total: float, rng: np.random.Generator) -> ColumnFigures:
    code, name = one.code, one.code.column.name
    labels, error = _cell_labels(code), np.full(code.cells.num_values, code.noise_scale / total)
    real = code.margins[: code.cells.num_values]
    made = shares_of(one.cells, len(code.cells))[: code.cells.num_values]
    coverage = listed_coverage(real, made)
    strange = float(((one.cells == MISSING) & ~table.missing(name)).mean())
    if strange > 0:
        labels, real, made = (*labels, "not in the release"), np.append(real, 0.0), np.append(made, strange)
        error = np.append(error, 0.0)
    distance = 0.5 * float(np.abs(_normalised(real) - _normalised(made)).sum())
    return _figures(
        one,
        table,
        total,
        metric="TVComplement",
        score=1.0 - distance,
        floor=float(np.mean([0.5 * np.abs(gap).sum() for gap in _simulated_gaps(code, total, rng)])),
        distribution=bars(labels, real, made, error),
        coverage=replace(coverage, outside=coverage.outside + strange),
    )


def _measured_column(one: CodedColumn, table: CodedTable, total: float, rng: np.random.Generator) -> ColumnFigures:
    code, cells = one.code, one.code.cells
    assert isinstance(cells, NumberCells)
    values = table.values[code.column.name]
    present = np.sort(values[~np.isnan(values)])
    real = np.cumsum(_normalised(code.margins[: cells.num_values]))
    made = np.append(
        np.searchsorted(present, cells.edges[1:-1], side="left"),
        np.searchsorted(present, cells.edges[-1], side="right"),
    ) / max(len(present), 1)
    gaps = [np.abs(np.cumsum(gap[: cells.num_values])).max() for gap in _simulated_gaps(code, total, rng)]
    return _figures(
        one,
        table,
        total,
        metric="KSComplement",
        score=1.0 - float(np.abs(real - made).max()) if len(present) else None,
        floor=float(np.mean(gaps)),
        distribution=_histogram(code, values, total),
        coverage=_bounds(code, values),
    )


def _figures(
    one: CodedColumn,
    table: CodedTable,
    total: float,
    *,
    metric: str,
    score: float | None,
    floor: float,
    distribution: Distribution,
    coverage: Coverage,
) -> ColumnFigures:
    column, missing = one.code.column, one.code.cells.missing
    return ColumnFigures(
        name=column.name,
        kind=str(column.kind),
        unit=column.unit,
        metric=metric,
        score=score,
        noise_floor=floor,
        missing=float(one.code.margins[-1]) if missing else 0.0,
        missing_error=one.code.noise_scale / total if missing else 0.0,
        synthetic_missing=float(table.missing(column.name).mean()),
        distribution=distribution,
        coverage=coverage,
    )


def _normalised(shares: Floats) -> Floats:
    return shares / max(float(shares.sum()), 1e-300)


def _simulated_gaps(code: ColumnCode, total: float, rng: np.random.Generator) -> list[Floats]:
    """How far margins estimated under new noise of the same size are from those estimated."""
    noise = code.noise_scale * rng.standard_normal((_SIMULATIONS, len(code.margins)))
    return [project_to_simplex(code.margins * total + one, total) - code.margins for one in noise]


def _histogram(code: ColumnCode, values: Floats, total: float) -> Distribution:
    """Display bins over all but the ends of what was released; a cell's share is spread evenly over its width."""
    cells = code.cells
    assert isinstance(cells, NumberCells)
    margins = code.margins[: cells.num_values]
    cumulative = np.cumsum(_normalised(margins))
    first, last = np.searchsorted(cumulative, [_TAIL, 1.0 - _TAIL])
    low, high = float(cells.edges[first]), float(cells.edges[min(last + 1, cells.num_values)])
    edges = display_edges(low, high - cells.integral, integral=cells.integral)
    with np.errstate(over="ignore", invalid="ignore"):
        below = np.clip((edges[None, 1:-1] - cells.edges[:-1, None]) / np.diff(cells.edges)[:, None], 0.0, 1.0)
    ones = np.ones((cells.num_values, 1))
    parts = np.diff(np.hstack([0.0 * ones, below, ones]), axis=1)
    return Distribution(
        labels=interval_labels(code.column, edges),
        real=margins @ parts,
        synthetic=binned(edges, values),
        error=code.noise_scale / total * np.sqrt((parts**2).sum(axis=0)),
        measured=True,
        ends=(short_number(code.column, edges[0]), short_number(code.column, edges[-1])),
    )


def _bounds(code: ColumnCode, values: Floats) -> Coverage:
    cells = code.cells
    assert isinstance(cells, NumberCells)
    low, high = float(cells.edges[0]), float(cells.edges[-1]) - cells.integral
    present = values[~np.isnan(values)]
    found = (float(present.min()), float(present.max())) if len(present) else (low, high)
    texts = [(short_number(code.column, a), short_number(code.column, b)) for a, b in ((low, high), found)]
    outside = float(((values < low) | (values > high)).mean())
    return Coverage(bounds=texts[0], synthetic_bounds=texts[1], outside=outside)


def _pairs(release: Release, noisy: TwoWayTables, coded: list[CodedColumn], rng: np.random.Generator) -> AllPairs:
    clean = consistent(noisy)
    levels = [Levels(labels=_level_labels(one.code), codes=(one.levels,)) for one in coded]
    names = tuple(one.code.column.name for one in coded)
    pairs = {}
    energy = _Energy()
    for (first, second), table in clean.tables.items():
        found = compare_pair(
            (names[first], names[second]),
            (levels[first].labels, levels[second].labels),
            (table, joint_shares(levels[first], levels[second], 0)),
            (np.inf, max(len(coded[0].cells), 1)),
        )
        margins = clean.margins[first], clean.margins[second]
        pairs[first, second] = _with_noise(found, noisy.noise[first, second], margins, rng)
        energy.add(noisy.tables[first, second], noisy.noise[first, second], found.synthetic, np.outer(*margins))
    error, deviation = energy.error()
    return AllPairs(names=names, pairs=pairs, error=error, error_deviation=deviation, error_by_chance=None)


class _Energy:
    """Pair error in squares from noisy tables, the noise subtracted.

    With T = t + noise of variance σ², S the synthetic table and I the product of the margins, all without row and
    column means and with f degrees of freedom,

        gained = ‖T − I‖² − ‖T − S‖² = 2⟨T − I, S − I⟩ − ‖S − I‖²,    whole = ‖T − I‖² − fσ²,    kept = gained / whole,

    each summed over all pairs. The noise z of T moves gained − kept·whole by 2⟨z, (S − I) − kept·(t − I)⟩ and by
    kept·(‖z‖² − fσ²), of variances 4σ²‖(S − I) − kept·(t − I)‖² and kept²·2fσ⁴.
    """

    def __init__(self) -> None:
        self._gained = self._whole = 0.0
        self._made, self._both, self._apart, self._square = 0.0, 0.0, 0.0, 0.0

    def add(self, table: Floats, noise: Floats, synthetic: Floats, product: Floats) -> None:
        """One more pair."""
        variance = float((noise**2).mean())
        freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
        apart, made = centred(table - product), centred(synthetic - product)
        whole = float((apart**2).sum()) - freedom * variance
        size, both = float((made**2).sum()), float((apart * made).sum())
        self._gained += 2.0 * both - size
        self._whole += whole
        self._made += variance * size
        self._both += variance * both
        self._apart += variance * whole
        self._square += 2.0 * freedom * variance**2

    def error(self) -> tuple[float | None, float | None]:
        """1 − the share of dependence that the synthetic table has, and its standard deviation."""
        if self._whole <= _CLEAR * np.sqrt(self._square):
            return None, None
        kept = self._gained / self._whole
        linear = max(self._made - 2.0 * kept * self._both + kept**2 * self._apart, 0.0)
        return 1.0 - kept, float(np.sqrt(4.0 * linear + kept**2 * self._square)) / self._whole


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


def _level_labels(code: ColumnCode) -> tuple[str, ...]:
    """What each level is called: its value, or the ends of its values, or how many they are."""
    missing = len(code.cells) - 1 if code.cells.missing else None
    names = []
    for level in range(code.num_levels):
        cells = np.flatnonzero(code.levels == level)
        values = cells[cells != missing] if missing is not None else cells
        if len(values) == 0:
            names.append("missing")
        elif isinstance(code.cells, NumberCells):
            coded, values = values[values >= code.cells.num_values], values[values < code.cells.num_values]
            if len(values) == 0:
                names.append(code.column.code_texts[coded[0] - code.cells.num_values])
                continue
            low, high = code.cells.edges[values[0]], code.cells.edges[values[-1] + 1]
            texts = short_number(code.column, low), short_number(code.column, high - code.cells.integral)
            names.append(texts[0] if texts[0] == texts[1] else f"{texts[0]} to {texts[1]}")
        else:
            labels = _cell_labels(code)
            first = labels[values[0]]
            names.append(first if len(values) == 1 else f"{first} and {len(values) - 1} more")
    return tuple(names)
