"""Images turned, slanted, stretched and shifted a little: variation that no Gaussian of pixels can draw."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

MOVES = 6
"""Numbers of a movement: turn, slant, width, height, and two places."""
_TURN, _SIZE, _SHIFT = 0.15, 0.1, 0.1
"""The farthest that a movement of size 1 goes: radians (and slant), share of a size, half sides."""


def moved(images: Float[Tensor, "b c h w"], amounts: Float[Tensor, "b 6"]) -> Float[Tensor, "b c h w"]:
    """Images moved by amounts between −1 and 1, or farther, of each movement."""
    turn, slant, wide, high, right, down = amounts.unbind(1)
    turn, slant, wide, high = _TURN * turn, _TURN * slant, 1.0 + _SIZE * wide, 1.0 + _SIZE * high
    across = torch.stack([turn.cos() * wide, slant - turn.sin() * high, _SHIFT * right], dim=1)
    along = torch.stack([turn.sin() * wide, turn.cos() * high, _SHIFT * down], dim=1)
    places = nn.functional.affine_grid(torch.stack([across, along], dim=1), list(images.shape), align_corners=False)
    return nn.functional.grid_sample(images, places, padding_mode="border", align_corners=False)


def uniform(numbers: Float[Tensor, "b n"]) -> Float[Tensor, "b n"]:
    """Standard normal numbers as uniform ones between −1 and 1."""
    return torch.erf(numbers / math.sqrt(2.0))
