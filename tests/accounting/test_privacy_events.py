"""Events: round trips through JSON, and refusal of whatever is not understood in full."""

import json
import math

import pytest

from microtome.accounting import (
    Event,
    FailureEvent,
    GaussianEvent,
    Neighbours,
    SliceEvent,
    SubsampledEvent,
    event_from_dict,
)
from microtome.errors import ParameterError


@pytest.fixture
def examples(slices) -> list[Event]:
    inner = slices("orthogonal", 12, 30, 0.1 + 0.2, distance=math.sqrt(2), slice_dim=3)
    return [
        GaussianEvent(mu=1 / 3),
        inner,
        SubsampledEvent(rate=0.25, event=inner, symmetric=True),
        FailureEvent(probability=1e-9, reason="overflow of the padding"),
    ]


def test_round_trip(examples: list[Event]) -> None:
    for event in examples:
        assert event_from_dict(json.loads(json.dumps(event.to_dict()))) == event


def test_unknown_kinds_are_refused() -> None:
    for record in ({"kind": "laplace", "scale": 1.0}, {}, {"mu": 1.0}):
        with pytest.raises(ParameterError, match="unknown kind"):
            event_from_dict(record)


def test_missing_extra_and_ill_typed_fields_are_refused(examples: list[Event]) -> None:
    for event in examples:
        record = event.to_dict()
        with pytest.raises(ParameterError, match="surprise"):
            event_from_dict({**record, "surprise": 1})
        for name in set(record) - {"kind"}:
            with pytest.raises(ParameterError):
                event_from_dict({key: value for key, value in record.items() if key != name})
            with pytest.raises(ParameterError):
                event_from_dict({**record, name: [None]})


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_bad_values_are_named(slices, value: float) -> None:
    with pytest.raises(ParameterError, match="mu"):
        GaussianEvent(mu=value)
    with pytest.raises(ParameterError, match="noise_scale"):
        slices("gaussian", 2, 2, value)
    with pytest.raises(ParameterError, match="row_distance"):
        slices("gaussian", 2, 2, 1.0, distance=value)
    with pytest.raises(ParameterError, match="probability"):
        FailureEvent(probability=value, reason="")


def test_ratio_and_constant_mu(slices) -> None:
    event: SliceEvent = slices("orthogonal", 4, 8, 0.5, distance=2.0)
    assert event.ratio == 4.0
    assert event.constant_mu == pytest.approx(4 * math.sqrt(2))
    assert slices("orthogonal", 4, 9, 0.5).constant_mu is None


def test_neighbours() -> None:
    assert [relation.row_distance(nonnegative=False) for relation in Neighbours] == [1.0, 1.0, 2.0]
    assert [relation.row_distance(nonnegative=True) for relation in Neighbours] == [1.0, 1.0, math.sqrt(2)]
    assert [relation.protects_count for relation in Neighbours] == [False, True, False]
    assert len({relation.describes for relation in Neighbours}) == 3
