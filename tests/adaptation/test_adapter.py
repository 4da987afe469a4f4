"""Domain adaptation on small digits: the trap, the promise, resuming, refusals, and that it learns."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from digits import DELTA, EPSILON, QUICK, domains
from torch import Tensor

import microtome as mt
from microtome.accounting import Ledger
from microtome.adaptation import AdaptationSettings, Alignment, DomainAdapter, Moved
from microtome.adaptation.alignment import TargetBatch, _cells, align
from microtome.adaptation.network import AdaptationNetwork, build_network
from microtome.adaptation.objective import AdaptationObjective, Source
from microtome.adaptation.run import Run
from microtome.adaptation.target import PrivateTarget
from microtome.adaptation.transform import ImageTransform
from microtome.adaptation.unit_images import unit_images
from microtome.divergences import random_frames, summarise
from microtome.errors import BudgetError, ModelError, OutputError, ParameterError, TableError
from microtome.private.batches import BatchPrivacy, pay_for_batches, plan_batches
from microtome.private.randomness import SystemRandomness
from microtome.progress import Progress, silent
from microtome.training import Checkpoint, Loop
from support import FixedRandomness


def source() -> Source:
    images, labels, _, _ = domains()
    return Source(images=torch.from_numpy(unit_images(images, origin="source")), labels=torch.from_numpy(labels))


def training(settings: AdaptationSettings = QUICK, seed: int = 0) -> AdaptationObjective:
    network = build_network((1, 8, 8), 10, settings.radius, seed)
    return AdaptationObjective(network, source(), settings, seed=seed)


def train(objective: AdaptationObjective, steps: int) -> None:
    loop = Loop(objective, run={"seed": 0})
    for _ in range(steps):
        loop.advance()


def private_target(images: np.ndarray, network: AdaptationNetwork) -> PrivateTarget:
    privacy = BatchPrivacy(epsilon=EPSILON, delta=DELTA)
    plan = plan_batches(
        privacy, num_records=len(images), dim=network.dim, num_steps=16, num_slices=80, slice_dim=1, batch_size=64
    )
    return PrivateTarget(
        pay_for_batches(
            unit_images(images, origin="target"),
            plan,
            privacy=privacy,
            ledger=Ledger(),
            dataset="d",
            purpose="t",
            randomness=SystemRandomness(),
        )
    )


class Recorded:
    """Looks at its own images, as the real side does, but gives the slices that were recorded."""

    def __init__(self, target: PrivateTarget, slices: list[TargetBatch]) -> None:
        self._target, self._slices = target, slices

    def batch(self, step: int, network: AdaptationNetwork) -> TargetBatch:
        own = self._target.batch(step, network)
        assert not torch.equal(own.slices, self._slices[step].slices)
        return self._slices[step]


class Recorder:
    def __init__(self, target: PrivateTarget) -> None:
        self._target, self.slices = target, []  # type: tuple[PrivateTarget, list[TargetBatch]]

    def batch(self, step: int, network: AdaptationNetwork) -> TargetBatch:
        self.slices.append(self._target.batch(step, network))
        return self.slices[-1]


class Leaky:
    """What must never be: slices that carry the gradient of private features."""

    def __init__(self, images: np.ndarray, values: list[TargetBatch]) -> None:
        self._images, self._values = torch.from_numpy(unit_images(images, origin="target"))[:64], values

    def batch(self, step: int, network: AdaptationNetwork) -> TargetBatch:
        held = self._values[step]
        rows = torch.einsum("nd,mdk->nmk", network.rows(self._images), held.directions)
        # The recorded values, with the private features' derivative behind them.
        return replace(held, slices=held.slices[:64] + rows - rows.detach(), null_share=0.0)


def weights(network: AdaptationNetwork) -> list[Tensor]:
    return [parameter.detach().clone() for parameter in network.parameters()]


def same(first: list[Tensor], second: list[Tensor]) -> bool:
    return all(torch.equal(one, other) for one, other in zip(first, second, strict=True))


@pytest.mark.parametrize("moves", list(Moved))
@pytest.mark.parametrize("alignment", list(Alignment))
def test_no_gradient_flows_through_private_features(alignment: Alignment, moves: Moved) -> None:
    """Other private images, the same noisy slices: the update is the same to the last bit."""
    settings = replace(QUICK, alignment=alignment, align_from=1, moves=moves)
    images = domains()[2]
    first, second = training(settings), training(settings)
    first.target = recorder = Recorder(private_target(images, first.network))
    second.target = Recorded(private_target(1.0 - images[::-1], second.network), recorder.slices)
    train(first, 3)
    train(second, 3)
    assert same(weights(first.network), weights(second.network))
    assert first.look.settings() == second.look.settings()
    assert (first.look.settings() != ImageTransform().settings()) == (moves is Moved.LOOK)
    assert not recorder.slices[0].slices.requires_grad
    alone = training(settings)
    train(alone, 3)
    assert not same(weights(first.network), weights(alone.network))


def test_the_test_above_would_see_a_leak() -> None:
    settings = replace(QUICK, alignment=Alignment.WASSERSTEIN, align_from=1, moves=Moved.NETWORK)
    images = domains()[2]
    start = training(settings)
    recording = copy.deepcopy(start)
    recording.target = recorder = Recorder(private_target(images, start.network))
    train(recording, 1)
    moved = []
    for looked_at in (images, 1.0 - images[::-1]):
        leaking = copy.deepcopy(start)
        leaking.target = Leaky(looked_at, recorder.slices)
        train(leaking, 1)
        moved.append(weights(leaking.network))
    assert not same(*moved)


@pytest.mark.parametrize("alignment", list(Alignment))
def test_alignment_is_smaller_for_rows_of_the_same_law_and_pulls_towards_it(alignment: Alignment) -> None:
    random = torch.Generator().manual_seed(0)
    frames = random_frames(40, 8, 1, generator=random)

    def rows(shift: float, number: int = 200) -> Tensor:
        return 0.1 * torch.randn(number, 8, generator=random) + shift

    nulls = torch.cat([rows(0.25), torch.zeros(100, 8)])
    noisy = torch.einsum("nd,mdk->nmk", nulls, frames)
    noisy = noisy + 0.2 * torch.randn(noisy.shape, generator=random)
    target = TargetBatch(slices=noisy, directions=frames, noise_scale=0.2, null_share=1 / 3)
    near, far = (float(align(rows(shift), target, alignment, random)) for shift in (0.25, 0.0))
    assert near < 0.5 * far
    moving = rows(0.0).requires_grad_()
    align(moving, target, alignment, random).backward()
    assert moving.grad is not None
    assert float(moving.grad.sum()) < 0


def test_cells_of_a_batch_keep_its_mean_and_variance_and_agree_with_the_search_for_cells() -> None:
    random = torch.Generator().manual_seed(0)
    slices = torch.randn(203, 5, 1, generator=random) ** 3
    cells, searched = _cells(slices, random), summarise(slices, 32, generator=random)
    for found in (cells, searched):
        mean = (found.weights * found.points[..., 0]).sum(dim=1)
        square = (found.weights * (found.points[..., 0].square() + found.spreads)).sum(dim=1)
        torch.testing.assert_close(found.weights.sum(dim=1), torch.ones(5, dtype=torch.float64))
        torch.testing.assert_close(mean, slices[..., 0].double().mean(dim=0))
        torch.testing.assert_close(square, slices[..., 0].double().square().mean(dim=0))
    torch.testing.assert_close(cells.median_distances(), searched.median_distances(), rtol=0.1, atol=0.0)


def test_null_rows_are_expected_in_their_share() -> None:
    """A padded batch of the same rows is no further away than an unpadded one."""
    random = torch.Generator().manual_seed(0)
    frames = random_frames(50, 8, 1, generator=random)
    rows = 0.05 * torch.randn(100, 8, generator=random) + 0.3
    padded = torch.einsum("nd,mdk->nmk", torch.cat([rows, torch.zeros(60, 8)]), frames)
    expected = TargetBatch(slices=padded, directions=frames, noise_scale=0.0, null_share=60 / 160)
    ignored = replace(expected, null_share=0.0)
    assert float(align(rows, expected, Alignment.WASSERSTEIN, random)) < 1e-6
    assert float(align(rows, ignored, Alignment.WASSERSTEIN, random)) > 0.1


def test_a_row_depends_on_its_own_image_only() -> None:
    network = build_network((1, 8, 8), 10, 0.5, 0)
    images = unit_images(domains()[2], origin="target")[:40]
    others = images.copy()
    others[1:] = others[:0:-1]
    apart = np.linalg.norm(network.encode(images)[0] - network.encode(others)[0])
    assert apart < 1e-6, "the room that clipping leaves covers no more"
    assert np.linalg.norm(network.encode(images), axis=1).max() <= 1 + 1e-6
    assert (network.encode(images) >= 0).all()


def test_network_is_the_published_one_at_28_pixels() -> None:
    network = build_network((1, 28, 28), 10, 0.5, 0)
    assert network.dim == 320
    assert sum(parameter.numel() for parameter in network.parameters()) == 832 + 16_020 + 32_100 + 1_010


@pytest.fixture(scope="module")
def adapter() -> DomainAdapter:
    images, labels, target, _ = domains()
    return mt.DomainAdapter(epsilon=EPSILON, delta=DELTA, settings=QUICK, random_state=0).fit(images, labels, target)


def test_promise_covers_the_whole_training(adapter: DomainAdapter) -> None:
    promise = adapter.promise_
    assert adapter.finished_
    assert promise.private
    assert promise.touches == 2 * 8
    assert promise.exact_epsilon() == pytest.approx(EPSILON, rel=1e-3)
    words = str(promise)
    for expected in ("897 target images", "16 batches", "(3, 0.0001)", "blank-one", "Public"):
        assert expected in words


def test_ledger_is_debited_and_completed(tmp_path: Path) -> None:
    images, labels, target, _ = domains()
    ledger = Ledger(tmp_path / "ledger.json")
    DomainAdapter(epsilon=EPSILON, delta=DELTA, settings=QUICK).fit(images, labels, target, ledger=ledger, dataset="t")
    (entry,) = ledger.entries("t")
    assert (entry.status, entry.purpose) == ("released", "domain adaptation")
    ledger.set_budget("t", epsilon=EPSILON + 0.1, delta=DELTA)
    with pytest.raises(BudgetError):
        DomainAdapter(epsilon=EPSILON, delta=DELTA, settings=QUICK).fit(
            images, labels, target, ledger=tmp_path / "ledger.json", dataset="t"
        )


def test_model_on_disk_predicts_the_same(adapter: DomainAdapter, tmp_path: Path) -> None:
    target = domains()[2]
    adapter.save(tmp_path / "digits.adapter")
    loaded = DomainAdapter.load(tmp_path / "digits.adapter")
    np.testing.assert_array_equal(loaded.predict_proba(target), adapter.predict_proba(target))
    assert loaded.promise_ == adapter.promise_
    assert loaded.classes_ == list(range(10))
    (tmp_path / "broken").write_bytes((tmp_path / "digits.adapter").read_bytes()[:-9])
    with pytest.raises(ModelError):
        DomainAdapter.load(tmp_path / "broken")


def test_the_look_is_found_by_private_batches() -> None:
    """The digits further right and flatter: the look that training found goes that way, and it helps."""
    images, labels, _, _ = domains()
    moved, truth = shifted_digits()
    settings = replace(QUICK, epochs=20, align_from=8, align_to=14, images_per_epoch=None, batch_size=128)
    adapter = DomainAdapter(epsilon=20, delta=1e-4, settings=settings, random_state=0)
    run = Run.begin(images, adapter.random_state, None, resume=False, progress=silent)
    adapter._fit_private(images, labels, moved, run, Ledger(), "t", FixedRandomness())
    look = adapter.model_.look
    assert look is not None
    assert look["right"] == pytest.approx(0.25, abs=0.1)
    alone = training(settings)
    Loop(alone, run={"seed": 0}).run()
    with torch.no_grad():
        rows = alone.network.rows(torch.from_numpy(moved[:, None]))
        floor = (alone.network.classify(rows).argmax(dim=1).numpy() == truth).mean()
    assert adapter.score(moved, truth) > floor + 0.1


def shifted_digits() -> tuple[np.ndarray, np.ndarray]:
    """Other digits than the source's, an eighth of the width further right, three times over to make them many."""
    _, _, dimmed, labels = domains()
    plain = np.concatenate([dimmed / np.float32(0.7)] * 3).clip(0, 1)
    right = np.zeros_like(plain)
    right[:, :, 1:] = plain[:, :, :-1]
    return right, np.concatenate([labels] * 3)


