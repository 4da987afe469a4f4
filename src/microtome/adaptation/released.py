"""Adaptation to a release: the private images were looked at once, and all that follows is free.

The release holds noisy slices of every image, or noisy sums over all images, of their low-frequency cosine components.
Source images are redrawn (``transform``) until the same slices, or the same sums, of theirs agree with the released
ones; the classifier then learns from redrawn images, which have kept their labels.

    records       the kernel f-divergence between slices of redrawn images, smoothed by the release's noise, and the
                  released slices, along components of low frequency (an orthogonal release may be sliced anew)
    aggregates    squared differences of first and second moments, each in units of its variance

Both are in units of a log-likelihood, as far as the kernel estimate is one, and a Gaussian prior of no change of look
is added, to hold back what the noise leaves open. Both sides go through the same clipping, with the release's own
radii. Training may be repeated, tuned and restarted at no cost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from microtome.adaptation.checkpoint import AdaptationCheckpoint
from microtome.adaptation.network import build_network
from microtome.adaptation.promise import AdaptationPromise
from microtome.adaptation.settings import AdaptationSettings
from microtome.adaptation.trainer import AdaptationTrainer, Source
from microtome.adaptation.transform import ImageTransform
from microtome.divergences import KernelFDivergence
from microtome.errors import ModelError
from microtome.progress import Progress
from microtome.release import ImageMomentsRelease, ImageRelease, ImageRowsRelease
from microtome.training.threads import torch_threads

_STEPS = 250
_BATCH = 128
_LEARNING_RATE = 0.02
_SLICES = 40
"""Components of lowest frequency along which records are compared: beyond, their noise drowns everything."""
_LANDMARKS = 64
_PRIOR_SCALE = 0.3
"""How much a parameter of the look is expected to differ from none: a third in size, a sixth of the width in place."""
_AT_ONCE = 1024

Discrepancy = Callable[[Float[Tensor, "b d"]], Float[Tensor, ""]]
"""Minus the log-likelihood of the release, but for a constant, given encoded images that are not clipped yet."""


@dataclass(frozen=True, kw_only=True)
class ReleasedTraining:
    """One training on a release.

    Attributes:
        release: Of the target's images, without labels.
        settings: How the classifier is trained; what it says about alignment and slices has no use here.
        checkpoint: Where to keep the state of the run, if anywhere.
        saved: The state to go on from, if any.
        progress: Told the steps done.
    """

    release: ImageRelease
    settings: AdaptationSettings
    checkpoint: Path | None
    saved: AdaptationCheckpoint | None
    progress: Progress

    def fit(
        self, source: Source, classes: list[Any], seed: int
    ) -> tuple[AdaptationTrainer, ImageTransform, AdaptationPromise, bool]:
        """Learn the look, redraw the source, train; gives trainer, look, promise, and whether it came to its end.

        A resumed run learns the look anew, which takes seconds and gives the same.
        """
        with torch_threads(self.settings.threads):
            look = learn_transform(self.release, source, seed, self.progress)
        height, width, channels = self.release.schema.shape
        network = build_network((channels, height, width), len(classes), self.settings.radius, seed)
        trainer = AdaptationTrainer(network, redrawn(source, look), self.settings, seed=seed, progress=self.progress)
        run = {
            "settings": self.settings.to_dict(),
            "seed": seed,
            "source": len(source.images),
            "classes": classes,
            "release": self.release.fingerprint,
        }
        if self.saved is not None and self.checkpoint is not None:
            self.saved.restore(trainer, run, self.checkpoint)

        def save(step: int) -> None:
            if self.checkpoint is not None:
                AdaptationCheckpoint.of(trainer, run, "", step).save(self.checkpoint)

        finished = trainer.run(None, save)
        return trainer, look, promise_of(self.release), finished


def learn_transform(release: ImageRelease, source: Source, seed: int, progress: Progress) -> ImageTransform:
    """The change of look that brings source images nearest to the release."""
    random = torch.Generator().manual_seed(seed)
    discrepancy = _discrepancy(release, random)
    encode = _encoder(release)
    transform = ImageTransform()
    optimiser = torch.optim.Adam(transform.parameters(), lr=_LEARNING_RATE)
    for step in range(_STEPS):
        for group in optimiser.param_groups:
            group["lr"] = _LEARNING_RATE * (1.0 - step / _STEPS)
        chosen = torch.randint(len(source.images), (_BATCH,), generator=random)
        loss = discrepancy(encode(transform(source.images[chosen]))) + 0.5 * transform.change() / _PRIOR_SCALE**2
        if not torch.isfinite(loss):
            raise ModelError(f"the discrepancy from the release is {loss.item()} at step {step}")
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        progress("look", step + 1, _STEPS, f"discrepancy {loss.item():.4g}")
    return transform


def redrawn(source: Source, transform: ImageTransform) -> Source:
    """The source in the target's look."""
    with torch.no_grad():
        parts = [transform(source.images[start : start + _AT_ONCE]) for start in range(0, len(source.images), _AT_ONCE)]
    return Source(images=torch.cat(parts), labels=source.labels)


