"""The network for tables: given the latent, every column is an independent distribution over its levels.

    z ~ N(0, I)  →  hidden layers  →  logits of each column's levels  →  softmax column by column

What columns have to do with each other is carried by the latent alone. So the moments of a batch are known
without drawing a level, and rows can be drawn exactly, conditions included. The last layer starts at the
logarithm of the profile's margins with small weights: an untrained network already has the right margins.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn

from microtome.errors import ModelError, ParameterError
from microtome.generators.layout import RowLayout

_LEAST_MARGIN = 1e-6
_MARGIN_ROWS = 16_384
_ROUNDS = 30


@dataclass(frozen=True, kw_only=True)
class NetworkSettings:
    """The shape of the network.

    Attributes:
        latent_dim: Dimension of the noise.
        hidden: Widths of the hidden layers.
        start_spread: Standard deviation of the logits about the margins before training.
    """

    latent_dim: int = 64
    hidden: tuple[int, ...] = (256, 256)
    start_spread: float = 0.1

    def __post_init__(self) -> None:
        if self.latent_dim < 1 or any(width < 1 for width in self.hidden):
            raise ParameterError(f"latent_dim={self.latent_dim}, hidden={self.hidden} must be at least 1")
        if not self.start_spread > 0:
            raise ParameterError(f"start_spread={self.start_spread} must be positive")


class TabularGenerator(nn.Module):
    """Mean encoded rows from noise, and the distributions behind them.

    Args:
        layout: The code of a row.
        margins: Share of each level, from the profile.
        settings: The shape of the network.
    """

    def __init__(self, layout: RowLayout, margins: Float[Tensor, " d"], settings: NetworkSettings) -> None:
        super().__init__()
        if len(margins) != layout.dim:
            raise ModelError(f"{len(margins)} margins for rows of {layout.dim} coordinates")
        self.layout, self.settings, self.latent_dim = layout, settings, settings.latent_dim
        widths = (settings.latent_dim, *settings.hidden)
        layers: list[nn.Module] = []
        for before, after in pairwise(widths):
            layers += [nn.Linear(before, after), nn.SiLU()]
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(widths[-1], layout.dim)
        self._start_at(margins)

    def _start_at(self, margins: Float[Tensor, " d"]) -> None:
        with torch.no_grad():
            sample = self.body(torch.randn(256, self.latent_dim))
            size = float(sample.square().sum(dim=1).mean().sqrt())
            self.head.weight.normal_(std=self.settings.start_spread / size)
            mean_logits = self.head.weight @ sample.mean(dim=0)
            self.head.bias.copy_(margins.clamp_min(_LEAST_MARGIN).log() - mean_logits)

    def leave_start(self, generator: torch.Generator) -> None:
        """Nothing: its units differ from the start."""
        del generator

    def match_margins(self, margins: Float[Tensor, "1 d"], generator: torch.Generator) -> None:
        """Shift every level's logit until the mean distribution over many latents has these margins."""
        latent = torch.randn(_MARGIN_ROWS, self.latent_dim, generator=generator)
        wanted = margins[0].clamp_min(_LEAST_MARGIN).log()
        with torch.no_grad():
            logits = self.head(self.body(latent)) - self.head.bias
            for _ in range(_ROUNDS):
                found = self.layout.softmax(logits + self.head.bias).mean(dim=0)
                self.head.bias.add_(wanted - found.clamp_min(_LEAST_MARGIN).log())

    def probabilities(self, latent: Float[Tensor, "b z"]) -> Float[Tensor, "b d"]:
        """The distribution over levels of each column, block by block."""
        return self.layout.softmax(self.head(self.body(latent)))

    def forward(self, latent: Float[Tensor, "b z"]) -> Float[Tensor, "b d"]:
        """The mean of the encoded row."""
        return self.layout.encode(self.probabilities(latent))

    def draw(self, latent: Float[Tensor, "b z"], generator: torch.Generator) -> Float[Tensor, "b d"]:
        """Encoded rows with levels drawn; the gradient is that of the probabilities (straight through)."""
        return self.layout.draw_encoded(self.probabilities(latent), generator)
