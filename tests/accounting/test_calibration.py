"""σ of a promise: never too small, hardly too large, and a clear refusal where there is none."""

import math

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
    delta,
    epsilon,
    gaussian_mu,
)
from microtome.errors import CalibrationError, ParameterError


@settings(max_examples=60, deadline=None)
@given(
    wanted=st.floats(0.01, 50),
    log_delta=st.floats(-12, -1),
    dim=st.integers(1, 5000),
    count=st.integers(1, 8000),
    kind=st.sampled_from(list(DirectionKind)),
)
def test_promise_is_kept_and_not_by_much(wanted, log_delta, dim, count, kind) -> None:
    directions = Directions(kind=kind, dim=dim, num_slices=count, slice_dim=1)
    promised = 10**log_delta

    def build(sigma: float) -> list[SliceEvent]:
        return [SliceEvent(directions=directions, row_distance=1.0, noise_scale=sigma)]

    sigma = calibrate_noise(build, epsilon=wanted, delta=promised)
    assert delta(build(sigma), wanted) <= promised
    assert delta(build(sigma * (1 - 1e-4)), wanted) > promised
    assert epsilon(build(sigma), promised) == pytest.approx(wanted, rel=1e-3)


@pytest.mark.parametrize("accountant", list(Accountant))
@pytest.mark.parametrize("wanted", [0.01, 0.5, 5.1, 50.0])
@pytest.mark.parametrize("promised", [1e-12, 1e-5, 0.1])
def test_inverse_pairs(slices, accountant: Accountant, wanted: float, promised: float) -> None:
    kind = "fixed" if accountant is Accountant.PROP3 else "gaussian"

    def build(sigma: float) -> list[SliceEvent]:
        return [slices(kind, 40, 60, sigma)]

    sigma = calibrate_noise(build, epsilon=wanted, delta=promised, accountant=accountant)
    assert epsilon(build(sigma), promised, accountant) <= wanted
    assert epsilon(build(sigma * (1 - 1e-4)), promised, accountant) > wanted


@pytest.mark.parametrize("accountant", ["exact", "renyi", "theorem1"])
@pytest.mark.parametrize("symmetric", [False, True])
def test_subsampled_with_profile_and_failure(slices, accountant: str, symmetric: bool) -> None:
    def build(sigma: float) -> list:
        sampled = SubsampledEvent(rate=0.25, event=slices("gaussian", 20, 30, sigma), symmetric=symmetric)
        return [sampled, GaussianEvent(mu=0.3), FailureEvent(probability=1e-8, reason="overflow")]

    name = Accountant(accountant)
    sigma = calibrate_noise(build, epsilon=3.0, delta=1e-6, accountant=name)
    assert epsilon(build(sigma), 1e-6, name) <= 3.0 * (1 + 1e-9)
    assert epsilon(build(sigma * 0.999), 1e-6, name) > 3.0


def test_full_orthogonal_has_the_closed_form(slices) -> None:
    sigma = calibrate_noise(lambda s: [slices("orthogonal", 10, 20, s)], epsilon=2.0, delta=1e-6)
    exact = math.sqrt(2) / gaussian_mu(2.0, 1e-6)
    assert exact * (1 - 1e-8) <= sigma <= exact * (1 + 3e-6)


def test_orthogonal_needs_less_noise_than_gaussian(slices) -> None:
    one, other = (
        calibrate_noise(lambda s, kind=kind: [slices(kind, 20, 20, s)], epsilon=1.0, delta=1e-6)
        for kind in ("orthogonal", "gaussian")
    )
    assert one < other


@pytest.mark.parametrize("accountant", ["exact", "renyi", "theorem1"])
def test_impossible_promises(slices, accountant: str) -> None:
    name = Accountant(accountant)
    for rest in (GaussianEvent(mu=1.0), FailureEvent(probability=1e-5, reason="threshold")):
        with pytest.raises(CalibrationError, match="epsilon=1 at delta=1e-05"):
            calibrate_noise(
                lambda s, rest=rest: [slices("gaussian", 9, 9, s), rest], epsilon=1.0, delta=1e-5, accountant=name
            )


def test_a_promise_that_needs_no_noise_is_refused(slices) -> None:
    with pytest.raises(CalibrationError, match="protects nobody"):
        calibrate_noise(
            lambda s: [SubsampledEvent(rate=1e-6, event=slices("gaussian", 9, 9, s), symmetric=False)],
            epsilon=1.0,
            delta=1e-3,
        )


@pytest.mark.parametrize(
    ("wanted", "promised", "name"),
    [
        (0.0, 0.1, "epsilon"),
        (-1.0, 0.1, "epsilon"),
        (math.inf, 0.1, "epsilon"),
        (1.0, 0.0, "delta"),
        (1.0, 1.0, "delta"),
    ],
)
def test_bad_promises_are_named(slices, wanted: float, promised: float, name: str) -> None:
    with pytest.raises(ParameterError, match=name):
        calibrate_noise(lambda s: [slices("gaussian", 9, 9, s)], epsilon=wanted, delta=promised)
