"""What the person who fits decides. All of it is free of privacy cost, so all of it can be tried again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from microtome.divergences import FDivergence
from microtome.errors import ParameterError
from microtome.generators import MixtureSettings, NetworkSettings
from microtome.release import ReleaseKind
from microtome.training.losses import LossMix
from microtome.training.slices import SliceChoice

_NETWORK: dict[str, Any] = {"steps": 600, "learning_rate": 2e-3, "check_every": 50}
_MIXTURE: dict[str, Any] = {"steps": 400, "learning_rate": 0.2, "check_every": 10}


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """How a generator is trained.

    Attributes:
        network: Shape of the built-in network, which is fitted to records.
        mixture: Shape of the built-in mixture, which is fitted to aggregates.
        loss: What is minimised.
        steps: Most steps of the optimiser; by default 400 for a mixture, 600 otherwise.
        batch_size: Synthetic rows a step. A mixture has no batches; it meets margins as if it had.
        learning_rate: Peak of the one-cycle schedule; by default 0.2 for a mixture, 0.002 otherwise.
        held_out: Share of the release's rows that training does not see, by which the best state is chosen.
        check_every: Steps between two looks at the held-out score; by default 10 for a mixture, 50 otherwise.
        patience: Looks without improvement after which training stops; ``None`` for never.
        threads: Threads of torch. One by default: two are hardly faster for matrices of this size, and on a
            busy machine they wait for each other and become many times slower.
    """

    network: NetworkSettings = field(default_factory=NetworkSettings)
    mixture: MixtureSettings = field(default_factory=MixtureSettings)
    loss: LossMix = field(default_factory=LossMix)
    steps: int | None = None
    batch_size: int = 1024
    learning_rate: float | None = None
    held_out: float = 0.1
    check_every: int | None = None
    patience: int | None = 8
    threads: int = 1

    def __post_init__(self) -> None:
        for name in ("steps", "check_every", "threads", "batch_size"):
            value = getattr(self, name)
            optional = value is None and name in _NETWORK
            _require(optional or isinstance(value, int), name, value, "a whole number")
            _require(optional or value >= 1, name, value, "at least 1")
        _require(self.batch_size >= 2, "batch_size", self.batch_size, "at least 2")
        usable = self.learning_rate is None or (math.isfinite(self.learning_rate) and self.learning_rate > 0)
        _require(usable, "learning_rate", self.learning_rate, "a positive number")
        _require(0 < self.held_out < 1, "held_out", self.held_out, "between 0 and 1, both excluded")
        _require(self.patience is None or self.patience >= 1, "patience", self.patience, "at least 1, or none")

    def settled(self, *, mixture: bool) -> FitSettings:
        """The settings with every default settled for a mixture, or for a network; what does not apply is refused."""
        idle, used = ("network", "mixture") if mixture else ("mixture", "network")
        kind = ReleaseKind.AGGREGATES if mixture else ReleaseKind.RECORDS
        if getattr(self, idle) != getattr(FitSettings(), idle):
            raise ParameterError(f"settings of the {idle} do not apply: {kind} are fitted with a {used}; remove them")
        defaults = _MIXTURE if mixture else _NETWORK
        return replace(self, **{name: value for name, value in defaults.items() if getattr(self, name) is None})

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
        rest = {name: value for name, value in document.items() if name not in ("network", "mixture", "loss")}
        try:
            network, loss = dict(document.get("network", {})), dict(document.get("loss", {}))
            network |= {"hidden": tuple(network["hidden"])} if "hidden" in network else {}
            kinds = {"f": FDivergence, "slices": SliceChoice}
            loss |= {name: kind(loss[name]) for name, kind in kinds.items() if name in loss}
            mixture = MixtureSettings(**document.get("mixture", {}))
            return cls(network=NetworkSettings(**network), mixture=mixture, loss=LossMix(**loss), **rest)
        except ParameterError:
            raise
        except (TypeError, ValueError) as error:
            raise ParameterError(f"settings cannot be read: {error}") from None


def _require(holds: bool, name: str, value: object, wanted: str) -> None:
    if not holds:
        raise ParameterError(f"{name} is {value}; it must be {wanted}")
