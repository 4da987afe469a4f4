"""Parts of a mixture that are trained side by side, each under a split of the noise of its own.

A fit follows some of the noise that it sees, and what it makes of it hangs on how it started. Members start anew, each
sees the tables with other noise added (``aggregate_losses``), and the mixture of all of them has the mean of their
tables: what they agree in stays, what each has made up averages out. Together they have the components of one, so they
cost no more. All stop at the same step, by the mean of their held-out scores: each is judged by what was held out from
it, and of that it has seen nothing, as the others have.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from microtome.generators import Generator, MixtureGenerator
from microtome.generators.splitting import Support
from microtome.training.aggregate_losses import AggregateLoss
from microtome.training.losses import Judge


class Committee:
    """The mean loss of all members.

    Args:
        members: The loss of each; a single one for a generator that is no mixture.
    """

    def __init__(self, members: Sequence[AggregateLoss]) -> None:
        self._members = members

    @property
    def supports(self) -> Sequence[Support]:
        """Which levels go together where one column follows from another."""
        return self._members[0].supports

    @property
    def has_signal(self) -> bool:
        """Whether there is anything to learn beyond the margins."""
        return any(member.has_signal for member in self._members)

    def forget(self) -> None:
        """Nothing is drawn for a step, let alone for several."""

    def __call__(self, model: Generator, latent: Float[Tensor, "b z"], generator: torch.Generator) -> Float[Tensor, ""]:
        """The training loss; of a batch of latent noise if the generator has no components."""
        del generator
        match model:
            case MixtureGenerator():
                losses = [member.of_components(part) for member, part in self._parts(model)]
                return torch.stack(losses).mean()
            case _:
                return self._members[0].of_batch(model(latent))

    @property
    def judge(self) -> Judge:
        """Scores by what was held out."""
        independent, unit, error = np.mean([member.yardstick() for member in self._members], axis=0)
        return Judge(value=self._missed, independent=independent, unit=unit, score_error=error / unit)

    def _missed(self, model: Generator, latent: Float[Tensor, "b z"]) -> float:
        match model:
            case MixtureGenerator():
                return float(np.mean([member.missed_by_components(part) for member, part in self._parts(model)]))
            case _:
                return self._members[0].missed_by_batch(model(latent))

    def _parts(self, model: MixtureGenerator) -> list[tuple[AggregateLoss, list[Float[Tensor, "k d"]]]]:
        """The components of each member, class by class."""
        count = len(self._members)
        classes = [rows.tensor_split(count) for rows in model.components().chunk(model.num_classes)]
        return list(zip(self._members, (list(part) for part in zip(*classes, strict=True)), strict=True))
