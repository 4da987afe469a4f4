"""Microtome's rows: both kinds of release at their defaults, and the slicing mechanism as the paper prints it."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from itertools import pairwise
from statistics import median
from typing import Any

import pandas as pd
import torch
from torch import Tensor, nn

from baselines.protocol import RunContext
from microtome import release
from microtome.accounting import Accountant, DirectionKind
from microtome.generators import RowLayout
from microtome.progress import Progress, silent
from microtome.published import Release, ReleaseKind
from microtome.schema import Schema
from microtome.synthesis import Synthesizer
from microtome.training import FitSettings, LossMix, Schedule

PAPER_BATCH = 128
PAPER_RATE = 2e-5
PAPER_EPOCHS = 200
SUBSAMPLE = 0.25
PROFILE_EPSILON = 0.5
_SLICES_SHARE = 0.475
"""What slices get of δ: half of what the padding leaves, by basic composition with the profile."""
_HELD_OUT = 0.01
SHARE_OF_TIME = 0.75
_TIMED_STEPS = 20


def _settled(kind: ReleaseKind) -> dict[str, Any]:
    """The defaults that depend on what is fitted."""
    pace = FitSettings().pace(mixture=kind is ReleaseKind.AGGREGATES)
    return {"steps": pace.steps, "learning_rate": pace.learning_rate, "check_every": pace.check_every}


class Microtome:
    """A release at the defaults and the default fit."""

    kind: ReleaseKind

    def __init__(self, context: RunContext) -> None:
        self._seed = context.seed

    def fit(self, frame: pd.DataFrame, schema: Schema, epsilon: float, delta: float) -> None:
        """Release, then fit."""
        clock = time.perf_counter()
        released = release(frame, schema, epsilon=epsilon, delta=delta, kind=self.kind, allow_large_delta=True)
        self._release_seconds = time.perf_counter() - clock
        self._synthesizer = Synthesizer(random_state=self._seed).fit(released)

    def sample(self, num_rows: int) -> pd.DataFrame:
        """Draw rows."""
        return self._synthesizer.sample(num_rows)

    def notes(self) -> dict[str, Any]:
        """The fit."""
        fit = self._synthesizer.fit_
        assert fit is not None
        return {
            "release_seconds": self._release_seconds,
            "best_step": fit.best_step,
            "held_out_score": min(score for _, score in fit.history),
            "settings": {**FitSettings().to_dict(), **_settled(self.kind)},
        }


class Records(Microtome):
    """Noise on every record."""

    kind = ReleaseKind.RECORDS


class Aggregates(Microtome):
    """Noise on sums over records."""

    kind = ReleaseKind.AGGREGATES


class PlainGenerator(nn.Module):
    """The usual network of tabular GANs, from random weights: it is not told the margins, as the paper's is not."""

    latent_dim = 128

    def __init__(self, layout: RowLayout) -> None:
        super().__init__()
        widths = (self.latent_dim, 256, 256)
        self.body = nn.Sequential(
            nn.Linear(widths[0], widths[1]),
            nn.ReLU(),
            nn.Linear(widths[1], widths[2]),
            nn.ReLU(),
            nn.Linear(widths[2], layout.dim),
        )
        self._layout = layout

    def probabilities(self, latent: Tensor) -> Tensor:
        """The distribution over levels of each column."""
        return self._layout.softmax(self.body(latent))

    def forward(self, latent: Tensor) -> Tensor:
        """The mean of the encoded row."""
        return self._layout.encode(self.probabilities(latent))

    def draw(self, latent: Tensor, generator: torch.Generator) -> Tensor:
        """Encoded rows with levels drawn, gradients straight through."""
        return self._layout.draw_encoded(self.probabilities(latent), generator)


