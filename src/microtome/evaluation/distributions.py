"""One column of two tables, ready to be drawn: a histogram or bars, and what one table has that the other lacks.

The side that is compared with is a table or a release; a release has error bands.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from microtome.evaluation.comparable_table import ComparableTable
from microtome.evaluation.fidelity import ks_complement, tv_complement
from microtome.evaluation.values import short_number
from microtome.schema import Column

Floats = NDArray[np.float64]
RARE = 0.01
"""A value with a smaller share than this is rare."""
_BINS = 32
_BARS = 9
_TAIL = 0.005


@dataclass(frozen=True, kw_only=True, eq=False)
class Distribution:
    """Shares of the same classes on both sides.

    Attributes:
        labels: What each class is called.
        real: Share of each on the side that is compared with.
        synthetic: Share of each in the synthetic table.
        error: Standard deviation of the known noise of ``real``; ``None`` where there is none.
        measured: Whether classes are intervals in order.
        ends: What stands at both ends of the axis of intervals: the ends of the column, as in its coverage.
        rest: The labels that share the last class, each with its share on both sides, commonest first.
    """

    labels: tuple[str, ...]
    real: Floats
    synthetic: Floats
    error: Floats | None
    measured: bool
    ends: tuple[str, str] | None = None
    rest: tuple[tuple[str, float, float], ...] = ()


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """What of a column's values the synthetic table has, and what it has besides.

    Attributes:
        values: Values of a listed column on the real side.
        values_found: How many of them the synthetic table has.
        rare: How many of them are rare.
        rare_found: How many of the rare ones the synthetic table has.
        bounds: Ends of a measured column on the real side, as text.
        synthetic_bounds: Ends in the synthetic table.
        outside: Share of synthetic rows with a value that the real side does not have, or beyond its ends.
    """

    values: int | None = None
    values_found: int | None = None
    rare: int | None = None
    rare_found: int | None = None
    bounds: tuple[str, str] | None = None
    synthetic_bounds: tuple[str, str] | None = None
    outside: float = 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnFigures:
    """All that is said of a column.

    Attributes:
        name: Its name.
        kind: Its kind.
        unit: Its unit.
        metric: What the score is.
        score: 1 is alike; ``None`` where it is not defined. Under a release what the noise did counts as error.
        band: Where the score on the real rows may be, by the known noise and by what was not measured; ``None`` without
            noise.
        noise_floor: How far below 1 the known noise of the real side alone puts the score; ``None`` without noise.
        doubt: Why the release hardly knows the column; ``None`` where it does.
        missing: Share of missing values on the real side.
        missing_error: Standard deviation of its known noise.
        synthetic_missing: Share of missing values in the synthetic table.
        distribution: To be drawn.
        coverage: What was found and what not.
    """

    name: str
    kind: str
    unit: str | None
    metric: str
    score: float | None
    band: tuple[float, float] | None = None
    noise_floor: float | None = None
    doubt: str | None = None
    missing: float
    missing_error: float | None = None
    synthetic_missing: float
    distribution: Distribution
    coverage: Coverage

    def alike(self, score: float | None) -> float:
        """A score with missing values taken in: what is missing on one side only is not alike."""
        both_empty = min(self.missing, self.synthetic_missing) == 1.0
        known = (1.0 if both_empty else 0.0) if score is None else score
        return known * (1.0 - abs(self.missing - self.synthetic_missing))


def compare_column(column: Column, real: ComparableTable, synthetic: ComparableTable) -> ColumnFigures:
    """A column of two tables."""
    name = column.name
    first, second = real.values[name], synthetic.values[name]
    if name in real.labels:
        labels = real.labels[name]
        metric, score = "TVComplement", tv_complement(first, second, len(labels))
        shares = [shares_of(codes, len(labels)) for codes in (first, second)]
        distribution, coverage = bars(labels, shares[0], shares[1]), listed_coverage(shares[0], shares[1])
    else:
        metric, score = "KSComplement", ks_complement(first, second)
        distribution, coverage = _histogram(column, first, second), measured_coverage(column, first, second)
    return ColumnFigures(
        name=name,
        kind=str(column.kind),
        unit=column.unit,
        metric=metric,
        score=None if np.isnan(score) else score,
        missing=float(real.missing(name).mean()),
        synthetic_missing=float(synthetic.missing(name).mean()),
        distribution=distribution,
        coverage=coverage,
    )


def shares_of(codes: NDArray[np.int64], num_labels: int) -> Floats:
    """Share of each label among all rows."""
    return np.bincount(codes[codes >= 0], minlength=num_labels) / max(len(codes), 1)


def bars(labels: tuple[str, ...], real: Floats, synthetic: Floats, error: Floats | None = None) -> Distribution:
    """The commonest labels in their own order, all others together."""
    rest: tuple[tuple[str, float, float], ...] = ()
    if len(labels) > _BARS + 1:
        shown = np.sort(np.argsort(-(real + synthetic), kind="stable")[:_BARS])
        others = np.setdiff1d(np.arange(len(labels)), shown)
        others = others[np.argsort(-(real + synthetic)[others], kind="stable")]
        rest = tuple((labels[index], float(real[index]), float(synthetic[index])) for index in others)
        labels = (*(labels[index] for index in shown), f"{len(others)} others")
        real, synthetic = (np.append(shares[shown], shares[others].sum()) for shares in (real, synthetic))
        if error is not None:
            error = np.append(error[shown], np.linalg.norm(error[others]))
    return Distribution(labels=labels, real=real, synthetic=synthetic, error=error, measured=False, rest=rest)


def display_edges(low: float, high: float, *, integral: bool) -> Floats:
    """Equal bins from ``low`` to ``high``; of whole numbers where values are."""
    if integral:
        step = max(1.0, float(np.ceil((high + 1.0 - low) / _BINS)))
        count = int(np.ceil((high + 1.0 - low) / step))
        return low + step * np.arange(count + 1, dtype=np.float64)
    return np.linspace(low, high if high > low else low + 1.0, _BINS + 1)


def interval_labels(column: Column, edges: Floats, ends: tuple[float, float]) -> tuple[str, ...]:
    """What each bin is called; the first and the last reach to the ends of the column."""
    edges = np.concatenate([[min(ends[0], edges[0])], edges[1:-1], [max(ends[1], edges[-1])]])
    if column.kind.is_integral and (np.diff(edges) == 1.0).all():
        return tuple(short_number(column, edge) for edge in edges[:-1])
    texts = [short_number(column, edge) for edge in edges]
    return tuple(f"{low} to {high}" for low, high in pairwise(texts))


def binned(edges: Floats, values: Floats) -> Floats:
    """Share of all rows in each bin; values beyond the ends are in the end bins, missing ones in none."""
    present = values[~np.isnan(values)]
    places = np.clip(np.searchsorted(edges, present, side="right") - 1, 0, len(edges) - 2)
    return np.bincount(places, minlength=len(edges) - 1) / max(len(values), 1)


def listed_coverage(real: Floats, synthetic: Floats, *, beyond: float = 0.0) -> Coverage:
    """Which labels of the real side are found; ``beyond`` is the share of synthetic rows with none of the labels."""
    there, found = real > 0, synthetic > 0
    rare = there & (real < RARE)
    return Coverage(
        values=int(there.sum()),
        values_found=int((there & found).sum()),
        rare=int(rare.sum()),
        rare_found=int((rare & found).sum()),
        outside=float(synthetic[~there].sum()) + beyond,
    )


def measured_coverage(column: Column, real: Floats, synthetic: Floats) -> Coverage:
    """Whether values stay between the ends of the real side."""
    ends = [_ends(values) for values in (real, synthetic)]
    if ends[0] is None or ends[1] is None:
        return Coverage()
    beyond = (synthetic < ends[0][0]) | (synthetic > ends[0][1])
    texts = [(short_number(column, low), short_number(column, high)) for low, high in (ends[0], ends[1])]
    return Coverage(bounds=texts[0], synthetic_bounds=texts[1], outside=float(beyond.mean()))


def _ends(values: Floats) -> tuple[float, float] | None:
    present = values[~np.isnan(values)]
    return (float(present.min()), float(present.max())) if len(present) else None


def _histogram(column: Column, real: Floats, synthetic: Floats) -> Distribution:
    """Equal bins over all but the ends of the real values, which are in the end bins."""
    present = real[~np.isnan(real)]
    if len(present) == 0:
        present = np.zeros(1)
    low, high = np.quantile(present, [_TAIL, 1.0 - _TAIL], method="inverted_cdf")
    edges = display_edges(float(low), float(high), integral=column.kind.is_integral)
    ends = float(present.min()), float(present.max())
    return Distribution(
        labels=interval_labels(column, edges, ends),
        real=binned(edges, real),
        synthetic=binned(edges, synthetic),
        error=None,
        measured=True,
        ends=(short_number(column, ends[0]), short_number(column, ends[1])),
    )
