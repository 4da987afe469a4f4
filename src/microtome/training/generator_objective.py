"""What fitting a generator to any release has in common: its pace, and what is made of it in the end."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import torch
from torch import nn

from microtome.generators import Generator
from microtome.generators.image import ImageGenerator
from microtome.training.loop import Objective, one_cycle


class Schedule(StrEnum):
    """How the learning rate goes: up to its peak and down again, or the same from the first step to the last."""

    ONE_CYCLE = "one-cycle"
    CONSTANT = "constant"

    def share(self, progress: float) -> float:
        """The share of the peak when so much of the steps is done."""
        match self:
            case Schedule.ONE_CYCLE:
                return one_cycle(progress)
            case Schedule.CONSTANT:
                return 1.0


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How fast and how long, settled for what is trained.

    Attributes:
        steps: Most steps of the optimiser.
        learning_rate: Peak of the one-cycle schedule.
        check_every: Steps between two looks at the held-out score, and between two checkpoints.
        patience: Looks without improvement after which training stops; ``None`` for never.
        adam_memory: Adam's decay rates.
        schedule: How the learning rate goes.
        keeps_last: Whether the last state is kept, whatever its score.
    """

    steps: int
    learning_rate: float
    check_every: int
    patience: int | None = None
    adam_memory: tuple[float, float] = (0.9, 0.999)
    schedule: Schedule = Schedule.ONE_CYCLE
    keeps_last: bool = False


class GeneratorObjective(Objective):
    """A generator that is fitted to a release, at a pace.

    Attributes:
        generator: The generator.
        score_error: Standard error of a score by the noise of what is held out; NaN where not known.
    """

    generator: Generator | ImageGenerator
    score_error: float = math.nan

    def __init__(self, module: nn.Module, pace: Pace, random: torch.Generator) -> None:
        self.module, self.random, self._rate = module, random, pace.learning_rate
        self.steps, self.check_every, self.patience = pace.steps, pace.check_every, pace.patience
        self._schedule, self.keeps_last = pace.schedule, pace.keeps_last
        self.optimiser = torch.optim.Adam(
            module.parameters(), lr=pace.learning_rate, betas=pace.adam_memory, fused=True
        )

    def learning_rates(self, step: int) -> list[float]:
        """The rate by the schedule."""
        return [self._rate * self._schedule.share(step / self.steps)]

    def finish(self) -> None:
        """What is to be done with the generator in its best state."""
