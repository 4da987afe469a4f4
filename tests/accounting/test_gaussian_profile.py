"""δ_G and its inverses."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microtome.accounting import gaussian_delta, gaussian_epsilon, gaussian_mu
from microtome.errors import ParameterError


def oracle(epsilon: float, mu: float) -> float:
    """The formula as it is written, with 400 digits."""
    with mpmath.workdps(400):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
        return float(mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2))


@pytest.mark.parametrize("epsilon", [0.0, 1e-4, 0.01, 1.0, 7.5, 50.0, 300.0])
@pytest.mark.parametrize("mu", [1e-4, 0.01, 0.3, 1.0, 5.0, 12.0, 30.0])
def test_matches_many_digits(epsilon: float, mu: float) -> None:
    if epsilon / mu - mu / 2 > 30:
        assert 0 <= gaussian_delta(epsilon, mu) < 1e-190
    else:
        assert gaussian_delta(epsilon, mu) == pytest.approx(oracle(epsilon, mu), rel=1e-9)


@pytest.mark.parametrize("epsilon", [-20.0, -1.0, -0.01])
def test_negative_epsilon(epsilon: float) -> None:
    assert gaussian_delta(epsilon, 1.3) == pytest.approx(oracle(epsilon, 1.3), rel=1e-12)


def test_limits() -> None:
    assert gaussian_delta(1.0, 0.0) == 0.0
    assert gaussian_delta(0.0, 0.0) == 0.0
    assert gaussian_delta(0.0, 2.0) == pytest.approx(math.erf(1 / math.sqrt(2)))
    assert gaussian_delta(1.0, 1e6) == 1.0
    assert gaussian_delta(1e6, 1.0) == 0.0


@given(st.floats(0, 1e4), st.floats(0, 1e3))
def test_is_a_probability(epsilon: float, mu: float) -> None:
    assert 0.0 <= gaussian_delta(epsilon, mu) <= 1.0


@settings(max_examples=40)
@given(st.floats(0.01, 50), st.floats(-12, -1))
def test_inverses(epsilon: float, log_delta: float) -> None:
    delta = 10**log_delta
    mu = gaussian_mu(epsilon, delta)
    assert gaussian_delta(epsilon, mu) <= delta
    assert gaussian_delta(epsilon, mu * (1 + 1e-5)) > delta
    assert gaussian_epsilon(delta, mu) == pytest.approx(epsilon, rel=1e-4)
    assert gaussian_delta(gaussian_epsilon(delta, mu), mu) <= delta


def test_known_value() -> None:
    # Balle and Wang: at ε = 1, δ = 1e-5 the analytic Gaussian mechanism needs σ = 3.7304 for sensitivity 1.
    assert 1 / gaussian_mu(1.0, 1e-5) == pytest.approx(3.730631, rel=2e-5)


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, math.nan])
def test_delta_out_of_range(delta: float) -> None:
    with pytest.raises(ParameterError, match="delta"):
        gaussian_epsilon(delta, 1.0)


def test_bad_mu_is_named() -> None:
    with pytest.raises(ParameterError, match=r"mu .*-1\.0"):
        gaussian_delta(1.0, -1.0)
    with pytest.raises(ParameterError, match="epsilon"):
        gaussian_delta(float(np.nan), 1.0)
