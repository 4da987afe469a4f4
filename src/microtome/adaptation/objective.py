"""What adaptation minimises: cross-entropy on the source, and from some epoch on the divergence from the private side.

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

from dataclasses import dataclass
from typing import assert_never

import torch
from torch import Tensor, nn
from torch.nn import functional

from microtome.adaptation.alignment import TargetBatch, TargetSide, align
from microtome.adaptation.network import AdaptationNetwork
from microtome.adaptation.settings import AdaptationSettings, Moved
from microtome.adaptation.transform import ImageTransform
from microtome.training import Objective

_BETAS = (0.5, 0.999)
_LOOK_BETAS = (0.9, 0.99)
_CROSS_ENTROPY, _DIVERGENCE = "cross-entropy", "divergence"
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


class AdaptationObjective(Objective):
    """A network that learns to classify the source, and a look that brings the source nearer to the target.

    Args:
        network: The network, changed in place.
        source: What it learns to classify.
        settings: How.
        seed: Seed of batches, dropout and the smoothing of the source; nothing private is drawn from it.
        target: The private side; ``None`` for the source alone.

    Attributes:
        first_aligned: The first step that looks at the target.
        num_aligned: Steps that do.
    """

    stage = "adapt"

    def __init__(
        self,
        network: AdaptationNetwork,
        source: Source,
        settings: AdaptationSettings,
        *,
        seed: int,
        target: TargetSide | None = None,
    ) -> None:
        self.network, self.source, self.settings, self.seed, self.target = network, source, settings, seed, target
        self.look = ImageTransform()
        self.module = nn.ModuleDict({"network": network, "look": self.look})
        self.random = torch.Generator().manual_seed(seed)
        self.optimiser = torch.optim.Adam(
            [
                {"params": list(network.parameters()), "lr": settings.learning_rate, "betas": _BETAS},
                {"params": list(self.look.parameters()), "lr": _LOOK_RATE, "betas": _LOOK_BETAS},
            ]
        )
        self._steps_per_epoch = settings.steps_per_epoch(len(source.images))
        self.first_aligned = (settings.align_from - 1) * self._steps_per_epoch
        self.num_aligned = settings.aligned_steps(len(source.images))
        self.steps, self.check_every = settings.epochs * self._steps_per_epoch, settings.checkpoint_every
        self._order: tuple[int, Tensor] | None = None
        self._touched = 0

    def learning_rates(self, step: int) -> list[float]:
        """Of the network always the same; of the look falling to nothing."""
        pace = min(1.0, 1.0 - (step - self.first_aligned) / self.num_aligned)
        return [self.settings.learning_rate, _LOOK_RATE * pace]

    def losses(self, step: int) -> dict[str, Tensor]:
        """Cross-entropy and, in a step that looks at the target, divergence."""
        chosen = self._batch(step)
        images, labels = self.source.images[chosen], self.source.labels[chosen]
        number, batch = step - self.first_aligned, None
        if self.target is not None and 0 <= number < self.num_aligned:
            self._touched = step + 1
            batch = self.target.batch(number, self.network)
        moves = Moved.NETWORK if self.target is None or number < 0 else self.settings.moves
        match moves:
            case Moved.NETWORK:
                return self._moving_network(images, labels, batch)
            case Moved.LOOK:
                return self._moving_look(images, labels, batch)
            case _:
                assert_never(moves)

    def _moving_network(self, images: Tensor, labels: Tensor, batch: TargetBatch | None) -> dict[str, Tensor]:
        """Both losses move the weights."""
        rows = self.network.rows(images)
        losses = {_CROSS_ENTROPY: functional.cross_entropy(self.network.classify(rows, self.random), labels)}
        if batch is not None:
            divergence = align(rows, batch, self.settings.alignment, self.random)
            losses[_DIVERGENCE] = self.settings.weight * divergence
        return losses

    def _moving_look(self, images: Tensor, labels: Tensor, batch: TargetBatch | None) -> dict[str, Tensor]:
        """The cross-entropy of redrawn images moves the weights, and the divergence the look alone."""
        drawn, losses = self.look(images), {}
        if batch is not None:
            divergence, look = align(self.network.rows(drawn), batch, self.settings.alignment, self.random), self.look
            gradient = torch.autograd.grad(divergence, look.parameters_)[0]
            # The divergence, as a function of the look alone: its value, with its gradient by the look.
            change = look.parameters_ - look.parameters_.detach()
            losses[_DIVERGENCE] = divergence.detach() + (gradient * change).sum()
        logits = self.network.classify(self.network.rows(drawn.detach()), self.random)
        return {_CROSS_ENTROPY: functional.cross_entropy(logits, labels), **losses}

    def resume_at(self, step: int, interrupted: bool) -> int:
        """Where to go on if the process dies before the next checkpoint: private steps are never done twice."""
        if interrupted or self.target is None:
            return max(step, self._touched)
        every = self.settings.checkpoint_every
        following = (step // every + 1) * every
        private = following > self.first_aligned and step < self.first_aligned + self.num_aligned
        return min(following, self.steps) if private else step

    def _batch(self, step: int) -> Tensor:
        """Numbers of the step's source images: the epoch's order depends on seed and epoch only."""
        epoch, place = divmod(step, self._steps_per_epoch)
        if self._order is None or self._order[0] != epoch:
            generator = torch.Generator().manual_seed((self.seed * 1_000_003 + epoch) % 2**63)
            self._order = epoch, torch.randperm(len(self.source.images), generator=generator)
        return self._order[1][place * self.settings.batch_size : (place + 1) * self.settings.batch_size]
