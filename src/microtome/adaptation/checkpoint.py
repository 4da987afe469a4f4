"""A run of adaptation on disk, to go on with after a crash or Ctrl-C. It holds nothing of the private images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from microtome.adaptation.trainer import AdaptationTrainer
from microtome.errors import ModelError
from microtome.training.checkpoint import grouped, optimiser_tensors, restore_run, whole_number
from microtome.training.tensor_file import contents_of, read_tensors, write_tensors

_FORMAT = "microtome-adaptation-checkpoint-3"


@dataclass(frozen=True, kw_only=True, eq=False)
class AdaptationCheckpoint:
    """A moment of a run.

    Attributes:
        run: What the run is, in plain values: settings, seed, sizes, promise. A run goes on only as what it was.
        binding: Ties the run to the ledger's entry that paid for it and to the private images it was paid for.
        step: The step to go on from.
        network: The network's state.
        look: The look's state.
        optimiser: Adam's moments.
        random: State of the random stream.
    """

    run: Mapping[str, Any]
    binding: str
    step: int
    network: Mapping[str, Tensor]
    look: Mapping[str, Tensor]
    optimiser: Mapping[str, Tensor]
    random: Tensor

    @classmethod
    def of(cls, trainer: AdaptationTrainer, run: Mapping[str, Any], binding: str, step: int) -> AdaptationCheckpoint:
        """The state of a trainer."""
        return cls(
            run=run,
            binding=binding,
            step=step,
            network=trainer.network.state_dict(),
            look=trainer.look.state_dict(),
            optimiser=optimiser_tensors(trainer.optimiser),
            random=trainer.random.get_state(),
        )

    def save(self, path: Path) -> None:
        """Write it, replacing an older one at once."""
        groups = {
            "network": self.network,
            "look": self.look,
            "optimiser": self.optimiser,
            "random": {"state": self.random},
        }
        tensors = {f"{group}/{name}": tensor for group, entries in groups.items() for name, tensor in entries.items()}
        write_tensors(path, tensors, {"format": _FORMAT, "run": self.run, "binding": self.binding, "step": self.step})

    @classmethod
    def load(cls, path: Path) -> AdaptationCheckpoint:
        """Read it."""
        tensors, document = read_tensors(path, _FORMAT)
        with contents_of(path):
            groups = grouped(tensors, ("network", "look", "optimiser", "random"))
            return cls(
                run={**document["run"], "seed": whole_number(document["run"]["seed"], "seed")},
                binding=str(document["binding"]),
                step=whole_number(document["step"], "step"),
                network=groups["network"],
                look=groups["look"],
                optimiser=groups["optimiser"],
                random=groups["random"]["state"],
            )

    def restore(self, trainer: AdaptationTrainer, run: Mapping[str, Any], path: Path) -> None:
        """Put a trainer of the same run where this one was."""
        different = sorted(name for name in {*run, *self.run} if run.get(name) != self.run.get(name))
        if different:
            raise ModelError(
                f"{path} is of another run: its {different[0]} is {self.run.get(different[0])!r}, not "
                f"{run.get(different[0])!r}; use the same, or start anew without resuming"
            )
        restore_run(
            path,
            modules=[(trainer.network, self.network), (trainer.look, self.look)],
            optimiser=(trainer.optimiser, self.optimiser),
            random=(trainer.random, self.random),
        )
        trainer.step = self.step