class AsPrinted:
    """The paper's mechanism and training: what it leaves open is chosen here, and recorded.

    As printed: Gaussian directions, the accountant of Theorem 1, Poisson subsampling at 0.25, batches of 128, learning
    rate 2e-5, 200 epochs, the last state. Chosen: the numbers of slices and their dimension, f = KL, the network.
    Different: numbers are in bins, one per cent of the released rows is held out, a batch of released rows serves 16
    steps, and rows are drawn balanced. Where 200 epochs do not fit the time limit, as many as fit are run.

    The paper spends 0.5 of preprocessing on top of its ε. The profile that takes its place has 0.5 too, inside ε; or
    ``outside``, where the slices have all of ε and δ, and the release costs ε + 0.5.
    """

    num_slices: int
    slice_dim: int
    loss: LossMix
    outside: bool = False
    learning_rate: float = PAPER_RATE

    def __init__(self, context: RunContext) -> None:
        self._context = context

    def fit(self, frame: pd.DataFrame, schema: Schema, epsilon: float, delta: float) -> None:
        """Release as in the paper, then train for as many epochs as there is time."""
        began = time.process_time()
        self._total = (epsilon + PROFILE_EPSILON, delta / _SLICES_SHARE) if self.outside else (epsilon, delta)
        released = release(
            frame,
            schema,
            epsilon=self._total[0],
            delta=self._total[1],
            profile_share=profile_share(*self._total),
            kind=ReleaseKind.RECORDS,
            directions=DirectionKind.GAUSSIAN,
            accountant=Accountant.THEOREM1,
            subsample=SUBSAMPLE,
            num_slices=self.num_slices,
            slice_dim=self.slice_dim,
            allow_large_delta=True,
        )
        self._noise_scale, self._dim = released.noise_scale, released.codebook.dim
        self._steps_an_epoch = max(1, int(SUBSAMPLE * len(frame)) // PAPER_BATCH)
        self._steps = self._affordable_steps(released, began)
        self._synthesizer = self._trained(released, self._steps)

    def _affordable_steps(self, released: Release, began: float) -> int:
        """Steps of 200 epochs, or as many as fit the share of the time limit; ``began`` is when the clock started."""
        called = time.process_time()
        ends: dict[int, float] = {}

        def watch(stage: str, done: int, total: int | None, note: str = "") -> None:
            ends.setdefault(done, time.process_time())

        self._trained(released, _TIMED_STEPS, progress=watch)
        start_up = ends[0] - called
        seconds = median(later - earlier for earlier, later in pairwise(ends.values()))
        left = SHARE_OF_TIME * self._context.time_limit - (time.process_time() - began) - start_up
        return max(1, min(PAPER_EPOCHS * self._steps_an_epoch, int(left / seconds)))

    def _trained(self, released: Release, steps: int, progress: Progress = silent) -> Synthesizer:
        """Train to the end: as printed, no state before the last is chosen by what is held out."""
        settings = FitSettings(
            loss=replace(self.loss, batch_rows=PAPER_BATCH, slices_per_step=self.num_slices),
            steps=steps,
            batch_size=PAPER_BATCH,
            learning_rate=self.learning_rate,
            schedule=Schedule.CONSTANT,
            held_out=_HELD_OUT,
            check_every=steps,
            patience=None,
            keeps_last=True,
        )
        torch.manual_seed(self._context.seed)
        generator = PlainGenerator(RowLayout.of(released.codebook))
        return Synthesizer(settings, generator=generator, random_state=self._context.seed).fit(
            released, progress=progress
        )

    def sample(self, num_rows: int) -> pd.DataFrame:
        """Draw rows."""
        return self._synthesizer.sample(num_rows)

    def notes(self) -> dict[str, Any]:
        """How far the training got, and what was chosen."""
        fit = self._synthesizer.fit_
        assert fit is not None
        return {
            "epochs": round(self._steps / self._steps_an_epoch, 2),
            "epochs_of_the_paper": PAPER_EPOCHS,
            "steps": self._steps,
            "best_step": fit.best_step,
            "epsilon_in_all": self._total[0],
            "epsilon_of_profile": PROFILE_EPSILON,
            "learning_rate": self.learning_rate,
            "num_slices": self.num_slices,
            "slice_dim": self.slice_dim,
            "noise_scale": self._noise_scale,
            "encoded_dimension": self._dim,
            "settings": None if self._synthesizer.settings is None else self._synthesizer.settings.to_dict(),
        }


class Algorithm1(AsPrinted):
    """Kernel f-divergence on mini-batches of slices of five dimensions."""

    num_slices = 20
    slice_dim = 5
    loss = LossMix(moments=0.0, algorithm1=1.0)


class Algorithm1Outside(Algorithm1):
    """The noise of the paper's own accounting."""

    outside = True


class Algorithm1Faster(Algorithm1Outside):
    """A learning rate fifty times that of the paper."""

    learning_rate = 1e-3


class SliceWass(AsPrinted):
    """Sliced Wasserstein on the same mechanism, slices of one dimension."""

    num_slices = 500
    slice_dim = 1
    loss = LossMix(moments=0.0, wasserstein=1.0)


class SliceWassOutside(SliceWass):
    """The noise of the paper's own accounting."""

    outside = True


def profile_share(epsilon: float, delta: float) -> float:
    """The share of the budget with which a profile costs 0.5, as the accountant of Theorem 1 composes it with slices.

    A Gaussian mechanism of μ costs μ²/2 + μ√(2 ln(1/δ)) by the paper's conversion.
    """

    def mu(cost: float, share: float) -> float:
        root = math.sqrt(-2.0 * math.log(share))
        return math.sqrt(root**2 + 2.0 * cost) - root

    return (mu(PROFILE_EPSILON, _SLICES_SHARE * delta) / mu(epsilon, delta)) ** 2
