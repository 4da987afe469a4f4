"""Poisson subsampling with padding (privacy argument, section 5)."""

import math

import numpy as np
import pytest
from dp_accounting import NeighboringRelation
from dp_accounting.pld import privacy_loss_distribution
from scipy import stats

from microtome.accounting import GaussianEvent, SubsampledEvent, delta, epsilon, gaussian_delta
from microtome.accounting.divergence import amplify, gaussian_pair, subsampled_pair, unamplified
from microtome.errors import ParameterError


def test_check_values() -> None:
    pair = amplify(gaussian_pair(1.5).forward, 0.25, symmetric=False)
    assert round(float(pair.forward(np.array([1.0]))[0]), 7) == 0.0334424
    assert round(float(pair.backward(np.array([0.2]))[0]), 7) == 0.0219005


@pytest.mark.parametrize("at", [-2.0, -0.28, -0.1, 0.0, 0.1, 0.2, 0.28, 1.0, 3.0])
@pytest.mark.parametrize("rate", [0.05, 0.25, 0.9])
def test_both_orders_are_the_integral_of_the_definition(at: float, rate: float) -> None:
    """H_γ(P‖Q) = ∫ max(0, p − γq) for a mixture of Gaussians, on a fine grid."""
    x = np.linspace(-15, 17, 400_001)
    null = stats.norm.pdf(x)
    mixture = (1 - rate) * null + rate * stats.norm.pdf(x, 1.5)
    pair = amplify(gaussian_pair(1.5).forward, rate, symmetric=False)
    for p, q, order in [(mixture, null, pair), (null, mixture, pair.reversed)]:
        wanted = np.maximum(0.0, p - math.exp(at) * q).sum() * (x[1] - x[0])
        assert float(order.divergence(np.array([at]))[0]) == pytest.approx(wanted, abs=1e-8)


@pytest.mark.parametrize("at", [-1.0, 0.0, 0.3, 1.0, 2.5])
def test_replace_one_bound_covers_every_pair_of_rows(at: float) -> None:
    """P₁ and P₂ are rows within the unit ball around the null row; the bound knows only Δ = 2."""
    rate, sigma = 0.25, 1.3
    x = np.linspace(-12, 12, 100_001)
    bound = float(amplify(gaussian_pair(2 / sigma).forward, rate, symmetric=True).divergence(np.array([at]))[0])

    def mixture(row: float) -> np.ndarray:
        return (1 - rate) * stats.norm.pdf(x) + rate * stats.norm.pdf(x, row / sigma)

    for first, second in [(1, -1), (-1, 1), (1, 0), (0, 1), (1, 0.5), (0.3, -0.9)]:
        value = np.maximum(0.0, mixture(first) - math.exp(at) * mixture(second)).sum() * (x[1] - x[0])
        assert value <= bound + 1e-9


