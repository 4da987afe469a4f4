"""Adaptation to private images that are looked at batch by batch: plan, reserve, train."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from microtome.accounting import Ledger
from microtome.adaptation.network import build_network
from microtome.adaptation.objective import AdaptationObjective, Source
from microtome.adaptation.promise import AdaptationPromise
from microtome.adaptation.run import Run
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
from microtome.private.randomness import Randomness, is_unpredictable
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
        run: Its seed, and where it is kept.
    """

    settings: AdaptationSettings
    privacy: BatchPrivacy
    ledger: Ledger
    dataset: str
    randomness: Randomness
    run: Run

    def fit(
        self, source: Source, classes: list[Any], private: UnitImages
    ) -> tuple[AdaptationObjective, AdaptationPromise, bool, str]:
        """Train; gives what was trained, the promise, whether it came to its end, and the ledger's entry."""
        shape = (private.shape[1], private.shape[2], private.shape[3])
        network = build_network(shape, len(classes), self.settings.radius, self.run.seed)
        objective = AdaptationObjective(network, source, self.settings, seed=self.run.seed)
        plan = plan_batches(
            self.privacy,
            num_records=len(private),
            dim=network.dim,
            num_steps=objective.num_aligned,
            num_slices=self.settings.num_slices,
            slice_dim=self.settings.slice_dim,
            batch_size=self.settings.batch_size,
        )
        facts = self._facts(len(source.images), private, classes)
        self.run.require_same(facts)
        batches = self._batches(private, plan, objective.first_aligned)
        objective.target = PrivateTarget(batches)
        with torch_threads(self.settings.threads):
            finished = self.run.loop(objective, facts, batches.binding).run()
        return objective, self._promise(plan, len(private)), finished, batches.entry

    def _batches(self, private: UnitImages, plan: BatchPlan, first_aligned: int) -> PaidBatches:
        saved = self.run.saved
        if saved is not None:
            return resume_batches(
                private,
                plan,
                binding=saved.binding,
                done=max(0, saved.step - first_aligned),
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

    def _facts(self, num_source: int, private: UnitImages, classes: list[Any]) -> dict[str, Any]:
        """What makes a run the same run, beside its seed, in plain and public values."""
        privacy = self.privacy
        return {
            "settings": self.settings.to_dict(),
            "source": num_source,
            "target": list(private.shape),
            "classes": classes,
            "promise": [privacy.epsilon, privacy.delta, str(privacy.neighbours), str(privacy.accountant)],
            "private": is_unpredictable(self.randomness),
        }

    def _promise(self, plan: BatchPlan, num_images: int) -> AdaptationPromise:
        return AdaptationPromise(
            epsilon=self.privacy.epsilon,
            delta=self.privacy.delta,
            neighbours=self.privacy.neighbours,
            accountant=self.privacy.accountant,
            private=is_unpredictable(self.randomness),
            events=plan.events,
            num_images=num_images,
            touches=plan.num_steps,
            noise_scale=plan.noise_scale,
        )
