"""What turns drawn edges into images: edges of an image with gradients, a picture of edges, tone and movement."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from microtome.images.edges import DIRECTIONS, FAINT, NARROW, PLACES, TURNS

MOVES = 6
"""Numbers of a movement: turn, slant, two sizes and two places."""
_PICTURE_SCALE = 5.0
"""Makes drawn edges about as large as pixels."""
_TURN, _SIZE, _SHIFT = 0.15, 0.1, 0.1
"""The farthest that a movement of size 1 goes: radians (and slant), share of a size, half sides."""


def edges_of(images: Float[Tensor, "b c h w"], pooling: Float[Tensor, "q p"]) -> Float[Tensor, "b e"]:
    """The edges of ``microtome.images.edges``, with gradients."""
    light = images.mean(dim=1)
    across = nn.functional.pad(light[:, :, 2:] - light[:, :, :-2], (1, 1))
    down = nn.functional.pad(light[:, 2:] - light[:, :-2], (0, 0, 1, 1))
    length = NARROW * torch.sqrt(across**2 + down**2 + 1e-12)
    changes = [torch.relu(cosine * across + sine * down - length).flatten(1) for cosine, sine in TURNS]
    pooled = torch.stack([change @ pooling.T for change in changes], dim=2).flatten(1)
    return torch.sqrt(pooled + FAINT) - math.sqrt(FAINT)


def edge_picture(edges: Float[Tensor, "b e"], height: int, width: int) -> Float[Tensor, "b 8 h w"]:
    """Edges where they are: a picture of each direction."""
    places = edges.view(-1, PLACES, PLACES, DIRECTIONS).permute(0, 3, 1, 2)
    return torch.as_tensor(_PICTURE_SCALE * nn.functional.interpolate(places, (height, width), mode="bilinear"))


def toned(images: Float[Tensor, "b c h w"], tone: Float[Tensor, "2"]) -> Float[Tensor, "b c h w"]:
    """Images of another contrast: ``gain``·(p − ``floor``), cut to the range."""
    gain, floor = tone[0], tone[1]
    return (gain * (images - floor)).clamp(0.0, 1.0)


def moved(images: Float[Tensor, "b c h w"], numbers: Float[Tensor, "b 6"], movement: float) -> Float[Tensor, "b c h w"]:
    """Images turned, slanted, stretched and shifted, by uniform amounts made of standard normal numbers."""
    if movement == 0.0:
        return images
    turn, slant, wide, high, right, down = (movement * torch.erf(numbers / math.sqrt(2.0))).unbind(1)
    turn, slant, wide, high = _TURN * turn, _TURN * slant, 1.0 + _SIZE * wide, 1.0 + _SIZE * high
    across = torch.stack([turn.cos() * wide, slant - turn.sin() * high, _SHIFT * right], dim=1)
    along = torch.stack([turn.sin() * wide, turn.cos() * high, _SHIFT * down], dim=1)
    places = nn.functional.affine_grid(torch.stack([across, along], dim=1), list(images.shape), align_corners=False)
    return nn.functional.grid_sample(images, places, padding_mode="border", align_corners=False)
