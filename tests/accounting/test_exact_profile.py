"""δ(ε) of slices and Gaussians (privacy argument, sections 3 and 4), against check values and Monte Carlo."""

import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution

from microtome.accounting import FailureEvent, GaussianEvent, calibrate_noise, delta, epsilon, gaussian_delta
from microtome.accounting.paper import paper_conversion
from microtome.accounting.renyi import exact_rdp
from microtome.errors import ParameterError

DRAWS = 40_000
STANDARD_ERRORS = 4.0


@pytest.mark.parametrize(
    ("dim", "count", "wanted", "sigma"),
    [(20, 50, 1.0, 6.243), (100, 200, 5.1, 1.268), (100, 1000, 8.1, 1.889), (784, 1000, 5.1, 0.995)],
)
def test_check_values(slices, dim: int, count: int, wanted: float, sigma: float) -> None:
    found = calibrate_noise(lambda s: [slices("gaussian", dim, count, s)], epsilon=wanted, delta=1e-5)
    assert round(found, 3) == sigma


@pytest.mark.parametrize(
    ("dim", "count", "wanted", "sigma"),
    [(20, 50, 1.0, 8.541), (100, 200, 5.1, 1.512), (100, 1000, 8.1, 2.175), (784, 1000, 5.1, 1.178)],
)
def test_check_values_of_exact_rdp(slices, dim: int, count: int, wanted: float, sigma: float) -> None:
    def best(scale: float) -> float:
        event = slices("gaussian", dim, count, scale)
        largest = (1 + math.sqrt(1 + 4 * dim * scale**2)) / 2
        alpha = np.linspace(1, largest, 20_002)[1:-1]
        return float(paper_conversion(exact_rdp(event, alpha), alpha, 1e-5).min())

    assert best(sigma + 0.0005) <= wanted <= best(sigma - 0.0005)


def test_simulated_check_value(slices) -> None:
    assert delta([slices("gaussian", 20, 30, 1.2)], 2.0) == pytest.approx(0.02658, abs=5e-6)


def privacy_losses(kind: str, dim: int, count: int, sigma: float) -> np.ndarray:
    """ln p(U, Y)/q(U, Y) of the mechanism itself, run on a unit row against the null row."""
    rng = np.random.default_rng(11)
    row = rng.standard_normal(dim)
    row /= np.linalg.norm(row)
    if kind == "gaussian":
        sliced = np.concatenate([row @ (rng.standard_normal((2000, dim, count)) / math.sqrt(dim)) for _ in range(20)])
    else:
        blocks = []
        for start in range(0, count, dim):
            block, triangle = np.linalg.qr(rng.standard_normal((DRAWS, dim, dim)))
            block *= np.sign(np.diagonal(triangle, axis1=1, axis2=2))[:, None, :]
            blocks.append((row @ block)[:, : count - start])
        sliced = np.concatenate(blocks, axis=1)
    noisy = sliced + sigma * rng.standard_normal(sliced.shape)
    return (noisy**2 - (noisy - sliced) ** 2).sum(axis=1) / (2 * sigma**2)


@pytest.mark.parametrize(
    ("kind", "dim", "count", "sigma", "at"),
    [("gaussian", 20, 30, 1.2, 2.0), ("orthogonal", 6, 6, 1.0, 1.0), ("orthogonal", 6, 8, 1.0, 1.5)],
)
def test_monte_carlo_of_the_privacy_loss(slices, kind: str, dim: int, count: int, sigma: float, at: float) -> None:
    terms = np.maximum(0.0, -np.expm1(at - privacy_losses(kind, dim, count, sigma)))
    mean, error = terms.mean(), terms.std() / math.sqrt(DRAWS)

    def accepted(scale: float) -> bool:
        return abs(delta([slices(kind, dim, count, scale)], at) - mean) < STANDARD_ERRORS * error

    assert accepted(sigma)
    assert not accepted(0.7 * sigma)
    assert not accepted(1.4 * sigma)


def test_gaussians_add_in_squares(slices) -> None:
    events = [GaussianEvent(mu=0.3), GaussianEvent(mu=0.4), slices("orthogonal", 8, 16, 2.0)]
    assert delta(events, 1.0) == pytest.approx(gaussian_delta(1.0, math.sqrt(0.09 + 0.16 + 0.5)), rel=1e-12)


def test_gaussian_composed_with_random_slices(slices) -> None:
    """Given W all is Gaussian: the average over W by plain sampling of χ²."""
    rng = np.random.default_rng(3)
    energies = rng.chisquare(50, 20_000) / 20 / 4.0
    sampled = np.array([gaussian_delta(1.0, math.sqrt(0.25 + energy)) for energy in energies])
    value = delta([GaussianEvent(mu=0.5), slices("gaussian", 20, 50, 2.0)], 1.0)
    assert abs(value - sampled.mean()) < STANDARD_ERRORS * sampled.std() / math.sqrt(sampled.size)


@pytest.mark.parametrize(("sigma", "at"), [(1.0, 1.0), (0.5, 4.0), (3.0, 0.5)])
def test_full_orthogonal_is_dp_accountings_gaussian(slices, sigma: float, at: float) -> None:
    theirs = privacy_loss_distribution.from_gaussian_mechanism(sigma).get_delta_for_epsilon(at)
    assert delta([slices("orthogonal", 12, 12, sigma)], at) == pytest.approx(theirs, rel=1e-5)


def test_fixed_directions_cost_one_row_a_slice(slices) -> None:
    assert delta([slices("fixed", 10, 6, 2.0, slice_dim=2)], 1.0) == pytest.approx(
        gaussian_delta(1.0, math.sqrt(3) / 2), rel=1e-12
    )


def test_failures_add_to_delta(slices) -> None:
    event = slices("gaussian", 20, 30, 1.2)
    failure = FailureEvent(probability=1e-3, reason="threshold")
    assert delta([event, failure], 2.0) == pytest.approx(delta([event], 2.0) + 1e-3, rel=1e-12)
    assert epsilon([event, failure], 1e-3) == math.inf
    assert epsilon([event, failure], 2e-3) == pytest.approx(epsilon([event], 1e-3), rel=1e-6)


def test_nothing_costs_nothing() -> None:
    assert delta([], 0.0) == 0.0
    assert epsilon([], 1e-9) == 0.0


def test_unknown_events_are_refused() -> None:
    with pytest.raises(ParameterError, match="laplace"):
        delta(["laplace"], 1.0)
    with pytest.raises(ParameterError, match="accountant"):
        epsilon([], 0.1, "moments")


@pytest.mark.parametrize("sigma", [1e-4, 0.03])
def test_vanishing_noise_is_not_undercharged(slices, sigma: float) -> None:
    """W/σ² may be millions; ε is then near the upper quantile of W/(2σ²) and must not be below it."""
    energies = np.random.default_rng(0).chisquare(1, 1_000_000)
    quantile = np.quantile(energies, 0.999) / (2 * sigma**2)
    value = epsilon([slices("gaussian", 1, 1, sigma)], 1e-3)
    assert 0.97 * quantile < value < 1.3 * quantile + 10 / sigma
