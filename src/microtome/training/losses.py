"""What a generator is trained on: a mix of divergences from the release, each built once.

Every loss is divided by its value for independent columns (the built-in network before training), so that weights
compare like with like: 1 is what the profile alone achieves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from microtome.divergences import (
    Denoising,
    FDivergence,
    MMDSettings,
    MomentMatching,
    MomentSettings,
    ReleasedMoments,
    SlicedMMD,
)
from microtome.errors import ParameterError
from microtome.generators import ColumnwiseGenerator, Generator, RowLayout
from microtome.published import RecordsRelease, Release
from microtome.published.second_moments import slice_sums
from microtome.training.dependence import estimate_dependence
from microtome.training.slice_moments import released_moments
from microtome.training.sliced_divergence import SlicedDivergence, SlicedKind, sliced_divergence
from microtome.training.slices import SliceChoice, SlicedRows, chosen_slices, released_slices

_MOST_ROWS = {"mmd": 256}
"""Rows of a batch that a loss looks at whose cost grows with their square."""
_LOSSES = ("moments", *SlicedKind)
MARGIN_WEIGHT = 0.1
LEAST_SIGNAL = 1e-9
_JUDGED_TOGETHER = 512
"""Rows between which the held-out MMD compares every two: it holds the square of them for every slice."""


@dataclass(frozen=True, kw_only=True)
class LossMix:
    """Weights of the losses, and how the sliced ones are sliced. A loss of weight 0 is not built.

    Attributes:
        moments: First and second moments, denoised.
        kernel: The kernel f-divergence on landmarks that stand for all rows.
        algorithm1: The kernel f-divergence as the paper prints it: mini-batches of rows, drawn noise.
        wasserstein: Sliced Wasserstein, on one-dimensional slices.
        mmd: Sliced maximum mean discrepancy.
        f: The f of the kernel losses.
        slices: Which slices; by default random ones drawn now, where directions allow it, else the released ones.
        num_slices: How many slices to draw, where they are not the released ones.
        slice_dim: Their dimension; by default 3 of random slices, 2 of others, and 1 with Wasserstein.
        slices_per_step: Slices looked at in a step.
        batch_rows: Released rows in a mini-batch of ``algorithm1``.
        batch_uses: Steps that such a mini-batch serves on average, others in between; 1 for a new one a step, as the
            paper prints it, which takes about twice as long.
    """

    moments: float = 1.0
    kernel: float = 0.0
    algorithm1: float = 0.0
    wasserstein: float = 0.0
    mmd: float = 0.0
    f: FDivergence = FDivergence.KL
    slices: SliceChoice | None = None
    num_slices: int = 150
    slice_dim: int | None = None
    slices_per_step: int = 20
    batch_rows: int = 128
    batch_uses: int = 16

    def __post_init__(self) -> None:
        for name, weight in self.weights.items():
            if not 0.0 <= weight < float("inf"):
                raise ParameterError(f"the weight of loss {name} is {weight}; it must be finite, 0 or more")
        if not any(self.weights.values()):
            raise ParameterError("all losses have weight 0; give at least one a positive weight")
        for name in ("num_slices", "slice_dim", "slices_per_step", "batch_rows", "batch_uses"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ParameterError(f"{name} is {value}; it must be at least 1")

    @property
    def weights(self) -> dict[str, float]:
        """Weight of each loss by name."""
        return {name: getattr(self, name) for name in _LOSSES}

    def sliced_rows(self, release: RecordsRelease, first: int, generator: torch.Generator) -> SlicedRows:
        """The slices of the rows from ``first`` on that the sliced losses look at.

        Those of several dimensions say more of dependence than as many numbers in one, and there is no end to them.
        """
        usual = SliceChoice.RANDOM if release.is_isotropic else SliceChoice.RELEASED
        choice = self.slices or usual
        dim = self.slice_dim or (1 if self.wasserstein else min(choice.usual_dim, release.codebook.dim))
        return chosen_slices(release, choice, first, self.num_slices, dim, generator)


class Loss(Protocol):
    """What is minimised."""

    @property
    def has_signal(self) -> bool:
        """Whether there is anything to learn beyond the margins."""
        ...

    def __call__(self, model: Generator, latent: Float[Tensor, "b z"], generator: torch.Generator) -> Float[Tensor, ""]:
        """The loss of a batch of latent noise."""
        ...

    def forget(self) -> None:
        """Drop whatever was drawn for more than one step."""
        ...


@dataclass(frozen=True, kw_only=True)
class Judge:
    """Scores a generator on what training does not see: 1 for independent columns, lower is better.

    Attributes:
        value: How far a generator is from what is held out, by latent noise.
        independent: That of independent columns.
        unit: What a score falls by 1 for.
        score_error: Standard error of a score by the noise of what is held out; NaN where that is not known.
    """

    value: Callable[[Generator, Tensor], float]
    independent: float
    unit: float
    score_error: float

    @torch.no_grad()
    def score(self, model: Generator, latent: Float[Tensor, "b z"]) -> float:
        """The score of a generator."""
        return 1.0 + (self.value(model, latent) - self.independent) / self.unit


class TrainingLoss:
    """The weighted mix on a generator, batch by batch.

    Args:
        release: What is fitted.
        mix: Weights and slices.
        first: First row to fit; those before it are held out.
        batch_size: Rows a batch, whose sampling error the margins' weight allows for.
        generator: Draws slices and landmarks.
    """

    def __init__(
        self, release: RecordsRelease, mix: LossMix, first: int, batch_size: int, generator: torch.Generator
    ) -> None:
        self._null_share = release.null_share
        self._weights = {name: weight for name, weight in mix.weights.items() if weight}
        self._moments = moment_loss(release, first, batch_size) if mix.moments else None
        if self._moments is not None:
            self._weights["margins"] = MARGIN_WEIGHT * mix.moments
        kinds = [kind for kind in SlicedKind if kind in self._weights]
        self._sliced: dict[str, SlicedDivergence] = {}
        if kinds:
            rows = mix.sliced_rows(release, first, generator)
            self._slices_per_step = min(mix.slices_per_step, len(rows.directions))
            for kind in kinds:
                self._sliced[kind] = sliced_divergence(
                    kind,
                    rows,
                    rows.directions,
                    rows.noise_scale,
                    generator,
                    batch_rows=mix.batch_rows,
                    batch_uses=mix.batch_uses,
                    f=mix.f,
                )
        self._units = dict.fromkeys(self._weights, 1.0)

    def calibrate(self, independent: Generator, latent: Float[Tensor, "b z"], generator: torch.Generator) -> None:
        """Take the value of each loss on a generator of independent columns as its unit."""
        if self._moments is not None and self._moments.signal() > LEAST_SIGNAL:
            self._units["moments"] = self._moments.signal()
        with torch.no_grad():
            values = self._sliced_values(independent, latent, generator)
        self._units.update({name: max(float(value), LEAST_SIGNAL) for name, value in values.items()})

    @property
    def dependence(self) -> MomentMatching | None:
        """The moments that are fitted, if any are."""
        return self._moments

    @property
    def has_signal(self) -> bool:
        """Whether there is anything to learn beyond the margins."""
        return bool(self._sliced) or (self._moments is not None and self._moments.signal() > LEAST_SIGNAL)

    def __call__(self, model: Generator, latent: Float[Tensor, "b z"], generator: torch.Generator) -> Float[Tensor, ""]:
        """The mix for a batch of latent noise."""
        values = self._sliced_values(model, latent, generator)
        if self._moments is not None:
            values["margins"], values["moments"] = self._moments.parts(model(latent))
        parts = [self._weights[name] * value / self._units[name] for name, value in values.items()]
        return torch.stack(parts).sum()

    def forget(self) -> None:
        """Drop the mini-batches that were to serve more steps."""
        for loss in self._sliced.values():
            loss.forget()

    def _sliced_values(
        self, model: Generator, latent: Float[Tensor, "b z"], generator: torch.Generator
    ) -> dict[str, Float[Tensor, ""]]:
        if not self._sliced:
            return {}
        rows = drawn_rows(model, latent, self._null_share, generator)
        return {
            name: loss(rows[: _MOST_ROWS.get(name)], generator=generator, num_slices=self._slices_per_step)
            for name, loss in self._sliced.items()
        }


def drawn_rows(
    model: Generator, latent: Float[Tensor, "b z"], null_share: float, generator: torch.Generator
) -> Float[Tensor, "b d"]:
    """Rows as a release has them before the noise: levels drawn, and the share of rows blanked that is null there."""
    match model:
        case ColumnwiseGenerator():
            rows = model.draw(latent, generator)
        case _:
            rows = model(latent)
    return rows * (torch.rand(len(rows), 1, generator=generator) >= null_share) if null_share else rows


def moment_loss(release: RecordsRelease, first: int, batch_size: int) -> MomentMatching:
    """Moments of the rows from ``first`` on, dependence denoised, margins as exactly as a batch allows."""
    moments = released_moments(release, slice_sums(release, first, release.num_rows))
    mean = np.asarray(moments.mean)
    sampling = mean * (1.0 - mean) / batch_size
    dependence = estimate_dependence(release, first, release.num_rows)
    denoised = replace(
        moments,
        second=dependence + np.outer(mean, mean),
        mean_noise=np.sqrt(np.asarray(moments.mean_noise) ** 2 + sampling),
    )
    settings = MomentSettings(denoising=Denoising.NONE, simplex=False, half_batches=True)
    return on_encoded(release, denoised, settings)


@torch.no_grad()
def moment_judge(
    release: RecordsRelease,
    last: int,
    loss: TrainingLoss,
    independent: Generator,
    latent: Float[Tensor, "b z"],
    *,
    margins_given: bool,
) -> Judge:
    """Judges by the raw second moments of the rows before ``last``.

    They are unbiased, so of two generators the one nearer to the truth has the lower score on average, and 0 is what a
    generator gets whose dependence is confirmed in full. ``margins_given`` says that margins will be set to the
    profile's in the end, so that those of now do not count.
    """
    settings = MomentSettings(denoising=Denoising.NONE, mean_weight=0.0, centred=margins_given)
    moments = on_encoded(release, released_moments(release, slice_sums(release, 0, last)), settings)
    fitted = loss.dependence or moments
    start, signal = float(moments(independent(latent))), moments.signal(fitted)
    unit = signal if signal > LEAST_SIGNAL else max(abs(start), LEAST_SIGNAL)
    return Judge(
        value=lambda model, noise: float(moments(model(noise))),
        independent=start,
        unit=unit,
        score_error=moments.signal_error(fitted) / unit,
    )


@torch.no_grad()
def slice_judge(
    release: RecordsRelease, last: int, independent: Generator, latent: Float[Tensor, "b z"], generator: torch.Generator
) -> Judge:
    """Where directions do not span the rows: the MMD on held-out slices, of rows drawn by the same random numbers."""
    rows = released_slices(release, 0, last)
    mmd = SlicedMMD.from_slices(
        rows,
        rows.directions,
        noise_scale=rows.noise_scale,
        generator=generator,
        settings=MMDSettings(unbiased=True),
    )

    def value(model: Generator, noise: Float[Tensor, "b z"]) -> float:
        drawn = drawn_rows(model, noise, release.null_share, torch.Generator().manual_seed(0))
        return float(torch.stack([mmd(part) for part in torch.split(drawn, _JUDGED_TOGETHER)]).mean())

    start = value(independent, latent)
    return Judge(value=value, independent=start, unit=max(abs(start), LEAST_SIGNAL), score_error=math.nan)


def on_encoded(
    release: Release, moments: ReleasedMoments, settings: MomentSettings, pair_weights: Tensor | None = None
) -> MomentMatching:
    """Moment matching for rows as the release encodes them."""
    layout = RowLayout.of(release.codebook)
    constant = layout.scale == 0
    return MomentMatching(
        moments,
        settings=settings,
        pair_weights=pair_weights,
        encoding_scale=torch.where(constant, 1.0, layout.scale),
        encoding_offset=torch.where(constant, 1.0, layout.offset),
    )
