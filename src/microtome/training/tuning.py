"""Searching for better settings, scored on held-out rows of the release: free of privacy cost.

Trials are kept in a SQLite file, so a search can be stopped and resumed. Needs the extra ``tune`` (Optuna).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from microtome.divergences import FDivergence
from microtome.errors import ModelError, ParameterError
from microtome.extras import how_to_install
from microtome.generators import NetworkSettings
from microtome.published import AggregatesRelease, RecordsRelease, Release, unknown_release
from microtome.published.second_moments import has_moments
from microtome.training.losses import LossMix
from microtome.training.settings import FitSettings
from microtome.training.trainer import Trainer


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One setting that was tried, and its held-out score relative to independent columns (lower is better)."""

    number: int
    score: float
    settings: FitSettings


def tune(
    release: Release,
    *,
    trials: int,
    storage: Path,
    base: FitSettings | None = None,
    seed: int = 0,
    watch: Callable[[Trial], None] = lambda trial: None,
) -> list[Trial]:
    """Try settings until ``trials`` have been tried in all; the best come first. Those that fail are passed over.

    Args:
        release: What to fit.
        trials: How many trials, those in ``storage`` counted.
        storage: SQLite file that remembers the trials.
        base: Settings for all that is not searched.
        seed: Seed of the search and of every fit.
        watch: Called after each trial.
    """
    if trials < 1:
        raise ParameterError(f"trials is {trials}; it must be at least 1")
    optuna = _optuna()
    base = base or FitSettings()
    study = optuna.create_study(
        study_name=release.fingerprint,
        storage=f"sqlite:///{storage}",
        load_if_exists=True,
    )
    done = sum(trial.value is not None for trial in study.trials)
    study.sampler = optuna.samplers.TPESampler(seed=seed + len(study.trials))

    def objective(trial: Any) -> float:
        settings = _suggest(trial, base, release)
        fit = Trainer(release, settings, seed=seed).fit()
        if not fit.finished:
            raise KeyboardInterrupt
        score = min(value for _, value in fit.history)
        trial.set_user_attr("settings", settings.to_dict())
        watch(Trial(number=trial.number, score=score, settings=settings))
        return score

    study.optimize(objective, n_trials=max(trials - done, 0), catch=ModelError)
    found = sorted((_trial(one) for one in study.trials if one.value is not None), key=lambda one: one.score)
    if not found:
        raise ModelError("no trial came to an end: training failed with every setting that was tried")
    return found


def _suggest(trial: Any, base: FitSettings, release: Release) -> FitSettings:
    """The space: architecture, loss mix, learning rate, steps."""
    match release:
        case RecordsRelease():
            return _suggest_network(trial, base, release)
        case AggregatesRelease():
            return _suggest_mixture(trial, base)
        case _:
            raise unknown_release(release)


def _suggest_network(trial: Any, base: FitSettings, release: RecordsRelease) -> FitSettings:
    width = trial.suggest_categorical("width", [64, 128, 256, 384])
    depth = trial.suggest_int("depth", 1, 3)
    network = NetworkSettings(
        latent_dim=trial.suggest_categorical("latent_dim", [8, 16, 32, 64, 128]), hidden=(width,) * depth
    )
    return replace(
        base,
        network=network,
        loss=_suggest_loss(trial, base.loss, release),
        learning_rate=trial.suggest_float("learning_rate", 5e-4, 1e-2, log=True),
        steps=trial.suggest_categorical("steps", [300, 600, 1200]),
    )


def _suggest_mixture(trial: Any, base: FitSettings) -> FitSettings:
    """Not the number of components: it makes for triples of columns, which the held-out score does not see."""
    mixture = replace(
        base.mixture,
        start_spread=trial.suggest_float("start_spread", 0.3, 2.0, log=True),
        prior=trial.suggest_float("prior", 0.5, 50.0, log=True),
    )
    return replace(
        base,
        mixture=mixture,
        learning_rate=trial.suggest_float("learning_rate", 0.03, 0.3, log=True),
        steps=trial.suggest_categorical("steps", [100, 200, 400]),
    )


def _suggest_loss(trial: Any, base: LossMix, release: RecordsRelease) -> LossMix:
    """Moments where there are any, with some of the kernel divergence."""
    moments = has_moments(release)
    return replace(
        base,
        moments=1.0 if moments else 0.0,
        kernel=trial.suggest_categorical("kernel", [0.0, 0.1, 0.3]) if moments else 1.0,
        f=FDivergence(trial.suggest_categorical("f", [FDivergence.KL.value, FDivergence.CHI_SQUARED.value])),
    )


def _trial(frozen: Any) -> Trial:
    settings = FitSettings.from_dict(frozen.user_attrs["settings"])
    return Trial(number=frozen.number, score=float(frozen.value), settings=settings)


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise ParameterError(f"tuning needs Optuna: {how_to_install('optuna')}") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)  # a warning is a traceback, of Ctrl-C too
    return optuna
