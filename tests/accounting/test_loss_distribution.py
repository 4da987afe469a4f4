"""Discretised privacy losses: above the exact value wherever that is known, and close to it."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
from dp_accounting.pld import PLDAccountant, privacy_loss_distribution

from microtome.accounting import (
    GaussianEvent,
    RepeatedEvent,
    SubsampledEvent,
    delta,
    epsilon,
    gaussian_delta,
    gaussian_epsilon,
)
from microtome.accounting.divergence import Pair, gaussian_pair, slice_pair, subsampled_pair
from microtome.accounting.inversion import smallest_epsilon
from microtome.accounting.loss_distribution import LossDistribution, _wrapped

TIGHTNESS = 1e-3


def discretised_epsilon(parts: list[tuple[Pair, int]], wanted: float) -> float:
    orders: list[Callable[[float], float]] = [LossDistribution(parts).delta]
    if not all(pair.symmetric for pair, _ in parts):
        orders.append(LossDistribution([(pair.reversed, count) for pair, count in parts]).delta)
    return smallest_epsilon(lambda e: max(order(e) for order in orders), wanted)


def assert_tight_from_above(value: float, exact: float) -> None:
    assert exact * (1 - 1e-6) <= value <= exact * (1 + TIGHTNESS)


@pytest.mark.parametrize("wanted", [1e-12, 1e-6, 0.01])
@pytest.mark.parametrize("mus", [(1.0,), (0.5, 0.5, 0.5, 0.5), (0.01, 2.0), (6.0, 3.0)])
def test_gaussians(mus: tuple[float, ...], wanted: float) -> None:
    exact = gaussian_epsilon(wanted, math.hypot(*mus))
    assert_tight_from_above(discretised_epsilon([(gaussian_pair(mu), 1) for mu in mus], wanted), exact)


def test_repeated_gaussians() -> None:
    exact = gaussian_epsilon(1e-9, math.sqrt(20) * 0.3)
    assert_tight_from_above(discretised_epsilon([(gaussian_pair(0.3), 20)], 1e-9), exact)


@pytest.mark.parametrize("wanted", [1e-10, 1e-5])
@pytest.mark.parametrize(("kind", "count"), [("gaussian", 30), ("orthogonal", 13)])
def test_random_slices_with_a_gaussian(slices, kind: str, count: int, wanted: float) -> None:
    event = slices(kind, 10, count, 2.0)
    exact = epsilon([event, GaussianEvent(mu=0.5)], wanted)
    assert_tight_from_above(discretised_epsilon([(slice_pair(event), 1), (gaussian_pair(0.5), 1)], wanted), exact)


def test_two_releases_of_gaussian_directions_are_one_of_twice_as_many(slices) -> None:
    """χ²(m') + χ²(m') = χ²(2m'): the sum of random energies has a closed form here."""
    both = epsilon([slices("gaussian", 20, 25, 2.0)] * 2, 1e-6)
    assert_tight_from_above(both, epsilon([slices("gaussian", 20, 50, 2.0)], 1e-6))


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("wanted", [1e-10, 1e-5])
def test_subsampled_with_a_gaussian(slices, symmetric: bool, wanted: float) -> None:
    event = SubsampledEvent(rate=0.2, event=slices("orthogonal", 10, 10, 1.0), symmetric=symmetric)
    exact = epsilon([event, GaussianEvent(mu=0.5)], wanted)
    parts = [(subsampled_pair(event), 1), (gaussian_pair(0.5), 1)]
    assert_tight_from_above(discretised_epsilon(parts, wanted), exact)


def test_four_subsampled_releases_are_dp_accountings(slices) -> None:
    theirs = privacy_loss_distribution.from_gaussian_mechanism(
        1.0, sampling_prob=0.2, value_discretization_interval=1e-3
    ).self_compose(4)
    event = SubsampledEvent(rate=0.2, event=slices("orthogonal", 10, 10, 1.0), symmetric=False)
    assert epsilon([event] * 4, 1e-6) == pytest.approx(theirs.get_epsilon_for_delta(1e-6), rel=TIGHTNESS)


def test_composition_costs_more_than_its_parts_and_less_than_their_sum(slices) -> None:
    sampled = SubsampledEvent(rate=0.3, event=slices("gaussian", 20, 30, 1.5), symmetric=False)
    cut = slices("orthogonal", 20, 30, 2.0)
    together = epsilon([sampled, cut, GaussianEvent(mu=0.2)], 1e-6)
    assert epsilon([cut, GaussianEvent(mu=0.2)], 1e-6) < together
    assert together < sum(epsilon([part], 1e-6 / 3) for part in (sampled, cut, GaussianEvent(mu=0.2)))


def test_far_beyond_the_support_only_the_counted_tail_is_left(slices) -> None:
    assert 0 <= delta([slices("gaussian", 20, 30, 2.0)] * 2, 1e4) < 1e-16


def test_rounding_of_the_transform_does_not_drown_small_deltas() -> None:
    """Untilted masses would be lost below about 1e-16 times the number of points."""
    losses = LossDistribution([(gaussian_pair(0.25), 16)])
    at = gaussian_epsilon(1e-15, 1.0)
    assert 1 - 1e-6 <= losses.delta(at) / gaussian_delta(at, 1.0) <= 1.05


@pytest.mark.parametrize(("mu", "rate", "steps"), [(0.56, 0.0175, 5000), (0.9, 0.05, 500)])
def test_thousands_of_subsampled_steps_are_dp_accountings(slices, mu: float, rate: float, steps: int) -> None:
    """The sum is far narrower than the number of steps times one loss: a grid over all of that would be too coarse."""
    accountant = PLDAccountant()
    accountant.compose(PoissonSampledDpEvent(rate, GaussianDpEvent(1 / mu)), steps)
    event = SubsampledEvent(rate=rate, event=slices("orthogonal", 10, 10, 1 / mu), symmetric=False)
    ours = epsilon([RepeatedEvent(count=steps, event=event)], 1e-5)
    assert ours == pytest.approx(accountant.get_epsilon(1e-5), rel=1e-4)


def test_thousands_of_gaussians_are_one() -> None:
    """From above, by less than a thousandth, where the answer is known exactly."""
    exact = gaussian_epsilon(1e-6, math.sqrt(5000) * 0.02)
    assert_tight_from_above(discretised_epsilon([(gaussian_pair(0.02), 5000)], 1e-6), exact)


def test_a_range_too_narrow_for_a_part_wraps_it() -> None:
    masses = np.arange(1.0, 8.0)
    assert _wrapped(masses, 3).tolist() == [1 + 4 + 7, 2 + 5, 3 + 6]
    assert _wrapped(masses, 7) is masses
