"""What the person who fits images decides."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from microtome.errors import require, require_whole
from microtome.generators.image import ImageNetworkSettings
from microtome.training.settings import refuse_unknown, settings_read


class ImageLossKind(StrEnum):
    """What is minimised. All but the first need a release of records."""

    MOMENTS = "moments"
    KERNEL = "kernel"
    ALGORITHM1 = "algorithm1"
    WASSERSTEIN = "wasserstein"


class ImageStart(StrEnum):
    """Where training begins: at the released moments, or at random weights, as the paper does."""

    MOMENTS = "moments"
    RANDOM = "random"


@dataclass(frozen=True, kw_only=True)
class ImageFitSettings:
    """How an image generator is trained.

    Attributes:
        network: Shape of the network.
        start: Where training begins.
        loss: What is minimised.
        num_slices: Slices a step looks at, for the sliced losses; all by default.
        steps: Steps of the optimiser; 0 keeps the start as it is.
        batch_size: Images a step.
        learning_rate: Peak of the one-cycle schedule.
        check_every: Steps between two entries of the history and two checkpoints.
        threads: Threads of torch.
    """

    network: ImageNetworkSettings = field(default_factory=ImageNetworkSettings)
    start: ImageStart = ImageStart.MOMENTS
    loss: ImageLossKind = ImageLossKind.MOMENTS
    num_slices: int | None = None
    steps: int = 200
    batch_size: int = 256
    learning_rate: float = 2e-3
    check_every: int = 25
    threads: int = 1

    def __post_init__(self) -> None:
        for name, least in (("steps", 0), ("batch_size", 2), ("check_every", 1), ("threads", 1)):
            require_whole(name, getattr(self, name), least)
        require(self.num_slices is None or self.num_slices >= 1, "num_slices", self.num_slices, "at least 1")
        usable = math.isfinite(self.learning_rate) and self.learning_rate > 0
        require(usable, "learning_rate", self.learning_rate, "a positive number")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "start": str(self.start), "loss": str(self.loss)}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> ImageFitSettings:
        """The inverse of ``to_dict``; unknown names are refused."""
        refuse_unknown(cls, document)
        given = dict(document)
        with settings_read():
            given["network"] = ImageNetworkSettings(**given.get("network", {}))
            for name, options in (("start", ImageStart), ("loss", ImageLossKind)):
                if name in given:
                    given[name] = options(given[name])
            return cls(**given)
