"""Rényi accountants (privacy argument, section 3), and what the paper proves: each statement has a test of its name."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from microtome.accounting import (
    Accountant,
    DirectionKind,
    Directions,
    FailureEvent,
    GaussianEvent,
    SliceEvent,
    SubsampledEvent,
    calibrate_noise,
    epsilon,
)
from microtome.accounting.paper import paper_conversion, remark2_epsilon, remark2_order, theorem1_rdp
from microtome.accounting.projection_law import projection_law
from microtome.accounting.renyi import exact_rdp
from microtome.errors import ParameterError


@pytest.mark.parametrize(
    ("dim", "count", "wanted", "sigma"),
    [(20, 50, 1.0, 9.080), (100, 200, 5.1, 1.553), (100, 1000, 8.1, 2.191), (784, 1000, 5.1, 1.185)],
)
def test_theorem_1_check_values(slices, dim: int, count: int, wanted: float, sigma: float) -> None:
    found = calibrate_noise(
        lambda s: [slices("gaussian", dim, count, s)],
        epsilon=wanted,
        delta=1e-5,
        accountant=Accountant.THEOREM1,
    )
    assert round(found, 3) == sigma


@settings(max_examples=60, deadline=None)
@given(
    dim=st.integers(1, 300),
    count=st.integers(1, 600),
    sigma=st.floats(0.3, 20),
    distance=st.sampled_from([1.0, math.sqrt(2), 2.0]),
    log_delta=st.floats(-12, -1),
    mu=st.sampled_from([0.0, 0.1, 1.0]),
    rate=st.sampled_from([None, 0.05, 0.5]),
    kind=st.sampled_from(["gaussian", "orthogonal"]),
)
def test_exact_below_renyi_below_theorem_1(dim, count, sigma, distance, log_delta, mu, rate, kind) -> None:
    directions = Directions(kind=DirectionKind(kind), dim=dim, num_slices=count, slice_dim=1)
    event = SliceEvent(directions=directions, row_distance=distance, noise_scale=sigma)
    part = event if rate is None else SubsampledEvent(rate=rate, event=event, symmetric=distance > 1)
    # With a subsampled part and random energies the exact value takes a double integral: left to one test below.
    events = [part] if rate is not None or mu == 0 else [part, GaussianEvent(mu=mu)]
    delta = 10**log_delta
    exact, renyi = epsilon(events, delta), epsilon(events, delta, Accountant.RENYI)
    assert exact <= renyi * (1 + 1e-6) + 1e-9
    if kind == "gaussian":
        assert renyi <= epsilon(events, delta, Accountant.THEOREM1)


def test_ordering_with_subsampling_and_a_gaussian(slices) -> None:
    sampled = SubsampledEvent(rate=0.25, event=slices("gaussian", 100, 200, 1.5), symmetric=False)
    events = [sampled, GaussianEvent(mu=0.3), FailureEvent(probability=1e-7, reason="overflow")]
    exact, renyi, theorem1 = (epsilon(events, 1e-6, name) for name in ("exact", "renyi", "theorem1"))
    assert exact < renyi < theorem1 < math.inf


@pytest.mark.parametrize(("dim", "count"), [(20, 3), (20, 27), (200, 1)])
@pytest.mark.parametrize("alpha", [1.5, 4.0, 20.0])
def test_cut_block_moment_is_the_hypergeometric_function(slices, dim: int, count: int, alpha: float) -> None:
    event = slices("orthogonal", dim, count, 0.8)
    t = alpha * (alpha - 1) / (2 * 0.8**2)
    full, cut = divmod(count, dim)
    wanted = (full * t + float(mpmath.log(mpmath.hyp1f1(cut / 2, dim / 2, t)))) / (alpha - 1)
    assert float(exact_rdp(event, np.array([alpha]))[0]) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("kind", ["gaussian", "orthogonal"])
def test_rdp_is_the_log_moment_of_the_energy(slices, kind: str) -> None:
    event = slices(kind, 30, 50, 2.0)
    law = projection_law(event.directions, event.ratio)
    for alpha in (1.1, 3.0, 6.0):
        moment = law.weights @ np.exp(alpha * (alpha - 1) * law.energies / 8)
        assert float(exact_rdp(event, np.array([alpha]))[0]) == pytest.approx(math.log(moment) / (alpha - 1), rel=1e-6)


def test_theorem_1_bounds_exact_rdp(slices) -> None:
    event = slices("gaussian", 30, 50, 2.0)
    alpha = np.linspace(1.01, 10, 200)
    assert (exact_rdp(event, alpha) <= theorem1_rdp(event, alpha)).all()
    assert np.isinf(theorem1_rdp(event, np.array([50.0]))).all()
    assert np.isinf(exact_rdp(event, np.array([50.0]))).all()


def test_theorem_1_refuses_other_directions(slices) -> None:
    for kind in ("orthogonal", "fixed"):
        with pytest.raises(ParameterError, match=f"theorem1.*{kind}"):
            epsilon([slices(kind, 10, 10, 1.0)], 1e-5, Accountant.THEOREM1)


@pytest.mark.parametrize(("dim", "count", "sigma"), [(100, 200, 4.0), (784, 1000, 3.0), (100, 100, 8.0)])
def test_remark_2(slices, dim: int, count: int, sigma: float) -> None:
    """α* needs no search, costs little where γ ≤ d/2, and keeps the bound that the remark ends with."""
    delta = 1e-5
    event = slices("gaussian", dim, count, sigma)
    alpha = remark2_order(event, delta)
    assert alpha * (alpha - 1) / sigma**2 <= dim / 2
    ratio = count / (sigma**2 * dim)
    simplified = ratio + 2 * math.sqrt(ratio * math.log(1 / delta))
    best, starred = epsilon([event], delta, Accountant.THEOREM1), remark2_epsilon(event, delta)
    assert best <= starred <= min(simplified, 1.15 * best)
    room = dim - alpha * (alpha - 1) / sigma**2
    substituted = count / (2 * sigma**2 * room) + (1 + dim / (2 * room)) * math.sqrt(ratio * math.log(1 / delta))
    assert starred == pytest.approx(substituted, rel=1e-12), "the remark prints √(d/(2(d − γ)))"


def test_remark_2_has_no_bound_where_the_order_is_too_large(slices) -> None:
    assert remark2_epsilon(slices("gaussian", 2, 1, 0.2), 1e-9) == math.inf


def test_proposition_2() -> None:
    """An (α, ε)-RDP mechanism is (ε + ln(1/δ)/(α−1), δ)-private: of a Gaussian one, no less than its exact ε."""
    mu, delta = 0.8, 1e-6
    alpha = np.linspace(1.5, 60.0, 400)
    stated = paper_conversion(alpha * mu**2 / 2, alpha, delta)
    assert stated == pytest.approx(alpha * mu**2 / 2 + math.log(1 / delta) / (alpha - 1))
    assert epsilon([GaussianEvent(mu=mu)], delta) < stated.min() < 1.2 * epsilon([GaussianEvent(mu=mu)], delta)


@pytest.mark.parametrize("alpha", [1.5, 3.0, 5.0])
def test_lemma_2_by_the_covariances_of_its_proof(slices, alpha: float) -> None:
    """Eq. (7) on the covariances of Eq. (8), for two small tables one row apart."""
    n, dim, count, sigma = 3, 4, 2, 2.5
    rng = np.random.default_rng(0)
    table = rng.normal(size=(n, dim))
    other = table.copy()
    direction = rng.normal(size=dim)
    other[1] += direction / np.linalg.norm(direction)

    def covariance(rows: np.ndarray) -> np.ndarray:
        block = np.block([[np.eye(dim), rows.T], [rows, rows @ rows.T + dim * sigma**2 * np.eye(n)]])
        return np.kron(block, np.eye(count)) / dim

    first, second = covariance(table), covariance(other)
    mixed, one, two = (np.linalg.slogdet(m)[1] for m in ((1 - alpha) * first + alpha * second, first, second))
    divergence = -(mixed - (1 - alpha) * one - alpha * two) / (2 * (alpha - 1))
    event, order = slices("gaussian", dim, count, sigma), np.array([alpha])
    assert divergence == pytest.approx(exact_rdp(event, order)[0], rel=1e-9)
    assert divergence <= theorem1_rdp(event, order)[0]


def test_proposition_3(slices) -> None:
    """The minimum over α of αm/(2σ²) + ln(1/δ)/(α−1) has a closed form."""
    m, sigma, delta = 7, 3.0, 1e-5
    rho = m / (2 * sigma**2)
    closed = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    event = slices("fixed", 10, 21, sigma, slice_dim=3)
    assert epsilon([event], delta, Accountant.PROP3) == pytest.approx(closed, rel=1e-6)
    assert epsilon([event], delta) < epsilon([event], delta, Accountant.RENYI) < closed
    aligned = slices("orthogonal", 9, 21, sigma, slice_dim=3)
    assert epsilon([aligned], delta) < epsilon([aligned], delta, Accountant.PROP3)


def test_proposition_3_refuses_what_it_does_not_cover(slices) -> None:
    for event in (slices("gaussian", 10, 20, 1.0), slices("orthogonal", 10, 21, 1.0, slice_dim=3)):
        with pytest.raises(ParameterError, match="prop3"):
            epsilon([event], 1e-5, Accountant.PROP3)


def test_lemma_1(slices) -> None:
    inner = slices("gaussian", 50, 100, 2.0)
    sampled = SubsampledEvent(rate=0.25, event=inner, symmetric=False)
    for name in ("renyi", "theorem1"):
        alone = epsilon([inner], 4e-6, Accountant(name))
        assert epsilon([sampled], 1e-6, Accountant(name)) == pytest.approx(
            math.log1p(0.25 * math.expm1(alone)), rel=1e-9
        )
        halves = [epsilon([sampled], 5e-7, Accountant(name)), epsilon([GaussianEvent(mu=0.4)], 5e-7, Accountant(name))]
        both = epsilon([sampled, GaussianEvent(mu=0.4)], 1e-6, Accountant(name))
        assert both == pytest.approx(sum(halves), rel=1e-9)


def test_failures_use_up_delta(slices) -> None:
    event, failure = slices("gaussian", 50, 100, 2.0), FailureEvent(probability=1e-6, reason="rounding")
    for name in ("renyi", "theorem1"):
        assert epsilon([event, failure], 1e-6, Accountant(name)) == math.inf
        assert epsilon([event, failure], 3e-6, Accountant(name)) == pytest.approx(
            epsilon([event], 2e-6, Accountant(name)), rel=1e-9
        )


def test_a_sample_rarer_than_delta_costs_nothing(slices) -> None:
    sampled = SubsampledEvent(rate=1e-4, event=slices("gaussian", 5, 5, 0.01), symmetric=False)
    assert epsilon([sampled], 1e-3, Accountant.RENYI) == 0.0
    assert epsilon([sampled], 1e-3) == 0.0
