"""What pairs of columns share beyond their margins, estimated from very noisy second moments.

The noise on two-way tables of a records release is many times their signal, but the signal has structure:
pairs of columns depend on each other through few factors. Each of these estimators keeps what stands out from
the noise by its singular values, each in another view of the matrix R of all cross-column residuals:

* ``pairwise``: every pair of columns by itself, with three rules of shrinkage from lenient to strict;
* ``joint``: the eigenvalues of the whole of R, for factors that many columns share;
* ``column against rest``: one column's rows of R at a time.

None is best everywhere, and the release itself can tell: rows are cut into folds, the estimators see all folds
but one, and non-negative weights are chosen so that their sum comes nearest to the raw moments of the fold they
did not see (stacking). Errors of independent rows are independent, so this is an unbiased judge. Pairs with the
declared target have weights of their own: they are encoded longer, so they hold more signal. Where the gain on
unseen folds is within their noise, columns stay independent: noise taken for dependence does more harm. The weights
are then applied to the estimators on all rows. Nothing here costs privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import nnls

from microtome.divergences import Denoising, denoise, shrink
from microtome.published import RecordsRelease
from microtome.published.second_moments import SliceSums, encoded_moments, level_margins, slice_sums

Floats = NDArray[np.float64]
Blocks = list[tuple[int, int]]
_PAIRWISE = ((Denoising.SOFT, 1.0), (Denoising.OPTIMAL, 1.0), (Denoising.OPTIMAL, 1.5))
_LARGEST_WEIGHT = 1.5
_LEAST_EVIDENCE = 2.5
"""Standard errors by which the weights have to do better on rows they have not seen than no dependence at all."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Residual:
    """A noisy residual matrix in encoded units.

    Attributes:
        matrix: R, zero within columns, row and column means of every block removed.
        noise_level: Standard deviation of the noise of its entries.
        blocks: The columns that have more than one level.
    """

    matrix: Floats
    noise_level: float
    blocks: Blocks


def estimate_dependence(release: RecordsRelease, first: int, last: int, *, folds: int = 5) -> Floats:
    """R in one-hot units from the rows from ``first`` to before ``last``, denoised; zero if they are too few."""
    if last - first < folds:
        return np.zeros((release.codebook.dim, release.codebook.dim))
    edges = np.linspace(first, last, folds + 1).astype(int)
    parts = [slice_sums(release, int(start), int(stop)) for start, stop in pairwise(edges)]
    total = SliceSums(num_rows=last - first, second=sum(part.second for part in parts))  # type: ignore[arg-type]
    groups = _groups(release)
    grams = [np.zeros((0, 0))] * len(groups)
    fits = [np.zeros(0)] * len(groups)
    spread = 0.0
    for part in parts:
        rest = SliceSums(num_rows=total.num_rows - part.num_rows, second=total.second - part.second)
        candidates, unseen = _candidates(residual(release, rest)), residual(release, part)
        spread = max(spread, unseen.noise_level)
        for index, group in enumerate(groups):
            columns = np.stack([candidate[group] for candidate in candidates], axis=1)
            grams[index] = columns.T @ columns + (grams[index] if grams[index].size else 0.0)
            fits[index] = columns.T @ unseen.matrix[group] + (fits[index] if fits[index].size else 0.0)
    stacked = np.zeros((release.codebook.dim, release.codebook.dim))
    candidates = _candidates(residual(release, total))
    for group, gram, fit in zip(groups, grams, fits, strict=True):
        for weight, candidate in zip(_stack(gram, fit, spread), candidates, strict=True):
            stacked[group] += weight * candidate[group]
    scale = np.where(release.codebook.scale > 0, release.codebook.scale, 1.0)
    stacked /= np.outer(scale, scale)
    return stacked


def residual(release: RecordsRelease, sums: SliceSums) -> Residual:
    """The raw residual matrix of some rows and its noise."""
    codebook = release.codebook
    second, noise = encoded_moments(release, sums)
    centre = codebook.scale * (level_margins(release) - codebook.offset)
    matrix = second - np.outer(centre, centre)
    for block in codebook.blocks:
        part = slice(block.start, block.stop)
        matrix[part] -= matrix[part].mean(axis=0, keepdims=True)
        matrix[:, part] -= matrix[:, part].mean(axis=1, keepdims=True)
    across = _across(release)
    blocks = [(block.start, block.stop) for block in codebook.blocks if block.width > 1]
    level = float(np.sqrt(np.mean(noise[across] ** 2))) if across.any() else 0.0
    return Residual(matrix=np.where(across, matrix, 0.0), noise_level=level, blocks=blocks)


