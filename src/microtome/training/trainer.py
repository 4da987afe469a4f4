"""Algorithm 1 of the paper, on a release: draw noise, generate rows, compare slices, step.

    for t = 1 … T:
        z ~ N(0, I);  x = G(z)
        loss = weighted divergences between slices of x and released slices
        step of Adam
        now and then: score on held-out rows; keep the best state

Stopping, choosing, restarting and starting over are free: only released numbers are touched.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor, nn

from microtome.errors import ModelError
from microtome.generators import Generator, MixtureGenerator, TabularGenerator
from microtome.progress import Progress, silent
from microtome.release import AggregatesRelease, RecordsRelease, Release
from microtome.release.moments import level_margins
from microtome.training.aggregate_losses import AggregateLoss, class_margins, class_shares
from microtome.training.checkpoint import Checkpoint, optimiser_tensors, restore_run
from microtome.training.losses import HeldOutJudge, TrainingLoss
from microtome.training.settings import FitSettings
from microtome.training.statistics import row_layout
from microtome.training.threads import torch_threads

_SCORE_ROWS = 4096
_MARGIN_ROWS = 16_384
_NETWORK_MEMORY, _MIXTURE_MEMORY = (0.9, 0.999), (0.9, 0.95)
"""Adam's decay rates. A mixture's gradient has no noise to average out: a long memory of the large gradients at the
start would keep its steps too short to the end, and what is certain in the tables (who was born here is a citizen)
would not become certain in its components."""


Judge = Callable[[Generator, Tensor], float]
"""Scores a generator on what training does not see: 1 for independent columns, lower is better."""


class Loss(Protocol):
    """What is minimised."""

    @property
    def has_signal(self) -> bool:
        """Whether there is anything to learn beyond the margins."""
        ...

    def __call__(self, model: Generator, latent: Tensor, generator: torch.Generator) -> Tensor:
        """The loss of a batch of latent noise."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Fit:
    """A trained generator and how it came about.

    Attributes:
        generator: The generator in its best state.
        history: (step, held-out score): 1 is what independent columns get, lower is better.
        best_step: The step of the best state; 0 where nothing beat independent columns.
        finished: False if the training was interrupted.
        score_error: Standard error of a held-out score by the noise of the held-out part; NaN where not known.
    """

    generator: Generator
    history: tuple[tuple[int, float], ...]
    best_step: int
    finished: bool
    score_error: float