def test_probabilities_sum_to_one_and_names_come_back() -> None:
    images, labels, target, _ = domains()
    named = np.array([f"digit {label}" for label in labels])
    adapter = DomainAdapter(epsilon=EPSILON, delta=DELTA, settings=replace(QUICK, epochs=2), random_state=1)
    adapter.fit(images, named, target)
    np.testing.assert_allclose(adapter.predict_proba(target).sum(axis=1), 1.0)
    assert set(adapter.predict(target)) <= set(named)


class StopAt:
    """Ctrl-C, or a crash, when so many steps are done."""

    def __init__(self, step: int, error: type[BaseException]) -> None:
        self._step, self._error = step, error

    def __call__(self, stage: str, done: int, total: int | None, note: str = "") -> None:
        if done == self._step:
            raise self._error


def fit(
    adapter: DomainAdapter,
    checkpoint: Path,
    ledger: Ledger,
    randomness: Any,
    *,
    resume: bool = False,
    progress: Progress = silent,
) -> DomainAdapter:
    images, labels, target, _ = domains()
    run = Run.begin(images, adapter.random_state, checkpoint, resume=resume, progress=progress)
    return adapter._fit_private(images, labels, target, run, ledger, "t", randomness)


def test_interrupted_and_resumed_is_as_never_interrupted(tmp_path: Path) -> None:
    """With injected noise, so that both runs can be compared; Ctrl-C loses no step."""
    path, ledger = tmp_path / "run", Ledger()
    build = lambda: DomainAdapter(epsilon=EPSILON, delta=DELTA, settings=QUICK, random_state=4)  # noqa: E731
    whole = fit(build(), tmp_path / "whole", Ledger(), FixedRandomness())
    stopped = fit(build(), path, ledger, FixedRandomness(), progress=StopAt(13, KeyboardInterrupt))
    assert not stopped.finished_
    assert Checkpoint.load(path).step == 13
    assert ledger.entries("t")[0].status == "reserved"
    resumed = fit(build(), path, ledger, FixedRandomness(), resume=True)
    assert resumed.finished_
    assert same(weights(resumed.model_.network), weights(whole.model_.network))
    assert len(ledger.entries("t")) == 1
    assert not resumed.promise_.private