def _candidates(noisy: Residual) -> list[Floats]:
    return [*_pairwise(noisy), _joint(noisy), _column_against_rest(noisy)]


def _pairwise(noisy: Residual) -> list[Floats]:
    """Every pair of columns by itself, by each rule."""
    results = [np.zeros_like(noisy.matrix) for _ in _PAIRWISE]
    for (a, b), (c, e) in combinations(noisy.blocks, 2):
        left, values, right = torch.linalg.svd(torch.from_numpy(noisy.matrix[a:b, c:e]), full_matrices=False)
        for result, (rule, strictness) in zip(results, _PAIRWISE, strict=True):
            level = strictness * noisy.noise_level
            kept = ((left * shrink(values, level, rule, freedom=(b - a - 1, e - c - 1))) @ right).numpy()
            result[a:b, c:e], result[c:e, a:b] = kept, kept.T
    return results


def _joint(noisy: Residual) -> Floats:
    """The eigenvalues of the whole matrix that stand out from those of symmetric noise (edge 2·τ·√d)."""
    values, vectors = np.linalg.eigh(noisy.matrix)
    freedom = sum(stop - start - 1 for start, stop in noisy.blocks)
    sizes = shrink(torch.from_numpy(np.abs(values)), noisy.noise_level, Denoising.OPTIMAL, freedom=(freedom, freedom))
    whole: Floats = (vectors * (np.sign(values) * sizes.numpy())) @ vectors.T
    return np.where(noisy.matrix == 0.0, 0.0, whole)


def _column_against_rest(noisy: Residual) -> Floats:
    """One column's rows at a time; every entry is the mean of its two views."""
    result = np.zeros_like(noisy.matrix)
    freedom = sum(stop - start - 1 for start, stop in noisy.blocks)
    for start, stop in noisy.blocks:
        width = stop - start - 1
        rows = torch.from_numpy(noisy.matrix[start:stop])
        kept = denoise(rows, noisy.noise_level, Denoising.OPTIMAL, freedom=(width, max(freedom - width, 1))).numpy()
        result[start:stop] += 0.5 * kept
        result[:, start:stop] += 0.5 * kept.T
    return np.where(noisy.matrix == 0.0, 0.0, result)


def _stack(gram: Floats, fit: Floats, noise_level: float) -> Floats:
    """Non-negative weights w that minimise wᵀ·gram·w − 2·fit·w; none unless what they gain is beyond chance."""
    size = np.trace(gram)
    if size <= 0.0:
        return np.zeros(len(fit))
    lower = np.linalg.cholesky(gram + 1e-9 * size * np.eye(len(gram)))
    weights: Floats = nnls(lower.T, np.linalg.solve(lower, fit))[0]
    if fit @ weights < _LEAST_EVIDENCE * gain_error(gram, weights, noise_level):
        return np.zeros(len(fit))
    return np.minimum(weights, _LARGEST_WEIGHT)


def gain_error(gram: Floats, weights: Floats, noise_level: float) -> float:
    """Standard error of fit·w, what weights w gain on entries that their candidates have not seen, by noise alone.

    Its square would be noise²·wᵀ·gram·w, but every entry is there twice, and so is the product of any two folds: each
    is once the unseen one and once among those that the candidate was made of.
    """
    return float(noise_level * np.sqrt(4.0 * weights @ gram @ weights))


def _across(release: RecordsRelease) -> NDArray[np.bool_]:
    """Which entries belong to two different columns, both with more than one level."""
    blocks = release.codebook.blocks
    owner = np.concatenate([np.full(block.width, index) for index, block in enumerate(blocks)])
    varied = np.concatenate([np.full(block.width, block.width > 1) for block in blocks])
    across: NDArray[np.bool_] = (owner[:, None] != owner[None, :]) & varied[:, None] & varied[None, :]
    return across


def _groups(release: RecordsRelease) -> list[NDArray[np.bool_]]:
    """Entries of pairs with the target, and of all other pairs."""
    across = _across(release)
    is_target = np.zeros(len(across), dtype=bool)
    for block in release.codebook.blocks:
        is_target[block.start : block.stop] = block.name == release.schema.target
    with_target = across & (is_target[:, None] | is_target[None, :])
    return [group for group in (with_target, across & ~with_target) if group.any()]
