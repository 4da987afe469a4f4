"""Tables of three columns: all pairs of columns by groups of levels of a focus.

In a mixture, whose columns are independent given the component, the table of two columns in group g of the focus is the
pair matrix with every component weighted by its own share of that group,

    C_g = 1/s_g · Σ_k w_k q_kg (P_k − μ_g)(P_k − μ_g)ᵀ,

s_g being the group's share and μ_g its margins: one more product a group, and the same components for all.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from microtome.divergences import MomentMatching, Moments, MomentSettings, ReleasedMoments, component_moments
from microtome.published import AggregatesRelease, Focus
from microtome.published.second_moments import level_margins
from microtome.published.table_margins import combined
from microtome.schema import project_to_simplex
from microtome.training.losses import on_encoded
from microtome.training.rule_cells import forbidden_pairs, with_rules

Floats = NDArray[np.float64]


class FocusTables:
    """The tables of a release by groups of its focus, their noise split between training and judge.

    Args:
        release: What is fitted.
        focus: Its focus.
        held_out: The share of the information that is left to the judge.
        seen: How training compares tables.
        unseen: How the judge does.
        generator: Splits the noise.
    """

    def __init__(
        self,
        release: AggregatesRelease,
        focus: Focus,
        *,
        held_out: float,
        seen: MomentSettings,
        unseen: MomentSettings,
        generator: torch.Generator,
    ) -> None:
        assert release.third is not None
        block = release.codebook.blocks[release.schema.names.index(focus.column)]
        self._block = slice(block.start, block.stop)
        self._groups = torch.nn.functional.one_hot(torch.tensor(focus.groups)).float()
        shares = level_margins(release)[self._block] @ self._groups.numpy().astype(float)
        shares = np.maximum(shares / shares.sum(), 1.0 / release.num_records)
        self._shares = torch.tensor(shares, dtype=torch.float32)
        moments, forbidden = _group_moments(release, focus, shares), forbidden_pairs(release)
        noise, ratio = release.third_noise(), np.sqrt(held_out / (1.0 - held_out))
        weights = torch.tensor((np.array(focus.noise) > 0).astype(float))
        self.train: list[MomentMatching] = []
        self.judge: list[MomentMatching] = []
        for one in moments:
            upper = torch.triu(torch.randn(noise.shape, generator=generator, dtype=torch.float64), diagonal=1)
            split = noise * (upper + upper.T).numpy() / one.num_rows
            plain = np.asarray(one.second_noise)
            train = replace(one, second=one.second + ratio * split, second_noise=plain / np.sqrt(1.0 - held_out))
            judge = replace(one, second=one.second - split / ratio, second_noise=plain / np.sqrt(held_out))
            self.train.append(on_encoded(release, with_rules(train, forbidden), seen, weights))
            self.judge.append(on_encoded(release, with_rules(judge, forbidden), unseen, weights))

    def errors(self, tables: list[MomentMatching], encoded: Float[Tensor, "b d"]) -> Float[Tensor, ""]:
        """The errors of encoded rows in these tables, summed over the groups."""
        rows = tables[0].decoded(encoded)
        weights = rows[:, self._block] @ self._groups / self._shares
        return torch.stack([one.pair_loss(rows, weights[:, g]) for g, one in enumerate(tables)]).sum()

    def moments(self, rows: Float[Tensor, "k d"]) -> list[Moments]:
        """The moments of components, group by group; together they are those of all."""
        return component_moments(rows, rows[:, self._block] @ self._groups)

    def errors_of_moments(self, tables: list[MomentMatching], found: list[Moments]) -> Float[Tensor, ""]:
        """The errors of components in these tables, summed over the groups."""
        shared = zip(tables, found, self._shares, strict=True)
        return torch.stack([one.moment_losses(group.divided(share))[1] for one, group, share in shared]).sum()


def _group_moments(release: AggregatesRelease, focus: Focus, shares: Floats) -> list[ReleasedMoments]:
    """What was released of each group, as shares of its records."""
    assert release.third is not None
    margins, noise = _group_margins(release, focus, shares), release.third_noise()
    sizes = np.maximum(shares * release.num_records, 1.0)
    return [
        ReleasedMoments(
            blocks=[(block.start, block.stop) for block in release.codebook.blocks],
            mean=margins[group],
            second=release.third[group] / size,
            mean_noise=0.0,
            second_noise=noise / size,
            num_rows=max(int(size), 1),
        )
        for group, size in enumerate(sizes)
    ]


def _group_margins(release: AggregatesRelease, focus: Focus, shares: Floats) -> Floats:
    """Share of every level by group: the table with the focus, and what all tables of three columns add up to."""
    assert release.third is not None
    blocks, index = release.codebook.blocks, release.schema.names.index(focus.column)
    own = slice(blocks[index].start, blocks[index].stop)
    groups = np.eye(focus.num_groups)[list(focus.groups)]
    pairs, triples = np.array(release.mechanism.pair_noise), np.array(focus.noise)
    margins = np.repeat(level_margins(release)[None], focus.num_groups, axis=0)
    for column, block in enumerate(blocks):
        part = slice(block.start, block.stop)
        if column == index or block.width == 1:
            continue
        found = [(groups.T @ release.second[0][own, part], groups.sum(axis=0)[:, None] * pairs[index, column] ** 2)]
        for other, noise in zip(blocks, triples[column], strict=True):
            if noise > 0:
                table = release.third[:, part, other.start : other.stop].sum(axis=2)
                found.append((table, np.full((focus.num_groups, 1), other.width * noise**2)))
        counts, _ = combined([one for one, _ in found], [np.broadcast_to(var, one.shape) for one, var in found])
        for group, count in enumerate(counts):
            margins[group, part] = project_to_simplex(count, shares[group] * release.num_records)
    return margins
