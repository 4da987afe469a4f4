"""The law of W/Δ² (privacy argument, section 2): quadrature against moments, sampling and fine integrals."""

import math

import numpy as np
import pytest
from scipy import stats

from microtome.accounting import DirectionKind, Directions, GaussianEvent, delta
from microtome.accounting.gaussian import gaussian_hockey_stick
from microtome.accounting.projection_law import projection_law
from microtome.errors import ParameterError

SIZES = [(1, 1), (1, 7), (2, 1), (2, 3), (3, 2), (20, 50), (100, 199), (784, 1000), (5000, 1), (5000, 4999)]


def directions(kind: str, dim: int, count: int) -> Directions:
    return Directions(kind=DirectionKind(kind), dim=dim, num_slices=count, slice_dim=1)


def moments(kind: str, dim: int, count: int) -> tuple[float, float]:
    if kind == "gaussian":
        return count / dim, 2 * count / dim**2
    full, cut = divmod(count, dim)
    beta = stats.beta(cut / 2, (dim - cut) / 2) if cut else None
    return full + (beta.mean() if beta else 0.0), beta.var() if beta else 0.0


@pytest.mark.parametrize("kind", ["gaussian", "orthogonal"])
@pytest.mark.parametrize(("dim", "count"), SIZES)
@pytest.mark.parametrize("ratio", [0.1, 300.0])
def test_moments(kind: str, dim: int, count: int, ratio: float) -> None:
    law = projection_law(directions(kind, dim, count), ratio)
    mean, variance = moments(kind, dim, count)
    assert law.weights.sum() + law.tail == pytest.approx(1.0, abs=1e-12)
    assert law.tail <= 1.01e-22
    assert law.weights @ law.energies == pytest.approx(mean, rel=1e-10)
    assert law.weights @ (law.energies - mean) ** 2 == pytest.approx(variance, rel=1e-8, abs=1e-20)


@pytest.mark.parametrize("kind", ["gaussian", "orthogonal"])
@pytest.mark.parametrize(("dim", "count"), [(1, 7), (3, 2), (20, 50)])
def test_vanishing_noise_rounds_energies_up(kind: str, dim: int, count: int) -> None:
    mean, _ = moments(kind, dim, count)
    law = projection_law(directions(kind, dim, count), 1e7)
    assert law.weights.sum() + law.tail == pytest.approx(1.0, abs=1e-12)
    assert mean * (1 - 1e-12) <= law.weights @ law.energies <= mean * 1.01


@pytest.mark.parametrize(("dim", "count"), [(6, 3), (6, 8), (5, 1)])
def test_cut_blocks_have_this_law(dim: int, count: int) -> None:
    """Energies of a row through blocks drawn from the Haar measure, against the quadrature's cdf."""
    rng = np.random.default_rng(5)
    full, cut = divmod(count, dim)
    block, triangle = np.linalg.qr(rng.standard_normal((20_000, dim, dim)))
    block = block * np.sign(np.diagonal(triangle, axis1=1, axis2=2))[:, None, :]
    row = np.full(dim, 1 / math.sqrt(dim))
    energies = full + ((row @ block)[:, :cut] ** 2).sum(axis=1)
    law = projection_law(directions("orthogonal", dim, count), 1.0)
    cdf = np.cumsum(law.weights)[np.searchsorted(law.energies, np.sort(energies)) - 1]
    distance = np.abs(cdf - np.arange(1, energies.size + 1) / energies.size).max()
    assert distance < 0.02  # one node of the quadrature holds at most about 0.01


def fine_integral(kind: str, dim: int, count: int, sigma: float, epsilon: float) -> float:
    """E_W[δ_G] by 12,000 nodes and scipy's densities."""
    nodes, weights = np.polynomial.legendre.leggauss(30)
    full, cut = divmod(count, dim)
    low = max(0.0, math.sqrt(count) - 9) if kind == "gaussian" else 0.0
    edges = np.linspace(low, math.sqrt(count) + 11 if kind == "gaussian" else math.pi / 2, 401)
    half = np.diff(edges)[:, None] / 2
    t = (edges[1:, None] - half + half * nodes).ravel()
    if kind == "gaussian":
        density, energy = stats.chi.pdf(t, count), t**2 / dim
    else:
        density = stats.beta.pdf(np.sin(t) ** 2, cut / 2, (dim - cut) / 2) * np.sin(2 * t)
        energy = full + np.sin(t) ** 2
    return float(
        (half * weights).ravel() @ (density * gaussian_hockey_stick(np.array(epsilon), np.sqrt(energy) / sigma))
    )


@pytest.mark.parametrize("kind", ["gaussian", "orthogonal"])
@pytest.mark.parametrize(("dim", "count"), [(2, 1), (3, 2), (20, 50), (100, 30)])
@pytest.mark.parametrize(("epsilon", "wanted"), [(0.01, 0.1), (1.0, 1e-12), (5.0, 1e-6), (50.0, 1e-12), (50.0, 0.1)])
def test_accurate_into_the_tails(slices, kind: str, dim: int, count: int, epsilon: float, wanted: float) -> None:
    """Relative 1e-6 for δ down to 1e-12, where rare draws of U decide."""
    sigma = 1e-3
    while delta([slices(kind, dim, count, sigma)], epsilon) > wanted:
        sigma *= 1.25
    value = delta([slices(kind, dim, count, sigma), GaussianEvent(mu=0.0)], epsilon)
    assert value == pytest.approx(fine_integral(kind, dim, count, sigma, epsilon), rel=1e-6)


def test_constants() -> None:
    assert directions("orthogonal", 10, 30).constant_energy == 3.0
    assert directions("orthogonal", 10, 31).constant_energy is None
    assert directions("gaussian", 10, 30).constant_energy is None
    fixed = Directions(kind=DirectionKind.FIXED, dim=10, num_slices=7, slice_dim=3)
    assert fixed.constant_energy == 7.0
    assert fixed.count == 21


@pytest.mark.parametrize("field", ["dim", "num_slices", "slice_dim"])
@pytest.mark.parametrize("value", [0, -3, 1.5, True])
def test_bad_sizes_are_named(field: str, value: object) -> None:
    sizes = {"dim": 4, "num_slices": 4, "slice_dim": 1, field: value}
    with pytest.raises(ParameterError, match=field):
        Directions(kind=DirectionKind.GAUSSIAN, **sizes)


def test_bad_kinds() -> None:
    with pytest.raises(ParameterError, match="sphere"):
        Directions(kind="sphere", dim=1, num_slices=1, slice_dim=1)
    with pytest.raises(ParameterError, match="slice_dim"):
        Directions(kind=DirectionKind.FIXED, dim=2, num_slices=1, slice_dim=3)
