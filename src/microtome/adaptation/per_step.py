"""Adaptation to private images that are looked at batch by batch: plan, reserve, train."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from microtome.accounting import Ledger
from microtome.adaptation.network import build_network
from microtome.adaptation.objective import AdaptationObjective, Source
from microtome.adaptation.promise import AdaptationPromise
from microtome.adaptation.settings import AdaptationSettings
from microtome.adaptation.target import PrivateTarget
from microtome.adaptation.unit_images import UnitImages
from microtome.private.batches import (
    BatchPlan,
    BatchPrivacy,
    PaidBatches,
    pay_for_batches,
    plan_batches,
    resume_batches,
)
from microtome.private.randomness import Randomness, SystemRandomness
from microtome.progress import Progress
from microtome.training import Checkpoint, Loop
from microtome.training.threads import torch_threads


@dataclass(frozen=True, kw_only=True)
class PrivateTraining:
    """One training with private batches.

    Attributes:
        settings: How.
        privacy: The promise.
        ledger: The book in which the training is reserved.
        dataset: The private images' name in the book.
        randomness: Source of all noise; anything but ``SystemRandomness`` promises nothing.
        checkpoint: Where to keep the state of the run, if anywhere.
        saved: The state to go on from, if any.
        progress: Told the steps done.
    """

    settings: AdaptationSettings
    privacy: BatchPrivacy
    ledger: Ledger
    dataset: str
    randomness: Randomness
    checkpoint: Path | None
    saved: Checkpoint | None
    progress: Progress

    def fit(
        self, source: Source, classes: list[Any], private: UnitImages, seed: int
    ) -> tuple[AdaptationObjective, AdaptationPromise, bool, str]:
        """Train; gives what was trained, the promise, whether it came to its end, and the ledger's entry."""
        shape = (private.shape[1], private.shape[2], private.shape[3])
        network = build_network(shape, len(classes), self.settings.radius, seed)
        objective = AdaptationObjective(network, source, self.settings, seed=seed)
        plan = plan_batches(self.privacy, num_records=len(private), dim=network.dim, num_steps=objective.num_aligned)
        run = self._run(seed, len(source.images), private, classes)
        if self.saved is not None and self.checkpoint is not None:
            self.saved.require(self.checkpoint, run)
        batches = self._batches(private, plan, objective.first_aligned)
        objective.target = PrivateTarget(batches)
        loop = Loop(
            objective,
            run=run,
            checkpoint=self.checkpoint,
            saved=self.saved,
            binding=batches.binding,
            progress=self.progress,
        )
        with torch_threads(self.settings.threads):
            finished = loop.run()
        return objective, self._promise(plan, len(private)), finished, batches.entry

    def _batches(self, private: UnitImages, plan: BatchPlan, first_aligned: int) -> PaidBatches:
        if self.saved is not None:
            return resume_batches(
                private,
                plan,
                binding=self.saved.binding,
                done=max(0, self.saved.step - first_aligned),
                ledger=self.ledger,
                dataset=self.dataset,
                randomness=self.randomness,
            )
        return pay_for_batches(
            private,
            plan,
            privacy=self.privacy,
            ledger=self.ledger,
            dataset=self.dataset,
            purpose="domain adaptation",
            randomness=self.randomness,
        )

    def _run(self, seed: int, num_source: int, private: UnitImages, classes: list[Any]) -> dict[str, Any]:
        """What makes a run the same run, in plain and public values."""
        privacy = self.privacy
        return {
            "settings": self.settings.to_dict(),
            "seed": seed,
            "source": num_source,
            "target": list(private.shape),
            "classes": classes,
            "promise": [privacy.epsilon, privacy.delta, str(privacy.neighbours), str(privacy.accountant)],
            "private": self._is_private,
        }

    def _promise(self, plan: BatchPlan, num_images: int) -> AdaptationPromise:
        return AdaptationPromise(
            epsilon=self.privacy.epsilon,
            delta=self.privacy.delta,
            neighbours=self.privacy.neighbours,
            accountant=self.privacy.accountant,
            private=self._is_private,
            events=plan.events,
            num_images=num_images,
            touches=plan.num_steps,
            noise_scale=plan.noise_scale,
        )

    @property
    def _is_private(self) -> bool:
        return type(self.randomness) is SystemRandomness
