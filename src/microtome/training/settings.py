"""What the person who fits decides. All of it is free of privacy cost, so all of it can be tried again."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from microtome.divergences import FDivergence
from microtome.errors import ParameterError, require, require_whole
from microtome.generators import MixtureSettings, NetworkSettings
from microtome.published import ReleaseKind, check_output
from microtome.training.generator_objective import Pace, Schedule
from microtome.training.losses import LossMix
from microtome.training.slices import SliceChoice
from microtome.whole_file import write_text

_NETWORK = Pace(steps=600, learning_rate=2e-3, check_every=50)
_MIXTURE = Pace(steps=400, learning_rate=0.2, check_every=10, adam_memory=(0.9, 0.95))
"""A mixture's gradient has no noise to average out: a long memory of the large gradients at the start would keep its
steps too short to the end, and what is certain in the tables (who was born here is a citizen) would not become certain
in its components."""
_MIXTURE_IN_NOISE = replace(_MIXTURE, steps=200)
"""Where the noise leaves little to learn, the rate is to fall while that is learnt, and not after."""


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """How a generator is trained.

    Attributes:
        network: Shape of the built-in network, which is fitted to records.
        mixture: Shape of the built-in mixture, which is fitted to aggregates.
        loss: What is minimised.
        steps: Most steps of the optimiser; by default 400 for a mixture, 200 for one of few components because there is
            much noise, 600 otherwise.
        batch_size: Synthetic rows a step. A mixture has no batches; it meets margins as if it had.
        learning_rate: Peak of the one-cycle schedule; by default 0.2 for a mixture, 0.002 otherwise.
        schedule: How the learning rate goes: ``one-cycle`` or ``constant``.
        held_out: Share of the release's rows that training does not see, by which the best state is chosen.
        check_every: Steps between two looks at the held-out score; by default 10 for a mixture, 50 otherwise.
        patience: Looks without improvement after which training stops; ``None`` for never.
        keeps_last: Whether the last state is kept, whatever its held-out score.
        threads: Threads of torch. One by default: two are hardly faster for matrices of this size, and on a
            busy machine they wait for each other and become many times slower.
    """

    network: NetworkSettings = field(default_factory=NetworkSettings)
    mixture: MixtureSettings = field(default_factory=MixtureSettings)
    loss: LossMix = field(default_factory=LossMix)
    steps: int | None = None
    batch_size: int = 1024
    learning_rate: float | None = None
    schedule: Schedule = Schedule.ONE_CYCLE
    held_out: float = 0.1
    check_every: int | None = None
    patience: int | None = 8
    keeps_last: bool = False
    threads: int = 1

    def __post_init__(self) -> None:
        for name, least in (("steps", 1), ("check_every", 1), ("threads", 1), ("batch_size", 2)):
            value = getattr(self, name)
            if value is not None or name not in ("steps", "check_every"):
                require_whole(name, value, least)
        usable = self.learning_rate is None or (math.isfinite(self.learning_rate) and self.learning_rate > 0)
        require(usable, "learning_rate", self.learning_rate, "a positive number")
        require(0 < self.held_out < 1, "held_out", self.held_out, "between 0 and 1, both excluded")
        require(self.patience is None or self.patience >= 1, "patience", self.patience, "at least 1, or none")

    def pace(self, *, mixture: bool, clarity: float = math.inf) -> Pace:
        """Every default settled for a network, or for a mixture on tables that are so clear (``MixtureSettings``).

        Settings that do not apply are refused.
        """
        idle, used = ("network", "mixture") if mixture else ("mixture", "network")
        kind = ReleaseKind.AGGREGATES if mixture else ReleaseKind.RECORDS
        if getattr(self, idle) != getattr(FitSettings(), idle):
            raise ParameterError(f"settings of the {idle} do not apply: {kind} are fitted with a {used}; remove them")
        default = _NETWORK if not mixture else _MIXTURE if MixtureSettings().feeds_more(clarity) else _MIXTURE_IN_NOISE
        return Pace(
            steps=self.steps or default.steps,
            learning_rate=self.learning_rate or default.learning_rate,
            check_every=self.check_every or default.check_every,
            patience=self.patience,
            adam_memory=default.adam_memory,
            schedule=self.schedule,
            keeps_last=self.keeps_last,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        document = asdict(self)
        document["loss"] |= {"f": self.loss.f.value, "slices": self.loss.slices and str(self.loss.slices)}
        document["network"] |= {"hidden": list(self.network.hidden)}
        document["schedule"] = str(self.schedule)
        return document

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write them as JSON, for ``microtome fit --settings``."""
        check_output(Path(path), force=force)
        write_text(Path(path), json.dumps(self.to_dict(), indent=2) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> FitSettings:
        """Read what ``save`` wrote."""
        return cls.from_dict(read_settings(Path(path)))

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> FitSettings:
        """The inverse of ``to_dict``; unknown names are refused."""
        refuse_unknown(cls, document)
        rest = {name: value for name, value in document.items() if name not in ("network", "mixture", "loss")}
        with settings_read():
            network, loss = dict(document.get("network", {})), dict(document.get("loss", {}))
            network |= {"hidden": tuple(network["hidden"])} if "hidden" in network else {}
            kinds = {"f": FDivergence, "slices": SliceChoice}
            loss |= {name: kind(loss[name]) for name, kind in kinds.items() if loss.get(name) is not None}
            mixture = MixtureSettings(**document.get("mixture", {}))
            rest |= {"schedule": Schedule(rest["schedule"])} if "schedule" in rest else {}
            return cls(network=NetworkSettings(**network), mixture=mixture, loss=LossMix(**loss), **rest)


def read_settings(path: Path) -> dict[str, Any]:
    """The entries of a JSON file of settings, of a table or of images."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ParameterError(f"{path}: cannot be read as JSON settings: {error}") from error
    if not isinstance(document, dict):
        raise ParameterError(f"{path}: settings are a JSON object, not {type(document).__name__}")
    return document


def refuse_unknown(settings: type, document: Mapping[str, Any]) -> None:
    """Refuse names that are not among those of the settings."""
    known = {one.name for one in fields(settings)}
    unknown = sorted(set(document) - known)
    if unknown:
        raise ParameterError(f"unknown setting {unknown[0]!r}; known are {', '.join(sorted(known))}")


@contextmanager
def settings_read() -> Iterator[None]:
    """Turn whatever goes wrong with the values of a document into an error in words."""
    try:
        yield
    except ParameterError:
        raise
    except (TypeError, ValueError) as error:
        raise ParameterError(f"settings cannot be read: {error}") from None
