"""Events: round trips through JSON, and refusal of whatever is not understood in full."""

import json
import math

import pytest

from microtome.accounting import (
    Accountant,
    Event,
    FailureEvent,
    GaussianEvent,
    Neighbours,
    RepeatedEvent,
    SliceEvent,
    SubsampledEvent,
    epsilon,
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
        RepeatedEvent(count=3, event=SubsampledEvent(rate=0.25, event=inner, symmetric=False)),
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


def test_an_event_inside_another_has_to_be_of_its_kind(examples: list[Event]) -> None:
    sampled = examples[2].to_dict()
    for inner in ({"kind": "gaussian", "mu": 0.1}, {**sampled["event"], "kind": "gaussian"}, sampled, None):
        with pytest.raises(ParameterError, match="'slices' is needed"):
            event_from_dict({**sampled, "event": inner})


def test_what_no_accountant_knows_is_never_free(examples: list[Event]) -> None:
    for accountant in (Accountant.EXACT, Accountant.RENYI):
        with pytest.raises(ParameterError, match="no accountant knows"):
            epsilon([*examples, "a look at the data"], 1e-6, accountant)  # type: ignore[list-item]


def test_only_what_can_be_repeated_is_repeated() -> None:
    with pytest.raises(ParameterError, match="count"):
        RepeatedEvent(count=0, event=GaussianEvent(mu=1.0))
    for inner in (FailureEvent(probability=0.1, reason=""), RepeatedEvent(count=2, event=GaussianEvent(mu=1.0))):
        with pytest.raises(ParameterError, match="unknown kind of event"):
            event_from_dict({"kind": "repeated", "count": 2, "event": inner.to_dict()})


@pytest.mark.parametrize("accountant", [Accountant.EXACT, Accountant.RENYI])
def test_repeating_is_doing_it_again(examples: list[Event], accountant: Accountant) -> None:
    for event in examples[:3]:
        assert not isinstance(event, FailureEvent | RepeatedEvent)
        one_by_one, at_once = [event] * 5, [RepeatedEvent(count=4, event=event), event]
        assert epsilon(at_once, 1e-6, accountant) == epsilon(one_by_one, 1e-6, accountant) > epsilon([event], 1e-6)
