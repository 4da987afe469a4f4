"""The private door of training: plan, debit, sampling, padding, noise, and what it refuses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, kstest

from microtome.accounting import FailureEvent, Ledger, Neighbours, RepeatedEvent, SubsampledEvent, delta
from microtome.errors import BudgetError, MicrotomeError, ParameterError, TableError
from microtome.private.batches import BatchPrivacy, PaidBatches, pay_for_batches, plan_batches, resume_batches
from microtome.private.randomness import Randomness, SystemRandomness
from support import FixedRandomness, SilentGenerator

DIM, STEPS, RECORDS = 6, 40, 300
PRIVACY = BatchPrivacy(epsilon=2.0, delta=1e-4)
SIZES = {"num_slices": 6, "slice_dim": 1, "batch_size": 30}


class Noiseless(FixedRandomness):
    """Zeros for the noise of the slices; everything else is random."""

    def stream(self, purpose: str, block: int = 0) -> np.random.Generator:
        usual = super().stream(purpose, block)
        return SilentGenerator(usual.bit_generator) if purpose.endswith(": noise") else usual


def records() -> np.ndarray:
    """Each record is its own number in base 3, one digit and 1 a coordinate: never the null row."""
    return (np.arange(RECORDS)[:, None] // 3 ** np.arange(DIM) % 3 + 1).astype(np.float32)


def flat(batch: np.ndarray) -> np.ndarray:
    return batch.astype(np.float64) / (3.0 * math.sqrt(DIM))


def paid(randomness: Randomness, ledger: Ledger | None = None, privacy: BatchPrivacy = PRIVACY) -> PaidBatches:
    plan = plan_batches(privacy, num_records=RECORDS, dim=DIM, num_steps=STEPS, **SIZES)
    book = ledger or Ledger()
    return pay_for_batches(
        records(), plan, privacy=privacy, ledger=book, dataset="faces", purpose="test", randomness=randomness
    )


@pytest.mark.parametrize("neighbours", [Neighbours.BLANK_ONE, Neighbours.REPLACE_ONE])
def test_all_steps_together_keep_the_promise_and_with_less_noise_they_do_not(neighbours: Neighbours) -> None:
    privacy = BatchPrivacy(epsilon=2.0, delta=1e-4, neighbours=neighbours)
    plan = plan_batches(privacy, num_records=RECORDS, dim=DIM, num_steps=STEPS, **SIZES)
    assert delta(plan.events, 2.0) <= 1e-4
    repeated = next(event for event in plan.events if isinstance(event, RepeatedEvent))
    assert repeated.count == STEPS
    assert isinstance(repeated.event, SubsampledEvent)
    assert repeated.event.rate == 30 / RECORDS
    assert repeated.event.symmetric is (neighbours is Neighbours.REPLACE_ONE)
    assert repeated.event.event.row_distance == (math.sqrt(2) if repeated.event.symmetric else 1.0)
    inner = repeated.event.event
    weaker = type(inner)(
        directions=inner.directions, row_distance=inner.row_distance, noise_scale=0.98 * inner.noise_scale
    )
    fewer = RepeatedEvent(
        count=STEPS, event=type(repeated.event)(rate=0.1, event=weaker, symmetric=repeated.event.symmetric)
    )
    assert delta([fewer, *plan.events[1:]], 2.0) > 1e-4


def test_padding_overflows_as_rarely_as_the_ledger_is_told() -> None:
    plan = plan_batches(PRIVACY, num_records=RECORDS, dim=DIM, num_steps=STEPS, **SIZES)
    counted = next(e for e in plan.events if isinstance(e, FailureEvent) and "overflow" in e.reason).probability
    assert STEPS * binom.sf(plan.num_rows, RECORDS, plan.rate) <= counted <= 0.05 * PRIVACY.delta * (1 + 1e-12)


def test_a_batch_holds_a_poisson_sample_among_null_rows_in_random_places() -> None:
    batches = paid(Noiseless())
    sizes, seen, places = [], np.zeros(RECORDS), np.zeros(batches.plan.num_rows)
    for step in range(STEPS):
        batch = batches.batch(step, flat)
        rows = batch.rows @ batch.directions.T
        digits = np.rint(rows * 3.0 * math.sqrt(DIM)).astype(int)
        real = digits[:, 0] > 0
        found = (digits[real] - 1) @ 3 ** np.arange(DIM)
        assert len(set(found)) == len(found)
        sizes.append(len(found))
        seen[found] += 1
        places += real
    assert batch.rows.shape == (batches.plan.num_rows, 6)
    assert batch.null_share == pytest.approx(1 - 30 / batches.plan.num_rows)
    assert np.mean(sizes) == pytest.approx(30, abs=4 * math.sqrt(27 / STEPS))
    assert 3.0 < np.std(sizes) < 8.0
    assert seen.max() < 15
    assert places.min() > 0


def test_noise_is_gaussian_of_the_planned_scale_and_new_at_every_step() -> None:
    batches = paid(FixedRandomness())
    draws = [batches.batch(step, lambda batch: np.zeros((len(batch), DIM))).rows.ravel() for step in range(STEPS)]
    noise, scale = np.concatenate(draws), batches.plan.noise_scale
    assert kstest(noise, "norm", args=(0, scale)).pvalue > 1e-4
    assert kstest(noise, "norm", args=(0, 0.7 * scale)).pvalue < 1e-6
    assert kstest(noise, "norm", args=(0, 1.4 * scale)).pvalue < 1e-6
    assert len({draw.tobytes() for draw in draws}) == STEPS


def test_directions_are_new_at_every_step() -> None:
    batches = paid(SystemRandomness())
    first, second = (batches.batch(step, flat).directions for step in range(2))
    assert np.abs(first - second).max() > 0.01
    np.testing.assert_allclose(first.T @ first, np.eye(6), atol=1e-12)


def test_features_are_clipped_whatever_the_network_says() -> None:
    batches = paid(Noiseless())
    batch = batches.batch(0, lambda images: np.full((len(images), DIM), 100.0))
    norms = np.linalg.norm(batch.rows @ batch.directions.T, axis=1)
    assert norms.max() < 1.02
    real, null = int((norms > 0.9).sum()), int((norms < 0.05).sum())
    assert real + null == batches.plan.num_rows
    assert 10 <= real <= 55, "rows that pad the sample are null rows, not features of a blank record"


def test_blanking_a_record_moves_its_own_row_only() -> None:
    """Not even rounding errors of other rows depend on it: batches are of one size and places do not move."""
    before = paid(FixedRandomness()).batch(0, flat)
    plan = plan_batches(PRIVACY, num_records=RECORDS, dim=DIM, num_steps=STEPS, **SIZES)
    moved = 0
    for record in range(0, RECORDS, 10):
        blank = records()
        blank[record] = 0.0
        after = pay_for_batches(
            blank, plan, privacy=PRIVACY, ledger=Ledger(), dataset="d", purpose="t", randomness=FixedRandomness()
        ).batch(0, flat)
        changed = np.flatnonzero((before.rows != after.rows).any(axis=1))
        assert len(changed) <= 1
        moved += len(changed)
    assert moved >= 1


def test_the_ledger_is_debited_for_all_steps_before_the_first() -> None:
    ledger = Ledger()
    batches = paid(SystemRandomness(), ledger)
    (entry,) = ledger.entries("faces")
    assert entry.id == batches.entry
    assert entry.events == batches.plan.events
    assert ledger.spent("faces", delta=1e-4) == pytest.approx(2.0, rel=1e-3)
    ledger.set_budget("faces", epsilon=2.5, delta=1e-4)
    with pytest.raises(BudgetError, match="budget"):
        paid(SystemRandomness(), ledger)


def test_no_step_is_done_twice_and_none_past_the_last() -> None:
    batches = paid(SystemRandomness())
    batches.batch(3, flat)
    for step in (3, 0):
        with pytest.raises(BudgetError, match="already"):
            batches.batch(step, flat)
    with pytest.raises(BudgetError, match="nothing is left"):
        batches.batch(STEPS, flat)


def test_resuming_needs_the_debit_and_goes_on_after_what_was_done() -> None:
    ledger = Ledger()
    first = paid(SystemRandomness(), ledger)
    common: dict[str, Any] = {"ledger": ledger, "dataset": "faces", "randomness": SystemRandomness()}
    resumed = resume_batches(records(), first.plan, binding=first.binding, done=5, **common)
    with pytest.raises(BudgetError, match="already"):
        resumed.batch(4, flat)
    assert resumed.batch(5, flat).rows.shape == (first.plan.num_rows, 6)
    with pytest.raises(BudgetError, match="no open entry"):
        resume_batches(records(), first.plan, binding="0" * 64, done=5, **common)
    with pytest.raises(BudgetError, match="no open entry"):
        resume_batches(records(), first.plan, binding=first.binding, done=5, **{**common, "ledger": Ledger()})
    ledger.cancel(first.entry)
    with pytest.raises(BudgetError, match="no open entry"):
        resume_batches(records(), first.plan, binding=first.binding, done=5, **common)


def test_other_records_of_the_same_shape_are_not_resumed_under_the_old_reservation() -> None:
    ledger = Ledger()
    first = paid(SystemRandomness(), ledger)
    others = records()
    others[17, 2] += 1.0
    with pytest.raises(BudgetError, match="these very images"):
        resume_batches(
            others, first.plan, binding=first.binding, done=5, ledger=ledger, dataset="faces",
            randomness=SystemRandomness(),
        )  # fmt: skip


def test_the_binding_tells_nothing_without_the_ledger() -> None:
    assert paid(SystemRandomness()).binding != paid(SystemRandomness()).binding


def test_an_encoder_that_mixes_records_is_refused_before_anything_is_drawn() -> None:
    def centred(batch: np.ndarray) -> np.ndarray:
        return flat(batch - batch.mean(axis=0))

    def whispering(batch: np.ndarray) -> np.ndarray:
        return flat(batch) + 1e-12 * batch[0].sum()

    for encode in (centred, whispering):
        watched = FixedRandomness()
        with pytest.raises(MicrotomeError, match="one by one"):
            paid(watched).batch(0, encode)
        assert watched.asked == []


def test_what_is_refused() -> None:
    with pytest.raises(ParameterError, match="add-remove"):
        BatchPrivacy(epsilon=1.0, delta=1e-5, neighbours=Neighbours.ADD_REMOVE)
    with pytest.raises(ParameterError, match="batch_size"):
        plan_batches(PRIVACY, num_records=RECORDS, dim=DIM, num_steps=STEPS, **{**SIZES, "batch_size": 1})
    with pytest.raises(TableError, match="at least 2"):
        plan_batches(PRIVACY, num_records=1, dim=DIM, num_steps=STEPS, **SIZES)
    with pytest.raises(ParameterError, match="not below 1/20000"):
        plan_batches(PRIVACY, num_records=20_000, dim=DIM, num_steps=STEPS, **SIZES)
    with pytest.raises(MicrotomeError, match="one row a record"):
        paid(SystemRandomness()).batch(0, lambda batch: np.zeros((3, DIM)))
    with pytest.raises(MicrotomeError, match="not finite"):
        paid(SystemRandomness()).batch(0, lambda batch: np.full((len(batch), DIM), np.nan))


def test_a_run_that_was_completed_is_not_done_again_from_an_old_checkpoint() -> None:
    ledger = Ledger()
    first = paid(SystemRandomness(), ledger)
    ledger.settle(first.entry, artefact="model")
    with pytest.raises(BudgetError, match="no open entry"):
        resume_batches(
            records(), first.plan, binding=first.binding, done=5, ledger=ledger, dataset="faces",
            randomness=SystemRandomness(),
        )  # fmt: skip


def test_an_encoder_that_begins_to_mix_later_is_found_out() -> None:
    batches, calls = paid(SystemRandomness()), []

    def later(batch: np.ndarray) -> np.ndarray:
        calls.append(len(batch))
        mixed = flat(batch)
        if len(calls) > 40:
            mixed[0] = mixed.sum(axis=0)
        return mixed

    def all_steps() -> None:
        for step in range(STEPS):
            batches.batch(step, later)

    with pytest.raises(MicrotomeError, match="one by one"):
        all_steps()
