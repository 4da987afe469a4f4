"""Train a generator of your own on a release: any ``torch.nn.Module`` with a ``latent_dim`` will do.

    python examples/own_generator.py --people 20000 --steps 400

The module here is a latent-class model, which is not the built-in network: noise picks a soft class, and every class
has a distribution for each column. Two methods beyond ``forward`` make it *columnwise*: then sliced losses see drawn
rows and ``sample_conditions`` works. A module with ``forward`` alone, noise in and encoded rows out, can be trained
too.
"""

from __future__ import annotations

import argparse
from tempfile import TemporaryDirectory

import torch
from torch import Tensor, nn

import microtome as mt
from microtome.demo import population, population_schema
from microtome.generators import ColumnwiseGenerator, RowLayout


class LatentClasses(nn.Module):
    """A soft choice among classes of people, each with its own distribution of every column."""

    def __init__(self, layout: RowLayout, num_classes: int = 16) -> None:
        super().__init__()
        self.layout = layout
        self.latent_dim = num_classes
        self.temperature = nn.Parameter(torch.tensor(3.0))
        self.logits = nn.Parameter(0.5 * torch.randn(num_classes, layout.dim))

    def probabilities(self, latent: Tensor) -> Tensor:
        """The distribution over levels of each column, block by block."""
        classes = (self.temperature * latent).softmax(dim=1)
        return self.layout.softmax(classes @ self.logits)

    def forward(self, latent: Tensor) -> Tensor:
        """The mean of the encoded row."""
        return self.layout.encode(self.probabilities(latent))

    def draw(self, latent: Tensor, generator: torch.Generator) -> Tensor:
        """Encoded rows with levels drawn; gradients pass straight to the probabilities."""
        shares = self.probabilities(latent)
        drawn = self.layout.one_hot(self.layout.draw_levels(shares.detach(), generator))
        return self.layout.encode(drawn + shares - shares.detach())


def main(people: int, steps: int) -> mt.Synthesizer:
    torch.manual_seed(0)
    table = population(people)
    release = mt.release(table, population_schema(), epsilon=8, delta=1e-6, kind="records")  # the only private step
    generator = LatentClasses(RowLayout.of(release.codebook))
    assert isinstance(generator, ColumnwiseGenerator)

    settings = mt.FitSettings(steps=steps, learning_rate=3e-2, patience=None)
    model = mt.Synthesizer(settings, generator=generator, random_state=0).fit(release)
    assert model.fit_ is not None
    for step, score in model.fit_.history:
        print(f"step {step:5d}: held-out score {score:.3f} (1: independent columns)")
    print(model.sample_conditions({"status": "retired", "age": (70, None)}, 5))

    with TemporaryDirectory() as folder:
        model.save(f"{folder}/own.model")
        again = mt.Synthesizer.load(f"{folder}/own.model", generator=LatentClasses(RowLayout.of(release.codebook)))
    assert again.sample(100, random_state=1).equals(model.sample(100, random_state=1))
    return model


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=20_000)
    parser.add_argument("--steps", type=int, default=400)
    options = parser.parse_args()
    main(options.people, options.steps)
