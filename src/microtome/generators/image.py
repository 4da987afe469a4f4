"""A convolutional generator of images, conditional on the class, that starts where the moments put it.

    z → z + bend(z) → mean_c + factor_c·z → inverse cosine transform → p → p + convolutions(p) → cut to [0, 1]
      → moved → with grain → cut to [0, 1]

``bend`` and the convolutions begin at zero, so that before any training the generator draws exactly from a Gaussian
of the class's mean and covariance, and training has only to repair what that leaves wrong. The convolutions are shared
by all classes, which tell them apart by a bias, or there is a stack for each class. In the end images are moved a
little, as far as those of their class do move (``microtome.training.image_movement``), and get as much grain as
components leave out (``microtome.training.image_grain``). Of aligned images five of the numbers are a pose instead, and
what is drawn is put where it says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from microtome.errors import require, require_whole
from microtome.generators.movement import MOVES, moved, uniform
from microtome.images import ImageCode
from microtome.images.frame import SMALLEST_SIZE, STILL


@dataclass(frozen=True, kw_only=True)
class ImageNetworkSettings:
    """Shape of the network.

    Attributes:
        width: Channels of the convolutions.
        layers: Convolutions between the first and the last.
        hidden: Units of the layer that bends the latent noise.
        per_class: A stack of convolutions for each class, rather than one for all.
        movement: How far images are moved, turned, slanted and stretched in the end: 1 for as far as the release says
            that those of their class do, and at most a twentieth of a side, 9° and a tenth. 0 for not at all.
        grain: How much noise images get in the end: 1 for as much on average as there is in components that are not
            released, as far as those that are tell, some images getting none and some twice as much. 0 for none.
    """

    width: int = 12
    layers: int = 1
    hidden: int = 64
    per_class: bool = False
    movement: float = 1.0
    grain: float = 1.0

    def __post_init__(self) -> None:
        for name, least in (("width", 1), ("layers", 0), ("hidden", 1)):
            require_whole(name, getattr(self, name), least)
        for name in ("movement", "grain"):
            value = getattr(self, name)
            require(math.isfinite(value) and value >= 0.0, name, value, "a number, at least 0")


class ImageGenerator(nn.Module):
    """Noise and classes in, images out.

    Args:
        plane: The basis of one channel (components × height·width).
        offset: Public mean of each channel, in units of the range.
        shape: Height, width and channels.
        num_classes: Number of classes.
        settings: Shape of the network.
        pose_weights: Of aligned images, what the numbers of a pose are multiplied by.
    """

    plane: Tensor
    offset: Tensor
    pose_weights: Tensor
    reach: Tensor
    grain: Tensor

    def __init__(
        self,
        plane: Float[Tensor, "k p"],
        offset: Float[Tensor, " c"],
        shape: tuple[int, int, int],
        num_classes: int,
        settings: ImageNetworkSettings,
        pose_weights: Float[Tensor, " p"],
    ) -> None:
        super().__init__()
        self.settings, self.shape, self.num_classes = settings, shape, num_classes
        channels = shape[2]
        self.code_dim = dim = len(plane) * channels + len(pose_weights)
        self.latent_dim = dim + (0 if len(pose_weights) else MOVES + 1 + math.prod(shape))
        self.register_buffer("plane", plane)
        self.register_buffer("offset", offset)
        self.register_buffer("pose_weights", pose_weights, persistent=False)
        self.register_buffer("reach", torch.zeros(num_classes, MOVES))
        self.register_buffer("grain", torch.zeros(()))
        self.means = nn.Parameter(torch.zeros(num_classes, dim))
        self.factors = nn.Parameter(torch.zeros(num_classes, dim, dim))
        self.bend = nn.Sequential(nn.Linear(dim, settings.hidden), nn.SiLU(), nn.Linear(settings.hidden, dim))
        stacks = num_classes if settings.per_class else 1
        self.stacks = nn.ModuleList(_Stack(channels, num_classes, settings) for _ in range(stacks))
        nn.init.zeros_(self.bend[2].weight)  # type: ignore[arg-type]
        nn.init.zeros_(self.bend[2].bias)  # type: ignore[arg-type]

    @classmethod
    def of(cls, code: ImageCode, settings: ImageNetworkSettings) -> Self:
        """The generator of images in a code."""
        plane, offset = (torch.tensor(array, dtype=torch.float32) for array in (code.plane, code.offset))
        weights = torch.tensor(code.pose_weights if code.schema.aligned else [], dtype=torch.float32)
        return cls(plane, offset, code.schema.shape, code.schema.num_classes, settings, weights)

    @torch.no_grad()
    def start_at(self, means: Float[Tensor, "v d"], factors: Float[Tensor, "v d d"]) -> None:
        """Begin with a Gaussian of mean ``means`` and covariance ``factors``·``factors``ᵀ for each class."""
        self.means.copy_(means)
        self.factors.copy_(factors)

    @torch.no_grad()
    def finish_with(self, reach: Float[Tensor, "v 6"], grain: float) -> None:
        """Move the images of each class so far in each way; give them noise of this standard deviation on average."""
        self.reach.copy_(reach)
        self.grain.fill_(grain)

    def forward(self, latent: Float[Tensor, "b z"], classes: Int[Tensor, " b"]) -> Float[Tensor, "b c h w"]:
        """Images in units of the range, 0 to 1."""
        images, poses = self._drawn(latent, classes)
        return placed(images, poses) if poses.shape[1] else self._finished(images, latent, classes)

    def encoded(self, latent: Float[Tensor, "b z"], classes: Int[Tensor, " b"]) -> Float[Tensor, "b d"]:
        """The images as they are released: components of what their frames show, and poses."""
        images, poses = self._drawn(latent, classes)
        still = torch.as_tensor(STILL, dtype=poses.dtype)[: poses.shape[1]]
        return torch.cat([self.components(images), (poses - still) * self.pose_weights], dim=1)

    def _drawn(
        self, latent: Float[Tensor, "b z"], classes: Int[Tensor, " b"]
    ) -> tuple[Float[Tensor, "b c h w"], Float[Tensor, "b p"]]:
        """Images before they are put where they belong, and their poses; poses of no numbers if not aligned."""
        code = latent[:, : self.code_dim]
        bent = code + self.bend(code)
        rows = self.means[classes]
        for number in _present(classes):
            mine = classes == number
            rows = rows.index_put((mine,), bent[mine] @ self.factors[number].T, accumulate=True)
        height, width, channels = self.shape
        shown = len(self.plane) * channels
        planes = rows[:, :shown].reshape(-1, len(self.plane)) @ self.plane
        images = planes.view(-1, channels, height, width) + self.offset[:, None, None]
        poses = rows[:, shown:] / self.pose_weights
        still = torch.as_tensor(STILL, dtype=poses.dtype)[: poses.shape[1]]
        return (images + self._convolved(images, classes)).clamp(0.0, 1.0), poses + still

    def _finished(
        self, images: Float[Tensor, "b c h w"], latent: Float[Tensor, "b z"], classes: Int[Tensor, " b"]
    ) -> Float[Tensor, "b c h w"]:
        """Images moved and with grain."""
        moves, strength, pixels = torch.split(latent[:, self.code_dim :], [MOVES, 1, math.prod(self.shape)], dim=1)
        reach, grain = self.settings.movement * self.reach[classes], self.settings.grain * self.grain
        if reach.any():
            images = moved(images, reach * uniform(moves))
        if grain:
            images = images + ((1.0 + uniform(strength)) * grain * pixels).view_as(images)
        return images.clamp(0.0, 1.0)

    def _convolved(self, images: Float[Tensor, "b c h w"], classes: Int[Tensor, " b"]) -> Float[Tensor, "b c h w"]:
        if not self.settings.per_class:
            return torch.as_tensor(self.stacks[0](images, classes))
        changes = torch.zeros_like(images)
        for number in _present(classes):
            mine = classes == number
            changes = changes.index_put((mine,), self.stacks[number](images[mine], classes[mine]))
        return changes

    def components(self, images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b d"]:
        """The encoded images."""
        centred = (images - self.offset[:, None, None]).flatten(2)
        return torch.as_tensor((centred @ self.plane.T).flatten(1))


def placed(images: Float[Tensor, "b c h w"], poses: Float[Tensor, "b 5"]) -> Float[Tensor, "b c h w"]:
    """What frames show, put where poses say: ``microtome.images.frame.Frame.placed`` with gradients."""
    cx, cy, slant, wide, high = poses.unbind(1)
    cx, cy, slant = cx.clamp(-1.0, 1.0), cy.clamp(-1.0, 1.0), slant.clamp(-1.0, 1.0)
    wide, high = wide.clamp(SMALLEST_SIZE, 2.0), high.clamp(SMALLEST_SIZE, 2.0)
    across = torch.stack([1.0 / wide, -slant / wide, (slant * cy - cx) / wide], dim=1)
    down = torch.stack([torch.zeros_like(high), 1.0 / high, -cy / high], dim=1)
    places = nn.functional.affine_grid(torch.stack([across, down], dim=1), list(images.shape), align_corners=False)
    return nn.functional.grid_sample(images, places, padding_mode="border", align_corners=False)


def _present(classes: Int[Tensor, " b"]) -> list[int]:
    """The classes that occur."""
    return torch.bincount(classes).nonzero()[:, 0].tolist()


class _Stack(nn.Module):
    """Convolutions whose last layer begins at zero."""

    def __init__(self, channels: int, num_classes: int, settings: ImageNetworkSettings) -> None:
        super().__init__()
        width = settings.width
        self.first = nn.Conv2d(channels, width, 3, padding=1)
        self.bias = nn.Embedding(num_classes, width)
        self.inner = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(settings.layers))
        self.last = nn.Conv2d(width, channels, 3, padding=1)
        nn.init.zeros_(self.bias.weight)
        nn.init.zeros_(self.last.weight)
        nn.init.zeros_(self.last.bias)  # type: ignore[arg-type]

    def forward(self, images: Float[Tensor, "b c h w"], classes: Int[Tensor, " b"]) -> Float[Tensor, "b c h w"]:
        hidden = nn.functional.silu(self.first(images) + self.bias(classes)[:, :, None, None])
        for layer in self.inner:
            hidden = hidden + nn.functional.silu(layer(hidden))
        return torch.as_tensor(self.last(hidden))
