"""Bounds on attacks are those of the trade-off curve of a Gaussian mechanism, and no attack on one exceeds them."""

import numpy as np
import pytest
from scipy.stats import norm

from microtome.accounting import FailureEvent, GaussianEvent, gaussian_mu
from microtome.forecasting.attacker import FALSE_ALARMS, strongest_attacker


@pytest.mark.parametrize("mu", [0.05, 0.3, 1.0, 3.0])
def test_of_a_gaussian_mechanism_both_bounds_are_exact(mu: float) -> None:
    found = strongest_attacker([GaussianEvent(mu=mu)])
    assert found.best_guess == pytest.approx(norm.cdf(mu / 2), abs=1e-9)
    caught = norm.cdf(norm.ppf(FALSE_ALARMS) + mu)
    assert caught <= found.caught <= caught + 2e-3


def test_the_likelihood_ratio_reaches_what_is_said_and_no_more() -> None:
    mu, draws = gaussian_mu(5.0, 1e-6), 200_000
    found = strongest_attacker([GaussianEvent(mu=mu)])
    without, having = np.random.default_rng(0).normal([[0.0], [mu]], size=(2, draws))
    threshold = np.quantile(without, 1 - FALSE_ALARMS)
    assert np.mean(having > threshold) == pytest.approx(found.caught, abs=0.01)
    right = (np.mean(having > mu / 2) + np.mean(without <= mu / 2)) / 2
    assert right == pytest.approx(found.best_guess, abs=0.005)


def test_failures_count_and_bounds_stay_probabilities() -> None:
    found = strongest_attacker([GaussianEvent(mu=40.0), FailureEvent(probability=0.1, reason="test")])
    assert found.best_guess == 1.0
    assert found.caught == 1.0
