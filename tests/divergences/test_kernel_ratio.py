"""The kernel estimators: fast against reference, both against what Gaussians are known to give."""

import math

import pytest
import torch

from microtome.divergences import (
    Divergence,
    FDivergence,
    KernelFDivergence,
    KernelSettings,
    MiniBatchKernelFDivergence,
    ReferenceKernelFDivergence,
    random_frames,
)
from microtome.errors import ParameterError

SAME_FORMULA = 1e-8  # fast and reference with a landmark per row, relative
LANDMARK_TOLERANCE = {1: 0.02, 2: 0.05}  # 64 landmarks for k = 1, 128 for k = 2, relative to all rows
GAUSSIAN_TOLERANCE = 0.08  # relative, at n = 60,000 and b = 40,000
TAIL_TOLERANCE = 0.2  # the same where the ratio goes to 0 in the tails and clipping shows
EQUAL_TOLERANCE = 0.005  # absolute, at the same sizes, P = Q

DOUBLE = torch.float64


@pytest.fixture
def small(seeded):
    """Slices of 60 rows in 6 dimensions along 4 frames, and 40 rows to compare with them."""
    draw = seeded(7)
    directions = random_frames(4, 6, 2, generator=draw, dtype=DOUBLE)
    rows = torch.randn(60, 6, generator=draw, dtype=DOUBLE)
    slices = torch.einsum("nd,mdk->nmk", rows, directions)
    return slices, directions, 0.8 * torch.randn(40, 6, generator=draw, dtype=DOUBLE) + 0.3


@pytest.mark.parametrize("f", list(FDivergence))
@pytest.mark.parametrize("ridge", [1e-6, 1e-3])
def test_fast_is_the_printed_formula_when_every_row_is_a_landmark(seeded, small, f, ridge):
    slices, directions, rows = small
    settings = KernelSettings(f=f, ridge=ridge, bandwidth_multipliers=(0.3, 1.0, 2.5))
    slow = ReferenceKernelFDivergence(slices, directions, noise_scale=0.0, settings=settings)
    fast = KernelFDivergence.from_slices(
        slices,
        directions,
        noise_scale=0.0,
        settings=settings,
        num_landmarks=60,
        generator=seeded(0),
        dtype=DOUBLE,
    )
    losses, gradients = [], []
    for divergence in (slow, fast):
        x = rows.clone().requires_grad_()
        loss = divergence(x)
        loss.backward()
        losses.append(float(loss.detach()))
        gradients.append(x.grad)
    assert losses[1] == pytest.approx(losses[0], rel=SAME_FORMULA)
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-6, atol=1e-7)


def test_reference_is_equation_five_written_out_for_two_points():
    slices = torch.tensor([[[0.0]], [[2.0]]], dtype=DOUBLE)
    directions = torch.ones(1, 1, 1, dtype=DOUBLE)
    settings = KernelSettings(f=FDivergence.CHI_SQUARED, ridge=0.05, bandwidth_multipliers=(1.0,))
    loss = ReferenceKernelFDivergence(slices, directions, noise_scale=0.0, settings=settings)(
        torch.tensor([[0.5]], dtype=DOUBLE)
    )
    e = math.exp(-0.5)
    tau, k0, k2 = 0.05 * 2, math.exp(-(0.5**2) / 8), math.exp(-(1.5**2) / 8)
    determinant = (1 + tau) ** 2 - e**2
    r0 = 2 * ((1 + tau) * k0 - e * k2) / determinant
    r2 = 2 * ((1 + tau) * k2 - e * k0) / determinant
    expected = 0.5 * ((max(r0, 0) - 1) ** 2 + (max(r2, 0) - 1) ** 2)
    assert float(loss) == pytest.approx(expected, rel=1e-12)


def test_closed_form_smoothing_is_the_mean_over_drawn_noise(seeded, small):
    slices, directions, rows = small
    settings = KernelSettings(f=FDivergence.CHI_SQUARED, ridge=1e-2)
    fast = KernelFDivergence.from_slices(
        slices,
        directions,
        noise_scale=0.7,
        settings=settings,
        num_landmarks=60,
        generator=seeded(0),
        dtype=DOUBLE,
    )
    slow = ReferenceKernelFDivergence(slices, directions, noise_scale=0.7, settings=settings)
    errors = [
        abs(float(slow(rows.repeat(copies, 1), generator=seeded(5))) / float(fast(rows)) - 1) for copies in (1, 400)
    ]
    assert errors[1] < 0.02
    assert errors[0] > errors[1]
    wrong = KernelFDivergence.from_slices(
        slices,
        directions,
        noise_scale=0.5,
        settings=settings,
        num_landmarks=60,
        generator=seeded(0),
        dtype=DOUBLE,
    )
    assert abs(float(wrong(rows)) / float(fast(rows)) - 1) > 0.05


