"""Training an image generator on a release: start at the moments, then refine, one class a step.

Everything here is post-processing: restarts, other losses and other shapes cost no privacy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from microtome.errors import ModelError, ParameterError
from microtome.generators.image import ImageGenerator, ImageNetworkSettings
from microtome.progress import Progress, silent
from microtome.release import ImageRelease
from microtome.training.checkpoint import Checkpoint, optimiser_tensors, restore_run
from microtome.training.image_losses import ImageLossKind, image_loss
from microtome.training.image_moments import ClassMoments, class_moments
from microtome.training.threads import torch_threads
from microtome.training.trainer import one_cycle


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
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ParameterError(f"{name} is {value!r}; it must be a whole number, at least {least}")
        if self.num_slices is not None and self.num_slices < 1:
            raise ParameterError(f"num_slices is {self.num_slices}; it must be at least 1")
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise ParameterError(f"learning_rate is {self.learning_rate}; it must be a positive number")

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**asdict(self), "start": str(self.start), "loss": str(self.loss)}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> ImageFitSettings:
        """The inverse of ``to_dict``; unknown names are refused."""
        known = {one.name for one in fields(cls)}
        unknown = sorted(set(document) - known)
        if unknown:
            raise ParameterError(f"unknown setting {unknown[0]!r} for images; known are {', '.join(sorted(known))}")
        given = dict(document)
        try:
            given["network"] = ImageNetworkSettings(**given.get("network", {}))
            for name, options in (("start", ImageStart), ("loss", ImageLossKind)):
                if name in given:
                    given[name] = options(given[name])
            return cls(**given)
        except ParameterError:
            raise
        except (TypeError, ValueError) as error:
            raise ParameterError(f"settings cannot be read: {error}") from None


@dataclass(frozen=True, kw_only=True, eq=False)
class ImageFit:
    """A trained generator and how it came about.

    Attributes:
        generator: The generator.
        shares: Share of each class.
        history: (step, mean loss since the entry before).
        finished: False if the training was interrupted.
    """

    generator: ImageGenerator
    shares: np.ndarray[Any, np.dtype[np.float64]]
    history: tuple[tuple[int, float], ...]
    finished: bool


class ImageTrainer:
    """Trains one generator on one release.

    Args:
        release: What to fit.
        settings: How.
        seed: Seed of everything random in training.
        checkpoint: Where to keep the state of the run, if anywhere.
        progress: Told the steps done.
    """

    def __init__(
        self,
        release: ImageRelease,
        settings: ImageFitSettings,
        *,
        seed: int,
        checkpoint: Path | None = None,
        progress: Progress = silent,
    ) -> None:
        self.release, self.settings, self._path, self.progress = release, settings, checkpoint, progress
        needs_moments = ImageStart.MOMENTS is settings.start or settings.loss is ImageLossKind.MOMENTS
        self._moments = class_moments(release) if needs_moments else None
        self._seed, self._random = seed, torch.Generator().manual_seed(seed)
        self.generator = build_image_generator(release, settings, self._moments, seed)
        self._optimiser = torch.optim.Adam(self.generator.parameters(), lr=settings.learning_rate)
        self._step, self._history, self._losses = 0, [], []  # type: tuple[int, list[tuple[int, float]], list[float]]

    def fit(self, *, resume: bool = False) -> ImageFit:
        """Train; Ctrl-C ends it early."""
        if resume and self._path is not None and self._path.exists():
            self._restore(Checkpoint.load(self._path))
        with torch_threads(self.settings.threads):
            finished = self._run()
        return ImageFit(
            generator=self.generator.eval(),
            shares=self.release.class_shares,
            history=tuple(self._history),
            finished=finished,
        )

    def _run(self) -> bool:
        settings = self.settings
        if self._step >= settings.steps:
            return True
        loss = image_loss(self.release, settings.loss, self._moments, settings.num_slices, self._seed)
        present = np.flatnonzero(self.release.class_shares)
        try:
            while self._step < settings.steps:
                number = int(present[self._step % len(present)])
                for group in self._optimiser.param_groups:
                    group["lr"] = settings.learning_rate * one_cycle(self._step / settings.steps)
                latent = torch.randn(settings.batch_size, self.generator.latent_dim, generator=self._random)
                images = self.generator(latent, torch.full((settings.batch_size,), number))
                rows = self.generator.components(images) / self.release.radius
                value = loss(rows, number, self._random)
                if not torch.isfinite(value):
                    raise ModelError(
                        f"the loss is {float(value.detach())} at step {self._step}; lower the learning rate"
                    )
                self._optimiser.zero_grad()
                value.backward()  # type: ignore[no-untyped-call]
                self._optimiser.step()
                self._losses.append(float(value.detach()))
                self._step += 1
                if self._step % settings.check_every == 0 or self._step == settings.steps:
                    self._look()
                self.progress("fit", self._step, settings.steps, f"loss {self._losses[-1]:.4f}" if self._losses else "")
        except KeyboardInterrupt:
            return False
        return True

    def _look(self) -> None:
        self._history.append((self._step, float(np.mean(self._losses))))
        if self._path is not None:
            self._checkpoint().save(self._path)
        self._losses = self._losses[-1:]

    def _checkpoint(self) -> Checkpoint:
        state = {name: tensor.detach().clone() for name, tensor in self.generator.state_dict().items()}
        return Checkpoint(
            release=self.release.fingerprint,
            settings=self.settings.to_dict(),
            seed=self._seed,
            step=self._step,
            history=tuple(self._history),
            model=state,
            best={},
            optimiser=optimiser_tensors(self._optimiser),
            random=self._random.get_state(),
        )

    def _restore(self, saved: Checkpoint) -> None:
        for what, found, wanted in (
            ("of another release", saved.release, self.release.fingerprint),
            ("made with other settings", saved.settings, self.settings.to_dict()),
            (f"made with seed {saved.seed}", saved.seed, self._seed),
        ):
            if found != wanted:
                raise ModelError(f"{self._path} is a checkpoint {what}; use the same, or fit without --resume")
        assert self._path is not None
        restore_run(
            self._path,
            modules=[(self.generator, saved.model)],
            optimiser=(self._optimiser, saved.optimiser),
            random=(self._random, saved.random),
        )
        self._step, self._history = saved.step, list(saved.history)


def build_image_generator(
    release: ImageRelease, settings: ImageFitSettings, moments: ClassMoments | None, seed: int
) -> ImageGenerator:
    """The generator of a release before any training."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        code, schema = release.code, release.schema
        generator = ImageGenerator(
            _single(code.plane), _single(code.offset), schema.shape, schema.num_classes, settings.network
        )
        if settings.start is ImageStart.MOMENTS:
            assert moments is not None
            generator.start_at(*_gaussians(moments, release.radius))
        else:
            generator.start_at(*_random_start(generator, release.radius))
    return generator


def _gaussians(moments: ClassMoments, radius: float) -> tuple[Tensor, Tensor]:
    """Means and factors of the covariances, in units of pixels."""
    values, vectors = np.linalg.eigh(moments.covariances)
    factors = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    return _single(radius * moments.means), _single(radius * factors)


def _random_start(generator: ImageGenerator, radius: float) -> tuple[Tensor, Tensor]:
    """Random first layers whose images have about the right norm, for training from nothing."""
    classes, dim = generator.means.shape
    means = torch.randn(classes, dim) * radius / math.sqrt(2 * dim)
    return means, torch.randn(classes, dim, dim) * radius / (math.sqrt(2.0) * dim)


def _single(values: np.ndarray[Any, np.dtype[np.float64]]) -> Tensor:
    return torch.tensor(values, dtype=torch.float32)