def test_a_killed_run_never_does_a_private_step_twice(tmp_path: Path) -> None:
    path, ledger = tmp_path / "run", Ledger()
    build = lambda: DomainAdapter(epsilon=EPSILON, delta=DELTA, settings=QUICK, random_state=4)  # noqa: E731
    first, second = FixedRandomness(), FixedRandomness()
    with pytest.raises(ZeroDivisionError):
        fit(build(), path, ledger, first, progress=StopAt(14, ZeroDivisionError))
    resumed = fit(build(), path, ledger, second, resume=True)
    touched = [{purpose for purpose, _ in randomness.asked if "noise" in purpose} for randomness in (first, second)]
    assert touched[0]
    assert touched[1]
    assert not touched[0] & touched[1]
    assert len(touched[0] | touched[1]) <= resumed.promise_.touches


def test_ctrl_c_within_a_private_step_counts_it_as_done() -> None:
    """Its noise was drawn; it is not drawn again."""

    class Interrupted:
        def batch(self, step: int, network: AdaptationNetwork) -> TargetBatch:
            raise KeyboardInterrupt

    one = training(replace(QUICK, align_from=1))
    one.target = Interrupted()
    loop, saved = watched(one)
    assert not loop.run()
    assert saved == [3, 1]


def watched(objective: AdaptationObjective) -> tuple[Loop, list[int]]:
    """A run, and the steps from which its checkpoints say to go on."""
    saved: list[int] = []
    resume_at = objective.resume_at

    def noted(step: int, interrupted: bool) -> int:
        saved.append(resume_at(step, interrupted))
        return saved[-1]

    objective.resume_at = noted  # type: ignore[method-assign]
    return Loop(objective, run={"seed": 0}), saved


