"""Training that looks at private records again and again: noisy slices of features, batch by batch.

    records → Poisson sample → features → clip → null rows up to a public size → random places → slices + noise

A release is made once. Some methods, such as domain adaptation, ask for features of the private records by a network
that changes from step to step, and so touch the records at every step. Here every touch is planned beforehand: σ is
the least noise with which all steps together, each amplified by its sampling, keep the wanted promise
(``docs/privacy.md``, section 5), and all of them are reserved in the ledger before the first. What comes out is noisy
numbers and nothing else: features leave this file under noise only, and as numpy arrays, through which no gradient
can flow back into the records.

Features are computed by the caller's network, which is not trusted: rows are clipped here, and before the first step it
is tried on public numbers whether records are treated one by one. A layer that mixes the records of a batch would
spread one record over many rows. Batches always have the same size and a sampled record a random place in it, so the
rest of a batch is the same, to the last bit, whether a record is there or not.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import NDArray

from microtome.accounting import (
    Accountant,
    DirectionKind,
    Directions,
    Event,
    FailureEvent,
    Ledger,
    Neighbours,
    RepeatedEvent,
    SliceEvent,
    SubsampledEvent,
    calibrate_noise,
)
from microtome.choice import Choice
from microtome.errors import BudgetError, MicrotomeError, ParameterError, TableError, require_whole
from microtome.private.plan import ROUNDING
from microtome.private.randomness import GRID, Randomness, poisson_sample
from microtome.private.slicing import SlicingMechanism, draw_directions

_OVERFLOW_SHARE = 0.05
"""Share of δ for the event that the sample of some step overflows its padding."""

Encoder = Callable[[NDArray[np.float32]], NDArray[np.float64]]
"""Records to rows, one by one, in units in which rows are clipped to norm 1."""


@dataclass(frozen=True, kw_only=True)
class BatchPrivacy:
    """The promise for a whole training, and the mechanism of one step.

    Attributes:
        epsilon: Total ε of all steps.
        delta: Total δ of all steps, every small failure probability included.
        neighbours: Which data sets must be hard to tell apart; the number of records is public.
        accountant: How σ is computed.
        directions: Law of the directions, drawn anew at every step.
        allow_large_delta: Accept a δ of 1/n or more.
    """

    epsilon: float
    delta: float
    neighbours: Choice[Neighbours] = Choice(Neighbours, Neighbours.BLANK_ONE)
    accountant: Choice[Accountant] = Choice(Accountant, Accountant.EXACT)
    directions: Choice[DirectionKind] = Choice(DirectionKind, DirectionKind.ORTHOGONAL)
    allow_large_delta: bool = False

    def __post_init__(self) -> None:
        if self.neighbours.protects_count:
            raise ParameterError(
                "add-remove neighbours hide the number of records, which sampling rate and padding of the batches are "
                "computed from; use blank-one or replace-one"
            )
        if not (self.directions.is_drawn and (self.accountant.needs or self.directions).is_drawn):
            raise ParameterError("directions are drawn at every step, orthogonal or gaussian; prop3 is for fixed ones")


@dataclass(frozen=True, kw_only=True)
class BatchPlan:
    """What will be done to the records.

    Attributes:
        law: The directions of a step.
        noise_scale: σ.
        rate: Probability of each record to be in the sample of a step.
        num_rows: Rows of a padded batch.
        num_steps: Steps that are paid for.
        row_distance: How far apart the rows of neighbours may be.
        nonnegative: Whether rows are clipped to non-negative coordinates too.
        events: All steps, for the accountant.
    """

    law: Directions
    noise_scale: float
    rate: float
    num_rows: int
    num_steps: int
    row_distance: float
    nonnegative: bool
    events: tuple[Event, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyBatch:
    """One step's touch of the records: public, by virtue of its noise.

    Attributes:
        directions: U (d × m'), drawn for this step.
        rows: Noisy projections (rows × m') of sampled records and of null rows, in random order.
        noise_scale: σ of every number.
        null_share: Expected share of null rows.
    """

    directions: NDArray[np.float64]
    rows: NDArray[np.float64]
    noise_scale: float
    null_share: float


def plan_batches(
    privacy: BatchPrivacy,
    *,
    num_records: int,
    dim: int,
    num_steps: int,
    num_slices: int,
    slice_dim: int,
    batch_size: int,
) -> BatchPlan:
    """The least noise with which all steps together keep the promise.

    Args:
        privacy: The promise.
        num_records: Private records.
        dim: Length d of their rows.
        num_steps: Steps to be paid for.
        num_slices: Number of slices m of a step.
        slice_dim: Dimension k of a slice.
        batch_size: Expected records in a sample; the sampling rate is this over the number of records.
    """
    require_whole("batch_size", batch_size, 2)
    if num_records < 2:
        raise TableError(f"there are {num_records} private records; at least 2 are needed")
    if privacy.delta * num_records >= 1 and not privacy.allow_large_delta:
        raise ParameterError(
            f"delta is {privacy.delta}, not below 1/{num_records}: such a δ would permit publishing some record whole; "
            "take a smaller one, or insist with allow_large_delta"
        )
    law = Directions(kind=privacy.directions, dim=dim, num_slices=num_slices, slice_dim=slice_dim)
    rate = min(batch_size / num_records, 1.0)
    overflow = _OVERFLOW_SHARE * privacy.delta / num_steps
    num_rows = min(int(scipy.stats.binom.isf(overflow, num_records, rate)) + 1, num_records)
    distance = privacy.neighbours.row_distance(nonnegative=True)
    failures: list[Event] = [
        FailureEvent(probability=law.count * num_steps * rate * ROUNDING, reason="rounding of the slices")
    ]
    if num_rows < num_records:
        failures.append(
            FailureEvent(probability=overflow * num_steps, reason="the sample of some step overflows its padding")
        )

    def events(noise_scale: float) -> tuple[Event, ...]:
        sliced = SliceEvent(directions=law, row_distance=distance, noise_scale=noise_scale)
        step = SubsampledEvent(rate=rate, event=sliced, symmetric=privacy.neighbours.symmetric)
        return (RepeatedEvent(count=num_steps, event=step), *failures)

    noise_scale = calibrate_noise(events, epsilon=privacy.epsilon, delta=privacy.delta, accountant=privacy.accountant)
    return BatchPlan(
        law=law,
        noise_scale=noise_scale,
        rate=rate,
        num_rows=num_rows,
        num_steps=num_steps,
        row_distance=distance,
        nonnegative=privacy.neighbours.symmetric,
        events=events(noise_scale),
    )


class PaidBatches:
    """Private records, of which so many noisy batches are paid for. Made by ``pay_for_batches`` only."""

    def __init__(self, records: NDArray[np.float32], plan: BatchPlan, entry: str, randomness: Randomness) -> None:
        self._records, self._randomness = records, randomness
        self._next = 0
        self.plan, self.entry = plan, entry

    @cached_property
    def binding(self) -> str:
        """What a checkpoint keeps to find the reservation of these very records again."""
        return _binding(self._records, self.entry)

    def batch(self, step: int, encode: Encoder) -> NoisyBatch:
        """The batch of a step, which can be had once and in order; a step past the last is refused."""
        if step < self._next:
            raise BudgetError(f"step {step} has touched the private records already; its noise is not drawn again")
        if step >= self.plan.num_steps:
            raise BudgetError(f"all {self.plan.num_steps} steps that were paid for are done; nothing is left")
        self._require_separate_rows(encode, step)
        self._next = step + 1
        streams = _OfStep(self._randomness, step)
        directions = draw_directions(self.plan.law, streams)
        slicing = SlicingMechanism(
            directions=directions,
            noise_scale=self.plan.noise_scale,
            nonnegative=self.plan.nonnegative,
            randomness=streams,
        )
        steps = slicing(self._rows(streams.stream("sample"), encode), 0)
        return NoisyBatch(
            directions=directions,
            rows=steps.astype(np.float64) * (self.plan.noise_scale / GRID),
            noise_scale=self.plan.noise_scale,
            null_share=max(0.0, 1.0 - self.plan.rate * len(self._records) / self.plan.num_rows),
        )

    def _require_separate_rows(self, encode: Encoder, step: int) -> None:
        """Refuse an encoder in which one record changes another's row by as much as a bit; public numbers tell.

        Half of the records are changed, those whose number has a certain binary digit, and the rows of the others must
        stay. All digits, both ways, tell any two records apart; that is tried at first, and a part of it at every step
        that is a power of two, for a network changes on its way.
        """
        digits = max(1, (self.plan.num_rows - 1).bit_length())
        if step & (step - 1):
            return
        shape = (self.plan.num_rows, *self._records.shape[1:])
        public = np.linspace(0.0, 1.0, int(np.prod(shape)), dtype=np.float32).reshape(shape)
        before, numbers = self._encoded(encode, public), np.arange(len(public))
        for digit in range(digits) if step == 0 else [step.bit_length() % digits]:
            for half in (0, 1):
                changed = (numbers >> digit) % 2 == half
                other = np.where(changed.reshape(-1, *[1] * (public.ndim - 1)), 1.0 - public, public)
                after = self._encoded(encode, other.astype(np.float32))
                if not np.array_equal(before[~changed], after[~changed], equal_nan=True):
                    raise MicrotomeError(
                        "features of one record depend on the other records of its batch, and so would spread one "
                        "person over many rows; use a network that treats records one by one (nothing of this step was "
                        "released)"
                    )

    def _encoded(self, encode: Encoder, batch: NDArray[np.float32]) -> NDArray[np.float64]:
        encoded = encode(batch)
        if encoded.shape != (self.plan.num_rows, self.plan.law.dim):
            raise MicrotomeError(f"features have shape {encoded.shape}, not one row a record; nothing was released")
        return encoded

    def _rows(self, stream: np.random.Generator, encode: Encoder) -> NDArray[np.float64]:
        """Rows of the sampled records at random places among null rows."""
        chosen = np.flatnonzero(poisson_sample(len(self._records), self.plan.rate, stream))
        chosen = stream.permutation(chosen)[: self.plan.num_rows]
        places = stream.permutation(self.plan.num_rows)[: len(chosen)]
        batch = np.zeros((self.plan.num_rows, *self._records.shape[1:]), np.float32)
        batch[places] = self._records[chosen]
        encoded = self._encoded(encode, batch)
        rows = np.zeros((self.plan.num_rows, self.plan.law.dim))
        rows[places] = encoded[places]
        return rows


def pay_for_batches(
    records: NDArray[np.float32],
    plan: BatchPlan,
    *,
    privacy: BatchPrivacy,
    ledger: Ledger,
    dataset: str,
    purpose: str,
    randomness: Randomness,
) -> PaidBatches:
    """Reserve all planned steps in the ledger, and give access to that many batches."""
    entry = ledger.reserve(
        dataset, plan.events, purpose=purpose, neighbours=privacy.neighbours, accountant=privacy.accountant
    )
    return PaidBatches(records, plan, entry, randomness)


def resume_batches(
    records: NDArray[np.float32],
    plan: BatchPlan,
    *,
    binding: str,
    done: int,
    ledger: Ledger,
    dataset: str,
    randomness: Randomness,
) -> PaidBatches:
    """Go on after ``done`` steps of a training that was paid for before; the ledger must know it, and these records."""
    paid = [entry for entry in ledger.entries(dataset) if entry.is_open and entry.events == plan.events]
    found = [entry.id for entry in paid if hmac.compare_digest(_binding(records, entry.id), binding)]
    if not found:
        raise BudgetError(
            f"the ledger has no open entry of data set {dataset!r} for these steps on these very images; resume with "
            "the ledger and the images of the first run if it was not completed, or start anew without resuming"
        )
    batches = PaidBatches(records, plan, found[0], randomness)
    batches._next = done
    return batches


def _binding(records: NDArray[np.float32], entry: str) -> str:
    """A digest of the records under the ledger's entry as key.

    A checkpoint may lie where the ledger does not: without the entry's random name the digest tells nobody whether a
    guess at the records is right.
    """
    digest = hashlib.blake2b(repr(records.shape).encode(), key=entry.encode(), digest_size=32, person=b"microtome")
    digest.update(np.ascontiguousarray(records).data)
    return digest.hexdigest()


class _OfStep:
    """The streams of one step."""

    def __init__(self, randomness: Randomness, step: int) -> None:
        self._randomness, self._step = randomness, step

    def stream(self, purpose: str, block: int = 0) -> np.random.Generator:
        return self._randomness.stream(f"step {self._step}: {purpose}", block)
