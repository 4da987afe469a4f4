"""The search for settings: counted, resumed without repeating itself, and not ended by a setting that fails."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fit_support import QUICK, planted_release, quick_mixture
from microtome.errors import ModelError, ParameterError
from microtome.generators import MixtureSettings
from microtome.published import Release, ReleaseKind
from microtome.training import FitSettings, Trainer, Trial, tune, tuning

TINY = replace(QUICK, batch_size=32, steps=4, check_every=2)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search's own space, with fewer steps."""
    suggest = tuning._suggest

    def shorter(trial: Any, base: FitSettings, release: Release) -> FitSettings:
        return replace(suggest(trial, base, release), steps=base.steps)

    monkeypatch.setattr(tuning, "_suggest", shorter)


@pytest.mark.usefixtures("short")
def test_trials_are_counted_over_runs_and_never_repeated(strong_release: Release, tmp_path: Path) -> None:
    watched: list[Trial] = []

    def search(trials: int) -> list[Trial]:
        return tune(strong_release, trials=trials, storage=tmp_path / "t.db", base=TINY, watch=watched.append)

    search(2)
    assert [trial.number for trial in watched] == [0, 1]
    found = search(5)
    assert [trial.number for trial in watched] == [0, 1, 2, 3, 4]
    assert [trial.score for trial in found] == sorted(trial.score for trial in watched)
    assert len({(trial.settings.learning_rate, trial.settings.network) for trial in watched}) == 5
    assert search(5) == found
    assert len(watched) == 5
    assert all(trial.settings.batch_size == 32 for trial in found)


@pytest.mark.usefixtures("short")
def test_aggregates_keep_the_number_of_components(tmp_path: Path) -> None:
    """The held-out score sees pairs of columns, and components serve triples."""
    release = planted_release(tmp_path / "t.release", kind=ReleaseKind.AGGREGATES)
    base = quick_mixture(mixture=MixtureSettings(components=7), steps=4, check_every=2)
    found = [trial.settings.mixture for trial in tune(release, trials=3, storage=tmp_path / "t.db", base=base)]
    assert {mixture.components for mixture in found} == {7}
    assert len({mixture.prior for mixture in found}) == 3


@pytest.mark.usefixtures("short")
def test_a_setting_that_fails_is_passed_over(
    strong_release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit, calls = Trainer.fit, []

    def sometimes(self: Trainer) -> Any:
        calls.append(self)
        if len(calls) == 1:
            raise ModelError("the loss is nan")
        return fit(self)

    monkeypatch.setattr(Trainer, "fit", sometimes)
    found = tune(strong_release, trials=2, storage=tmp_path / "t.db", base=TINY)
    assert [trial.number for trial in found] == [1]


@pytest.mark.usefixtures("short")
def test_when_all_settings_fail_it_says_so(
    strong_release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(self: Trainer) -> Any:
        raise ModelError("the loss is nan")

    monkeypatch.setattr(Trainer, "fit", never)
    for _ in range(2):
        with pytest.raises(ModelError, match="no trial came to an end"):
            tune(strong_release, trials=1, storage=tmp_path / "t.db", base=TINY)


@pytest.mark.usefixtures("short")
def test_interrupted_search_goes_on(strong_release: Release, tmp_path: Path) -> None:
    def stop(trial: Trial) -> None:
        if trial.number == 1:
            raise KeyboardInterrupt

    def search(watch: Callable[[Trial], None]) -> list[Trial]:
        return tune(strong_release, trials=2, storage=tmp_path / "t.db", base=TINY, watch=watch)

    with pytest.raises(KeyboardInterrupt):
        search(stop)
    watched: list[Trial] = []
    assert len(search(watched.append)) == 2
    assert len(watched) == 1


@pytest.mark.usefixtures("short")
def test_without_moments_the_kernel_is_fitted(few_slices: Release, tmp_path: Path) -> None:
    (trial,) = tune(few_slices, trials=1, storage=tmp_path / "t.db", base=TINY)
    assert (trial.settings.loss.moments, trial.settings.loss.kernel) == (0.0, 1.0)


def test_no_trials_are_refused(strong_release: Release, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="trials is 0"):
        tune(strong_release, trials=0, storage=tmp_path / "t.db")