def promise_of(release: ImageRelease) -> AdaptationPromise:
    """The release's promise, which is that of everything made from it."""
    assert isinstance(release, ImageRowsRelease | ImageMomentsRelease)
    promise = release.manifest.promise
    return AdaptationPromise(
        epsilon=promise.epsilon,
        delta=promise.delta,
        neighbours=promise.neighbours,
        accountant=promise.accountant,
        private=promise.private,
        events=promise.events,
        num_images=round(release.manifest.contents.num_records),
        touches=1,
        noise_scale=(release.noise_scale if isinstance(release, ImageRowsRelease) else release.mechanism.second_noise),
    )


def _encoder(release: ImageRelease) -> Callable[[Float[Tensor, "b c h w"]], Float[Tensor, "b d"]]:
    basis = torch.tensor(release.code.plane / release.radius, dtype=torch.float32)
    offset = torch.tensor(release.code.offset, dtype=torch.float32)

    def encode(images: Tensor) -> Tensor:
        planes = (images - offset[:, None, None]).flatten(2)
        return (planes @ basis.T).flatten(1)

    return encode


def _discrepancy(release: ImageRelease, random: torch.Generator) -> Discrepancy:
    if release.schema.num_classes != 1:
        raise ModelError(
            f"the release has {release.schema.num_classes} classes; adaptation is for targets without labels. With "
            "labels, train on images sampled from a model of the release"
        )
    if isinstance(release, ImageRowsRelease):
        return _of_rows(release, random)
    assert isinstance(release, ImageMomentsRelease)
    return _of_moments(release)


def _of_rows(release: ImageRowsRelease, random: torch.Generator) -> Discrepancy:
    law = release.mechanism.slices.directions
    if law.kind != "orthogonal" or law.count % law.dim:
        raise ModelError("the release's directions are not whole orthogonal blocks, so it cannot be sliced anew")
    blocks = law.count // law.dim
    rows = release.rows(0) @ release.directions.T / blocks
    noise = release.noise_scale / float(np.sqrt(blocks))
    nulls = 1.0 - release.present(0) / len(rows)
    frames = torch.eye(law.dim)[: min(_SLICES, law.dim)].unsqueeze(-1)
    slices = torch.tensor(rows[:, : len(frames)], dtype=torch.float32).unsqueeze(-1)
    divergence = KernelFDivergence.from_slices(
        slices, frames, noise_scale=noise, generator=random, num_landmarks=_LANDMARKS
    )

    def discrepancy(encoded: Tensor) -> Tensor:
        clipped = _clipped(encoded)
        padding = round(len(clipped) * nulls / (1.0 - nulls))
        padded = torch.cat([clipped, clipped.new_zeros(padding, clipped.shape[1])])
        return len(rows) * len(frames) * divergence(padded)

    return discrepancy


def _of_moments(release: ImageMomentsRelease) -> Discrepancy:
    mechanism, dim = release.mechanism, release.schema.dim
    num_images = max(release.manifest.contents.num_records, 1.0)
    mean = torch.tensor(release.sums[0] / num_images, dtype=torch.float32)
    second = torch.tensor(release.second[0] / num_images, dtype=torch.float32)
    centre = torch.tensor(release.centres[0], dtype=torch.float32)
    # Noise of the release, and the scatter of a batch of the source around what it estimates.
    mean_variance = (mechanism.mean_noise / num_images) ** 2 + 1.0 / (dim * _BATCH)
    second_variance = (mechanism.second_noise / num_images) ** 2 / 2.0 + 1.0 / (dim**2 * _BATCH)

    def discrepancy(encoded: Tensor) -> Tensor:
        residuals = _clipped((encoded - centre) / mechanism.residual_radius)
        of_mean = (_clipped(encoded).mean(dim=0) - mean).square().sum() / mean_variance
        of_second = (residuals.T @ residuals / len(residuals) - second).square().sum() / second_variance
        return 0.5 * (of_mean + 0.5 * of_second)

    return discrepancy


def _clipped(rows: Float[Tensor, "b d"]) -> Float[Tensor, "b d"]:
    clipped: Tensor = rows / torch.linalg.vector_norm(rows, dim=1, keepdim=True).clamp_min(1.0)
    return clipped
