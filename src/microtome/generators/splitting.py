"""Components cut in parts, so that pairs of levels that cannot be are in none of them.

Columns are independent within a component. One that has two groups and branches of both therefore draws branches of
the one with the other. Cut into a part for each group, with the branches that go with it, it draws them no more:

    part g of component k:  weight ∝ f_g · p_k(rows of g) · p_k(columns of g),  columns cut to those of g,

where levels of the first column that go with the same levels of the second are the rows of one g. The parts of a
component have its weight, so tables of all other columns stay as they are, and f is such that all parts of one g have
the weight that its rows had (Sinkhorn), so the margins of the first column stay too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from microtome.generators.mixture import MixtureGenerator

_LEAST_PART = 0.01
"""Share of a component's largest part below which another is left out."""
_MOST_PARTS = 16_384
"""Parts of all components together, unless there were more of these: rows of people are weighed by each of them."""
_ROUNDS = 50
_TINY = torch.finfo(torch.float32).tiny


@dataclass(frozen=True, kw_only=True, eq=False)
class Support:
    """Which levels of two columns go together.

    Attributes:
        rows: The levels of the first column, as coordinates of a row.
        columns: Those of the second.
        together: Pairs of levels that can be.
    """

    rows: slice
    columns: slice
    together: Bool[Tensor, "a b"]


def split(mixture: MixtureGenerator, supports: Sequence[Support]) -> MixtureGenerator:
    """A mixture with the same columns in which no component has levels together that cannot be."""
    with torch.no_grad():
        levels, weights = mixture.components().double(), mixture.weights()
        most = max(_MOST_PARTS, len(levels))
        for support in supports:
            levels, weights = _split(levels, weights, support, most)
        settings = replace(mixture.settings, components=len(levels))
        parts = MixtureGenerator(mixture.layout, torch.ones(1, mixture.layout.dim), settings)
        parts.logits.copy_(levels.clamp_min(_TINY).log())
        parts.cumulative.copy_((weights / weights.sum()).cumsum(0)[:-1])
    return parts


def _split(
    levels: Float[Tensor, "k d"], weights: Float[Tensor, " k"], support: Support, most: int
) -> tuple[Float[Tensor, "l d"], Float[Tensor, " l"]]:
    """All parts of all components, up to so many."""
    patterns, group = np.unique(support.together.numpy(), axis=0, return_inverse=True)
    columns = torch.tensor(patterns).double()
    rows = torch.nn.functional.one_hot(torch.tensor(group)).T.double()
    held = levels[:, support.rows] @ rows.T
    shares = held * (levels[:, support.columns] @ columns.T)
    kept = _kept(shares, weights, most)
    shares = _scaled(shares * kept, weights, weights @ held)
    component, part = kept.nonzero(as_tuple=True)
    found = levels[component]
    for block, members in ((support.rows, rows), (support.columns, columns)):
        cut = found[:, block] * members[part]
        found[:, block] = cut / cut.sum(dim=1, keepdim=True).clamp_min(_TINY)
    return found, shares[component, part]


def _kept(shares: Float[Tensor, "k g"], weights: Float[Tensor, " k"], most: int) -> Bool[Tensor, "k g"]:
    """Which parts are kept: the largest of every component, and of the others the heaviest, so many in all."""
    largest = shares.amax(dim=1, keepdim=True)
    kept = shares >= _LEAST_PART * largest
    if int(kept.sum()) <= most:
        return kept
    first = shares == largest
    heavy = torch.where(kept & ~first, weights[:, None] * shares / largest.clamp_min(_TINY), 0.0)
    room = max(most - int(first.sum()), 0)
    chosen = heavy.ravel().topk(room).indices
    heaviest = torch.zeros(heavy.numel(), dtype=torch.bool)
    heaviest[chosen] = True
    return first | (heaviest.reshape(heavy.shape) & kept)


def _scaled(
    shares: Float[Tensor, "k g"], components: Float[Tensor, " k"], groups: Float[Tensor, " g"]
) -> Float[Tensor, "k g"]:
    """The parts' weights, scaled until those of each group add up as given, and those of each component exactly."""
    for _ in range(_ROUNDS):
        shares = shares * (groups / shares.sum(dim=0).clamp_min(_TINY))
        shares = shares * (components / shares.sum(dim=1).clamp_min(_TINY))[:, None]
    return shares
