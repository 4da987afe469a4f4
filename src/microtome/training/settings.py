"""What the person who fits decides. All of it is free of privacy cost, so all of it can be tried again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from microtome.divergences import FDivergence
from microtome.errors import ParameterError
from microtome.generators import NetworkSettings
from microtome.release import ReleaseKind
from microtome.training.losses import LossMix
from microtome.training.slices import SliceChoice

_STEPS = {ReleaseKind.RECORDS: 600, ReleaseKind.AGGREGATES: 1000}


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """How a generator is trained.

    Attributes:
        network: Shape of the built-in network; a generator of one's own ignores it.
        loss: What is minimised.
        steps: Most steps of the optimiser; by default 600 for records and 1,000 for aggregates, which have more to
            learn.
        batch_size: Synthetic rows a step.
        learning_rate: Peak of the one-cycle schedule.
        held_out: Share of the release's rows that training does not see, by which the best state is chosen.
        check_every: Steps between two looks at the held-out score.
        patience: Looks without improvement after which training stops; ``None`` for never.
        threads: Threads of torch. One by default: two are hardly faster for matrices of this size, and on a
            busy machine they wait for each other and become many times slower.
    """

    network: NetworkSettings = field(default_factory=NetworkSettings)
    loss: LossMix = field(default_factory=LossMix)
    steps: int | None = None
    batch_size: int = 1024
    learning_rate: float = 2e-3
    held_out: float = 0.1
    check_every: int = 50
    patience: int | None = 8
    threads: int = 1

    def __post_init__(self) -> None:
        for name in ("batch_size", "check_every", "threads"):
            _require(isinstance(getattr(self, name), int), name, getattr(self, name), "a whole number")
        for name in ("check_every", "threads"):
            _require(getattr(self, name) >= 1, name, getattr(self, name), "at least 1")
        whole = self.steps is None or (isinstance(self.steps, int) and self.steps >= 1)
        _require(whole, "steps", self.steps, "a whole number, at least 1")
        _require(self.batch_size >= 2, "batch_size", self.batch_size, "at least 2")
        usable = math.isfinite(self.learning_rate) and self.learning_rate > 0
        _require(usable, "learning_rate", self.learning_rate, "a positive number")
        _require(0 < self.held_out < 1, "held_out", self.held_out, "between 0 and 1, both excluded")
        _require(self.patience is None or self.patience >= 1, "patience", self.patience, "at least 1, or none")

    def for_kind(self, kind: ReleaseKind) -> FitSettings:
        """The settings with every default settled for a kind of release."""
        return self if self.steps is not None else replace(self, steps=_STEPS[kind])

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        document = asdict(self)
        document["loss"] |= {"f": self.loss.f.value, "slices": str(self.loss.slices)}
        document["network"] |= {"hidden": list(self.network.hidden)}
        return document

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> FitSettings:
        """The inverse of ``to_dict``; unknown names are refused."""
        known = {one.name for one in fields(cls)}
        unknown = sorted(set(document) - known)
        if unknown:
            raise ParameterError(f"unknown setting {unknown[0]!r}; known are {', '.join(sorted(known))}")
        rest = {name: value for name, value in document.items() if name not in ("network", "loss")}
        try:
            network, loss = dict(document.get("network", {})), dict(document.get("loss", {}))
            network |= {"hidden": tuple(network["hidden"])} if "hidden" in network else {}
            kinds = {"f": FDivergence, "slices": SliceChoice}
            loss |= {name: kind(loss[name]) for name, kind in kinds.items() if name in loss}
            return cls(network=NetworkSettings(**network), loss=LossMix(**loss), **rest)
        except ParameterError:
            raise
        except (TypeError, ValueError) as error:
            raise ParameterError(f"settings cannot be read: {error}") from None


def _require(holds: bool, name: str, value: object, wanted: str) -> None:
    if not holds:
        raise ParameterError(f"{name} is {value}; it must be {wanted}")
