"""Many nearly equal events: fewer are counted, at no less than they cost, and the sum stays quick."""

import itertools

import pytest

from microtome.accounting import (
    Accountant,
    FailureEvent,
    GaussianEvent,
    Ledger,
    Neighbours,
    SliceEvent,
    SubsampledEvent,
    delta,
)
from microtome.accounting.divergence import slice_pair, subsampled_pair
from microtome.accounting.loss_distribution import LossDistribution, _discretise
from microtome.accounting.merging import MOST_DIFFERENT, merged

SIGMAS = [12.0 + 0.17 * ((7 * number) % 40) for number in range(40)]


def sampled(event: SliceEvent, rate: float = 0.1) -> SubsampledEvent:
    return SubsampledEvent(rate=rate, event=event, symmetric=False)


def test_few_events_stay_as_they_are(slices) -> None:
    parts = [(slices("gaussian", 8, 12, sigma), 2) for sigma in SIGMAS[:MOST_DIFFERENT]]
    assert sorted(merged(parts), key=repr) == sorted(parts, key=repr)


def test_merged_events_have_no_more_noise_and_are_as_many(slices) -> None:
    parts = [(slices("gaussian", 8, 12, sigma), 1 + place % 3) for place, sigma in enumerate(SIGMAS)]
    kept = merged(parts)
    assert len(kept) == MOST_DIFFERENT
    assert {event for event, _ in kept} <= {event for event, _ in parts}
    spread = [event.noise_scale for event, count in kept for _ in range(count)]
    before = [event.noise_scale for event, count in parts for _ in range(count)]
    assert all(after <= given for after, given in zip(sorted(spread), sorted(before), strict=True))


def test_what_differs_in_more_than_noise_is_never_merged(slices) -> None:
    kinds = [slices("gaussian", 8, 12, 9.0), slices("gaussian", 8, 13, 9.0), slices("gaussian", 9, 12, 9.0)]
    events = [*kinds, *(sampled(kinds[0], rate) for rate in (0.1, 0.2))]
    assert len(merged([(event, 1) for event in events], limit=1)) == len(events)


@pytest.mark.parametrize(("subsampled", "epsilon"), [(False, 2.0), (True, 0.25)])
def test_a_merged_composition_costs_no_less_and_hardly_more(slices, subsampled: bool, epsilon: float) -> None:
    events = [slices("gaussian", 8, 12, sigma) for sigma in SIGMAS[: MOST_DIFFERENT + 6]]
    parts = [sampled(event) for event in events] if subsampled else events
    pairs = [(subsampled_pair(part) if subsampled else slice_pair(part), 1) for part in parts]
    orders = [LossDistribution(pairs), LossDistribution([(pair.reversed, 1) for pair, _ in pairs])]
    apart = max(order.delta(epsilon) for order in orders)
    assert 1e-9 < apart < 1e-3
    assert delta(parts, 1.01 * epsilon) <= apart <= delta(parts, epsilon)


def test_a_ledger_of_hundreds_of_different_entries_is_summed_up_from_few_discretisations(slices) -> None:
    ledger = Ledger()
    for place in range(1, 300):
        event = slices("gaussian", 8, 12, 40.0 + 0.1 * place)
        ledger.reserve(
            "people",
            [
                GaussianEvent(mu=0.01 + 1e-5 * place),
                event,
                FailureEvent(probability=1e-12, reason="test"),
            ],
            purpose="release",
            neighbours=Neighbours.BLANK_ONE,
            accountant=Accountant.EXACT,
        )
    ledger.set_budget("people", epsilon=8.0, delta=1e-6)
    _discretise.cache_clear()
    account = ledger.account("people", delta=1e-6)
    assert 0 < account.spent < 8.0
    assert account.left.mu > 0
    # coarse and fine, at a few steps: not once for every ε and μ that the searches try
    assert _discretise.cache_info().misses <= 6 * (MOST_DIFFERENT + 1)


def test_spent_rises_with_every_entry(slices) -> None:
    ledger, spent = Ledger(), []
    for sigma in SIGMAS[:: len(SIGMAS) // 4]:
        ledger.reserve(
            "people",
            [slices("gaussian", 8, 12, sigma)],
            purpose="release",
            neighbours=Neighbours.BLANK_ONE,
            accountant=Accountant.EXACT,
        )
        spent.append(ledger.spent("people", delta=1e-6))
    assert all(earlier < later for earlier, later in itertools.pairwise(spent))
