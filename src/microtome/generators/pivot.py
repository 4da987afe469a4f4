"""A network for each class of a pivot column: the class is drawn first, then everything else given it.

    z = (z₀, z₁, …);  class = quantile of z₀ under the classes' shares;  row = network[class](z₁, …)

Given the latent, columns are still independent and the pivot is certain, so nothing changes for those who draw
from it or condition on it.
"""

from __future__ import annotations

from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from microtome.errors import ModelError
from microtome.generators.layout import RowLayout
from microtome.generators.tabular import NetworkSettings, TabularGenerator


class PivotGenerator(nn.Module):
    """One ``TabularGenerator`` a class.

    Args:
        layout: The code of a row.
        pivot: Position of the pivot column.
        shares: Share of each of its classes.
        margins: Share of each level by class.
        settings: The shape of each network.
    """

    cumulative: Tensor

    def __init__(
        self,
        layout: RowLayout,
        pivot: int,
        shares: Float[Tensor, " v"],
        margins: Float[Tensor, "v d"],
        settings: NetworkSettings,
    ) -> None:
        super().__init__()
        start, stop = layout.blocks[pivot]
        if not len(shares) == len(margins) == stop - start:
            raise ModelError(f"{len(shares)} shares and {len(margins)} margins for {stop - start} classes")
        self.layout, self.pivot, self.settings, self.latent_dim = layout, pivot, settings, settings.latent_dim + 1
        self.networks = nn.ModuleList(TabularGenerator(layout, one, settings) for one in margins)
        self.register_buffer("cumulative", (shares / shares.sum()).cumsum(0)[:-1])

    @property
    def num_classes(self) -> int:
        """Classes of the pivot."""
        return len(self.networks)

    def network(self, number: int) -> TabularGenerator:
        """The network of a class."""
        return cast(TabularGenerator, self.networks[number])

    def classes(self, latent: Float[Tensor, "b z"]) -> Int[Tensor, " b"]:
        """The class of each latent."""
        return torch.bucketize(torch.special.ndtr(latent[:, 0]), self.cumulative)

    def class_probabilities(self, number: int, latent: Float[Tensor, "b z"]) -> Float[Tensor, "b d"]:
        """The distributions of all columns if the class is the given one, whatever the latent says of it."""
        probabilities = self.network(number).probabilities(latent[:, 1:])
        start, stop = self.layout.blocks[self.pivot]
        certain = nn.functional.one_hot(torch.tensor(number), stop - start).to(probabilities.dtype)
        parts = [probabilities[:, :start], certain.expand(len(latent), -1), probabilities[:, stop:]]
        return torch.cat(parts, dim=1)

    def probabilities(self, latent: Float[Tensor, "b z"]) -> Float[Tensor, "b d"]:
        """The distribution over levels of each column, block by block."""
        classes = self.classes(latent)
        order = torch.argsort(classes, stable=True)
        counts = torch.bincount(classes, minlength=self.num_classes).tolist()
        parts = torch.split(latent[order], counts)
        rows = torch.cat([self.class_probabilities(number, part) for number, part in enumerate(parts)])
        return rows[torch.argsort(order)]

    def forward(self, latent: Float[Tensor, "b z"]) -> Float[Tensor, "b d"]:
        """The mean of the encoded row."""
        return self.layout.encode(self.probabilities(latent))

    def draw(self, latent: Float[Tensor, "b z"], generator: torch.Generator) -> Float[Tensor, "b d"]:
        """Encoded rows with levels drawn; the gradient is that of the probabilities (straight through)."""
        return self.layout.draw_encoded(self.probabilities(latent), generator)

    def match_margins(self, margins: Float[Tensor, "v d"], latent: Float[Tensor, "b z"]) -> None:
        """Set every class's margins exactly, on the given latents."""
        for number in range(self.num_classes):
            self.network(number).match_margins(margins[number], latent[:, 1:])
