"""The four metrics of sdmetrics that compare distributions, on coded tables: the same numbers, faster.

=====================  ==============================================================================================
KSComplement           1 − the largest distance between the two cumulative distributions of a measured column
TVComplement           1 − the total variation between the shares of a listed column's values
ContingencySimilarity  1 − the total variation between the two-way tables of two listed columns, missing values counted
CorrelationSimilarity  1 − half the distance between the Pearson correlations of two measured columns
=====================  ==============================================================================================

The first two leave missing values out. What is not defined (no value at all, a constant column) is NaN, and means
over columns and pairs leave it out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from microtome.evaluation.comparable_table import ComparableTable

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_DECIMALS = sys.float_info.dig - 1
"""sdmetrics rounds numbers to this many decimals before it compares them."""
_DENSE_CELLS = 1 << 22


def ks_complement(real: Floats, synthetic: Floats) -> float:
    """KSComplement of a measured column."""
    ordered = [np.sort(_rounded(values[~np.isnan(values)])) for values in (real, synthetic)]
    if not all(len(values) for values in ordered):
        return float("nan")
    points = np.concatenate(ordered)
    first, second = (np.searchsorted(values, points, side="right") / len(values) for values in ordered)
    return float(1.0 - np.abs(first - second).max())


def _rounded(values: Floats) -> Floats:
    with np.errstate(over="ignore"):
        rounded = np.round(values, _DECIMALS)
    return np.where(np.isfinite(rounded), rounded, values)


def tv_complement(real: Ints, synthetic: Ints, num_labels: int) -> float:
    """TVComplement of a listed column."""
    present = [codes[codes >= 0] for codes in (real, synthetic)]
    if not all(len(codes) for codes in present):
        return float("nan")
    first, second = (np.bincount(codes, minlength=num_labels) / len(codes) for codes in present)
    return float(1.0 - 0.5 * np.abs(first - second).sum())


def contingency_similarity(real: tuple[Ints, Ints], synthetic: tuple[Ints, Ints], widths: tuple[int, int]) -> float:
    """ContingencySimilarity of two listed columns with so many labels."""
    across = widths[1] + 1
    keys = [(first + 1) * across + second + 1 for first, second in (real, synthetic)]
    cells = (widths[0] + 1) * across
    if cells > _DENSE_CELLS:
        sizes = [len(one) for one in keys]
        joint = np.unique(np.concatenate(keys), return_inverse=True)[1]
        keys, cells = [joint[: sizes[0]], joint[sizes[0] :]], int(joint.max()) + 1
    first, second = (np.bincount(one, minlength=cells) / len(one) for one in keys)
    return float(1.0 - 0.5 * np.abs(first - second).sum())


def correlation(first: Floats, second: Floats) -> float:
    """Pearson's correlation over the rows in which neither value is missing; NaN where it is not defined."""
    present = ~(np.isnan(first) | np.isnan(second))
    if present.sum() < 2:
        return float("nan")
    a, b = (values / (np.abs(values).max() or 1.0) for values in (first[present], second[present]))
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size > 0 else float("nan")


def column_scores(real: ComparableTable, synthetic: ComparableTable) -> dict[str, float]:
    """KSComplement of measured and TVComplement of listed columns, by name."""
    scores = {}
    for name, first in real.values.items():
        second, labels = synthetic.values[name], real.labels.get(name)
        scores[name] = ks_complement(first, second) if labels is None else tv_complement(first, second, len(labels))
    return scores


def distribution_metrics(real: ComparableTable, synthetic: ComparableTable) -> dict[str, float | None]:
    """All four as means over the columns or pairs they apply to; ``None`` where there are none."""
    scores = column_scores(real, synthetic)
    return {
        "KSComplement": mean_of(scores[name] for name in real.measured),
        "TVComplement": mean_of(scores[name] for name in real.listed),
        "ContingencySimilarity": mean_of(
            contingency_similarity(
                (real.values[a], real.values[b]),
                (synthetic.values[a], synthetic.values[b]),
                (len(real.labels[a]), len(real.labels[b])),
            )
            for a, b in combinations(real.listed, 2)
        ),
        "CorrelationSimilarity": mean_of(
            1.0
            - 0.5
            * abs(correlation(real.values[a], real.values[b]) - correlation(synthetic.values[a], synthetic.values[b]))
            for a, b in combinations(real.measured, 2)
        ),
    }


def mean_of(scores: Iterable[float]) -> float | None:
    """The mean of those that are defined; ``None`` where there is none."""
    defined = [score for score in scores if not np.isnan(score)]
    return float(np.mean(defined)) if defined else None
