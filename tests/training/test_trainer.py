"""Training: it learns what is planted, repeats itself, can be stopped and resumed, and never sees held-out rows."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch import Tensor, nn

from fit_support import (
    LatentClasses,
    QuietProfile,
    RowsOnly,
    distance,
    from_independence,
    joint,
    planted,
    planted_release,
    quick,
)
from microtome.accounting import Neighbours
from microtome.errors import ModelError, OutputError, ParameterError
from microtome.generators import Generator, RowLayout
from microtome.published import RecordsRelease, Release
from microtome.synthesis import Synthesizer
from microtome.training import Checkpoint, Fit, FitSettings, LossMix, Schedule, SliceChoice, Trainer, build_generator
from microtome.training.loop import one_cycle
from microtome.training.losses import TrainingLoss
from support import fill_disk, levels_of

PAIRS = list(combinations(("shape", "colour", "large"), 2))


def fitted(release: Release, settings: FitSettings, seed: int = 0, **options: Any) -> Fit:
    return Trainer(release, settings, seed=seed, **options).fit()


def state(generator: Generator) -> dict[str, Tensor]:
    assert isinstance(generator, nn.Module)
    return generator.state_dict()


def same(first: dict[str, Tensor], second: dict[str, Tensor]) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


def sampled_distance(release: Release, settings: FitSettings, pair: tuple[str, str]) -> float:
    """How far a fitted model's table of two columns is from the true one, in units of independence."""
    model = Synthesizer(settings, random_state=0).fit(release)
    wanted = joint(planted(), *pair)
    return distance(joint(model.sample(20_000), *pair), wanted) / from_independence(wanted)


def test_planted_dependence_is_learnt(strong_release: Release) -> None:
    model = Synthesizer(quick(steps=400), random_state=0).fit(strong_release)
    frame, truth = model.sample(30_000), planted()
    for pair in PAIRS:
        assert distance(joint(frame, *pair), joint(truth, *pair)) < 0.05
        assert from_independence(joint(truth, *pair)) > 0.2
    assert distance(joint(frame, "shape", "colour", "large"), joint(truth, "shape", "colour", "large")) < 0.1
    for column in truth.column_names:
        assert distance(joint(frame, column), joint(truth, column)) < 0.02
    assert model.fit_ is not None
    assert min(score for _, score in model.fit_.history) < 0.1


SLICED = {"steps": 100, "batch_size": 128, "learning_rate": 2e-2}
TWO_DIMENSIONAL = LossMix(moments=0.0, kernel=1.0, slice_dim=2, num_slices=40, slices_per_step=20)
ALONE = {
    "moments": (quick(loss="moments"), 0.2),
    "kernel": (quick(loss="kernel", **SLICED), 0.6),
    "random planes": (quick(loss=replace(TWO_DIMENSIONAL, slices=SliceChoice.RANDOM), **SLICED), 0.6),
    "pairs of columns": (quick(loss=replace(TWO_DIMENSIONAL, slices=SliceChoice.PAIRS), **SLICED), 0.5),
    "algorithm1": (quick(loss="algorithm1", **SLICED), 0.8),
    "wasserstein": (quick(loss="wasserstein", **SLICED), 0.8),
    "mmd": (quick(loss="mmd", **SLICED), 0.7),
}


SLOW = ("random planes",)


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in ALONE])
def test_each_loss_falls_and_improves_on_independent_columns(name: str, strong_release: Release) -> None:
    """By its own measure on fresh noise, and by the table of two columns in sampled rows."""
    settings, enough = ALONE[name]
    model = Synthesizer(settings, random_state=0).fit(strong_release)
    wanted = joint(planted(), "shape", "colour")
    assert distance(joint(model.sample(20_000), "shape", "colour"), wanted) < enough * from_independence(wanted)

    random = torch.Generator().manual_seed(0)
    measure = TrainingLoss(strong_release, settings.loss, 400, 256, random)
    untrained, latent = build_generator(strong_release, settings, 0), torch.randn(512, 8, generator=random)
    measure.calibrate(untrained, latent, random)

    def value(generator: Generator) -> float:
        with torch.no_grad():
            return float(measure(generator, latent, torch.Generator().manual_seed(1)))

    assert value(model.model.generator) < 0.9 * value(untrained)


def test_losses_can_be_mixed(strong_release: Release) -> None:
    mix = LossMix(moments=1.0, kernel=0.2, algorithm1=0.1, wasserstein=0.1, mmd=0.1, batch_rows=32)
    fit = fitted(strong_release, quick(steps=40, batch_size=64, loss=mix))
    assert min(score for _, score in fit.history) < 0.9


