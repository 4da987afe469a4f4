"""What turns drawn edges into images: edges of an image with gradients, a picture of edges, and tone."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from microtome.images.edges import DIRECTIONS, FAINT, NARROW, PLACES, TURNS

_PICTURE_SCALE = 5.0
"""Makes drawn edges about as large as pixels."""


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
