"""A training run on disk: everything needed to go on as if it had never stopped.

A run that is killed leaves the last one that was whole.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from microtome.errors import ModelError
from microtome.training.tensor_file import contents_of, load_weights, read_tensors, write_tensors

_FORMAT = "microtome-checkpoint-3"
_GROUPS = ("model", "best", "optimiser", "random")
_STEP = "step"
"""The one part of Adam's state that is a single number; all others are of their parameter's shape."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Checkpoint:
    """A moment of a training run.

    Attributes:
        run: What the run is, in plain values: what is fitted, settings, seed. A run goes on only as what it was.
        binding: Ties a run on private images to the ledger's entry that paid for it; empty otherwise.
        step: The step to go on from.
        history: (step, score) so far.
        model: State of all that is trained.
        best: The state with the best held-out score so far; empty where nothing is held out.
        optimiser: Adam's moments by the number of the parameter and their name.
        random: State of the random stream.
    """

    run: Mapping[str, Any]
    binding: str
    step: int
    history: tuple[tuple[int, float], ...]
    model: Mapping[str, Tensor]
    best: Mapping[str, Tensor]
    optimiser: Mapping[str, Tensor]
    random: Tensor

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return int(self.run["seed"])

    def save(self, path: Path) -> None:
        """Write the checkpoint, replacing an older one at once."""
        groups = {"model": self.model, "best": self.best, "optimiser": self.optimiser, "random": {"state": self.random}}
        tensors = {f"{group}/{name}": tensor for group, entries in groups.items() for name, tensor in entries.items()}
        document = {"run": self.run, "binding": self.binding, "step": self.step, "history": self.history}
        write_tensors(path, tensors, {"format": _FORMAT, **document})

    @classmethod
    def load(cls, path: Path) -> Checkpoint:
        """Read a checkpoint."""
        tensors, document = read_tensors(path, _FORMAT)
        with contents_of(path):
            groups: dict[str, dict[str, Tensor]] = {group: {} for group in _GROUPS}
            for name, tensor in tensors.items():
                group, _, rest = name.partition("/")
                groups[group][rest] = tensor
            return cls(
                run={**document["run"], "seed": _whole_number(document["run"]["seed"], "seed")},
                binding=str(document["binding"]),
                step=_whole_number(document["step"], "step"),
                history=tuple((_whole_number(step, "step"), _score(score)) for step, score in document["history"]),
                model=groups["model"],
                best=groups["best"],
                optimiser=groups["optimiser"],
                random=groups["random"]["state"],
            )

    def require(self, path: Path, run: Mapping[str, Any]) -> None:
        """Refuse to go on as another run."""
        for name in sorted({*run, *self.run}):
            if run.get(name) != self.run.get(name):
                told = {"release": "of another release", "settings": "made with other settings"}
                other = f"of another run, with {name} {self.run.get(name)}"
                raise ModelError(
                    f"{path} is a checkpoint {told.get(name, other)}; use the same, or start anew without resuming"
                )

    def restore(
        self,
        path: Path,
        run: Mapping[str, Any],
        module: nn.Module,
        optimiser: torch.optim.Optimizer,
        random: torch.Generator,
    ) -> None:
        """Put module, optimiser and random stream of the same run where they were."""
        self.require(path, run)
        for state in (self.best, self.model) if self.best else (self.model,):
            load_weights(path, module, state)
        with contents_of(path):
            _restore_optimiser(optimiser, self.optimiser)
            random.set_state(self.random)


def _whole_number(value: Any, name: str) -> int:
    """A whole number from a document, not negative."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ModelError(f"{name} is {value!r}")
    return value


def _score(value: Any) -> float:
    if not math.isfinite(value):
        raise ModelError(f"a score is {value!r}")
    return float(value)


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's state as named tensors."""
    states = optimiser.state_dict()["state"]
    return {f"{number}/{name}": value for number, state in states.items() for name, value in state.items()}


def _restore_optimiser(optimiser: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """The inverse of ``optimiser_tensors``."""
    document = optimiser.state_dict()
    parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    states: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        number, _, key = name.partition("/")
        parameter = parameters[int(number)]
        fits = value.ndim == 0 if key == _STEP else value.shape == parameter.shape
        if not fits or value.dtype != parameter.dtype:
            raise ModelError(
                f"{name} of the optimiser is {value.dtype} of shape {tuple(value.shape)}, not as it has to be"
            )
        states.setdefault(int(number), {})[key] = value
    optimiser.load_state_dict({**document, "state": states})
