"""From a release, of a table or of images, to a trained generator: an objective by what was released, and the loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from microtome.errors import ParameterError
from microtome.generators import Generator
from microtome.generators.image import ImageGenerator
from microtome.progress import Progress, silent
from microtome.published import AggregatesRelease, Artefact, ImageRelease, RecordsRelease
from microtome.training.aggregates_objective import aggregates_objective
from microtome.training.checkpoint import Checkpoint
from microtome.training.generator_objective import GeneratorObjective
from microtome.training.image_objective import ImageObjective
from microtome.training.image_settings import ImageFitSettings
from microtome.training.loop import Loop
from microtome.training.records_objective import records_objective
from microtome.training.seeds import seed_of
from microtome.training.settings import FitSettings
from microtome.training.threads import torch_threads


@dataclass(frozen=True, kw_only=True, eq=False)
class Fit:
    """A trained generator and how it came about.

    Attributes:
        generator: The generator in its best state; of images, where nothing is held out, in its last.
        settings: How it was trained.
        history: (step, held-out score): 1 is what independent columns get, lower is better. Of images: (step, mean
            loss since the entry before).
        best_step: The step of that state; 0 where nothing beat independent columns.
        finished: False if the training was interrupted.
        score_error: Standard error of a held-out score by the noise of the held-out part; NaN where not known.
        scored: Whether anything was held out to score by.
    """

    generator: Generator | ImageGenerator
    settings: FitSettings | ImageFitSettings
    history: tuple[tuple[int, float], ...]
    best_step: int
    finished: bool
    score_error: float
    scored: bool

    @property
    def in_words(self) -> str:
        """How it went."""
        if not self.scored:
            return f"loss {self.history[-1][1]:.3f} after {self.history[-1][0]} steps" if self.history else "no steps"
        best = min(score for _, score in self.history)
        return (
            f"best at step {self.best_step} with held-out score {best:.2f} ± {self.score_error:.2f} "
            "(1: independent columns, nothing learnt beyond the profile; near 0: what was learnt is confirmed)"
        )


class Trainer:
    """Trains one generator on one release.

    Args:
        release: What to fit.
        settings: How; of a table ``FitSettings``, of images ``ImageFitSettings``, and their defaults if ``None``.
        seed: Seed of everything random in training (nothing private is drawn here); ``None`` for that of the run that
            is resumed, or a new one.
        generator: For a table: a module of one's own; the built-in one otherwise.
        checkpoint: Where to keep the state of the run, if anywhere.
        progress: Told the steps done and the held-out score.
    """

    def __init__(
        self,
        release: Artefact,
        settings: FitSettings | ImageFitSettings | None = None,
        *,
        seed: int | None,
        generator: Generator | None = None,
        checkpoint: Path | None = None,
        progress: Progress = silent,
    ) -> None:
        self._release, self._generator, self._path, self._progress = release, generator, checkpoint, progress
        self._settings, self._seed = settings or settings_for(release, {}), seed

    def fit(self, *, resume: bool = False) -> Fit:
        """Train; Ctrl-C ends it early with the best state so far."""
        path = self._path
        saved = Checkpoint.load(path) if resume and path is not None and path.exists() else None
        seed = saved.seed if saved is not None and self._seed is None else seed_of(self._seed)
        with torch_threads(self._settings.threads):
            objective = self._objective(seed)
            run = {"release": self._release.fingerprint, "settings": self._settings.to_dict(), "seed": seed}
            loop = Loop(objective, run=run, checkpoint=path, saved=saved, progress=self._progress)
            finished = loop.run()
            objective.finish()
        return Fit(
            generator=objective.generator,
            settings=self._settings,
            history=tuple(loop.history),
            best_step=loop.best_step,
            finished=finished,
            score_error=objective.score_error,
            scored=loop.is_scored,
        )

    def _objective(self, seed: int) -> GeneratorObjective:
        """What is matched, by what was released."""
        match self._release, self._settings:
            case RecordsRelease() as release, FitSettings() as settings:
                return records_objective(release, settings, seed, self._generator)
            case AggregatesRelease() as release, FitSettings() as settings:
                return aggregates_objective(release, settings, seed, self._generator, self._progress)
            case ImageRelease() as images, ImageFitSettings() as how:
                if self._generator is not None:
                    raise ParameterError("images have a generator of their own; leave generator out")
                return ImageObjective(images, how, seed)
            case _:
                wanted = type(settings_for(self._release, {})).__name__
                raise ParameterError(
                    f"settings are {type(self._settings).__name__}; this release is fitted with {wanted}"
                )


def settings_for(release: Artefact, document: Mapping[str, Any]) -> FitSettings | ImageFitSettings:
    """Settings of the kind that a release is fitted with, from plain values."""
    kind = ImageFitSettings if release.manifest.mechanism.of_images else FitSettings
    return kind.from_dict(document)