@pytest.mark.parametrize("last", [2, 3])
@pytest.mark.parametrize("begun", [0, 4, 7, 8, 13, 22, 23])
def test_a_checkpoint_claims_private_steps_before_they_are_done(begun: int, last: int) -> None:
    """Whenever the process dies, the step to go on from is past every private step that was begun."""
    done: list[int] = []

    class Watched:
        def batch(self, step: int, network: AdaptationNetwork) -> TargetBatch:
            assert saved[-1] > loop.step, "this step was not claimed"
            done.append(step)
            frames = torch.eye(80)[:, :, None]
            return TargetBatch(slices=torch.randn(64, 80, 1), directions=frames, noise_scale=1.0, null_share=0.0)

    one = training(replace(QUICK, align_to=last))
    one.target = Watched()
    loop, saved = watched(one)
    loop.step = begun
    assert loop.run()
    assert one.first_aligned == 8
    assert done == list(range(max(0, begun - 8), 8 * (last - 1)))
    assert all(step <= 24 for step in saved)


def test_a_run_goes_on_only_as_what_it_was(tmp_path: Path) -> None:
    path, ledger = tmp_path / "run", Ledger()
    adapter = DomainAdapter(epsilon=EPSILON, delta=DELTA, settings=QUICK, random_state=4)
    fit(adapter, path, ledger, FixedRandomness(), progress=StopAt(10, KeyboardInterrupt))
    other = DomainAdapter(epsilon=EPSILON + 1, delta=DELTA, settings=QUICK, random_state=4)
    with pytest.raises(ModelError, match="promise"):
        fit(other, path, ledger, FixedRandomness(), resume=True)
    with pytest.raises(BudgetError, match="no open entry"):
        fit(adapter, path, Ledger(), FixedRandomness(), resume=True)


