"""Algorithm 1 of the paper, on a release of a table: draw noise, generate rows, compare slices.

    z ~ N(0, I);  x = G(z)
    loss = weighted divergences between slices of x and released slices; or between their tables

What is compared differs by the kind of release: ``records_objective`` and ``aggregates_objective``.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from microtome.errors import ModelError
from microtome.generators import BuiltInGenerator, Generator
from microtome.published import Release
from microtome.training.generator_objective import GeneratorObjective, Pace
from microtome.training.losses import Judge, Loss

SCORE_ROWS = 4096
"""Rows by which a generator is judged."""


class TableObjective(GeneratorObjective):
    """A generator of rows against what was released.

    Args:
        release: What is fitted.
        generator: What is trained, a built-in one or one's own.
        pace: How fast and how long.
        batch_size: Rows a step.
        margins: Share of every level by class (v × d), as the profile knows it; one row without classes.
        random: The random stream of the run.
    """

    generator: Generator

    def __init__(
        self,
        release: Release,
        generator: Generator,
        pace: Pace,
        batch_size: int,
        margins: Tensor,
        random: torch.Generator,
    ) -> None:
        super().__init__(_module(generator).eval(), pace, random)
        _check_width(generator, release.codebook.dim)
        self.generator, self._batch_size, self._margins = generator, batch_size, margins
        self._built_in = generator if isinstance(generator, BuiltInGenerator) else None
        self._judged = torch.randn(SCORE_ROWS, generator.latent_dim, generator=random)

    @property
    def has_margins(self) -> bool:
        """Whether the generator will have the profile's margins in the end, whatever it learns."""
        return self._built_in is not None

    def minimise(self, loss: Loss, judge: Judge) -> None:
        """Say what is minimised, and by what it is judged."""
        self._loss, self._judge, self.score_error = loss, judge, judge.score_error
        self.learns = loss.has_signal or self._built_in is None

    def losses(self, step: int) -> dict[str, Tensor]:
        """The loss of a batch of latent noise."""
        del step
        latent = torch.randn(self._batch_size, self.generator.latent_dim, generator=self.random)
        return {"loss": self._loss(self.generator, latent, self.random)}

    def score(self) -> float:
        """1 is what independent columns get, lower is better."""
        return self._judge.score(self.generator, self._judged)

    def forget(self) -> None:
        """What the loss has drawn for several steps."""
        self._loss.forget()

    def start(self) -> None:
        """Built-in generators start at independent columns; some have to leave them before they can learn."""
        if self._built_in is not None:
            self._built_in.leave_start(self.random)

    def finish(self) -> None:
        """The profile knows the margins better than any training: set them exactly."""
        if self._built_in is not None:
            self._built_in.match_margins(self._margins, self.random)


def _module(generator: Generator) -> nn.Module:
    if not isinstance(generator, nn.Module):
        raise ModelError(f"a generator must be a torch.nn.Module; {type(generator).__name__} is not")
    if not hasattr(generator, "latent_dim"):
        raise ModelError(f"{type(generator).__name__} needs an attribute latent_dim: the width of its noise")
    return generator


def _check_width(generator: Generator, dim: int) -> None:
    with torch.no_grad():
        rows = generator(torch.zeros(2, generator.latent_dim))
    if tuple(rows.shape) != (2, dim):
        raise ModelError(
            f"the generator turns 2 rows of noise into {tuple(rows.shape)}; this release needs (2, {dim}): one "
            "coordinate for every encoded one"
        )