def test_unamplified_inverts_lemma_1() -> None:
    epsilon_in = np.array([0.0, 1e-9, 0.1, 0.9999, 1.0001, 5.0, 40.0, 900.0])
    for rate in (1e-6, 0.25, 1.0):
        inner = unamplified(epsilon_in, rate)
        back = np.where(inner < 500, np.log1p(rate * np.expm1(np.minimum(inner, 500))), inner + math.log(rate))
        np.testing.assert_allclose(back, epsilon_in, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("rate", [0.01, 0.25])
@pytest.mark.parametrize(("sigma", "at"), [(1.0, 0.5), (0.6, 2.0)])
def test_full_orthogonal_is_dp_accountings_poisson(slices, rate: float, sigma: float, at: float) -> None:
    theirs = privacy_loss_distribution.from_gaussian_mechanism(sigma, sampling_prob=rate)
    event = SubsampledEvent(rate=rate, event=slices("orthogonal", 5, 5, sigma), symmetric=False)
    assert delta([event], at) == pytest.approx(theirs.get_delta_for_epsilon(at), rel=1e-5)


def test_replace_one_is_at_least_dp_accountings(slices) -> None:
    theirs = privacy_loss_distribution.from_gaussian_mechanism(
        1.0, sampling_prob=0.25, neighboring_relation=NeighboringRelation.REPLACE_ONE
    )
    ours = SubsampledEvent(rate=0.25, event=slices("orthogonal", 5, 5, 1.0, distance=2.0), symmetric=True)
    for at in (0.3, 1.0, 2.0):
        assert theirs.get_delta_for_epsilon(at) <= delta([ours], at) * (1 + 1e-6)


@pytest.mark.parametrize(("rate", "sigma", "mu"), [(0.25, 1.0, 0.3), (0.05, 0.7, 1.0), (0.25, 3.0, 1.5)])
def test_composition_with_a_gaussian_is_dp_accountings(slices, rate: float, sigma: float, mu: float) -> None:
    interval = 1e-3
    theirs = privacy_loss_distribution.from_gaussian_mechanism(
        sigma, sampling_prob=rate, value_discretization_interval=interval
    ).compose(privacy_loss_distribution.from_gaussian_mechanism(1 / mu, value_discretization_interval=interval))
    event = SubsampledEvent(rate=rate, event=slices("orthogonal", 5, 5, sigma), symmetric=False)
    for wanted in (1e-3, 1e-6):
        at = theirs.get_epsilon_for_delta(wanted)
        assert epsilon([event, GaussianEvent(mu=mu)], wanted) == pytest.approx(at, rel=1e-3)
    assert delta([event, GaussianEvent(mu=mu)], 1.0) == pytest.approx(theirs.get_delta_for_epsilon(1.0), rel=1e-3)


@pytest.mark.parametrize("kind", ["gaussian", "orthogonal"])
def test_random_slices_subsampled_and_composed_by_monte_carlo(slices, kind: str) -> None:
    """The privacy loss of the mixture, drawn from the mixture, plus that of a Gaussian."""
    rng = np.random.default_rng(17)
    draws, rate, sigma, mu, at = 400_000, 0.25, 0.7, 0.4, 1.2
    energy = rng.chisquare(13, draws) / 10 if kind == "gaussian" else 1 + rng.beta(1.5, 3.5, draws)
    shift = np.sqrt(energy) / sigma
    output = rng.standard_normal(draws) + shift * (rng.random(draws) < rate)
    loss = np.log1p(rate * np.expm1(shift * output - shift**2 / 2))
    loss += mu * rng.standard_normal(draws) + mu**2 / 2
    terms = np.maximum(0.0, -np.expm1(at - loss))
    event = SubsampledEvent(rate=rate, event=slices(kind, 10, 13, sigma), symmetric=False)
    value = delta([event, GaussianEvent(mu=mu)], at)
    assert abs(value - terms.mean()) < 4 * terms.std() / math.sqrt(draws)


def test_tiny_gaussian_changes_little(slices) -> None:
    event = SubsampledEvent(rate=0.25, event=slices("gaussian", 20, 50, 1.0), symmetric=False)
    alone, together = epsilon([event], 1e-6), epsilon([event, GaussianEvent(mu=1e-3)], 1e-6)
    assert alone <= together <= alone * 1.001


def test_rate_one_is_no_subsampling(slices) -> None:
    inner = slices("gaussian", 20, 50, 2.0)
    event = SubsampledEvent(rate=1.0, event=inner, symmetric=False)
    assert delta([event], 1.0) == delta([inner], 1.0)
    assert float(subsampled_pair(event).backward(np.array([1.0]))[0]) == pytest.approx(delta([inner], 1.0))


@pytest.mark.parametrize("rate", [0.0, -0.5, 1.5, math.nan])
def test_bad_rates_are_named(slices, rate: float) -> None:
    with pytest.raises(ParameterError, match="rate"):
        SubsampledEvent(rate=rate, event=slices("gaussian", 2, 2, 1.0), symmetric=False)


def test_subsampling_never_costs_more(slices) -> None:
    inner = slices("orthogonal", 4, 4, 1.0)
    values = [delta([SubsampledEvent(rate=rate, event=inner, symmetric=False)], 0.5) for rate in (0.1, 0.3, 0.7, 0.99)]
    assert values == sorted(values)
    assert values[-1] <= gaussian_delta(0.5, 1.0)