@pytest.mark.parametrize("slice_dim", [1, 2])
def test_fast_converges_to_the_reference_as_landmarks_grow(seeded, slice_dim):
    draw = seeded(11)
    released = torch.randn(800, 3, slice_dim, generator=draw, dtype=DOUBLE)
    rows = 0.8 * torch.randn(800, slice_dim, generator=draw, dtype=DOUBLE) + 0.5
    directions = torch.eye(slice_dim, dtype=DOUBLE).repeat(3, 1, 1)
    settings = KernelSettings()
    oracle = float(ReferenceKernelFDivergence(released, directions, noise_scale=0.0, settings=settings)(rows))
    errors = {}
    for count in (8, 32, 64, 128, 800):
        fast = KernelFDivergence.from_slices(
            released, directions, noise_scale=0.0, num_landmarks=count, generator=seeded(1), dtype=DOUBLE
        )
        errors[count] = abs(float(fast(rows)) / oracle - 1)
    assert errors[{1: 64, 2: 128}[slice_dim]] < LANDMARK_TOLERANCE[slice_dim]
    assert errors[800] < SAME_FORMULA
    assert errors[128] < 0.5 * errors[8]


def quadrature(f, shift: float, scale: float, slice_dim: int) -> float:
    """D_f(N(shift·e₁, scale² I) ‖ N(0, I)) on a grid."""
    axis = torch.linspace(-8, 8, 4001 if slice_dim == 1 else 401, dtype=DOUBLE)
    points = torch.cartesian_prod(*[axis] * slice_dim).reshape(-1, slice_dim)
    centre = torch.zeros(slice_dim, dtype=DOUBLE)
    centre[0] = shift
    log_q = -points.square().sum(1) / 2 - slice_dim / 2 * math.log(2 * math.pi)
    log_p = -(points - centre).square().sum(1) / (2 * scale**2) - slice_dim * math.log(scale)
    log_p = log_p - slice_dim / 2 * math.log(2 * math.pi)
    return float((log_q.exp() * f((log_p - log_q).exp())).sum() * (axis[1] - axis[0]) ** slice_dim)


def gaussian_estimate(seeded, f, shift, scale, slice_dim, *, n=60_000, b=40_000, m=3, noise=0.5) -> float:
    """The fast estimate from n released and b synthetic rows whose smoothed laws are the two Gaussians."""
    draw = seeded(2)
    released = torch.randn(n, m, slice_dim, generator=draw, dtype=DOUBLE)
    rows = math.sqrt(scale**2 - noise**2) * torch.randn(b, slice_dim, generator=draw, dtype=DOUBLE)
    rows[:, 0] += shift
    divergence = KernelFDivergence.from_slices(
        released,
        torch.eye(slice_dim, dtype=DOUBLE).repeat(m, 1, 1),
        noise_scale=noise,
        settings=KernelSettings(f=f, ridge=1e-4),
        num_landmarks=128,
        generator=draw,
        dtype=DOUBLE,
    )
    return float(divergence(rows))


@pytest.mark.parametrize("slice_dim", [1, 2])
@pytest.mark.parametrize("f", list(FDivergence))
def test_f_divergence_of_shifted_gaussians(seeded, f, slice_dim):
    expected = quadrature(f, 0.5, 1.0, slice_dim)
    assert gaussian_estimate(seeded, f, 0.5, 1.0, slice_dim) == pytest.approx(expected, rel=GAUSSIAN_TOLERANCE)


@pytest.mark.parametrize("slice_dim", [1, 2])
@pytest.mark.parametrize("f", [f for f in FDivergence if f is not FDivergence.REVERSE_KL])
def test_f_divergence_of_a_narrower_gaussian(seeded, f, slice_dim):
    # Reverse KL is left out: it is dominated by tails where the clipped ratio sits on the floor.
    expected = quadrature(f, 0.0, 0.8, slice_dim)
    assert gaussian_estimate(seeded, f, 0.0, 0.8, slice_dim) == pytest.approx(expected, rel=TAIL_TOLERANCE)


