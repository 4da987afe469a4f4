"""Categories that have to do with the other columns in the same way are alike.

To a mixture categories are levels that have nothing to do with each other. But cashiers and shop assistants have the
same ages, hours and wages, and under noise what is learnt of the one should serve the other. Which categories are alike
is nowhere declared; a quick fit shows it. With P(j | i) the share of level j of any other column among records that
have the category i, and μ the margins,

    v_i = ((P(j | i) − μ_j)/√μ_j)_j,    K_ik = exp(−‖v_i − v_k‖²/2h²),    h² a part of the median squared distance,

and logits are θ·((1 − s)·I + s·K), columns of K scaled to length one and s the likeness, as those of neighbours on a
line of numbers are (``smoothness``). Nothing is ruled out, for this can be inverted: categories that only the quick fit
took for alike part as soon as the tables say so.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from microtome.generators.mixture import MixtureGenerator

_REACH = 0.7
"""h², as a part of the median squared distance of two categories."""
_FEWEST = 3
"""Levels of a column that are worth it: of two, each is what the other is not."""
_LEAST = 1e-9


def with_likeness(
    kernels: Sequence[Float[Tensor, "w w"] | None], mixture: MixtureGenerator, likeness: float
) -> tuple[Float[Tensor, "w w"] | None, ...]:
    """Kernels of numbers, and of the other columns by what a mixture that was fitted quickly knows of them."""
    with torch.no_grad():
        components, weights = mixture.components(), mixture.weights().to(mixture.logits.dtype)
        margins = (weights @ components).clamp_min(_LEAST)
        shares = components * weights[:, None]
        return tuple(
            _kernel(_differences(shares, components, margins, block), likeness)
            if kernel is None and block[1] - block[0] >= _FEWEST
            else kernel
            for kernel, block in zip(kernels, mixture.layout.blocks, strict=True)
        )


def _differences(
    shares: Float[Tensor, "k d"], components: Float[Tensor, "k d"], margins: Float[Tensor, " d"], block: tuple[int, int]
) -> Float[Tensor, "w d"]:
    """V of every level of a column; zero within the column."""
    own = slice(*block)
    given = shares[:, own].T @ components / margins[own, None]
    found = (given - margins) / margins.sqrt()
    found[:, own] = 0.0
    return found


def _kernel(differences: Float[Tensor, "w d"], likeness: float) -> Float[Tensor, "w w"]:
    identity = torch.eye(len(differences))
    apart = torch.cdist(differences, differences).square()
    reach = _REACH * float(apart[identity == 0].median())
    alike = torch.exp(-0.5 * apart / max(reach, _LEAST))
    kernel: Tensor = (1.0 - likeness) * identity + likeness * alike / alike.norm(dim=0)
    return kernel
