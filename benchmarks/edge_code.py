"""Images as edges: how much light changes in each of eight directions in each of sixteen places; and back again."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

Floats = NDArray[np.float64]
PLACES, DIRECTIONS = 4, 8
_NARROW = 0.7
"""Of the length of a gradient, what is taken off its part in a direction: a gradient counts for two directions."""
_FAINT = 1e-4
_AT_ONCE = 500
_STEPS, _RATE = 15, 0.06


def edges(images: Tensor) -> Tensor:
    """Roots of the change of light by place and direction (n × 128), of images n × height × width from 0 to 1."""
    across = nn.functional.pad(images[:, :, 2:] - images[:, :, :-2], (1, 1))
    down = nn.functional.pad(images[:, 2:] - images[:, :-2], (0, 0, 1, 1))
    length = _NARROW * torch.sqrt(across**2 + down**2 + 1e-12)
    rows, columns = (_near(size) for size in images.shape[1:])
    angles = [2.0 * math.pi * number / DIRECTIONS for number in range(DIRECTIONS)]
    change = [torch.relu(across * math.cos(angle) + down * math.sin(angle) - length) for angle in angles]
    pooled = torch.stack([rows @ part @ columns.T for part in change], dim=-1).flatten(1)
    return torch.sqrt(pooled + _FAINT) - math.sqrt(_FAINT)


def edge_rows(images: NDArray[np.float32]) -> Floats:
    """The same of an array."""
    with torch.no_grad():
        parts = [edges(part) for part in torch.from_numpy(images).split(_AT_ONCE)]
    return torch.cat(parts).double().numpy()


def images_of(components: Floats, wanted: Floats, plane: Floats, weight: float, side: int) -> NDArray[np.float32]:
    """Images whose components and edges are nearest to given ones: gradient steps from the components alone."""
    basis = torch.tensor(plane, dtype=torch.float32)
    found = []
    for first in range(0, len(components), _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        target, edged = (torch.tensor(rows[part], dtype=torch.float32) for rows in (components, wanted))
        pixels = (target @ basis).clamp(0.0, 1.0).requires_grad_()
        optimiser = torch.optim.Adam([pixels], lr=_RATE, betas=(0.8, 0.99))
        schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.05, total_iters=_STEPS)
        for _ in range(_STEPS):
            apart = (pixels @ basis.T - target).square().sum()
            loss = apart + weight**2 * (edges(pixels.view(-1, side, side)) - edged).square().sum()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            with torch.no_grad():
                pixels.clamp_(0.0, 1.0)
        found.append(pixels.detach().view(-1, side, side))
    return torch.cat(found).numpy()


def _near(size: int) -> Tensor:
    """How much each pixel of a line counts for each place, falling off in straight lines."""
    step = size / PLACES
    middles = (torch.arange(PLACES) + 0.5) * step - 0.5
    return torch.clamp(1.0 - (torch.arange(size)[None] - middles[:, None]).abs() / step, min=0.0) / step