def test_slices_inside_columns_know_only_margins(strong_release: Release) -> None:
    """They keep what the profile gave and cannot tell columns together."""
    loss = LossMix(moments=0.0, kernel=1.0, slices=SliceChoice.COLUMNS, num_slices=20)
    assert sampled_distance(strong_release, quick(loss=loss, steps=60), ("shape", "colour")) > 0.8


def test_slices_that_cannot_be_had_are_refused(few_slices: Release, strong_release: Release) -> None:
    fresh = LossMix(moments=0.0, kernel=1.0, slices=SliceChoice.RANDOM)
    with pytest.raises(ParameterError, match="whole orthogonal directions"):
        fitted(few_slices, quick(loss=fresh))
    with pytest.raises(ParameterError, match="slice_dim is 1, not 2"):
        fitted(strong_release, quick(loss=replace(fresh, slices=SliceChoice.PAIRS, slice_dim=1)))
    with pytest.raises(ParameterError, match="one-dimensional slices, not 2"):
        fitted(strong_release, quick(loss=replace(fresh, kernel=0.0, wasserstein=1.0, slice_dim=2)))


def test_fewer_directions_than_dimensions_still_fit(few_slices: Release) -> None:
    fit = fitted(few_slices, quick(loss="kernel", steps=200, check_every=50))
    assert fit.history[0] == (0, 1.0)
    assert min(score for _, score in fit.history) < 0.95


class Settled(nn.Module):
    """Independent columns again, but every value is settled by the latent: one coordinate for each column."""

    def __init__(self, release: Release) -> None:
        super().__init__()
        self.layout, self.latent_dim = RowLayout.of(release.codebook), len(release.codebook.codes)
        self.ends = [torch.from_numpy(code.level_margins).cumsum(0)[:-1] for code in release.codebook.codes]
        self.unused = nn.Parameter(torch.zeros(()))

    def forward(self, latent: Tensor) -> Tensor:
        uniform = torch.special.ndtr(latent.double())
        levels = [torch.searchsorted(ends, uniform[:, i].contiguous()) for i, ends in enumerate(self.ends)]
        return self.layout.encode(self.layout.one_hot(torch.stack(levels, dim=1))) + 0.0 * self.unused


def test_held_out_mmd_is_not_fooled_by_certainty(few_slices: Release) -> None:
    """Independent columns are independent columns, whether the latent settles every value or none."""
    fit = fitted(few_slices, quick(loss="kernel", steps=1), generator=Settled(few_slices))
    assert fit.history[0][1] == pytest.approx(1.0, abs=0.1)


def test_same_seed_same_model_other_seed_other_model(strong_release: Release) -> None:
    settings = quick(steps=20, loss=LossMix(kernel=0.5))
    torch.manual_seed(1)
    first = fitted(strong_release, settings)
    torch.manual_seed(2)
    global_state = torch.get_rng_state()
    again, other = fitted(strong_release, settings), fitted(strong_release, settings, seed=1)
    assert torch.equal(torch.get_rng_state(), global_state)
    assert same(state(first.generator), state(again.generator))
    assert first.history == again.history
    assert not same(state(first.generator), state(other.generator))


