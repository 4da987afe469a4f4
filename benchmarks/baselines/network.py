"""The generator of the baselines that train one: noise in, rows of a ``MixedEncoding`` out."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import gumbel_softmax

from baselines.encoding import MixedEncoding


class MixedGenerator(nn.Module):
    """A perceptron with a sigmoid for every number and a softmax for every category."""

    def __init__(self, latent_dim: int, hidden: tuple[int, ...], encoding: MixedEncoding) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        width = latent_dim
        for size in hidden:
            layers += [nn.Linear(width, size), nn.BatchNorm1d(size), nn.ReLU()]
            width = size
        self.body = nn.Sequential(*layers, nn.Linear(width, encoding.width))
        self.latent_dim, self._spans = latent_dim, encoding.spans

    def forward(self, latent: Tensor) -> Tensor:
        """Rows with the probabilities of categories."""
        return self._activate(latent, lambda scores: scores.softmax(dim=1))

    def draw(self, latent: Tensor) -> Tensor:
        """Rows with one category drawn a column, and gradients as if it were its probability (straight through)."""
        return self._activate(latent, lambda scores: gumbel_softmax(scores, tau=0.5, hard=True))

    def _activate(self, latent: Tensor, of_categories: Callable[[Tensor], Tensor]) -> Tensor:
        scores = self.body(latent)
        parts = [
            of_categories(scores[:, span.start : span.stop])
            if span.is_categorical
            else scores[:, span.start : span.stop].sigmoid()
            for span in self._spans
        ]
        return torch.cat(parts, dim=1)


@torch.no_grad()
def draw_rows(generator: MixedGenerator, num_rows: int, latents: Callable[[int], Tensor], piece: int = 8192) -> Tensor:
    """Many drawn rows, a piece at a time; ``latents`` makes the noise of a piece of given size."""
    generator.eval()
    sizes = [min(piece, num_rows - start) for start in range(0, num_rows, piece)]
    return torch.cat([generator.draw(latents(size)) for size in sizes])
