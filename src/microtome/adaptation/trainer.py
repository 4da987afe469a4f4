"""Training: cross-entropy on the source, and from some epoch on the divergence from the private side.

    for t = 1 … T:
        x, y = source batch;  z = rows(x)
        loss = cross-entropy(classify(z), y)
        from epoch ``align_from`` on:  loss += weight · D(slices of z, noisy slices of the private batch t)
        step of Adam

**No gradient flows through the private branch.** Noisy slices are released numbers, but their derivative by the
network's weights is a function of the private images that no noise covers. So they are constants in the loss, and
the weights move by what the alignment says about the *source's* features only.

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

from microtome.adaptation.alignment import TargetSide, align
from microtome.adaptation.network import AdaptationNetwork
from microtome.adaptation.settings import AdaptationSettings
from microtome.errors import ModelError
from microtome.progress import Progress, silent
from microtome.training.threads import torch_threads

_BETAS = (0.5, 0.999)


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
        self.optimiser = torch.optim.Adam(network.parameters(), lr=settings.learning_rate, betas=_BETAS)
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
        rows = self.network.rows(self.source.images[chosen])
        logits = self.network.classify(rows, self.random)
        cross_entropy = loss = functional.cross_entropy(logits, self.source.labels[chosen])
        note = ""
        if target is not None and self.step >= self.first_aligned:
            self._touched = self.step + 1
            batch = target.batch(self.step - self.first_aligned, self.network)
            divergence = align(rows, batch, self.settings.alignment, self.random)
            loss = cross_entropy + self.settings.weight * divergence
            note = f", divergence {divergence.item():.4f}"
        if not math.isfinite(loss.item()):
            raise ModelError(f"the loss is {loss.item()} at step {self.step}; lower the learning rate or the weight")
        self.optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        self.step += 1
        self.progress("adapt", self.step, self.num_steps, f"cross-entropy {cross_entropy.item():.3f}{note}")

    def _claimed(self) -> int:
        """Where to go on if the process dies before the next checkpoint: private steps are never done twice."""
        every = self.settings.checkpoint_every
        following = (self.step // every + 1) * every
        return self.step if following <= self.first_aligned else min(following, self.num_steps)

    def _batch(self) -> Tensor:
        """Numbers of the step's source images: the epoch's order depends on seed and epoch only."""
        epoch, place = divmod(self.step, self._steps_per_epoch)
        if self._order is None or self._order[0] != epoch:
            generator = torch.Generator().manual_seed((self.seed * 1_000_003 + epoch) % 2**63)
            self._order = epoch, torch.randperm(len(self.source.images), generator=generator)
        return self._order[1][place * self.settings.batch_size : (place + 1) * self.settings.batch_size]
