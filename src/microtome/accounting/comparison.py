"""The accountants side by side: the noise each asks for, and the ε each states for given noise.

For tables that people read before they decide. With a sampling rate the figures are for the sliced part
alone, without the profile and without the probability that the padding overflows.
"""

from collections.abc import Callable, Sequence

from microtome.accounting.accountant import Accountant
from microtome.accounting.accountant import epsilon as epsilon_of
from microtome.accounting.calibration import calibrate_noise
from microtome.accounting.directions import DirectionKind, Directions
from microtome.accounting.events import Event, SliceEvent, SubsampledEvent
from microtome.accounting.neighbours import Neighbours
from microtome.accounting.ranges import require_positive


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
    require_positive("sigma", sigma)
    events = _builder(directions, neighbours, subsample, nonnegative)(sigma)
    return _by_accountant(directions, lambda accountant: epsilon_of(events, delta, accountant))


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
    gaussian = directions.kind is DirectionKind.GAUSSIAN
    result: dict[str, float | None] = {
        Accountant.EXACT.value: figure(Accountant.EXACT),
        Accountant.RENYI.value: figure(Accountant.RENYI),
        Accountant.THEOREM1.value: figure(Accountant.THEOREM1) if gaussian else None,
    }
    if directions.kind is DirectionKind.FIXED:
        result[Accountant.PROP2.value] = figure(Accountant.PROP2)
    return result
