"""The one training loop: tables, images and adaptation differ in their objectives only.

    for t = 0 … T − 1:
        losses of the objective at t              what is matched; see the objectives
        step of Adam on their sum
        now and then: score on what training does not see, keep the best state, save the run

Stopping, choosing, restarting and starting over are free: only released numbers are touched.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import Tensor, nn

from microtome.errors import ModelError
from microtome.progress import Progress, silent
from microtome.training.checkpoint import Checkpoint, optimiser_tensors


class Objective(ABC):
    """What a run trains, what it minimises, and for how long.

    Attributes:
        module: All that is trained.
        optimiser: Adam on its parameters.
        random: The random stream of the run.
        steps: Most steps.
        check_every: Steps between two looks at the score, and between two checkpoints.
        patience: Looks without improvement after which training stops; ``None`` for never.
        learns: Whether there is anything to learn; without, no step is made.
        stage: What the run is called in its progress.
        keeps_last: Whether the last state is the result, whatever its score; otherwise that of the best score.
    """

    module: nn.Module
    optimiser: torch.optim.Optimizer
    random: torch.Generator
    steps: int
    check_every: int
    patience: int | None = None
    learns: bool = True
    stage: str = "fit"
    keeps_last: bool = False

    @abstractmethod
    def losses(self, step: int) -> dict[str, Tensor]:
        """The losses of a step by name; their sum is minimised."""

    @abstractmethod
    def learning_rates(self, step: int) -> list[float]:
        """The rate of each of the optimiser's groups at a step."""

    def score(self) -> float | None:
        """How well the module does on what training does not see, lower is better; ``None`` if nothing is held out."""
        return None

    def start(self) -> None:  # noqa: B027, most need nothing
        """What is to be done before the very first step."""

    def forget(self) -> None:  # noqa: B027, most need nothing
        """Drop what a checkpoint does not hold, so that a resumed run goes on as the one that was not interrupted."""

    def resume_at(self, step: int, interrupted: bool) -> int | None:
        """The step that a checkpoint says to go on from, and ``None`` to keep the one there is.

        Ctrl-C may come amid a step, so by default the checkpoint before it stays.
        """
        return None if interrupted else step


class Loop:
    """One run of an objective.

    Args:
        objective: What is trained.
        run: What makes the run this run, in plain values, with its seed. It is resumed only as what it was.
        checkpoint: Where to keep the state of the run, if anywhere.
        saved: The state to go on from, if any.
        binding: What else a checkpoint has to keep.
        progress: Told the steps done, the losses and the score.
    """

    def __init__(
        self,
        objective: Objective,
        *,
        run: Mapping[str, Any],
        checkpoint: Path | None = None,
        saved: Checkpoint | None = None,
        binding: str = "",
        progress: Progress = silent,
    ) -> None:
        self.objective, self.step = objective, 0
        self.history: list[tuple[int, float]] = []
        self._run, self._path, self._binding, self._progress = run, checkpoint, binding, progress
        self._best: dict[str, Tensor] = {}
        self._losses: dict[str, float] = {}
        self._since_look: list[float] = []
        if saved is not None and checkpoint is not None:
            saved.restore(checkpoint, run, objective.module, objective.optimiser, objective.random)
            self.step, self.history, self._best = saved.step, list(saved.history), dict(saved.best)

    def run(self) -> bool:
        """Train to the end, and leave the state that is kept; False if Ctrl-C ended it early."""
        if self.history:
            self._save()
            self.objective.forget()
        else:
            self._look()
        finished = self._train()
        if self._best and not self.objective.keeps_last:
            self.objective.module.load_state_dict(self._best)
        self.objective.module.eval()
        return finished

    def _train(self) -> bool:
        objective = self.objective
        try:
            if self.step == 0:
                objective.start()
            while objective.learns and self.step < objective.steps and not self._stalled():
                self.advance()
                if self.step % objective.check_every == 0 or self.step == objective.steps:
                    self._look()
        except KeyboardInterrupt:
            self._save(interrupted=True)
            return False
        return True

    def advance(self) -> None:
        """One step: losses, gradient, Adam."""
        objective = self.objective
        for group, rate in zip(objective.optimiser.param_groups, objective.learning_rates(self.step), strict=True):
            group["lr"] = rate
        objective.module.train()
        objective.optimiser.zero_grad()
        losses = objective.losses(self.step)
        self._losses = {name: float(value.detach()) for name, value in losses.items()}
        for name, value in self._losses.items():
            if not math.isfinite(value):
                raise ModelError(f"the {name} is {value} at step {self.step}; lower the learning rate")
        torch.stack(list(losses.values())).sum().backward()  # type: ignore[no-untyped-call]
        objective.optimiser.step()
        self.step += 1
        self._since_look.append(sum(self._losses.values()))
        self._report()

    def _look(self) -> None:
        """Score the module, keep it if it is the best, save the run. Without a score: the mean loss since the last."""
        self.objective.module.eval()
        score = self.objective.score()
        if score is not None:
            if not math.isfinite(score):
                raise ModelError(f"the held-out score is {score} at step {self.step}; lower the learning rate")
            if not self.history or score < min(value for _, value in self.history):
                self._best = state_of(self.objective.module)
            self.history.append((self.step, score))
            self._report()
        elif self._since_look:
            self.history.append((self.step, fmean(self._since_look)))
        self._since_look = []
        self._save()
        self.objective.forget()

    @property
    def is_scored(self) -> bool:
        """Whether anything is held out to score by."""
        return bool(self._best)

    @property
    def best_step(self) -> int:
        """The step of the state that is left: that of the best score, or the last."""
        chosen = self.is_scored and not self.objective.keeps_last
        return min(self.history, key=lambda entry: entry[1])[0] if chosen else self.step

    def _stalled(self) -> bool:
        scores, patience = [score for _, score in self.history], self.objective.patience
        return patience is not None and len(scores) - 1 - scores.index(min(scores)) >= patience

    def _report(self) -> None:
        parts = [f"{name} {value:.4g}" for name, value in self._losses.items()]
        held_out = [f"held-out {self.history[-1][1]:.4f}"] if self.is_scored else []
        self._progress(self.objective.stage, self.step, self.objective.steps, ", ".join(parts + held_out))

    def _save(self, *, interrupted: bool = False) -> None:
        step = self.objective.resume_at(self.step, interrupted)
        if self._path is None or step is None:
            return
        Checkpoint(
            run=self._run,
            binding=self._binding,
            step=step,
            history=tuple(self.history),
            model=state_of(self.objective.module),
            best=self._best,
            optimiser=optimiser_tensors(self.objective.optimiser),
            random=self.objective.random.get_state(),
        ).save(self._path)


def one_cycle(progress: float, *, rise: float = 0.3, start: float = 0.04) -> float:
    """The learning rate's schedule: a cosine up from ``start`` to 1, then a cosine down to nearly 0."""
    phase = progress / rise if progress < rise else (1.0 - progress) / (1.0 - rise)
    floor = start if progress < rise else start * 1e-3
    return floor + (1.0 - floor) * 0.5 * (1.0 - math.cos(math.pi * phase))


def state_of(module: nn.Module) -> dict[str, Tensor]:
    """A copy of a module's state."""
    return {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}