def test_a_checkpoint_is_neither_lost_nor_left_without_its_ledger(tmp_path: Path) -> None:
    images, labels, target, _ = domains()
    adapter = DomainAdapter(epsilon=EPSILON, delta=DELTA, settings=QUICK)
    with pytest.raises(ParameterError, match="needs a ledger"):
        adapter.fit(images, labels, target, checkpoint=tmp_path / "run")
    (tmp_path / "run").write_bytes(b"of another run")
    with pytest.raises(OutputError, match="resume=True"):
        adapter.fit(images, labels, target, checkpoint=tmp_path / "run", ledger=tmp_path / "ledger.json")
    assert not (tmp_path / "ledger.json").exists()


def test_source_only_training_repeats_itself_by_its_seed() -> None:
    first, second, other = training(seed=3), training(seed=3), training(seed=4)
    for one in (first, second, other):
        train(one, one.first_aligned)
    assert same(weights(first.network), weights(second.network))
    assert not same(weights(first.network), weights(other.network))


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "sizes differ": ({"target": np.zeros((50, 9, 9), np.float32)}, "image_size"),
    "ragged": ({"target": [np.zeros((8, 8)), np.zeros((9, 9))]}, "different sizes|numbers"),
    "no target": ({"target": np.zeros((0, 8, 8), np.float32)}, "no images"),
    "pixels beyond range": ({"target": np.full((50, 8, 8), 3.0)}, "outside the range 0 to 1"),
    "not finite": ({"target": np.full((50, 8, 8), np.nan)}, "not finite"),
    "labels missing": ({"labels": None}, "no labels"),
    "labels too few": ({"labels": np.zeros(3, int)}, "one for each"),
    "one class": ({"labels": np.zeros(900, int)}, "two different classes"),
    "labels of floats": ({"labels": np.zeros(900)}, "whole numbers or names"),
    "few source images": (
        {"source": np.zeros((20, 8, 8), np.float32), "labels": np.arange(20) % 2},
        "fewer than a batch",
    ),
}