@pytest.mark.parametrize("slice_dim", [1, 2])
@pytest.mark.parametrize("f", list(FDivergence))
def test_equal_distributions_are_near_zero_and_nothing_is_negative(seeded, f, slice_dim):
    value = gaussian_estimate(seeded, f, 0.0, 1.0, slice_dim)
    # Total variation is of first order in the ratio's error, the others of second.
    tolerance = 0.02 if f is FDivergence.TOTAL_VARIATION else EQUAL_TOLERANCE
    assert 0.0 <= value < tolerance


def test_estimate_is_consistent_as_rows_and_batch_grow(seeded):
    expected = quadrature(FDivergence.KL, 0.5, 1.0, 1)
    errors = [
        abs(gaussian_estimate(seeded, FDivergence.KL, 0.5, 1.0, 1, n=n, b=n, m=8) - expected) for n in (100, 10_000)
    ]
    assert errors[1] < 0.005
    assert errors[1] < errors[0] / 4


def test_a_slice_average_approaches_the_sliced_divergence_as_slices_grow(seeded):
    # P, Q on the plane differ by a shift a along one axis; a random direction sees a·cos φ, so the sliced
    # KL of unit-variance laws is E[(a cos φ)²]/2 = a²/4.
    a, n = 0.8, 6000
    draw = seeded(4)
    real = torch.randn(n, 2, generator=draw, dtype=DOUBLE) * math.sqrt(0.75)
    fake = torch.randn(n, 2, generator=draw, dtype=DOUBLE) * math.sqrt(0.75)
    fake[:, 0] += a
    errors = []
    for m in (2, 100):
        directions = random_frames(m, 2, 1, generator=seeded(9), dtype=DOUBLE)
        noise = 0.5 * torch.randn(n, m, 1, generator=draw, dtype=DOUBLE)
        released = torch.einsum("nd,mdk->nmk", real, directions) + noise
        divergence = KernelFDivergence.from_slices(released, directions, noise_scale=0.5, generator=draw, dtype=DOUBLE)
        errors.append(abs(float(divergence(fake)) / (a**2 / 4) - 1))
    assert errors[1] < 0.15
    assert errors[1] < errors[0]


@pytest.mark.parametrize("f", list(FDivergence))
def test_gradient_agrees_with_finite_differences(seeded, small, f):
    slices, directions, rows = small
    divergence = KernelFDivergence.from_slices(
        slices,
        directions,
        noise_scale=0.3,
        settings=KernelSettings(f=f, ridge=1e-2),
        num_landmarks=20,
        generator=seeded(0),
        dtype=DOUBLE,
    )
    assert torch.autograd.gradcheck(divergence, rows[:6].clone().requires_grad_())


def test_gradient_descent_moves_a_shifted_cloud_home(seeded):
    draw = seeded(3)
    released = torch.randn(5000, 1, 2, generator=draw)
    divergence = KernelFDivergence.from_slices(
        released, torch.eye(2)[None], noise_scale=0.5, num_landmarks=64, generator=draw
    )
    cloud = math.sqrt(0.75) * torch.randn(256, 2, generator=draw)
    shift = torch.tensor([1.0, -0.7], requires_grad=True)
    optimizer = torch.optim.Adam([shift], lr=0.05)
    for _ in range(80):
        optimizer.zero_grad()
        divergence(cloud - cloud.mean(0) + shift).backward()
        optimizer.step()
    assert float(shift.detach().norm()) < 0.1


def test_single_precision_agrees_with_double(seeded, small):
    slices, directions, rows = small
    values = [
        float(
            KernelFDivergence.from_slices(
                slices, directions, noise_scale=0.3, num_landmarks=30, generator=seeded(0), dtype=dtype
            )(rows.to(dtype))
        )
        for dtype in (torch.float32, DOUBLE)
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-3)


def test_drawing_slices_is_deterministic_given_the_generator_and_right_on_average(seeded, small):
    slices, directions, rows = small
    divergence = KernelFDivergence.from_slices(
        slices, directions, noise_scale=0.3, num_landmarks=30, generator=seeded(0), dtype=DOUBLE
    )
    first, again, other = (float(divergence(rows, generator=seeded(seed), num_slices=1)) for seed in (1, 1, 3))
    assert first == again
    draws = seeded(8)
    values = {round(float(divergence(rows, generator=draws, num_slices=1)), 12) for _ in range(60)}
    assert len(values) == 4
    assert sum(values) / 4 == pytest.approx(float(divergence(rows)), rel=1e-9)
    assert round(other, 12) in values


