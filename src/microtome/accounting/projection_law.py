"""The law of W/Δ² as quadrature nodes and weights, tails included.

Integrals are over W = χ²(m')/d or q + Beta(r/2, (d−r)/2) (``docs/privacy.md``, section 2). In the variables
t = √χ² and θ = arcsin √B both densities are smooth for all numbers of directions,

    f(t) ∝ t^(m'−1) e^(−t²/2),      f(θ) ∝ sin^(r−1)θ cos^(d−r−1)θ,

so Gauss–Legendre on panels of about one standard deviation is accurate to far below 1e-6. The first panel is
divided further: with few directions and a small ε, δ bends where √W/σ is near ε. A small δ may
come from draws of U that are themselves rare: the panels reach to an upper tail probability of 1e-22, and
the rest counts as a certain failure. The lower rest is moved up to the first node. Both err upwards, as δ
rises with W.

Where the noise is so small that δ jumps from 0 to 1 within one panel, panels are halved; if that is not
enough, every W of a cell is rounded up to its right end, which is coarse and still an upper bound.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

from microtome.accounting.directions import DirectionKind, Directions
from microtome.accounting.gaussian import FloatArray

_UPPER_TAIL = 1e-22
_LOWER_TAIL = 1e-14
_NODES_PER_PANEL = 16
_LARGEST_STEP_OF_MU = 5.0
_LARGEST_REFINEMENT = 64
_GRADING = np.array([0.002, 0.015, 0.12])


@dataclass(frozen=True, kw_only=True, eq=False)
class ProjectionLaw:
    """W/Δ² takes the values ``energies`` with probabilities ``weights`` and is infinite with ``tail``."""

    energies: FloatArray
    weights: FloatArray
    tail: float


@dataclass(frozen=True, kw_only=True, eq=False)
class _Axis:
    """The smooth variable t of integration: its range, its law, and W/Δ² as a function of it."""

    low: float
    high: float
    spread: float
    steepest: float
    log_density: Callable[[FloatArray], FloatArray]
    cdf: Callable[[FloatArray], FloatArray]
    survival: Callable[[FloatArray], FloatArray]
    energy: Callable[[FloatArray], FloatArray]


def projection_law(directions: Directions, ratio: float) -> ProjectionLaw:
    """Law of W/Δ², fine enough for Δ/σ = ``ratio``."""
    constant = directions.constant_energy
    if constant is not None:
        return ProjectionLaw(energies=np.array([constant]), weights=np.ones(1), tail=0.0)
    axis = _axis(directions)
    wanted = axis.spread * axis.steepest * ratio / _LARGEST_STEP_OF_MU
    refinement = 2 ** max(0, math.ceil(math.log2(min(max(wanted, 1.0), 2.0 * _LARGEST_REFINEMENT))))
    return _cached_law(directions, refinement)


@lru_cache(maxsize=64)
def _cached_law(directions: Directions, refinement: int) -> ProjectionLaw:
    axis = _axis(directions)
    panels = max(2, math.ceil((axis.high - axis.low) / axis.spread * min(refinement, _LARGEST_REFINEMENT)))
    if refinement <= _LARGEST_REFINEMENT:
        edges = np.linspace(axis.low, axis.high, panels + 1)
        return _smooth_law(axis, np.sort(np.append(edges, edges[0] + (edges[1] - edges[0]) * _GRADING)))
    return _rounded_up_law(axis, np.linspace(axis.low, axis.high, panels * _NODES_PER_PANEL + 1))


def _smooth_law(axis: _Axis, edges: FloatArray) -> ProjectionLaw:
    points, lengths = panel_nodes(edges, _NODES_PER_PANEL)
    log_density = axis.log_density(points)
    weights = lengths * np.exp(log_density - log_density.max())
    below, above = _outside(axis)
    weights *= (1.0 - below - above) / weights.sum()
    return _law(axis, np.append(axis.low, points), np.append(below, weights), above)


def _rounded_up_law(axis: _Axis, edges: FloatArray) -> ProjectionLaw:
    below, above = _outside(axis)
    cdf, survival = axis.cdf(edges), axis.survival(edges)
    weights = np.where(cdf[1:] < 0.5, np.diff(cdf), -np.diff(survival))
    return _law(axis, np.append(axis.low, edges[1:]), np.append(below, weights), above)


def _law(axis: _Axis, points: FloatArray, weights: FloatArray, above: float) -> ProjectionLaw:
    return ProjectionLaw(energies=axis.energy(points), weights=weights, tail=above)


def _outside(axis: _Axis) -> tuple[float, float]:
    return float(axis.cdf(np.array(axis.low))), float(axis.survival(np.array(axis.high)))


def panel_nodes(edges: FloatArray, nodes_per_panel: int) -> tuple[FloatArray, FloatArray]:
    """Gauss–Legendre nodes and weights on consecutive panels."""
    nodes, weights = np.polynomial.legendre.leggauss(nodes_per_panel)
    half = np.diff(edges)[:, None] / 2
    middle = (edges[1:] + edges[:-1])[:, None] / 2
    return (middle + half * nodes).ravel(), (half * weights).ravel()


def _axis(directions: Directions) -> _Axis:
    axes = {DirectionKind.GAUSSIAN: _chi_axis, DirectionKind.ORTHOGONAL: _beta_axis}
    return axes[directions.kind](directions)  # what fixed ones let through is a constant


def _chi_axis(directions: Directions) -> _Axis:
    freedom, dim = directions.count, directions.dim
    low = math.sqrt(2 * float(scipy.special.gammaincinv(freedom / 2, _LOWER_TAIL)))
    return _Axis(
        low=low if low > 1.0 else 0.0,
        high=math.sqrt(2 * float(scipy.special.gammainccinv(freedom / 2, _UPPER_TAIL))),
        spread=math.sqrt(0.5),
        steepest=1 / math.sqrt(dim),
        log_density=lambda t: (freedom - 1) * np.log(t) - t * t / 2,
        cdf=lambda t: np.asarray(scipy.special.gammainc(freedom / 2, t * t / 2)),
        survival=lambda t: np.asarray(scipy.special.gammaincc(freedom / 2, t * t / 2)),
        energy=lambda t: t * t / dim,
    )


def _beta_axis(directions: Directions) -> _Axis:
    dim, full, cut = directions.dim, directions.full_blocks, directions.cut_columns
    a, b = cut / 2, (dim - cut) / 2
    low = float(scipy.special.betaincinv(a, b, _LOWER_TAIL))
    high = float(scipy.special.betainccinv(a, b, _UPPER_TAIL))
    return _Axis(
        low=math.asin(math.sqrt(low)) if low > 1e-3 else 0.0,
        high=math.asin(math.sqrt(high)) if high < 0.999 else math.pi / 2,
        spread=1 / math.sqrt(2 * dim),
        steepest=1.0,
        log_density=lambda t: (cut - 1) * np.log(np.sin(t)) + (dim - cut - 1) * np.log(np.cos(t)),
        cdf=lambda t: np.asarray(scipy.special.betainc(a, b, np.sin(t) ** 2)),
        survival=lambda t: np.asarray(scipy.special.betaincc(a, b, np.sin(t) ** 2)),
        energy=lambda t: full + np.sin(t) ** 2,
    )