class Trainer:
    """Trains one generator on one release.

    Args:
        release: What to fit.
        settings: How.
        seed: Seed of everything random in training (nothing private is drawn here).
        generator: A module of one's own; the built-in network otherwise.
        checkpoint: Where to keep the state of the run, if anywhere.
        progress: Told the steps done and the held-out score.
    """

    def __init__(
        self,
        release: Release,
        settings: FitSettings,
        *,
        seed: int,
        generator: Generator | None = None,
        checkpoint: Path | None = None,
        progress: Progress = silent,
    ) -> None:
        mixture = generator is None and isinstance(release, AggregatesRelease)
        settings = settings.settled(mixture=mixture)
        self.release, self.settings, self.progress, self._path = release, settings, progress, checkpoint
        assert settings.steps is not None
        assert settings.learning_rate is not None
        assert settings.check_every is not None
        self._steps, self._learning_rate = settings.steps, settings.learning_rate
        self._check_every = settings.check_every
        self._seed, self._random = seed, torch.Generator().manual_seed(seed)
        self._independent = build_generator(release, settings, seed, mixture=mixture)
        self.generator = deepcopy(self._independent) if generator is None else generator
        self._parameters = _module(self.generator).eval()
        _check_width(self.generator, release.codebook.dim)
        self._judged = torch.randn(_SCORE_ROWS, self.generator.latent_dim, generator=self._random)
        memory = _MIXTURE_MEMORY if mixture else _NETWORK_MEMORY
        self._optimiser = torch.optim.Adam(self._parameters.parameters(), lr=self._learning_rate, betas=memory)
        self._step, self._history = 0, []  # type: tuple[int, list[tuple[int, float]]]
        self._best = _state(self._parameters)
        self._loss = math.nan
        self.score_error = math.nan

    def fit(self, *, resume: bool = False) -> Fit:
        """Train; Ctrl-C ends it early with the best state so far."""
        with torch_threads(self.settings.threads):
            loss, judge = self._measures()
            if resume and self._path is not None and self._path.exists():
                self._restore(Checkpoint.load(self._path))
            if not self._history:
                self._look(judge)
            finished = self._run(loss, judge)
            self._parameters.load_state_dict(self._best)
            self._parameters.eval()
            self._match_margins()
        return Fit(
            generator=self.generator,
            history=tuple(self._history),
            best_step=min(self._history, key=lambda entry: entry[1])[0],
            finished=finished,
            score_error=self.score_error,
        )

    def _measures(self) -> tuple[Loss, Judge]:
        """What is minimised and what is judged by, both in units of independent columns."""
        same_noise = torch.Generator().manual_seed(self._seed)
        latent = torch.randn(_SCORE_ROWS, self._independent.latent_dim, generator=same_noise)
        release, settings = self.release, self.settings
        if isinstance(release, AggregatesRelease):
            tables = AggregateLoss(
                release,
                settings.loss,
                held_out=settings.held_out,
                batch_size=settings.batch_size,
                prior=settings.mixture.prior,
                exact=isinstance(self.generator, MixtureGenerator),
                generator=self._random,
            )
            self.score_error = tables.score_error
            return tables, tables.score
        assert isinstance(release, RecordsRelease)
        held_out = max(1, int(settings.held_out * release.num_rows))
        loss = TrainingLoss(release, settings.loss, held_out, settings.batch_size, self._random)
        built_in = isinstance(self.generator, TabularGenerator)
        judge = HeldOutJudge(release, held_out, loss, built_in, self._random)
        loss.calibrate(self._independent, latent[: settings.batch_size], self._random)
        judge.calibrate(self._independent, latent)
        self.score_error = judge.score_error
        return loss, judge

    def _run(self, loss: Loss, judge: Judge) -> bool:
        """Train to the end. With nothing to learn beyond the margins, the built-in network is there already."""
        learns = loss.has_signal or not isinstance(self.generator, TabularGenerator | MixtureGenerator)
        if self._step == 0 and isinstance(self.generator, MixtureGenerator):
            self.generator.spread(self._random)
        try:
            while learns and self._step < self._steps and not self._stalled():
                self._advance(loss)
                self._report()
                if self._step % self._check_every == 0 or self._step == self._steps:
                    self._look(judge)
        except KeyboardInterrupt:
            return False
        return True

    def _advance(self, loss: Loss) -> None:
        for group in self._optimiser.param_groups:
            group["lr"] = self._learning_rate * one_cycle(self._step / self._steps)
        latent = torch.randn(self.settings.batch_size, self.generator.latent_dim, generator=self._random)
        self._parameters.train()
        self._optimiser.zero_grad()
        value = loss(self.generator, latent, self._random)
        if not torch.isfinite(value):
            raise ModelError(f"the loss is {float(value.detach())} at step {self._step}; lower the learning rate")
        self._loss = float(value.detach())
        value.backward()  # type: ignore[no-untyped-call]
        self._optimiser.step()
        self._step += 1

    def _look(self, judge: Judge) -> None:
        """Score the generator on held-out rows, keep it if it is the best, save the run."""
        self._parameters.eval()
        score = judge(self.generator, self._judged)
        if not math.isfinite(score):
            raise ModelError(f"the held-out score is {score} at step {self._step}; lower the learning rate")
        if not self._history or score < min(value for _, value in self._history):
            self._best = _state(self._parameters)
        self._history.append((self._step, score))
        self._report()
        if self._path is not None:
            self._checkpoint().save(self._path)

    def _report(self) -> None:
        loss = "" if math.isnan(self._loss) else f"loss {self._loss:.3f}, "
        self.progress("fit", self._step, self._steps, f"{loss}held-out {self._history[-1][1]:.4f}")

    def _stalled(self) -> bool:
        scores = [score for _, score in self._history]
        since_best = len(scores) - 1 - scores.index(min(scores))
        return self.settings.patience is not None and since_best >= self.settings.patience

    def _match_margins(self) -> None:
        """The profile knows the margins better than any training: set them exactly."""
        if isinstance(self.generator, MixtureGenerator):
            self.generator.match_margins(_margins(self.release))
        elif isinstance(self.generator, TabularGenerator):
            latent = torch.randn(_MARGIN_ROWS, self.generator.latent_dim, generator=self._random)
            self.generator.match_margins(_margins(self.release)[0], latent)

    def _checkpoint(self) -> Checkpoint:
        return Checkpoint(
            release=self.release.fingerprint,
            settings=self.settings.to_dict(),
            seed=self._seed,
            step=self._step,
            history=tuple(self._history),
            model=_state(self._parameters),
            best=self._best,
            optimiser=optimiser_tensors(self._optimiser),
            random=self._random.get_state(),
        )

    def _restore(self, saved: Checkpoint) -> None:
        if saved.release != self.release.fingerprint:
            raise ModelError(f"{self._path} is a checkpoint of another release; remove it or fit without --resume")
        if saved.settings != self.settings.to_dict():
            raise ModelError(f"{self._path} was made with other settings; use the same, or fit without --resume")
        if saved.seed != self._seed:
            raise ModelError(f"{self._path} was made with seed {saved.seed}; use the same, or fit without --resume")
        assert self._path is not None
        restore_run(
            self._path,
            modules=[(self._parameters, saved.best), (self._parameters, saved.model)],
            optimiser=(self._optimiser, saved.optimiser),
            random=(self._random, saved.random),
        )
        self._step, self._history, self._best = saved.step, list(saved.history), dict(saved.best)


