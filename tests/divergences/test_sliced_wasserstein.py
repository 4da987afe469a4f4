import math

import pytest
import torch
from scipy import stats

from microtome.divergences import Divergence, SlicedWasserstein, random_frames
from microtome.errors import ParameterError

DOUBLE = torch.float64
LINE = torch.ones(1, 1, 1, dtype=DOUBLE)


def test_equal_sizes_match_the_sorted_samples(seeded):
    released = torch.randn(64, 1, 1, generator=seeded(0), dtype=DOUBLE)
    rows = torch.randn(64, 1, generator=seeded(1), dtype=DOUBLE) * 2
    divergence = SlicedWasserstein(released, LINE, noise_scale=0.0, num_levels=64, dtype=DOUBLE)
    expected = (rows[:, 0].sort().values - released[:, 0, 0].sort().values).square().mean()
    assert float(divergence(rows)) == pytest.approx(float(expected), rel=1e-12)


def test_unequal_sizes_match_the_exact_coupling(seeded):
    # 20 points against 50: both quantile functions are constant on the common refinement into 100 levels.
    released = torch.randn(50, 1, 1, generator=seeded(0), dtype=DOUBLE)
    rows = torch.randn(20, 1, generator=seeded(1), dtype=DOUBLE) + 1
    refined = [values.sort().values.repeat_interleave(100 // len(values)) for values in (rows[:, 0], released[:, 0, 0])]
    divergence = SlicedWasserstein(released, LINE, noise_scale=0.0, num_levels=100, dtype=DOUBLE)
    expected = (refined[0] - refined[1]).square().mean()
    assert float(divergence(rows)) == pytest.approx(float(expected), rel=1e-10)


def test_the_square_root_is_at_least_scipys_first_wasserstein_distance_and_equal_for_a_shift(seeded):
    released = torch.randn(500, 1, 1, generator=seeded(0), dtype=DOUBLE)
    divergence = SlicedWasserstein(released, LINE, noise_scale=0.0, num_levels=500, dtype=DOUBLE)
    shifted, stretched = released[:, 0] + 0.7, released[:, 0] * 1.5
    for rows, tight in ((shifted, True), (stretched, False)):
        first = stats.wasserstein_distance(rows[:, 0].numpy(), released[:, 0, 0].numpy())
        second = math.sqrt(float(divergence(rows)))
        assert second >= first - 1e-9
        assert math.isclose(second, first, rel_tol=1e-9) is tight


def test_gaussians_in_closed_form_with_noise_on_both_sides(seeded):
    # W₂² of N(a, s²) and N(0, 1) is a² + (s − 1)².
    draw = seeded(5)
    noise, scale, shift = 0.6, 1.3, 0.5
    released = torch.randn(40_000, 1, 1, generator=draw, dtype=DOUBLE)
    rows = math.sqrt(scale**2 - noise**2) * torch.randn(16_384, 1, generator=draw, dtype=DOUBLE) + shift
    expected = shift**2 + (scale - 1) ** 2
    for claimed, fits in ((noise, True), (0.7 * noise, False), (1.4 * noise, False)):
        value = float(SlicedWasserstein(released, LINE, noise_scale=claimed, dtype=DOUBLE)(rows, generator=draw))
        assert math.isclose(value, expected, rel_tol=0.06) is fits


def test_equal_distributions_go_to_zero_with_the_batch(seeded):
    draw = seeded(2)
    released = torch.randn(20_000, 1, 1, generator=draw, dtype=DOUBLE)
    divergence = SlicedWasserstein(released, LINE, noise_scale=0.0, dtype=DOUBLE)
    small, large = (float(divergence(torch.randn(b, 1, generator=draw, dtype=DOUBLE))) for b in (64, 8192))
    assert 0.0 <= large < 0.005
    assert large < small


def test_gradient_agrees_with_finite_differences(seeded):
    draw = seeded(3)
    directions = random_frames(5, 4, 1, generator=draw, dtype=DOUBLE)
    released = torch.randn(40, 5, 1, generator=draw, dtype=DOUBLE)
    divergence = SlicedWasserstein(iter(released.split(7)), directions, noise_scale=0.2, dtype=DOUBLE)
    rows = torch.randn(9, 4, generator=draw, dtype=DOUBLE, requires_grad=True)
    assert isinstance(divergence, Divergence)
    assert torch.autograd.gradcheck(lambda x: divergence(x, generator=seeded(1), num_slices=3), rows)


def test_bad_parameters_are_named(seeded):
    released = torch.randn(40, 2, 1, generator=seeded(0))
    directions = random_frames(2, 3, 1, generator=seeded(0))
    with pytest.raises(ParameterError, match="num_levels=0"):
        SlicedWasserstein(released, directions, noise_scale=0.1, num_levels=0)
    with pytest.raises(ParameterError, match=r"\(40, 1, 2\)"):
        SlicedWasserstein(released.reshape(40, 1, 2), directions, noise_scale=0.1)
    with pytest.raises(ParameterError, match="directions"):
        SlicedWasserstein(released, directions[:1], noise_scale=0.1)
    with pytest.raises(ParameterError, match="generator"):
        SlicedWasserstein(released, directions, noise_scale=0.1)(torch.zeros(4, 3))