def test_in_slice_space_is_the_same_number(seeded, small):
    slices, directions, rows = small
    divergence = KernelFDivergence.from_slices(
        slices, directions, noise_scale=0.3, num_landmarks=30, generator=seeded(0), dtype=DOUBLE
    )
    chosen = torch.tensor([2, 0])
    projected = torch.einsum("bd,mdk->mbk", rows, directions)
    assert float(divergence.on_slices(projected)) == pytest.approx(float(divergence(rows)), rel=1e-12)
    two = divergence.on_slices(projected[chosen], chosen)
    one_by_one = [divergence.on_slices(projected[[i]], torch.tensor([i])) for i in (0, 2)]
    assert float(two) == pytest.approx(float(sum(one_by_one)) / 2, rel=1e-12)


@pytest.mark.parametrize("f", list(FDivergence))
@pytest.mark.parametrize(
    ("noise_scale", "batch_rows", "num_slices"), [(0.0, None, None), (0.3, 20, None), (0.3, 20, 3)]
)
def test_mini_batches_of_all_slices_are_the_reference(seeded, small, f, noise_scale, batch_rows, num_slices):
    slices, directions, rows = small
    settings = KernelSettings(f=f, bandwidth_multipliers=(0.3, 1.0, 2.5))
    losses, gradients = [], []
    for kind in (ReferenceKernelFDivergence, MiniBatchKernelFDivergence):
        divergence = kind(slices, directions, noise_scale=noise_scale, settings=settings, batch_rows=batch_rows)
        x = rows.clone().requires_grad_()
        loss = divergence(x, generator=seeded(3), num_slices=num_slices)
        loss.backward()
        losses.append(float(loss.detach()))
        gradients.append(x.grad)
    assert losses[1] == pytest.approx(losses[0], rel=SAME_FORMULA)
    torch.testing.assert_close(gradients[1], gradients[0], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", [ReferenceKernelFDivergence, MiniBatchKernelFDivergence])
def test_batches_of_released_rows_are_drawn(seeded, small, kind):
    slices, directions, rows = small
    divergence = kind(slices, directions, noise_scale=0.3, settings=KernelSettings(), batch_rows=20)
    assert isinstance(divergence, Divergence)
    assert float(divergence(rows, generator=seeded(1))) == float(divergence(rows, generator=seeded(1)))
    with pytest.raises(ParameterError, match="generator"):
        divergence(rows)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"noise_scale": -1.0}, "noise_scale=-1.0"),
        ({"noise_scale": math.nan}, "noise_scale=nan"),
        ({"num_landmarks": 0}, "num_landmarks=0"),
    ],
)
def test_bad_parameters_are_named(seeded, small, change, message):
    slices, directions, _ = small
    arguments = {"noise_scale": 0.1, "num_landmarks": 10} | change
    with pytest.raises(ParameterError, match=message):
        KernelFDivergence.from_slices(slices, directions, generator=seeded(0), **arguments)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ridge": 0.0}, "ridge=0.0"),
        ({"bandwidth_multipliers": ()}, "bandwidth_multipliers"),
        ({"bandwidth_multipliers": (1.0, -2.0)}, "-2.0"),
    ],
)
def test_bad_settings_are_named(change, message):
    with pytest.raises(ParameterError, match=message):
        KernelSettings(**change)


def test_bad_calls_are_refused(seeded, small):
    slices, directions, rows = small
    divergence = KernelFDivergence.from_slices(slices, directions, noise_scale=0.3, generator=seeded(0))
    with pytest.raises(ParameterError, match=r"\(rows, 6\)"):
        divergence(rows[:, :5].float())
    with pytest.raises(ParameterError, match="no rows"):
        divergence(rows[:0].float())
    with pytest.raises(ParameterError, match="num_slices=9"):
        divergence(rows.float(), num_slices=9, generator=seeded(0))
    with pytest.raises(ParameterError, match="generator"):
        divergence(rows.float(), num_slices=2)
    with pytest.raises(ParameterError, match="directions"):
        KernelFDivergence.from_slices(slices, directions[:2], noise_scale=0.3, generator=seeded(0))
