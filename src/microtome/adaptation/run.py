"""What all ways of adapting have in common: a seed, a source that may be a release, and a state to go on from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from microtome.adaptation.promise import AdaptationPromise, Side
from microtome.errors import OutputError
from microtome.progress import Progress
from microtome.published import ImageRelease, check_output
from microtome.training import Checkpoint, Loop, Objective, seed_of


@dataclass(frozen=True, kw_only=True)
class Run:
    """One training, from its start or from where it stopped.

    Attributes:
        seed: Of everything that is not private.
        source: The release that the source is drawn from, if it is private.
        checkpoint: Where to keep the state of the run, if anywhere.
        saved: The state to go on from, if any.
        progress: Told the steps done.
    """

    seed: int
    source: ImageRelease | None
    checkpoint: Path | None
    saved: Checkpoint | None
    progress: Progress

    @classmethod
    def begin(
        cls, source: Any, seed: int | None, checkpoint: str | Path | None, *, resume: bool, progress: Progress
    ) -> Self:
        """Open what is there; a checkpoint that is there has to be resumed, with its own seed if none is given."""
        path = None if checkpoint is None else Path(checkpoint)
        there = path is not None and path.exists()
        if there and not resume:
            raise OutputError(f"{path} exists: go on from it with resume=True, or remove it")
        if path is not None and not there:
            check_output(path, force=False)
        saved = Checkpoint.load(path) if path is not None and there else None
        seed = saved.seed if saved is not None and seed is None else seed_of(seed)
        return cls(seed=seed, source=opened_release(source), checkpoint=path, saved=saved, progress=progress)

    def require_same(self, facts: Mapping[str, Any]) -> None:
        """Refuse to go on from the state of another run, before anything is looked at or paid for."""
        if self.saved is not None and self.checkpoint is not None:
            self.saved.require(self.checkpoint, {**facts, "seed": self.seed})

    def loop(self, objective: Objective, facts: Mapping[str, Any], binding: str = "") -> Loop:
        """The training of an objective; ``facts`` are what makes the run this run beside its seed."""
        return Loop(
            objective,
            run={**facts, "seed": self.seed},
            checkpoint=self.checkpoint,
            saved=self.saved,
            binding=binding,
            progress=self.progress,
        )

    def promise_of_source(self) -> AdaptationPromise | None:
        """What is promised about the source; nothing need be if it is public."""
        return None if self.source is None else AdaptationPromise.of_release(self.source, Side.SOURCE)


def opened_release(images: Any) -> ImageRelease | None:
    """The release that is given, itself or by its path, in place of images."""
    match images:
        case str() | Path():
            return ImageRelease.load(images)
        case ImageRelease():
            return images
        case _:
            return None