@pytest.mark.parametrize("loss", ["moments", "kernel", "mmd"])
def test_held_out_rows_are_not_trained_on(
    loss: str, strong_release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held_out = 400
    other = Release.load(strong_release.path)
    steps = other._steps

    def turned(first: int, last: int | None) -> np.ndarray:
        rows = steps(first, last)
        rows[: max(0, held_out - first)] = rows[: max(0, held_out - first), ::-1]
        return rows

    monkeypatch.setattr(other, "_steps", turned)
    assert not np.array_equal(other.rows(0, held_out), strong_release.rows(0, held_out))
    np.testing.assert_array_equal(other.rows(held_out), strong_release.rows(held_out))
    runs = []
    for name, release in (("one", strong_release), ("two", other)):
        fit = fitted(release, quick(steps=40, loss=loss), checkpoint=tmp_path / name)
        runs.append((Checkpoint.load(tmp_path / name).model, fit.history))
    assert same(dict(runs[0][0]), dict(runs[1][0]))
    assert runs[0][1][1:] != runs[1][1][1:]


def test_best_state_is_kept(strong_release: Release, tmp_path: Path) -> None:
    """A learning rate that first helps and then spoils: the state of the best score is what comes back."""
    settings = quick(steps=120, learning_rate=0.5, check_every=5)
    fit = fitted(strong_release, settings, checkpoint=tmp_path / "c")
    scores = [score for _, score in fit.history]
    assert fit.best_step == fit.history[int(np.argmin(scores))][0]
    saved = Checkpoint.load(tmp_path / "c")
    body = {name: tensor for name, tensor in state(fit.generator).items() if name != "head.bias"}
    assert all(torch.equal(tensor, saved.best[name]) for name, tensor in body.items())
    assert min(scores) < scores[-1]
    assert not same(dict(saved.best), dict(saved.model))


def test_patience_ends_training(strong_release: Release) -> None:
    settings = quick(steps=400, learning_rate=0.5, check_every=5, patience=3)
    fit = fitted(strong_release, settings)
    assert fit.finished
    assert fit.history[-1][0] < 400
    scores = [score for _, score in fit.history]
    assert len(scores) - 1 - int(np.argmin(scores)) == 3


class Killed(Exception):
    pass


def stop_at(step: int, error: type[BaseException]) -> Callable[..., None]:
    def progress(stage: str, done: int, total: int | None, note: str = "") -> None:
        if done == step:
            raise error

    return progress


RESUMED = {
    "moments": quick(steps=60),
    "everything": quick(
        steps=60,
        loss=LossMix(kernel=0.3, mmd=0.1, wasserstein=0.1, slices=SliceChoice.RANDOM, num_slices=20, slices_per_step=7),
    ),
    "batches": quick(
        steps=60, loss=LossMix(moments=0.0, algorithm1=1.0, num_slices=6, slices_per_step=3, batch_rows=32)
    ),
}


@pytest.mark.parametrize(
    ("name", "killed_at"),
    [("moments", 30), ("moments", 40), ("everything", 30), ("batches", 30)],
)
def test_resumed_run_is_the_uninterrupted_one(
    name: str, killed_at: int, strong_release: Release, tmp_path: Path
) -> None:
    settings, path = RESUMED[name], tmp_path / "checkpoint"
    whole = fitted(strong_release, settings)
    with pytest.raises(Killed):
        fitted(strong_release, settings, checkpoint=path, progress=stop_at(killed_at, Killed))
    assert 0 < Checkpoint.load(path).step < 60
    resumed = Trainer(strong_release, settings, seed=0, checkpoint=path).fit(resume=True)
    assert resumed.history == whole.history
    assert same(state(resumed.generator), state(whole.generator))


def test_resumed_run_of_an_own_generator(strong_release: Release, tmp_path: Path) -> None:
    """Also with the very module that the interrupted run has changed."""
    settings, path, layout = quick(steps=60), tmp_path / "checkpoint", RowLayout.of(strong_release.codebook)
    whole = fitted(strong_release, settings, generator=LatentClasses(layout))
    own = LatentClasses(layout)
    stopped = fitted(strong_release, settings, generator=own, checkpoint=path, progress=stop_at(50, KeyboardInterrupt))
    assert not stopped.finished
    assert stopped.best_step == 40
    resumed = Trainer(strong_release, settings, seed=0, generator=own, checkpoint=path).fit(resume=True)
    assert resumed.history == whole.history
    assert same(state(resumed.generator), state(whole.generator))


def test_slices_are_fresh_ones_where_the_directions_allow_it(strong_release: Release, few_slices: Release) -> None:
    random = torch.Generator().manual_seed(0)
    slices = LossMix(kernel=1.0).sliced_rows(strong_release, 0, random)
    assert slices.fresh
    assert tuple(slices.directions.shape) == (150, strong_release.codebook.dim, 3)
    planes = LossMix(kernel=1.0, slices=SliceChoice.PAIRS).sliced_rows(strong_release, 0, random)
    assert planes.directions.shape[2] == 2
    assert LossMix(wasserstein=1.0).sliced_rows(strong_release, 0, random).directions.shape[2] == 1
    assert not LossMix(kernel=1.0).sliced_rows(few_slices, 0, random).fresh


def test_the_last_state_is_kept_on_demand(strong_release: Release) -> None:
    settings = quick(steps=20, check_every=10, learning_rate=100.0, schedule=Schedule.CONSTANT, patience=None)
    chosen, last = (fitted(strong_release, replace(settings, keeps_last=kept)) for kept in (False, True))
    assert chosen.history == last.history
    assert chosen.best_step < 20, "a rate that ruins the network"
    assert last.best_step == 20
    assert not same(state(chosen.generator), state(last.generator))


def test_resume_without_a_checkpoint_starts(strong_release: Release, tmp_path: Path) -> None:
    settings = quick(steps=20)
    started = Trainer(strong_release, settings, seed=0, checkpoint=tmp_path / "none").fit(resume=True)
    assert started.history == fitted(strong_release, settings).history


def test_foreign_checkpoints_are_refused(strong_release: Release, few_slices: Release, tmp_path: Path) -> None:
    path, settings = tmp_path / "checkpoint", quick(steps=20)
    fitted(strong_release, settings, checkpoint=path)
    before = path.read_bytes()

    def refused(match: str, release: Release, other: FitSettings, seed: int = 0, **options: Any) -> None:
        with pytest.raises(ModelError, match=match):
            Trainer(release, other, seed=seed, checkpoint=path, **options).fit(resume=True)
        assert path.read_bytes() == before

    refused("another release", few_slices, quick(steps=20, loss="kernel"))
    refused("other settings", strong_release, quick(steps=21))
    refused("other settings", strong_release, quick(steps=20, loss=LossMix(kernel=0.1)))
    refused("with seed 0", strong_release, settings, seed=1)
    refused(
        "another generator", strong_release, settings, generator=LatentClasses(RowLayout.of(strong_release.codebook))
    )


def test_damaged_checkpoint_is_refused(strong_release: Release, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    fitted(strong_release, quick(steps=20), checkpoint=path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ModelError, match="damaged"):
        Trainer(strong_release, quick(steps=20), seed=0, checkpoint=path).fit(resume=True)


def test_interrupt_leaves_a_usable_model(strong_release: Release) -> None:
    fit = fitted(strong_release, quick(), progress=stop_at(110, KeyboardInterrupt))
    assert not fit.finished
    assert [step for step, _ in fit.history] == [0, 20, 40, 60, 80, 100]
    assert min(score for _, score in fit.history) < 0.9
    with torch.no_grad():
        rows = fit.generator(torch.randn(5, fit.generator.latent_dim, generator=torch.Generator().manual_seed(0)))
    assert bool(torch.isfinite(rows).all())


def test_interrupt_before_there_is_anything(strong_release: Release) -> None:
    with pytest.raises(KeyboardInterrupt):
        fitted(strong_release, quick(), progress=stop_at(0, KeyboardInterrupt))


def single(num_rows: int = 300) -> pa.Table:
    """One column that varies: there is nothing to learn about pairs."""
    table = planted(num_rows)
    same_everywhere = {"colour": ["red"] * num_rows, "large": [True] * num_rows}
    for name, values in same_everywhere.items():
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    return table


def test_release_without_signal_gives_independent_columns(tmp_path: Path) -> None:
    table = single()
    release = planted_release(tmp_path / "r", table=table)
    model = Synthesizer(quick(), random_state=0).fit(release)
    assert model.fit_ is not None
    assert (model.fit_.best_step, model.fit_.history) == (0, ((0, 1.0),))
    assert distance(joint(model.sample(20_000), "shape"), joint(table, "shape")) < 0.02


def test_scores_are_relative_to_independent_columns_whatever_the_generator(strong_release: Release) -> None:
    own = LatentClasses(RowLayout.of(strong_release.codebook))
    history = fitted(strong_release, quick(learning_rate=0.05), generator=own).history
    assert history[0][1] > 1.2
    assert min(score for _, score in history) < 0.7


def test_own_generator_learns_margins_even_without_dependence(tmp_path: Path) -> None:
    table = single()
    release = planted_release(tmp_path / "r", table=table)
    own = LatentClasses(RowLayout.of(release.codebook))
    model = Synthesizer(quick(learning_rate=0.05), generator=own, random_state=0).fit(release)
    assert distance(joint(model.sample(20_000), "shape"), joint(table, "shape")) < 0.1


@pytest.mark.parametrize("num_rows", [2, 3, 6])
def test_tiny_releases(num_rows: int, tmp_path: Path) -> None:
    release = planted_release(tmp_path / "r", table=planted(num_rows), epsilon=5.0)
    assert len(Synthesizer(quick(steps=2), random_state=0).fit(release).sample(10)) == 10


class Replay(nn.Module):
    """The true rows, whatever the latent: a generator that cannot be improved upon."""

    latent_dim = 1

    def __init__(self, rows: np.ndarray) -> None:
        super().__init__()
        self.rows = nn.Parameter(torch.from_numpy(rows).float())

    def forward(self, latent: Tensor) -> Tensor:
        return self.rows[: len(latent)]


@pytest.mark.parametrize("loss", ["kernel", "mmd", "wasserstein", pytest.param("algorithm1", marks=pytest.mark.slow)])
def test_padded_null_rows_are_expected(loss: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = planted(2000)
    release = planted_release(
        tmp_path / "r", table=table, neighbours=Neighbours.ADD_REMOVE, capacity=4000, randomness=QuietProfile()
    )
    assert release.null_share == pytest.approx(0.5, abs=0.01)
    true = Replay(release.codebook.encode(levels_of(table, release.codebook)))

    def value(null_share: float) -> float:
        monkeypatch.setattr(RecordsRelease, "null_share", property(lambda self: null_share))
        random = torch.Generator().manual_seed(0)
        measure = TrainingLoss(release, quick(loss=loss).loss, 400, 256, random)
        with torch.no_grad():
            values = [float(measure(true, torch.zeros(256, 1), random)) for _ in range(4)]
        return float(np.mean(values))

    expected = value(0.5)
    assert expected < 0.7 * value(0.0)
    assert expected < 0.9 * value(0.9)


def test_threads_are_as_before(strong_release: Release) -> None:
    before = torch.get_num_threads()
    seen = []
    torch.set_num_threads(2)
    try:
        fitted(strong_release, quick(steps=2), progress=lambda *_: seen.append(torch.get_num_threads()))
        assert torch.get_num_threads() == 2
        with pytest.raises(Killed):
            fitted(strong_release, quick(steps=2), progress=stop_at(1, Killed))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert set(seen) == {1}


class Poisoned(LatentClasses):
    """Its weights become NaN when it is trained for the first time."""

    def forward(self, latent: Tensor) -> Tensor:
        return super().forward(latent) * (float("nan") if self.training else 1.0)


def test_loss_that_is_no_number_is_explained(strong_release: Release) -> None:
    with pytest.raises(ModelError, match="loss is nan at step 0; lower the learning rate"):
        fitted(strong_release, quick(), generator=Poisoned(RowLayout.of(strong_release.codebook)))


def test_wrong_width_is_explained(strong_release: Release) -> None:
    with pytest.raises(ModelError, match=r"\(2, 7\).*\(2, 9\)"):
        fitted(strong_release, quick(), generator=RowsOnly(RowLayout.of(strong_release.codebook), dim=7))


def test_what_is_no_generator_is_explained(strong_release: Release) -> None:
    with pytest.raises(ModelError, match=r"must be a torch\.nn\.Module; function is not"):
        fitted(strong_release, quick(), generator=lambda latent: latent)
    with pytest.raises(ModelError, match="Linear needs an attribute latent_dim"):
        fitted(strong_release, quick(), generator=nn.Linear(2, 9))


def test_dropout_is_off_when_judged_and_sampled(strong_release: Release) -> None:
    own = LatentClasses(RowLayout.of(strong_release.codebook), dropout=0.5)
    model = Synthesizer(quick(steps=20), generator=own, random_state=0).fit(strong_release)
    assert not own.training
    first, again = model.sample(200, random_state=1), model.sample(200, random_state=1)
    assert first.equals(again)


def test_progress_is_told_every_step(strong_release: Release) -> None:
    told: list[tuple[int, str]] = []
    fitted(
        strong_release,
        quick(steps=6, check_every=3),
        progress=lambda stage, done, total, note="": told.append((done, note)),
    )
    assert sorted({done for done, _ in told}) == list(range(7))
    assert told[0][1] == "held-out 1.0000"
    assert all("loss" in note and "nan" not in note for _, note in told[1:])


def test_full_disk_ends_training_with_an_explanation(
    strong_release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_disk(monkeypatch)
    with pytest.raises(OutputError, match="No space left"):
        fitted(strong_release, quick(steps=2), checkpoint=tmp_path / "c")
    assert list(tmp_path.iterdir()) == []


def test_learning_rate_rises_and_falls() -> None:
    rates = [one_cycle(step / 100) for step in range(101)]
    assert rates[0] == pytest.approx(0.04)
    assert max(rates) == pytest.approx(1.0) == rates[30]
    assert rates[100] < 1e-4
    assert np.all(np.diff(rates[:31]) > 0)
    assert np.all(np.diff(rates[30:]) < 0)
