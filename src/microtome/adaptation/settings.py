"""What the person who trains decides, apart from the promise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from microtome.choice import Choice
from microtome.errors import ParameterError, require, require_whole
from microtome.training.settings import refuse_unknown


class Alignment(StrEnum):
    """How source features are compared with noisy slices of private ones."""

    KERNEL = "kernel"
    WASSERSTEIN = "wasserstein"


class Moved(StrEnum):
    """What the alignment moves."""

    LOOK = "look"
    NETWORK = "network"

    @property
    def is_of_look(self) -> bool:
        """Whether source images are redrawn, and losses not added."""
        match self:
            case Moved.LOOK:
                return True
            case Moved.NETWORK:
                return False


@dataclass(frozen=True, kw_only=True)
class AdaptationSettings:
    """How a classifier is adapted. The number of epochs and the batch size decide, with the promise, on the noise.

    Attributes:
        alignment: The kernel f-divergence, or smoothed sliced Wasserstein.
        moves: Whether the alignment moves the look of source images, or the network's weights.
        weight: With ``network``: weight of the alignment beside the source's cross-entropy.
        epochs: Passes over the source.
        align_from: First epoch, counted from 1, in which private images are looked at.
        align_to: Last such epoch; the last of all if ``None``.
        images_per_epoch: Source images that make an epoch; all of them if ``None``.
        batch_size: Source images a step, and expected private ones.
        learning_rate: Of Adam.
        num_slices: Slices of a private batch.
        slice_dim: Dimension of a slice; 1 for Wasserstein.
        radius: Norm to which features are clipped.
        checkpoint_every: Steps between two checkpoints, if any are kept.
        threads: Threads of torch.
    """

    alignment: Choice[Alignment] = Choice(Alignment, Alignment.KERNEL)
    moves: Choice[Moved] = Choice(Moved, Moved.LOOK)
    weight: float = 1.0
    epochs: int = 30
    align_from: int = 10
    align_to: int | None = None
    images_per_epoch: int | None = None
    batch_size: int = 128
    learning_rate: float = 5e-4
    num_slices: int = 100
    slice_dim: int = 1
    radius: float = 0.5
    checkpoint_every: int = 50
    threads: int = 1

    def __post_init__(self) -> None:
        for name in ("epochs", "align_from", "batch_size", "num_slices", "slice_dim", "checkpoint_every", "threads"):
            least = 2 if name == "batch_size" else 1
            require_whole(name, getattr(self, name), least)
        for name in ("learning_rate", "radius"):
            value = getattr(self, name)
            require(math.isfinite(value) and value > 0, name, value, "a positive number")
        require(math.isfinite(self.weight) and self.weight >= 0, "weight", self.weight, "a number, at least 0")
        require(self.align_from <= self.epochs, "align_from", self.align_from, f"at most epochs = {self.epochs}")
        if self.moves.is_of_look and self.weight != 1.0:
            raise ParameterError(
                f"weight is {self.weight}; it has a use with moves='network' only, where losses are added"
            )
        last = self.align_to is None or (
            isinstance(self.align_to, int) and self.align_from <= self.align_to <= self.epochs
        )
        require(last, "align_to", self.align_to, f"between align_from = {self.align_from} and {self.epochs}")
        enough = self.images_per_epoch is None or self.images_per_epoch >= self.batch_size
        require(enough, "images_per_epoch", self.images_per_epoch, f"at least batch_size = {self.batch_size}")
        if self.alignment is Alignment.WASSERSTEIN and self.slice_dim != 1:
            raise ParameterError(f"slice_dim is {self.slice_dim}; Wasserstein sorts numbers, so it must be 1")

    def steps_per_epoch(self, num_source: int) -> int:
        """Steps of an epoch on a source of this size."""
        return max(1, min(self.images_per_epoch or num_source, num_source) // self.batch_size)

    def aligned_steps(self, num_source: int) -> int:
        """Steps that look at private images."""
        return ((self.align_to or self.epochs) - self.align_from + 1) * self.steps_per_epoch(num_source)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "alignment": str(self.alignment), "moves": str(self.moves)}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> AdaptationSettings:
        """The inverse of ``to_dict``; unknown names are refused."""
        refuse_unknown(cls, document)
        return cls(**document)
