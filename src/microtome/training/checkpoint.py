"""A training run on disk: everything needed to go on as if it had never stopped.

A safetensors file, written to a temporary name and moved into place: a run that is killed leaves the last one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from microtome.errors import ModelError
from microtome.whole_file import whole_file

_FORMAT = "microtome-checkpoint-1"


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
        groups: dict[str, dict[str, Tensor]] = {"model": {}, "best": {}, "optimiser": {}, "random": {}}
        for name, tensor in tensors.items():
            group, _, rest = name.partition("/")
            groups[group][rest] = tensor
        return cls(
            release=document["release"],
            settings=document["settings"],
            seed=document["seed"],
            step=document["step"],
            history=tuple((int(step), float(score)) for step, score in document["history"]),
            model=groups["model"],
            best=groups["best"],
            optimiser=groups["optimiser"],
            random=groups["random"]["state"],
        )


def write_tensors(path: Path, tensors: Mapping[str, Tensor], document: Mapping[str, Any]) -> None:
    """Write tensors and a JSON document as one safetensors file, complete or not at all."""
    apart = {name: tensor.detach().clone(memory_format=torch.contiguous_format) for name, tensor in tensors.items()}
    content = save(apart, metadata={"microtome": json.dumps(document, sort_keys=True)})
    with whole_file(path) as file:
        file.write(content)


def read_tensors(path: Path, wanted: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what ``write_tensors`` wrote, if it is of the wanted format."""
    if not path.is_file():
        raise ModelError(f"{path}: no such file")
    try:
        with safe_open(path, framework="pt") as file:
            document = json.loads((file.metadata() or {}).get("microtome", "{}"))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        raise ModelError(f"{path}: not a file of ours, or damaged: {error}") from error
    found = document.get("format") if isinstance(document, dict) else None
    if found != wanted:
        raise ModelError(f"{path}: its format is {found!r}, not {wanted!r}")
    return tensors, document


def optimiser_tensors(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's state as named tensors."""
    states = optimiser.state_dict()["state"]
    return {f"{number}/{name}": value for number, state in states.items() for name, value in state.items()}


def restore_optimiser(optimiser: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """The inverse of ``optimiser_tensors``."""
    document = optimiser.state_dict()
    states: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        number, _, key = name.partition("/")
        states.setdefault(int(number), {})[key] = value
    optimiser.load_state_dict({**document, "state": states})