def build_generator(
    release: Release, settings: FitSettings, seed: int, *, mixture: bool = False
) -> TabularGenerator | MixtureGenerator:
    """The built-in model for a release, at the profile's margins: independent columns."""
    layout, margins = row_layout(release), _margins(release)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if not mixture:
            return TabularGenerator(layout, margins[0], settings.network)
        assert isinstance(release, AggregatesRelease)
        shares = torch.tensor(class_shares(release))
        return MixtureGenerator(layout, margins, settings.mixture, pivot=release.pivot, shares=shares)


def one_cycle(progress: float, *, rise: float = 0.3, start: float = 0.04) -> float:
    """The learning rate's schedule: a cosine up from ``start`` to 1, then a cosine down to nearly 0."""
    phase = progress / rise if progress < rise else (1.0 - progress) / (1.0 - rise)
    floor = start if progress < rise else start * 1e-3
    return floor + (1.0 - floor) * 0.5 * (1.0 - math.cos(math.pi * phase))


def _margins(release: Release) -> Tensor:
    """Share of every level by class (v × d); one row without a pivot."""
    margins = class_margins(release) if isinstance(release, AggregatesRelease) else level_margins(release)[None]
    return torch.tensor(margins, dtype=torch.float32)


def _module(generator: Generator) -> nn.Module:
    if not isinstance(generator, nn.Module):
        raise ModelError(f"a generator must be a torch.nn.Module; {type(generator).__name__} is not")
    if not hasattr(generator, "latent_dim"):
        raise ModelError(f"{type(generator).__name__} needs an attribute latent_dim: the width of its noise")
    return generator


def _check_width(generator: Generator, dim: int) -> None:
    with torch.no_grad():
        rows = generator(torch.zeros(2, generator.latent_dim))
    if tuple(rows.shape) != (2, dim):
        raise ModelError(
            f"the generator turns 2 rows of noise into {tuple(rows.shape)}; this release needs (2, {dim}): one "
            "coordinate for every encoded one"
        )


def _state(module: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}
