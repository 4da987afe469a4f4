"""Numbers that go together do so inside of their bins too.

A model knows which bins of two columns go together, and numbers are drawn inside of a bin by themselves. In the tails,
where bins are wide, that is most of what there is: bedrooms and households of a large block would have little to do
with each other. So the numbers of a bin are dealt out anew to the rows that have it, in the order of correlated normal
scores. No bin of a row changes and no number of a column does, only who has which number of a bin.

How numbers go together inside of bins follows from how bins do, if the columns are taken for a Gaussian copula: the
one whose rows, cut into the same bins, have the correlations of rows from the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from microtome.schema import ColumnCode, NumberCode

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_ROUNDS = 4
"""Corrections of the simulated correlations."""
_LEAST = 0.1
"""Columns whose bins are less correlated with those of any other stay as they are."""
_MOST = 0.995


@dataclass(frozen=True, kw_only=True, eq=False)
class _Bins:
    """The levels of a measured column as bins of a normal score.

    Attributes:
        order: The bin of each level, by its numbers; −1 for levels that are none, such as missing values.
        ends: The upper ends of the bins, as shares of all numbers.
        spread: Standard deviation of the numbers of each bin.
    """

    order: Ints
    ends: Floats
    spread: Floats

    @classmethod
    def of(cls, code: NumberCode) -> _Bins | None:
        """The bins of a code; ``None`` where there is nothing inside of them."""
        cells, count = code.cells, code.cells.num_values
        shares, levels = code.margins[:count], code.levels[:count]
        middles, widths = cells.middles(), np.where(cells.singletons(), 0.0, np.diff(cells.edges))
        mass = np.bincount(levels, weights=shares, minlength=code.num_levels)
        held = np.flatnonzero(mass > 0)
        if len(held) < 2 or code.column.has_text_codes:
            return None
        mean = np.bincount(levels, weights=shares * middles, minlength=code.num_levels)[held] / mass[held]
        square = np.bincount(levels, weights=shares * (middles**2 + widths**2 / 12), minlength=code.num_levels)
        spread = np.sqrt(np.maximum(square[held] / mass[held] - mean**2, 0.0))
        by_mean = np.argsort(mean, kind="stable")
        if not spread.any() or not np.isfinite(spread).all():
            return None
        order = np.full(code.num_levels, -1)
        order[held[by_mean]] = np.arange(len(held))
        return cls(order=order, ends=np.cumsum(mass[held[by_mean]]) / mass.sum(), spread=spread[by_mean])

    def scores(self) -> Floats:
        """The mean normal score of each bin; 0 last, for levels that are none."""
        heights = np.exp(-0.5 * ndtri(np.clip(self.ends[:-1], 1e-12, 1 - 1e-12)) ** 2) / np.sqrt(2.0 * np.pi)
        shares = np.diff(self.ends, prepend=0.0)
        return np.append(-np.diff(heights, prepend=0.0, append=0.0) / shares, 0.0)

    def cut(self, normal: Floats) -> Ints:
        """The bins of normal scores."""
        found: Ints = np.minimum(np.searchsorted(self.ends, ndtr(normal), side="right"), len(self.ends) - 1)
        return found

    def centred(self, values: Floats, bins: Ints) -> Floats:
        """Values less their mean in each bin."""
        counts = np.maximum(np.bincount(bins, minlength=len(self.ends)), 1)
        means = np.stack([np.bincount(bins, column, len(self.ends)) for column in values.T], axis=1) / counts[:, None]
        centred: Floats = values - means[bins]
        return centred


class WithinBins:
    """Deals the numbers of bins out anew, so that they go together.

    Inside of a bin the normal score of a column is taken for a linear function of the bins of all others, and of noise
    that is correlated between columns; both as they are in rows of the copula, wide bins counting more.

    Args:
        codes: The codes of all columns.
        levels: Levels of many rows of the model, column by column.
        rng: Simulates rows.
    """

    def __init__(self, codes: Sequence[ColumnCode], levels: Sequence[Ints], rng: np.random.Generator) -> None:
        self._bins = _bins_of(codes)
        self._pull, self._factor = np.zeros((0, 0)), np.zeros((0, 0))
        if len(self._bins) > 1:
            wanted = _correlations(self._scores(levels))
            kept = np.abs(wanted - np.eye(len(wanted))).max(axis=1) > _LEAST
            self._bins = {place: bins for (place, bins), keep in zip(self._bins.items(), kept, strict=True) if keep}
            if self._bins:
                normal = rng.standard_normal((len(levels[0]), len(self._bins)))
                self._learn(self._copula(wanted[np.ix_(kept, kept)], normal))

    def dealt(self, arrays: list[pa.Array], levels: Sequence[Ints], rng: np.random.Generator) -> list[pa.Array]:
        """The columns of some rows, given with their levels, numbers dealt out anew."""
        if not self._factor.size:
            return arrays
        normal = rng.standard_normal((len(levels[0]), len(self._factor)))
        scores = self._scores(levels) @ self._pull + normal @ self._factor.T
        dealt = list(arrays)
        for column, place in enumerate(self._bins):
            rows = np.empty(len(normal), np.int64)
            rows[_order(levels[place], scores[:, column])] = _order(levels[place], _numbers(arrays[place]))
            dealt[place] = arrays[place].take(pa.array(rows))
        return dealt

    def _scores(self, levels: Sequence[Ints]) -> Floats:
        """The mean normal scores of the bins of some rows."""
        return np.stack([bins.scores()[bins.order[levels[place]]] for place, bins in self._bins.items()], axis=1)

    def _copula(self, wanted: Floats, normal: Floats) -> Floats:
        """Rows of a Gaussian copula whose bins have the wanted correlations, made of independent normal scores."""
        latent = wanted
        for _ in range(_ROUNDS):
            reached = _correlations(self._binned(normal @ _root(latent).T)[0])
            ratio = np.divide(wanted, reached, out=np.ones_like(wanted), where=np.abs(reached) > _LEAST / 2)
            latent = np.clip(latent * np.clip(ratio, 0.5, 2.0), -_MOST, _MOST)
            np.fill_diagonal(latent, 1.0)
        return np.asarray(normal @ _root(latent).T)

    def _binned(self, normal: Floats) -> tuple[Floats, list[Ints]]:
        """Normal scores as those of their bins, and the bins."""
        cut = [bins.cut(normal[:, column]) for column, bins in enumerate(self._bins.values())]
        scores = [bins.scores()[places] for bins, places in zip(self._bins.values(), cut, strict=True)]
        return np.stack(scores, axis=1), cut

    def _learn(self, normal: Floats) -> None:
        """What bins of other columns, and noise, do to the score of a column inside of its bin."""
        scores, cut = self._binned(normal)
        size = len(self._bins)
        self._pull = np.zeros((size, size))
        left, weights = np.empty_like(normal), np.empty_like(normal)
        for column, (bins, places) in enumerate(zip(self._bins.values(), cut, strict=True)):
            others = np.arange(size) != column
            weights[:, column] = weight = bins.spread[places]
            inside = bins.centred(normal[:, [column]], places)[:, 0]
            known = bins.centred(scores[:, others], places)
            self._pull[others, column] = np.linalg.lstsq(known * weight[:, None], inside * weight, rcond=1e-6)[0]
            left[:, column] = inside - known @ self._pull[others, column]
        together = weights.T @ weights
        noise = ((weights * left).T @ (weights * left)) / np.maximum(together, np.finfo(float).tiny)
        self._factor = _root(noise)


def columns_with_bins(codes: Sequence[ColumnCode]) -> list[int]:
    """The columns that have numbers inside of bins."""
    return list(_bins_of(codes))


def _bins_of(codes: Sequence[ColumnCode]) -> dict[int, _Bins]:
    found = {place: _Bins.of(code) for place, code in enumerate(codes) if isinstance(code, NumberCode)}
    return {place: bins for place, bins in found.items() if bins is not None}


def _correlations(scores: Floats) -> Floats:
    """Correlations of columns of scores, 0 where a column has but one."""
    centred = scores - scores.mean(axis=0)
    norms = np.maximum(np.sqrt((centred**2).sum(axis=0)), np.finfo(float).tiny)
    found: Floats = (centred.T @ centred) / np.outer(norms, norms)
    np.fill_diagonal(found, 1.0)
    return found


def _root(covariances: Floats) -> Floats:
    """A matrix whose product with its transpose comes nearest to these, with the same variances."""
    values, vectors = np.linalg.eigh(covariances)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    norms = np.maximum(np.sqrt((root**2).sum(axis=1)), np.finfo(float).tiny)
    return np.asarray(root * (np.sqrt(np.maximum(np.diag(covariances), 0.0)) / norms)[:, None])


def _numbers(array: pa.Array) -> Floats:
    """The values of a column as numbers, missing ones 0; dates and times as they are stored."""
    if not (pa.types.is_floating(array.type) or pa.types.is_integer(array.type)):
        array = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
    return np.asarray(array.cast(pa.float64(), safe=False).fill_null(0.0))


def _order(groups: Ints, values: Floats) -> Ints:
    """Places group by group, by their values; sorted as one whole number each, which is several times faster."""
    low, high = float(values.min(initial=0.0)) / 2, float(values.max(initial=0.0)) / 2
    for_place, for_group = len(groups).bit_length(), int(groups.max(initial=0)).bit_length()
    for_value = min(63 - for_place - for_group, 48)
    steps = (values / 2 - low) * ((2.0**for_value - 1.0) / max(high - low, np.finfo(float).tiny))
    keys = (groups << (for_value + for_place)) | (steps.astype(np.int64) << for_place) | np.arange(len(groups))
    keys.sort()
    return keys & ((1 << for_place) - 1)
