"""The claimed curve: the same events with more noise claim less, whatever their kind."""

import pytest

from microtome.accounting import (
    DirectionKind,
    Directions,
    Event,
    FailureEvent,
    GaussianEvent,
    RepeatedEvent,
    SliceEvent,
    SubsampledEvent,
)
from microtome.auditing.claim import Claim

DELTA, LARGER = 1e-5, 0.01
LAW = Directions(kind=DirectionKind.ORTHOGONAL, dim=4, num_slices=4, slice_dim=1)
SLICES = SliceEvent(directions=LAW, row_distance=1.0, noise_scale=1.0)
GAUSSIAN = GaussianEvent(mu=1.0)
EVENTS = (GAUSSIAN, SLICES, SubsampledEvent(rate=0.5, event=SLICES, symmetric=False))


@pytest.mark.parametrize("event", [*EVENTS, *(RepeatedEvent(count=2, event=event) for event in EVENTS)])
def test_a_bound_half_as_large_translates_to_less_than_the_claim(event: Event) -> None:
    """It could not, if the noise of some event stayed as it is."""
    claim = Claim(epsilon=5.0, delta=DELTA, events=(event, FailureEvent(probability=1e-9, reason="rounding")))
    claimed = claim.at(LARGER)
    found = claim.equivalent(LARGER, claimed / 2)
    assert found is not None
    assert found < 0.8 * claim.at(DELTA)
    whole = claim.equivalent(LARGER, claimed)
    assert whole == pytest.approx(claim.at(DELTA), rel=1e-3)
