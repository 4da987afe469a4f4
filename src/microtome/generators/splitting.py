"""Components cut in parts, so that pairs of levels that cannot be are in none of them.

Columns are independent within a component. One that has two groups and branches of both therefore draws branches of
the one with the other. Cut into a part for each group, with the branches that go with it, it draws them no more:

    part g of component k:  weight ∝ f_g · p_k(rows of g) · p_k(columns of g),  columns cut to those of g,

where levels of the first column that go with the same levels of the second are the rows of one g. The parts of a
component have its weight, so tables of all other columns stay as they are, and f is such that all parts of one g have
the weight that its rows had (Sinkhorn), so the margins of the first column stay too.

Where much is certain, parts of parts would double with every relation. There are four to a component on average at
most: beyond that the lightest are left out, and others of their component have their weight. A component that has no
part, since two relations that noise has made contradict each other there, stays whole.
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
_MOST_PARTS = 4
"""Parts to a component at most, on average."""
_ROUNDS = 50
_TINY = torch.finfo(torch.float32).tiny


@dataclass(frozen=True, kw_only=True, eq=False)
class Support:
    """Which levels of two columns go together.

    Attributes:
        rows: The levels of the first column, as coordinates of a row.
        columns: Those of the second.
        together: Pairs of levels that can be.
        is_known: Whether that is so without a doubt, and not told by noisy counts.
    """

    rows: slice
    columns: slice
    together: Bool[Tensor, "a b"]
    is_known: bool = False

    def groups(self) -> tuple[Float[Tensor, "g b"], Float[Tensor, "g a"]]:
        """Levels of the first column that go with the same ones of the second: these, and which are in each group."""
        patterns, group = np.unique(self.together.numpy(), axis=0, return_inverse=True)
        return torch.tensor(patterns).double(), torch.nn.functional.one_hot(torch.tensor(group)).T.double()


def split(mixture: MixtureGenerator, supports: Sequence[Support]) -> MixtureGenerator:
    """A mixture with the same columns in which no component has levels together that cannot be."""
    with torch.no_grad():
        levels, weights = mixture.components().double(), mixture.weights()
        most = _MOST_PARTS * len(levels)
        for support in supports:
            levels, weights = _split(levels, weights, support, most)
        settings = replace(mixture.settings, components=len(levels))
        parts = MixtureGenerator(mixture.layout, torch.ones(1, mixture.layout.dim), settings)
        parts.logits.copy_(levels.clamp_min(_TINY).log())
        parts.cumulative.copy_((weights / weights.sum()).cumsum(0)[:-1])
    return parts


def weigh_groups(mixture: MixtureGenerator, supports: Sequence[Support], margins: Float[Tensor, " d"]) -> None:
    """Give every group the share that the margins of its first column say, where it is known what goes together.

    A component that is of one group is not made to be of another by shifting its levels, as margins are matched
    otherwise: it has to weigh more, or less.
    """
    with torch.no_grad():
        levels, weights = mixture.components().double(), mixture.weights()
        first = {support.rows.start: support for support in supports if support.is_known}
        groups = [(support.rows, support.groups()[1]) for support in first.values()]
        held = [(levels[:, rows] @ members.T, members @ margins[rows].double()) for rows, members in groups]
        for _ in range(_ROUNDS):
            for parts, wanted in held:
                weights = weights * (parts @ (wanted / (weights @ parts).clamp_min(_TINY)))
                weights = weights / weights.sum()
        mixture.cumulative.copy_(weights.cumsum(0)[:-1])


def _split(
    levels: Float[Tensor, "k d"], weights: Float[Tensor, " k"], support: Support, most: int
) -> tuple[Float[Tensor, "l d"], Float[Tensor, " l"]]:
    """The parts of all components, so many of them at most."""
    columns, rows = support.groups()
    held = levels[:, support.rows] @ rows.T
    shares = held * (levels[:, support.columns] @ columns.T)
    kept = _kept(shares / shares.amax(dim=1, keepdim=True).clamp_min(_TINY), weights, most)
    shares = _scaled(shares * kept, weights, weights @ held)
    component, part = kept.nonzero(as_tuple=True)
    whole = ~kept.any(dim=1)
    found = levels[component]
    for block, members in ((support.rows, rows), (support.columns, columns)):
        cut = found[:, block] * members[part]
        found[:, block] = cut / cut.sum(dim=1, keepdim=True).clamp_min(_TINY)
    return torch.cat([found, levels[whole]]), torch.cat([shares[component, part], weights[whole]])


def _kept(shares: Float[Tensor, "k g"], components: Float[Tensor, " k"], most: int) -> Bool[Tensor, "k g"]:
    """Which parts are kept, given as shares of their component's largest: that one always, others by their weight."""
    kept = shares >= _LEAST_PART
    weight = torch.where(shares >= 1.0, torch.inf, shares * components[:, None]) * kept
    if int(kept.sum()) > most:
        kept &= weight >= weight.flatten().kthvalue(weight.numel() - most + 1).values
    return kept


def _scaled(
    shares: Float[Tensor, "k g"], components: Float[Tensor, " k"], groups: Float[Tensor, " g"]
) -> Float[Tensor, "k g"]:
    """The parts' weights, scaled until those of each group add up as given, and those of each component exactly."""
    for _ in range(_ROUNDS):
        shares = shares * (groups / shares.sum(dim=0).clamp_min(_TINY))
        shares = shares * (components / shares.sum(dim=1).clamp_min(_TINY))[:, None]
    return shares
