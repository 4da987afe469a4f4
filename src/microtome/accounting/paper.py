"""What the paper proves of sliced releases, and how it compares with the accountants that came after it.

With Δ the distance of neighbouring rows and σ the noise, m slices of k directions each, m' = m·k of them in d
dimensions, the paper's appendix on privacy bounds the Rényi divergence of order α by

    Theorem 1        m'αΔ²/(2σ²(d − γ)), γ = α(α−1)Δ²/σ² < d    (gaussian directions)
    Proposition 3    αmΔ²/(2σ²)                                 (orthonormal slices, which somebody chose)

and takes ε = RDP + ln(1/δ)/(α−1), minimised over real α > 1, or, by its Remark 2, at

    α* = 1 + √(σ²d ln(1/δ)/(m'Δ²)),    where ε ≤ m'Δ²/(σ²d) + 2√(m'Δ² ln(1/δ)/(σ²d)) as long as γ ≤ d/2.

Numbers are those of the paper's source, in which every kind of statement is counted by itself. All are valid, and
looser than what ``microtome.accounting.privacy_profile`` computes exactly (``docs/privacy.md``, section 3).

The comparison is for tables that people read before they decide. With a sampling rate its figures are for the sliced
part alone, without the profile and without the probability that the padding overflows. It stands on the accountants,
which stand on the bounds above: so it imports them when it is called.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from microtome.accounting.directions import Directions
from microtome.accounting.events import Event, SliceEvent, SubsampledEvent
from microtome.accounting.gaussian import FloatArray
from microtome.accounting.neighbours import Neighbours
from microtome.accounting.ranges import require_positive
from microtome.accounting.renyi import least_epsilon
from microtome.errors import ParameterError

if TYPE_CHECKING:
    from microtome.accounting.accountant import Accountant


def theorem1_epsilon(events: Sequence[Event], delta: float) -> float:
    """ε as the paper's Theorem 1 states it; for gaussian directions only."""
    return least_epsilon(events, delta, theorem1_rdp, paper_conversion)


def prop3_epsilon(events: Sequence[Event], delta: float) -> float:
    """ε as the paper's Proposition 3 states it; for slices with orthonormal columns only."""
    return least_epsilon(events, delta, prop3_rdp, paper_conversion)


def remark2_order(event: SliceEvent, delta: float) -> float:
    """α* of the paper's Remark 2: near the best order of Theorem 1, without a search."""
    directions = event.directions
    return 1 + math.sqrt(-directions.dim * math.log(delta) / (directions.count * event.ratio**2))


def remark2_epsilon(event: SliceEvent, delta: float) -> float:
    """ε of Theorem 1 at α*; infinite where the bound does not exist there."""
    alpha = np.array([remark2_order(event, delta)])
    return float(paper_conversion(theorem1_rdp(event, alpha), alpha, delta)[0])


def theorem1_rdp(event: SliceEvent, alpha: FloatArray) -> FloatArray:
    """The bound on RDP(α) of Theorem 1; infinite where γ ≥ d."""
    directions = event.directions
    if not directions.kind.is_independent:
        raise ParameterError(
            f"accountant theorem1 holds for gaussian directions only, got {directions.kind.value} ones"
        )
    room = directions.dim - alpha * (alpha - 1) * event.ratio**2
    bound = directions.count * alpha * event.ratio**2 / (2 * np.where(room > 0, room, 1.0))
    return np.where(room > 0, bound, np.inf)


def prop3_rdp(event: SliceEvent, alpha: FloatArray) -> FloatArray:
    """The bound on RDP(α) of Proposition 3."""
    if not event.directions.orthonormal_slices:
        raise ParameterError(
            "accountant prop3 holds for slices with orthonormal columns only, got "
            f"{event.directions.kind.value} directions with slice_dim={event.directions.slice_dim}"
        )
    return alpha * event.directions.num_slices * event.ratio**2 / 2


def paper_conversion(rdp: FloatArray, alpha: FloatArray, delta: float) -> FloatArray:
    """ε = RDP + ln(1/δ)/(α−1)."""
    return rdp - math.log(delta) / (alpha - 1)


def noise_by_accountant(
    *,
    epsilon: float,
    delta: float,
    directions: Directions,
    neighbours: Neighbours,
    subsample: float | None,
    nonnegative: bool = False,
) -> dict[str, float | None]:
    """σ that each accountant asks for; None where it does not cover the directions."""
    from microtome.accounting.calibration import calibrate_noise

    build = _builder(directions, neighbours, subsample, nonnegative)
    return _by_accountant(
        directions,
        lambda accountant: calibrate_noise(build, epsilon=epsilon, delta=delta, accountant=accountant),
    )


def epsilon_by_accountant(
    *,
    sigma: float,
    delta: float,
    directions: Directions,
    neighbours: Neighbours,
    subsample: float | None,
    nonnegative: bool = False,
) -> dict[str, float | None]:
    """ε that each accountant states for noise of scale ``sigma``; None where it does not apply."""
    from microtome.accounting.accountant import epsilon

    require_positive("sigma", sigma)
    events = _builder(directions, neighbours, subsample, nonnegative)(sigma)
    return _by_accountant(directions, lambda accountant: epsilon(events, delta, accountant))


def _builder(
    directions: Directions, neighbours: Neighbours, subsample: float | None, nonnegative: bool
) -> Callable[[float], Sequence[Event]]:
    distance = neighbours.row_distance(nonnegative=nonnegative)

    def build(sigma: float) -> Sequence[Event]:
        event = SliceEvent(directions=directions, row_distance=distance, noise_scale=sigma)
        if subsample is None:
            return [event]
        symmetric = neighbours.symmetric
        return [SubsampledEvent(rate=subsample, event=event, symmetric=symmetric)]

    return build


def _by_accountant(directions: Directions, figure: Callable[[Accountant], float]) -> dict[str, float | None]:
    """The figures of all accountants; fixed directions are shown with Proposition 3, others without."""
    from microtome.accounting.accountant import Accountant

    shown = [known for known in Accountant if known.needs in (None, directions.kind) or known.needs.is_drawn]
    return {known.value: figure(known) if known.needs in (None, directions.kind) else None for known in shown}
