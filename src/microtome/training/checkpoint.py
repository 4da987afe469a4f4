"""A training run on disk: everything needed to go on as if it had never stopped.

A run that is killed leaves the last one that was whole.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from microtome.errors import ModelError
from microtome.training.tensor_file import contents_of, load_weights, read_tensors, write_tensors

_FORMAT = "microtome-checkpoint-2"
_STEP = "step"
"""The one part of Adam's state that is a single number; all others are of their parameter's shape."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Checkpoint:
    """A moment of a training run.

    Attributes:
        release: Fingerprint of the release that is fitted.
        settings: The settings, as plain values.
        seed: The seed of the run.
        step: Steps done.
        history: (step, held-out score) so far.
        model: The generator's state.
        best: The state with the best score so far.
        optimiser: Adam's moments by the number of the parameter and their name.
        random: State of the random stream.
    """

    release: str
    settings: Mapping[str, Any]
    seed: int
    step: int
    history: tuple[tuple[int, float], ...]
    model: Mapping[str, Tensor]
    best: Mapping[str, Tensor]
    optimiser: Mapping[str, Tensor]
    random: Tensor

    def save(self, path: Path) -> None:
        """Write the checkpoint, replacing an older one at once."""
        groups = {"model": self.model, "best": self.best, "optimiser": self.optimiser, "random": {"state": self.random}}
        tensors = {f"{group}/{name}": tensor for group, entries in groups.items() for name, tensor in entries.items()}
        document = {
            "format": _FORMAT,
            "release": self.release,
            "settings": self.settings,
            "seed": self.seed,
            "step": self.step,
            "history": self.history,
        }
        write_tensors(path, tensors, document)

    @classmethod
    def load(cls, path: Path) -> Checkpoint:
        """Read a checkpoint."""
        tensors, document = read_tensors(path, _FORMAT)
        with contents_of(path):
            groups = grouped(tensors, ("model", "best", "optimiser", "random"))
            return cls(
                release=document["release"],
                settings=document["settings"],
                seed=whole_number(document["seed"], "seed"),
                step=whole_number(document["step"], "step"),
                history=tuple((whole_number(step, "step"), _score(score)) for step, score in document["history"]),
                model=groups["model"],
                best=groups["best"],
                optimiser=groups["optimiser"],
                random=groups["random"]["state"],
            )


def grouped(tensors: Mapping[str, Tensor], groups: tuple[str, ...]) -> dict[str, dict[str, Tensor]]:
    """Tensors by the part of their name before the first slash, which is one of ``groups``."""
    found: dict[str, dict[str, Tensor]] = {group: {} for group in groups}
    for name, tensor in tensors.items():
        group, _, rest = name.partition("/")
        found[group][rest] = tensor
    return found


def whole_number(value: Any, name: str) -> int:
    """A whole number from a document, not negative."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ModelError(f"{name} is {value!r}")
    return value


def _score(value: Any) -> float:
    if not math.isfinite(value):
        raise ModelError(f"a score is {value!r}")
    return float(value)


def restore_run(
    path: Path,
    *,
    modules: Sequence[tuple[nn.Module, Mapping[str, Tensor]]],
    optimiser: tuple[torch.optim.Optimizer, Mapping[str, Tensor]],
    random: tuple[torch.Generator, Tensor],
) -> None:
    """Put modules, optimiser and random stream where a checkpoint says they were."""
    for module, state in modules:
        load_weights(path, module, state)
    with contents_of(path):
        restore_optimiser(*optimiser)
        random[0].set_state(random[1])


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's state as named tensors."""
    states = optimiser.state_dict()["state"]
    return {f"{number}/{name}": value for number, state in states.items() for name, value in state.items()}


def restore_optimiser(optimiser: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
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
