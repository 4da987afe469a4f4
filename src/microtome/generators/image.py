"""A convolutional generator of images, conditional on the class, that starts where the moments put it.

    z → z + bend(z) → mean_c + factor_c·z → inverse cosine transform → p → p + convolutions(p) → cut to [0, 1]

``bend`` and the convolutions begin at zero, so that before any training the generator draws exactly from a Gaussian
of the class's mean and covariance, and training has only to repair what that leaves wrong. The convolutions are shared
by all classes, which tell them apart by a bias, or there is a stack for each class. In the end images are moved a
little, as far as those of their class do move (``microtome.training.image_movement``). Of aligned images five of the
numbers are a pose instead, and what is drawn is put where it says.

Of images with edges the Gaussian is of components and edges together, and the convolutions, which see a picture of the
drawn edges too, turn both into strokes (``microtome.generators.strokes``):

    z → mean_c + factor_c·z → (p, edges) → p + convolutions(p, edges) → tone → moved a little → cut to [0, 1]
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
from microtome.generators.strokes import edge_picture, edges_of, toned
from microtome.images import ImageCode
from microtome.images.edges import DIRECTIONS, EDGE_DIM
from microtome.images.frame import SMALLEST_SIZE, STILL


@dataclass(frozen=True, kw_only=True)
class ImageNetworkSettings:
    """Shape of the network.

    Attributes:
        width: Channels of the convolutions.
        layers: Convolutions between the first and the last.
        hidden: Units of the layer that bends the latent noise.
        per_class: A stack of convolutions for each class, rather than one for all.
        spread: Of images with edges: the variance of what is drawn, as a multiple of what was released. What is drawn
            wide teaches a classifier more.
        movement: How far images are moved, turned, slanted and stretched in the end: 1 for as far as the release says
            that those of their class do, and at most a twentieth of a side, 9° and a tenth. 0 for not at all.
    """

    width: int = 12
    layers: int = 1
    hidden: int = 64
    per_class: bool = False
    spread: float = 2.0
    movement: float = 1.0

    def __post_init__(self) -> None:
        for name, least in (("width", 1), ("layers", 0), ("hidden", 1)):
            require_whole(name, getattr(self, name), least)
        for name in ("spread", "movement"):
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
        pooling: Of images with edges, how much each pixel counts for each place (places × height·width).
        edge_weight: What their edges are multiplied by.
    """

    plane: Tensor
    offset: Tensor
    pose_weights: Tensor
    pooling: Tensor
    tone: Tensor
    reach: Tensor

    def __init__(
        self,
        plane: Float[Tensor, "k p"],
        offset: Float[Tensor, " c"],
        shape: tuple[int, int, int],
        num_classes: int,
        settings: ImageNetworkSettings,
        pose_weights: Float[Tensor, " p"],
        pooling: Float[Tensor, "q p"] | None = None,
        edge_weight: float = 0.0,
    ) -> None:
        super().__init__()
        self.settings, self.shape, self.num_classes = settings, shape, num_classes
        channels = shape[2]
        self.has_edges, self.edge_weight = pooling is not None, edge_weight
        dim = len(plane) * channels + len(pose_weights) + (EDGE_DIM if self.has_edges else 0)
        self.latent_dim = dim + (0 if len(pose_weights) else MOVES)
        self.code_dim = dim
        if pooling is not None:
            self.register_buffer("pooling", pooling, persistent=False)
            self.register_buffer("tone", torch.tensor([1.0, 0.0]))
        self.register_buffer("plane", plane)
        self.register_buffer("offset", offset)
        self.register_buffer("pose_weights", pose_weights, persistent=False)
        self.register_buffer("reach", torch.zeros(num_classes, MOVES))
        self.means = nn.Parameter(torch.zeros(num_classes, dim))
        self.factors = nn.Parameter(torch.zeros(num_classes, dim, dim))
        self.bend = nn.Sequential(nn.Linear(dim, settings.hidden), nn.SiLU(), nn.Linear(settings.hidden, dim))
        stacks = num_classes if settings.per_class else 1
        seen = channels + (DIRECTIONS if self.has_edges else 0)
        self.stacks = nn.ModuleList(_Stack(seen, channels, num_classes, settings) for _ in range(stacks))
        nn.init.zeros_(self.bend[2].weight)  # type: ignore[arg-type]
        nn.init.zeros_(self.bend[2].bias)  # type: ignore[arg-type]

    @classmethod
    def of(cls, code: ImageCode, settings: ImageNetworkSettings) -> Self:
        """The generator of images in a code."""
        plane, offset = (torch.tensor(array, dtype=torch.float32) for array in (code.plane, code.offset))
        weights = torch.tensor(code.pose_weights if code.schema.aligned else [], dtype=torch.float32)
        pooling = torch.tensor(code.edges.pooling, dtype=torch.float32) if code.schema.edges else None
        shape, classes = code.schema.shape, code.schema.num_classes
        return cls(plane, offset, shape, classes, settings, weights, pooling, code.edge_weight)

    @torch.no_grad()
    def start_at(self, means: Float[Tensor, "v d"], factors: Float[Tensor, "v d d"]) -> None:
        """Begin with a Gaussian of mean ``means`` and covariance ``factors``·``factors``ᵀ for each class."""
        self.means.copy_(means)
        self.factors.copy_(factors)

    @torch.no_grad()
    def move_by(self, reach: Float[Tensor, "v 6"]) -> None:
        """Move the images of each class so far in each way, times ``movement``."""
        self.reach.copy_(reach)

    def forward(self, latent: Float[Tensor, "b z"], classes: Int[Tensor, " b"]) -> Float[Tensor, "b c h w"]:
        """Images in units of the range, 0 to 1."""
        if self.has_edges:
            raw = self.sketched(self.drawn_code(latent, classes), classes)
            return self._moved(toned(raw.clamp(0.0, 1.0), self.tone), latent, classes)
        images, poses = self._drawn(latent, classes)
        return placed(images, poses) if poses.shape[1] else self._moved(images, latent, classes)

    def encoded(self, latent: Float[Tensor, "b z"], classes: Int[Tensor, " b"]) -> Float[Tensor, "b d"]:
        """The images as they are released: components of what their frames show, edges and poses."""
        if self.has_edges:
            return self.code_of(self.sketched(self.drawn_code(latent, classes), classes).clamp(0.0, 1.0))
        images, poses = self._drawn(latent, classes)
        still = torch.as_tensor(STILL, dtype=poses.dtype)[: poses.shape[1]]
        return torch.cat([self.components(images), (poses - still) * self.pose_weights], dim=1)

    def drawn_code(self, latent: Float[Tensor, "b z"], classes: Int[Tensor, " b"]) -> Float[Tensor, "b d"]:
        """Of images with edges: the components and edges that an image is to have."""
        return self._rows(latent[:, : self.code_dim] * math.sqrt(self.settings.spread), classes)

    def sketched(self, rows: Float[Tensor, "b d"], classes: Int[Tensor, " b"]) -> Float[Tensor, "b c h w"]:
        """Images of components and edges, before they are cut to their range."""
        images = self._decoded(rows[:, :-EDGE_DIM])
        edges = edge_picture(rows[:, -EDGE_DIM:] / self.edge_weight, self.shape[0], self.shape[1])
        return images + self._convolved(torch.cat([images, edges], dim=1), classes)

    def code_of(self, images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b d"]:
        """Components and edges of images between 0 and 1."""
        return torch.cat([self.components(images), self.edge_weight * edges_of(images, self.pooling)], dim=1)

    def _drawn(
        self, latent: Float[Tensor, "b z"], classes: Int[Tensor, " b"]
    ) -> tuple[Float[Tensor, "b c h w"], Float[Tensor, "b p"]]:
        """Images before they are put where they belong, and their poses; poses of no numbers if not aligned."""
        latent = latent[:, : self.code_dim]
        rows = self._rows(latent + self.bend(latent), classes)
        shown = len(self.plane) * self.shape[2]
        images, poses = self._decoded(rows[:, :shown]), rows[:, shown:] / self.pose_weights
        still = torch.as_tensor(STILL, dtype=poses.dtype)[: poses.shape[1]]
        return (images + self._convolved(images, classes)).clamp(0.0, 1.0), poses + still

    def _moved(
        self, images: Float[Tensor, "b c h w"], latent: Float[Tensor, "b z"], classes: Int[Tensor, " b"]
    ) -> Float[Tensor, "b c h w"]:
        reach = self.settings.movement * self.reach[classes]
        return moved(images, reach * uniform(latent[:, self.code_dim :])) if reach.any() else images

    def _rows(self, latent: Float[Tensor, "b d"], classes: Int[Tensor, " b"]) -> Float[Tensor, "b d"]:
        """What the Gaussian of each class draws."""
        rows = self.means[classes]
        for number in _present(classes):
            mine = classes == number
            rows = rows.index_put((mine,), latent[mine] @ self.factors[number].T, accumulate=True)
        return rows

    def _decoded(self, components: Float[Tensor, "b k"]) -> Float[Tensor, "b c h w"]:
        """The images of components."""
        height, width, channels = self.shape
        planes = components.reshape(-1, len(self.plane)) @ self.plane
        return planes.view(-1, channels, height, width) + self.offset[:, None, None]

    def _convolved(self, seen: Float[Tensor, "b s h w"], classes: Int[Tensor, " b"]) -> Float[Tensor, "b c h w"]:
        if not self.settings.per_class:
            return torch.as_tensor(self.stacks[0](seen, classes))
        height, width, channels = self.shape
        changes = seen.new_zeros(len(seen), channels, height, width)
        for number in _present(classes):
            mine = classes == number
            changes = changes.index_put((mine,), self.stacks[number](seen[mine], classes[mine]))
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

    def __init__(self, seen: int, channels: int, num_classes: int, settings: ImageNetworkSettings) -> None:
        super().__init__()
        width = settings.width
        self.first = nn.Conv2d(seen, width, 3, padding=1)
        self.bias = nn.Embedding(num_classes, width)
        self.inner = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(settings.layers))
        self.last = nn.Conv2d(width, channels, 3, padding=1)
        nn.init.zeros_(self.bias.weight)
        nn.init.zeros_(self.last.weight)
        nn.init.zeros_(self.last.bias)  # type: ignore[arg-type]

    def forward(self, seen: Float[Tensor, "b s h w"], classes: Int[Tensor, " b"]) -> Float[Tensor, "b c h w"]:
        hidden = nn.functional.silu(self.first(seen) + self.bias(classes)[:, :, None, None])
        for layer in self.inner:
            hidden = hidden + nn.functional.silu(layer(hidden))
        return torch.as_tensor(self.last(hidden))
