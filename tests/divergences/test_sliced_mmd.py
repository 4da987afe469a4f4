import math

import pytest
import torch

from microtome.divergences import MMDSettings, SlicedMMD, random_frames
from microtome.errors import ParameterError

DOUBLE = torch.float64


@pytest.fixture
def small(seeded):
    draw = seeded(7)
    directions = random_frames(3, 5, 2, generator=draw, dtype=DOUBLE)
    slices = torch.randn(40, 3, 2, generator=draw, dtype=DOUBLE)
    return slices, directions, torch.randn(12, 5, generator=draw, dtype=DOUBLE) + 0.4


def build(seeded, slices, directions, *, noise=0.0, landmarks=40, **settings) -> SlicedMMD:
    return SlicedMMD.from_slices(
        slices,
        directions,
        noise_scale=noise,
        num_landmarks=landmarks,
        generator=seeded(0),
        settings=MMDSettings(**settings),
        dtype=DOUBLE,
    )


def brute_force(slices, directions, rows, multipliers, *, unbiased: bool) -> float:
    """The double sums, pair by pair."""
    total = 0.0
    for s in range(slices.shape[1]):
        real, fake = slices[:, s], rows @ directions[s]
        median = float(torch.pdist(real).median())
        for multiplier in multipliers:

            def kernel(x, y, width=multiplier * median):
                return math.exp(-float((x - y).square().sum()) / (2 * width**2))

            n, b = len(real), len(fake)
            pairs = [kernel(x, y) for i, x in enumerate(fake) for j, y in enumerate(fake) if not unbiased or i != j]
            own = sum(pairs) / len(pairs)
            cross = sum(kernel(x, y) for x in real for y in fake) / (n * b)
            released = sum(kernel(x, y) for x in real for y in real) / n**2
            total += own - 2 * cross + released
    return total / (slices.shape[1] * len(multipliers))


@pytest.mark.parametrize("unbiased", [False, True])
def test_mmd_is_the_brute_force_double_sum(seeded, small, unbiased):
    slices, directions, rows = small
    multipliers = (0.5, 1.5)
    divergence = build(seeded, slices, directions, unbiased=unbiased, bandwidth_multipliers=multipliers)
    expected = brute_force(slices, directions, rows, multipliers, unbiased=unbiased)
    assert float(divergence(rows)) == pytest.approx(expected, rel=1e-9)


def test_closed_form_smoothing_is_the_mean_over_drawn_noise(seeded, small):
    slices, directions, rows = small
    noise, copies = 0.8, 1500
    closed = float(build(seeded, slices, directions, noise=noise, unbiased=True)(rows))
    plain = build(seeded, slices, directions, unbiased=True)
    draw = seeded(3)
    projected = torch.einsum("bd,mdk->mbk", rows, directions)
    drawn = [
        float(plain.on_slices(projected + noise * torch.randn(projected.shape, generator=draw, dtype=DOUBLE)))
        for _ in range(copies)
    ]
    mean, error = torch.tensor(drawn).mean().item(), torch.tensor(drawn).std().item() / math.sqrt(copies)
    assert abs(closed - mean) < 4 * error
    for wrong in (0.7, 1.4):
        other = float(build(seeded, slices, directions, noise=wrong * noise, unbiased=True)(rows))
        assert abs(other - mean) > 4 * error


def test_landmarks_converge_to_all_rows(seeded):
    draw = seeded(1)
    slices = torch.randn(1500, 2, 2, generator=draw, dtype=DOUBLE)
    directions = torch.eye(2, dtype=DOUBLE).repeat(2, 1, 1)
    rows = 0.8 * torch.randn(300, 2, generator=draw, dtype=DOUBLE) + 0.4
    exact, coarse, fine = (float(build(seeded, slices, directions, landmarks=count)(rows)) for count in (1500, 8, 64))
    assert fine == pytest.approx(exact, rel=0.02)
    assert abs(fine - exact) < abs(coarse - exact)


def test_gaussians_in_closed_form(seeded):
    # For unit-variance laws a apart on the line and width s: 2·s/√(s²+2)·(1 − exp(−a²/(2(s²+2)))).
    draw = seeded(2)
    released = torch.randn(30_000, 1, 1, generator=draw, dtype=DOUBLE)
    rows = math.sqrt(1 - 0.25) * torch.randn(3000, 1, generator=draw, dtype=DOUBLE)
    divergence = build(
        seeded,
        released,
        torch.ones(1, 1, 1, dtype=DOUBLE),
        noise=0.5,
        landmarks=64,
        unbiased=True,
        bandwidth_multipliers=(1.0,),
    )
    width = math.sqrt(2) * 0.67448975  # median |x − y| of two standard normals
    spread = width**2 + 2
    expected = 2 * width / math.sqrt(spread) * (1 - math.exp(-1 / (2 * spread)))
    assert float(divergence(rows + 1)) == pytest.approx(expected, rel=0.06)
    assert abs(float(divergence(rows))) < 0.002


def test_never_negative_and_gradient_agrees_with_finite_differences(seeded, small):
    slices, directions, rows = small
    divergence = build(seeded, slices, directions, noise=0.3, landmarks=10)
    assert torch.autograd.gradcheck(divergence, rows[:5].clone().requires_grad_())
    for scale in (0.0, 0.5, 1.0, 3.0):
        assert float(divergence(scale * rows)) >= 0.0


def test_bad_parameters_are_named(seeded, small):
    slices, directions, rows = small
    with pytest.raises(ParameterError, match="bandwidth_multipliers"):
        MMDSettings(bandwidth_multipliers=(0.0,))
    with pytest.raises(ParameterError, match="noise_scale"):
        build(seeded, slices, directions, noise=-0.1)
    with pytest.raises(ParameterError, match="at least 2 rows"):
        build(seeded, slices, directions, unbiased=True)(rows[:1])
