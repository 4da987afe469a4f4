"""What the rules of the schema say of two-way tables: cells in which there can be no record.

A pair of levels is *forbidden* if some rule fails for every value of the one with every value of the other, whatever
other columns are. Its count is known without noise: it is 0. The residual R = T − μμᵀ that is fitted is therefore
−μ_a·μ_b there, exactly, and what the rest of a row or column has to add up to is spread over its other cells:

    min ‖R' − R‖²   over R' that is −μ_a·μ_b where forbidden and sums to nothing along every row and column

(taking turns between rows and columns). This is arithmetic on published counts and costs no privacy.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from microtome.divergences import ReleasedMoments
from microtome.published import AggregatesRelease
from microtome.schema import Codebook
from microtome.schema.formula import Extent
from microtome.schema.rules import Rule, Rules

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
_TURNS = 200
_SETTLED = 1e-12


def forbidden_pairs(release: AggregatesRelease) -> Bools:
    """Which pairs of levels of two columns no record can have (d × d)."""
    found = np.zeros((release.codebook.dim, release.codebook.dim), dtype=bool)
    for part, here in release.parts:
        found[here[:, None], here] |= _forbidden_by_rules(part)
    return found


def _forbidden_by_rules(release: AggregatesRelease) -> Bools:
    rules, codebook = release.schema.ruled, release.codebook
    forbidden = np.zeros((codebook.dim, codebook.dim), dtype=bool)
    names = [code.column.name for code in codebook.codes]
    for rule in rules.all:
        for first, second in combinations(sorted(map(names.index, rule.columns)), 2):
            rows, columns = codebook.blocks[first], codebook.blocks[second]
            found = _forbidden(rule, rules, codebook, first, second)
            forbidden[rows.start : rows.stop, columns.start : columns.stop] |= found
            forbidden[columns.start : columns.stop, rows.start : rows.stop] |= found.T
    return forbidden


def _forbidden(rule: Rule, rules: Rules, codebook: Codebook, first: int, second: int) -> Bools:
    """Pairs of levels of two columns all of whose cells a rule forbids."""
    extents = {name: _anything(codebook, rules, name).along(0, 2) for name in rule.columns}
    codes = codebook.codes[first], codebook.codes[second]
    for axis, code in enumerate(codes):
        name = code.column.name
        extents[name] = rules.scales[name].cells(code.cells).along(axis, 2)
    fails = np.broadcast_to(rule.fails(extents), [len(code.cells) for code in codes])
    kept: Bools = _members(codes[0].levels).T @ ~fails @ _members(codes[1].levels)
    return ~kept


def _members(levels: NDArray[np.int64]) -> Bools:
    """Which cells each level has (cells × levels)."""
    members: Bools = levels[:, None] == np.arange(levels.max() + 1)
    return members


def _anything(codebook: Codebook, rules: Rules, name: str) -> Extent:
    """A column that may have any of its values."""
    (code,) = [one for one in codebook.codes if one.column.name == name]
    cells = rules.scales[name].cells(code.cells)
    return Extent(
        low=np.array([cells.low.min()]),
        high=np.array([cells.high.max()]),
        absent=np.array([cells.absent.any()]),
        missing=np.array([cells.missing.all()]),
        present=np.array([cells.present.all()]),
    )


def with_rules(moments: ReleasedMoments, forbidden: Bools) -> ReleasedMoments:
    """The same moments with nothing, and no noise, in forbidden cells."""
    if not forbidden.any():
        return moments
    mean, second = np.asarray(moments.mean), np.array(moments.second)
    for (start, stop), (begin, end) in combinations(moments.blocks, 2):
        shut = forbidden[start:stop, begin:end]
        if shut.any():
            product = np.outer(mean[start:stop], mean[begin:end])
            settled = product + _settled(second[start:stop, begin:end] - product, -product, shut)
            second[start:stop, begin:end], second[begin:end, start:stop] = settled, settled.T
    noise = np.where(forbidden, 0.0, moments.second_noise_levels().numpy())
    return replace(moments, second=second, second_noise=noise)


def _settled(residual: Floats, known: Floats, shut: Bools) -> Floats:
    """The nearest residual that is as known in some cells, and whose rows and columns add up to nothing."""
    open_ = ~shut
    counts = np.maximum(open_.sum(axis=1), 1)[:, None], np.maximum(open_.sum(axis=0), 1)
    found = np.where(shut, known, residual)
    for _ in range(_TURNS):
        before = found
        found = found - open_ * found.sum(axis=1, keepdims=True) / counts[0]
        found = found - open_ * found.sum(axis=0) / counts[1]
        if np.abs(found - before).max() <= _SETTLED:
            break
    return found