@pytest.mark.parametrize("name", list(BAD))
def test_bad_input_is_refused_before_anything_is_spent(name: str) -> None:
    changes, message = BAD[name]
    images, labels, target, _ = domains()
    given = {"source": images, "labels": labels, "target": target, **changes}
    ledger = Ledger()
    with pytest.raises(TableError, match=message):
        DomainAdapter(epsilon=1, delta=1e-4, settings=QUICK).fit(
            given["source"], given["labels"], given["target"], ledger=ledger
        )
    assert ledger.entries() == []


def test_declared_classes_must_all_occur() -> None:
    images, labels, target, _ = domains()
    for classes, message in ((range(11), "class 10 is declared"), (range(9), "label 9 is not among")):
        adapter = DomainAdapter(epsilon=1, delta=1e-4, settings=QUICK, classes=classes)
        with pytest.raises(TableError, match=message):
            adapter.fit(images, labels, target)


def test_bad_parameters_are_named() -> None:
    for options, name in (
        ({"epochs": 0}, "epochs"),
        ({"align_from": 40}, "align_from"),
        ({"align_to": 9}, "align_to"),
        ({"align_to": 31}, "align_to"),
        ({"align_to": 12.5}, "align_to"),
        ({"weight": -1.0}, "weight"),
        ({"weight": 2.0}, "weight"),
        ({"moves": "labels"}, "moves"),
        ({"alignment": "moments"}, "alignment"),
        ({"alignment": "wasserstein", "slice_dim": 2}, "slice_dim"),
        ({"images_per_epoch": 5}, "images_per_epoch"),
    ):
        with pytest.raises(ParameterError, match=name):
            AdaptationSettings(**options)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="add-remove"):
        DomainAdapter(epsilon=1, delta=1e-5, neighbours="add-remove")
    with pytest.raises(ParameterError, match="random_state"):
        DomainAdapter(epsilon=1, delta=1e-5, random_state=-1)
    with pytest.raises(ModelError, match="nothing is fitted"):
        DomainAdapter(epsilon=1, delta=1e-5).predict(np.zeros((1, 8, 8)))


def test_sizes_and_ranges_are_brought_together() -> None:
    """Bytes of 8×8 beside floats of 9×9."""
    images, labels, target, _ = domains()
    larger = unit_images(target, origin="t", image_size=(9, 9))[:, 0]
    settings = replace(QUICK, epochs=1, align_from=1, images_per_epoch=128)
    adapter = DomainAdapter(epsilon=EPSILON, delta=DELTA, settings=settings, image_size=(10, 10))
    adapter.fit((images * 255).astype(np.uint8), labels, larger)
    assert adapter.predict(larger[:5]).shape == (5,)


@pytest.mark.slow
def test_it_learns_digits() -> None:
    images, labels, target, truth = domains()
    settings = replace(QUICK, epochs=45, align_from=40)
    adapter = DomainAdapter(epsilon=EPSILON, delta=DELTA, settings=settings, random_state=0).fit(images, labels, target)
    assert adapter.score(target, truth) > 0.6
