"""Correlations of numeric columns: a second look at the tables that are fitted.

Of the w² noisy cells of a table of two numeric columns the correlation is one direction. It is known well, but as one
of D² numbers it weighs too little to pay for what components have to know (``aggregate_losses``), and would be shrunk.
Yet if only the q numeric columns and one score for each were looked at, there would be hardly any noise to learn, and a
price of q instead of D would do. To the same end the price stays, and this look weighs D/q:

    D/q · Σ_{a≠b} (E[s_a s_b] − what was released)² / its variance

s_a being the number of column a, standardised by the profile, as far as its level tells it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from microtome.divergences import MomentMatching, Moments, MomentSettings, ReleasedMoments
from microtome.published import AggregatesRelease

Floats = NDArray[np.float64]


class Correlations:
    """The term above, in units of χ² an entry of the tables, summed over the classes.

    Args:
        release: What is fitted.
        moments: Its moments, class by class, as training sees them.
        settings: How tables are compared.
    """

    def __init__(
        self, release: AggregatesRelease, moments: Sequence[ReleasedMoments], settings: MomentSettings
    ) -> None:
        places, scores = _scores(release)
        self._looks: list[MomentMatching] = []
        if scores.shape[1] < 2:
            return
        codebook = release.codebook
        scale = np.where(codebook.scale > 0, codebook.scale, 1.0)
        self._scores = torch.tensor(scores, dtype=torch.float32)
        self._turn = torch.tensor(scores / scale[:, None], dtype=torch.float32)
        self._shift = torch.tensor(codebook.offset @ scores, dtype=torch.float32)
        plain = replace(settings, simplex=False)
        weights = torch.tensor(release.measured()[np.ix_(places, places)].astype(float))
        self._looks = [MomentMatching(_of_scores(one, scores), settings=plain, pair_weights=weights) for one in moments]
        entries = codebook.dim**2 - sum(block.width**2 for block in codebook.blocks)
        self._weight = (scores.shape[1] - 1) * codebook.dim / entries

    def __call__(self, encoded: Sequence[Float[Tensor, "b d"]]) -> Float[Tensor, ""]:
        """The term for encoded rows, class by class; 0 where no two columns are numeric."""
        if not self._looks:
            return torch.zeros(())
        found = zip(self._looks, encoded, strict=True)
        errors = [look.parts(rows @ self._turn + self._shift)[1] for look, rows in found]
        total: Tensor = self._weight * torch.stack(errors).sum()
        return total

    def of_moments(self, found: Sequence[Moments]) -> Float[Tensor, ""]:
        """The term for distributions of levels of which the moments are known, class by class."""
        if not self._looks:
            return torch.zeros(())
        known = zip(self._looks, found, strict=True)
        errors = [look.moment_losses(one.of_scores(self._scores))[1] for look, one in known]
        total: Tensor = self._weight * torch.stack(errors).sum()
        return total


def _scores(release: AggregatesRelease) -> tuple[list[int], Floats]:
    """The places of numeric columns, and a column of scores for each (d × q)."""
    places, found = [], []
    for place, (code, block) in enumerate(zip(release.codebook.codes, release.codebook.blocks, strict=True)):
        scores = code.level_scores()
        if scores is not None and block.width > 1:
            column = np.zeros(release.codebook.dim)
            column[block.start : block.stop] = scores
            places.append(place)
            found.append(column)
    return places, np.array(found).reshape(len(found), release.codebook.dim).T


def _of_scores(moments: ReleasedMoments, scores: Floats) -> ReleasedMoments:
    """The moments of scores instead of levels."""
    mean, second = np.asarray(moments.mean), np.asarray(moments.second)
    variance = moments.second_noise_levels().numpy() ** 2 + np.outer(mean, mean) / moments.num_rows
    return ReleasedMoments(
        blocks=[(number, number + 1) for number in range(scores.shape[1])],
        mean=mean @ scores,
        second=scores.T @ second @ scores,
        mean_noise=0.0,
        second_noise=np.sqrt((scores**2).T @ variance @ scores**2),
        num_rows=moments.num_rows,
    )
