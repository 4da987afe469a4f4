"""Training: cross-entropy on the source, and from some epoch on the divergence from the private side.

    for t = 1 … T:
        x, y = source batch;  from epoch ``align_from`` on: x = look(x)
        step of Adam on the weights, by the cross-entropy of classify(rows(x)) and y
        up to epoch ``align_to``:  step of Adam on the look, by D(slices of rows(x), noisy slices of private batch t)

**No gradient flows through the private branch.** Noisy slices are released numbers, but their derivative by the
network's weights is a function of the private images that no noise covers. So they are constants in the loss. That is
why the look is moved and not the weights: weights move private features as well, in a way that the gradient does not
know of, so that the two sides run in step and come no nearer. The look moves the source alone, and its gradient is
the whole one. With ``moves="network"`` the divergence moves the weights, as was published, times ``weight``.

A checkpoint claims the private steps up to the next one before they are done. A run that was killed goes on after
them: they were paid for and may have been seen, so they are not done again with other noise, and training has that
many steps fewer. Ctrl-C loses none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from microtome.adaptation.alignment import TargetBatch, TargetSide, align
from microtome.adaptation.network import AdaptationNetwork
from microtome.adaptation.settings import AdaptationSettings, Moved
from microtome.adaptation.transform import ImageTransform
from microtome.errors import ModelError
from microtome.progress import Progress, silent
from microtome.training.threads import torch_threads

_BETAS = (0.5, 0.999)
_LOOK_BETAS = (0.9, 0.99)
_LOOK_RATE = 0.02
"""Of the look's Adam at first; it falls to nothing over the steps that look at private images."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Source:
    """The labelled images.

    Attributes:
        images: n × channels × height × width in [0, 1].
        labels: Numbers of the classes.
    """

    images: Tensor
    labels: Tensor


class AdaptationTrainer:
    """Trains one network.

    Args:
        network: The network, changed in place.
        source: What it learns to classify.
        settings: How.
        seed: Seed of batches, dropout and the smoothing of the source; nothing private is drawn from it.
        progress: Told the steps done.
    """

    def __init__(
        self,
        network: AdaptationNetwork,
        source: Source,
        settings: AdaptationSettings,
        *,
        seed: int,
        progress: Progress = silent,
    ) -> None:
        self.network, self.source, self.settings, self.seed = network, source, settings, seed
        self.random = torch.Generator().manual_seed(seed)
        self.look = ImageTransform()
        self.optimiser = torch.optim.Adam(
            [
                {"params": list(network.parameters()), "lr": settings.learning_rate, "betas": _BETAS},
                {"params": list(self.look.parameters()), "lr": _LOOK_RATE, "betas": _LOOK_BETAS},
            ]
        )
        self.step, self._touched = 0, 0
        self.progress = progress
        self._steps_per_epoch = settings.steps_per_epoch(len(source.images))
        self._order: tuple[int, Tensor] | None = None

    @property
    def num_steps(self) -> int:
        """All steps."""
        return self.settings.epochs * self._steps_per_epoch

    @property
    def first_aligned(self) -> int:
        """The first step that looks at the target."""
        return (self.settings.align_from - 1) * self._steps_per_epoch

    @property
    def num_aligned(self) -> int:
        """Steps that look at the target."""
        return self.settings.aligned_steps(len(self.source.images))

    def warm_up(self) -> None:
        """The epochs before the target is looked at."""
        with torch_threads(self.settings.threads):
            while self.step < self.first_aligned:
                self.advance(None)

    def run(self, target: TargetSide | None, save: Callable[[int], None] | None = None) -> bool:
        """Train to the end; False if Ctrl-C ended it early.

        Args:
            target: The private side; ``None`` for the source alone.
            save: Keeps the state of the run, given the step from which a killed run is to go on.
        """
        begun = self.step
        with torch_threads(self.settings.threads):
            try:
                while self.step < self.num_steps:
                    if save is not None and (self.step == begun or self.step % self.settings.checkpoint_every == 0):
                        save(self.step if target is None else self._claimed())
                    self.advance(target)
            except KeyboardInterrupt:
                finished = False
            else:
                finished = True
            if save is not None:
                save(max(self.step, self._touched))
        return finished

    def advance(self, target: TargetSide | None) -> None:
        """One step."""
        chosen = self._batch()
        images, labels = self.source.images[chosen], self.source.labels[chosen]
        self.optimiser.zero_grad()
        number = self.step - self.first_aligned
        batch = None
        if target is not None and 0 <= number < self.num_aligned:
            self._touched = self.step + 1
            batch = target.batch(number, self.network)
        if target is None or number < 0 or self.settings.moves is Moved.NETWORK:
            cross_entropy, divergence = self._move_network(images, labels, batch)
        else:
            cross_entropy, divergence = self._move_look(images, labels, batch, 1.0 - number / self.num_aligned)
        for loss in (cross_entropy, divergence):
            if loss is not None and not math.isfinite(loss):
                raise ModelError(f"the loss is {loss} at step {self.step}; lower the learning rate or the weight")
        self.optimiser.step()
        self.step += 1
        note = "" if divergence is None else f", divergence {divergence:.4f}"
        self.progress("adapt", self.step, self.num_steps, f"cross-entropy {cross_entropy:.3f}{note}")

    def _move_network(self, images: Tensor, labels: Tensor, batch: TargetBatch | None) -> tuple[float, float | None]:
        """Gradients of the weights by both losses."""
        rows = self.network.rows(images)
        loss = cross_entropy = functional.cross_entropy(self.network.classify(rows, self.random), labels)
        divergence = None if batch is None else align(rows, batch, self.settings.alignment, self.random)
        if divergence is not None:
            loss = cross_entropy + self.settings.weight * divergence
        loss.backward()  # type: ignore[no-untyped-call]
        return cross_entropy.item(), None if divergence is None else divergence.item()

    def _move_look(
        self, images: Tensor, labels: Tensor, batch: TargetBatch | None, pace: float
    ) -> tuple[float, float | None]:
        """Gradients of the weights by the cross-entropy of redrawn images, and of the look by the divergence."""
        drawn, divergence = self.look(images), None
        if batch is not None:
            divergence = align(self.network.rows(drawn), batch, self.settings.alignment, self.random)
            self.look.parameters_.grad = torch.autograd.grad(divergence, self.look.parameters_)[0]
            self.optimiser.param_groups[1]["lr"] = _LOOK_RATE * pace
        logits = self.network.classify(self.network.rows(drawn.detach()), self.random)
        cross_entropy = functional.cross_entropy(logits, labels)
        cross_entropy.backward()  # type: ignore[no-untyped-call]
        return cross_entropy.item(), None if divergence is None else divergence.item()

    def _claimed(self) -> int:
        """Where to go on if the process dies before the next checkpoint: private steps are never done twice."""
        every = self.settings.checkpoint_every
        following = (self.step // every + 1) * every
        private = following > self.first_aligned and self.step < self.first_aligned + self.num_aligned
        return min(following, self.num_steps) if private else self.step

    def _batch(self) -> Tensor:
        """Numbers of the step's source images: the epoch's order depends on seed and epoch only."""
        epoch, place = divmod(self.step, self._steps_per_epoch)
        if self._order is None or self._order[0] != epoch:
            generator = torch.Generator().manual_seed((self.seed * 1_000_003 + epoch) % 2**63)
            self._order = epoch, torch.randperm(len(self.source.images), generator=generator)
        return self._order[1][place * self.settings.batch_size : (place + 1) * self.settings.batch_size]
