"""Levels that stand next to each other on a line of numbers are alike, more often than not.

Bins of numbers are levels like any other to a mixture: nothing tells it that the age group 30–35 lies beside 35–40.
Under noise that is worth telling. Logits are therefore not free but smoothed,

    logits = θ·A,   A = (1 − s)·I + s·K,   K_ij = exp(−(u_i − u_j)²/2h²)

with columns of A scaled to length one, u the places of the levels in the column (``ColumnCode.level_places``), s the
smoothness and h the width below. Nothing is ruled out, for A can be inverted; but what neighbours have in common is
learnt from all of them, and first. Levels of a single value and categories stay as they are: 40 hours a week are not
39, and a code may be like no other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from microtome.schema import ColumnCode

_WIDTH = 0.1
"""As a share of the records of a column."""
_FEWEST = 4
"""Levels on a line that are worth smoothing."""


def kernels(codes: Sequence[ColumnCode], smoothness: float) -> tuple[Float[Tensor, "w w"] | None, ...]:
    """A for the levels of each column; ``None`` where nothing is smoothed."""
    return tuple(_kernel(code, smoothness) for code in codes)


def _kernel(code: ColumnCode, smoothness: float) -> Float[Tensor, "w w"] | None:
    places = code.level_places()
    if places is None or smoothness == 0.0 or np.isfinite(places).sum() < _FEWEST:
        return None
    line = np.flatnonzero(np.isfinite(places))
    apart = (places[line][:, None] - places[line]) / _WIDTH
    smoothed = (1.0 - smoothness) * np.eye(len(line)) + smoothness * np.exp(-0.5 * apart**2)
    kernel = np.eye(len(places))
    kernel[np.ix_(line, line)] = smoothed / np.linalg.norm(smoothed, axis=0)
    return torch.tensor(kernel, dtype=torch.float32)
