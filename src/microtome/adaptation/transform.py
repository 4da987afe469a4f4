"""A change of look with a handful of parameters: images of one domain redrawn in the manner of another.

    T(x) = gain · blur_s(warp_A(x))^γ,  at most 1

A is affine (size, aspect, slant, rotation, place), s the width of a Gaussian blur, γ makes strokes thinner or thicker.
All nine numbers are learnt together by gradient. So few that noisy statistics of the target settle them, and so plain
that the label of an image stays what it was.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

_NAMES = ("log height", "log width", "slant", "rotation", "down", "right", "log blur", "log gamma", "log gain")
_START_BLUR = math.log(0.3)
_DARKEST = 1e-4
_BLUR_REACH = 5


class ImageTransform(nn.Module):
    """The change of look; at the start nearly none."""

    def __init__(self) -> None:
        super().__init__()
        start = torch.zeros(len(_NAMES))
        start[_NAMES.index("log blur")] = _START_BLUR
        self.parameters_ = nn.Parameter(start)

    def forward(self, images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b c h w"]:
        """The images in the new look."""
        value = dict(zip(_NAMES, self.parameters_, strict=True))
        grid = functional.affine_grid(
            self._inverse().expand(len(images), 2, 3), list(images.shape), align_corners=False
        )
        moved = functional.grid_sample(images, grid, padding_mode="zeros", align_corners=False)
        smooth = _blurred(moved, value["log blur"].exp())
        toned = smooth.clamp_min(_DARKEST) ** value["log gamma"].exp() - _DARKEST ** value["log gamma"].exp()
        drawn: Tensor = (value["log gain"].exp() * toned).clamp(0.0, 1.0)
        return drawn

    def change(self) -> Float[Tensor, ""]:
        """Sum of squares of what differs from the start."""
        start = self.parameters_.new_zeros(len(_NAMES))
        start[_NAMES.index("log blur")] = _START_BLUR
        return (self.parameters_ - start).square().sum()

    def settings(self) -> dict[str, float]:
        """The parameters by name, for people."""
        return dict(zip(_NAMES, self.parameters_.detach().tolist(), strict=True))

    def _inverse(self) -> Float[Tensor, "2 3"]:
        """Where a pixel of the result comes from: what is drawn larger is looked up nearer to the middle."""
        height, width, slant, rotation, down, right, *_ = self.parameters_.unbind()
        cos, sin = rotation.cos(), rotation.sin()
        one = torch.ones_like(cos)
        turn = torch.stack([torch.stack([cos, -sin]), torch.stack([sin, cos])])
        skew = torch.stack([torch.stack([one, slant]), torch.stack([0.0 * one, one])])
        size = torch.diag(torch.stack([-width, -height]).exp())
        return torch.cat([turn @ skew @ size, torch.stack([-right, -down]).unsqueeze(1)], dim=1)


def _blurred(images: Float[Tensor, "b c h w"], width: Float[Tensor, ""]) -> Float[Tensor, "b c h w"]:
    """Gaussian blur, rows and then columns."""
    channels = images.shape[1]
    places = torch.arange(-_BLUR_REACH, _BLUR_REACH + 1, dtype=images.dtype)
    weights = torch.softmax(-0.5 * (places / width) ** 2, dim=0)
    line = weights.reshape(1, 1, 1, -1).expand(channels, 1, 1, -1)
    across = functional.conv2d(images, line, padding=(0, _BLUR_REACH), groups=channels)
    return functional.conv2d(across, line.transpose(2, 3), padding=(_BLUR_REACH, 0), groups=channels)
