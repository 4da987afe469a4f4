"""Shares that noise hides: what is expected of them, and how often they are where the ends say."""

from __future__ import annotations

import numpy as np
import pytest

from microtome.evaluation.hidden_share import HiddenShare

_NOISE = 0.02
_TRIALS = 250


def test_a_share_without_noise_is_itself() -> None:
    assert HiddenShare.under_noise(0.3, 0.0) == HiddenShare.of(0.3)
    assert HiddenShare.under_noise(-0.1, 0.0) == HiddenShare.of(0.0)
    assert HiddenShare.under_noise(1.2, 0.0) == HiddenShare.of(1.0)


def test_a_share_that_stands_out_is_its_estimate() -> None:
    found = HiddenShare.under_noise(0.3, _NOISE)
    assert found.value == pytest.approx(0.3)
    assert found.high - found.low == pytest.approx(2 * 1.645 * _NOISE, rel=0.01)


@pytest.mark.parametrize("estimate", [-0.5, -0.02, 0.0, 0.01])
def test_what_noise_hides_is_not_nothing(estimate: float) -> None:
    found = HiddenShare.under_noise(estimate, _NOISE)
    assert 0.0 < found.low < found.value < found.high < 0.1


@pytest.mark.parametrize(("scale", "accepted"), [(0.5, False), (1.0, True), (2.0, False)])
def test_ends_hold_nine_times_in_ten(scale: float, accepted: bool) -> None:
    """Of shares of which any was as likely as another; a wrong noise scale is noticed."""
    rng = np.random.default_rng(0)
    truth = rng.uniform(0.0, 0.1, _TRIALS)
    found = [HiddenShare.under_noise(share, scale * _NOISE) for share in truth + _NOISE * rng.standard_normal(_TRIALS)]
    inside = np.mean([share.low <= true <= share.high for share, true in zip(found, truth, strict=True)])
    assert bool(abs(inside - 0.9) < 0.04) is accepted
