"""Fitting a release of images: start at the moments, then refine, one class a step.

Everything here is post-processing: restarts, other losses and other shapes cost no privacy.
"""

from __future__ import annotations

import math
from typing import Any, assert_never

import numpy as np
import torch
from torch import Tensor

from microtome.generators.image import ImageGenerator
from microtome.published import ImageRelease
from microtome.training.generator_objective import GeneratorObjective, Pace
from microtome.training.image_grain import grain_of
from microtome.training.image_losses import image_loss
from microtome.training.image_moments import ClassMoments, class_moments
from microtome.training.image_movement import reach_of
from microtome.training.image_settings import ImageFitSettings, ImageLossKind, ImageStart


class ImageObjective(GeneratorObjective):
    """A generator of images against what was released of each class. Nothing is held out.

    Args:
        release: What is fitted.
        settings: How.
        seed: Seed of everything random in training.
    """

    generator: ImageGenerator

    def __init__(self, release: ImageRelease, settings: ImageFitSettings, seed: int) -> None:
        needs_moments = ImageStart.MOMENTS is settings.start or settings.loss is ImageLossKind.MOMENTS
        moments = class_moments(release) if needs_moments else None
        self.generator = build_image_generator(release, settings, moments, seed)
        if moments is not None:
            self.generator.finish_with(_single(reach_of(release, moments)), grain_of(release, moments))
        pace = Pace(steps=settings.steps, learning_rate=settings.learning_rate, check_every=settings.check_every)
        super().__init__(self.generator, pace, torch.Generator().manual_seed(seed))
        self._batch_size, self._radius = settings.batch_size, release.radius
        self._present = np.flatnonzero(release.class_shares)
        self._loss = image_loss(release, settings.loss, moments, settings.num_slices, seed)

    def losses(self, step: int) -> dict[str, Tensor]:
        """The loss of a batch of one class, the classes in turn."""
        number, size = int(self._present[step % len(self._present)]), self._batch_size
        latent = torch.randn(size, self.generator.latent_dim, generator=self.random)
        rows = self.generator.encoded(latent, torch.full((size,), number))
        return {"loss": self._loss(rows / self._radius, number, self.random)}


def build_image_generator(
    release: ImageRelease, settings: ImageFitSettings, moments: ClassMoments | None, seed: int
) -> ImageGenerator:
    """The generator of a release before any training."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        generator = ImageGenerator.of(release.code, settings.network)
        match settings.start:
            case ImageStart.MOMENTS:
                assert moments is not None
                generator.start_at(*_gaussians(moments, release.radius))
            case ImageStart.RANDOM:
                generator.start_at(*_random_start(generator, release.radius))
            case _:
                assert_never(settings.start)
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
