"""The extractor that both domains share, and the classifier's head.

The network of Rakotomamonjy and Ralaivola (2021): two 5×5 convolutions of 32 and 20 channels, each followed by
max-pooling, a rectifier after the first and a sigmoid after the second (320 features of a 28×28 image), then 100
hidden units and the classes. Images smaller than 20 pixels get padded 3×3 convolutions instead. Two differences:

- features are clipped to the radius for the head as well as for the alignment, so that the head sees what is aligned;
- dropout is in the head only: in the extractor it would make source features differ from private ones in law, and
  layers that look at a whole batch, such as batch normalisation, are out of the question altogether: a private record
  must influence its own row only.

Rows are features over the radius, so of norm at most 1: what the private half clips and slices.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor, nn

_CHANNELS = (32, 20)
_HIDDEN = 100
_DROPOUT = 0.5
_SMALL = 20


class AdaptationNetwork(nn.Module):
    """Images to rows in the unit ball, and rows to classes."""

    def __init__(self, shape: tuple[int, int, int], num_classes: int, radius: float) -> None:
        super().__init__()
        channels, height, width = shape
        size, padding = (3, 1) if min(height, width) < _SMALL else (5, 0)
        self.radius = radius
        self.extractor = nn.Sequential(
            nn.Conv2d(channels, _CHANNELS[0], size, padding=padding),
            nn.MaxPool2d(2),
            nn.ReLU(),
            nn.Conv2d(_CHANNELS[0], _CHANNELS[1], size, padding=padding),
            nn.MaxPool2d(2),
            nn.Sigmoid(),
            nn.Flatten(),
        )
        with torch.no_grad():
            self.dim = int(self.extractor(torch.zeros(1, *shape)).shape[1])
        self.hidden = nn.Linear(self.dim, _HIDDEN)
        self.classes = nn.Linear(_HIDDEN, num_classes)

    def rows(self, images: Float[Tensor, "b c h w"]) -> Float[Tensor, "b d"]:
        """Features clipped to the radius, over the radius."""
        features: Tensor = self.extractor(images * 2.0 - 1.0)
        clipped: Tensor = features / torch.linalg.vector_norm(features, dim=1, keepdim=True).clamp_min(self.radius)
        return clipped

    def classify(self, rows: Float[Tensor, "b d"], dropout: torch.Generator | None = None) -> Float[Tensor, "b v"]:
        """Logits of the classes; with dropout if a generator for it is given."""
        hidden = torch.relu(self.hidden(rows * math.sqrt(self.dim)))
        if dropout is not None:
            kept = torch.rand(hidden.shape, generator=dropout) >= _DROPOUT
            hidden = hidden * kept / (1.0 - _DROPOUT)
        logits: Tensor = self.classes(hidden)
        return logits

    def encode(self, images: NDArray[np.float32]) -> NDArray[np.float64]:
        """Rows of private images for the private half: numbers in, numbers out, nothing kept, no gradient."""
        with torch.no_grad():
            return self.rows(torch.from_numpy(images)).double().numpy()


def build_network(shape: tuple[int, int, int], num_classes: int, radius: float, seed: int) -> AdaptationNetwork:
    """A fresh network; the same for the same seed, whatever else is random in the process."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return AdaptationNetwork(shape, num_classes, radius)
