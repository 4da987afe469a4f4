"""Moment matching and the denoising of its targets."""

import math

import numpy as np
import pytest
import torch

from microtome.divergences import Denoising, Divergence, MomentMatching, MomentSettings, ReleasedMoments
from microtome.divergences.moment_matching import residual_blocks
from microtome.divergences.singular_values import denoise
from microtome.errors import ParameterError

DOUBLE = torch.float64
BLOCKS = [(0, 3), (3, 5), (5, 9)]
RAW = MomentSettings(denoising=Denoising.NONE, simplex=False, centred=False)


@pytest.fixture
def rows(seeded):
    """Rows of three softmax blocks that depend on each other through a shared latent."""
    draw = seeded(4)
    latent = torch.randn(400, 2, generator=draw, dtype=DOUBLE)
    return torch.cat(
        [
            torch.softmax(latent @ (2 * torch.randn(2, stop - start, generator=draw, dtype=DOUBLE)), dim=-1)
            for start, stop in BLOCKS
        ],
        dim=1,
    )


def moments_of(rows, *, noise=0.0, num_rows=1000, **changes) -> ReleasedMoments:
    values = {
        "blocks": BLOCKS,
        "mean": rows.mean(0),
        "second": rows.T @ rows / len(rows),
        "mean_noise": noise,
        "second_noise": noise,
        "num_rows": num_rows,
    }
    return ReleasedMoments(**(values | changes))


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("simplex", [True, False])
@pytest.mark.parametrize("denoising", list(Denoising))
def test_zero_at_the_truth_and_positive_elsewhere(rows, centred, simplex, denoising):
    settings = MomentSettings(centred=centred, simplex=simplex, denoising=denoising)
    divergence = MomentMatching(moments_of(rows), settings=settings, dtype=DOUBLE)
    shuffled = torch.cat([rows[:, :5], rows[:, 5:].roll(17, dims=0)], dim=1)
    assert isinstance(divergence, Divergence)
    assert float(divergence(rows)) == pytest.approx(0.0, abs=1e-12)
    mean_loss, pair_loss = divergence.parts(shuffled)
    assert float(mean_loss) == pytest.approx(0.0, abs=1e-12)
    assert float(pair_loss) > 0.1


def test_loss_is_the_printed_formula_entry_by_entry(rows, seeded):
    released = moments_of(rows, noise=0.02, second=rows.T @ rows / len(rows) + 0.01)
    weights = torch.tensor([[0.0, 2.0, 0.5], [2.0, 0.0, 1.0], [0.5, 1.0, 0.0]], dtype=DOUBLE)
    batch = rows[:50]
    loss = MomentMatching(released, settings=RAW, pair_weights=weights, dtype=DOUBLE)(batch)
    column = [c for c, (start, stop) in enumerate(BLOCKS) for _ in range(start, stop)]
    mean, second, n = released.mean, released.second, released.num_rows
    pairs, means = [], []
    for a in range(9):
        variance = mean[a] / n + 0.02**2 + n**-2
        means.append((batch[:, a].mean() - mean[a]) ** 2 / variance)
        for b in range(9):
            if column[a] != column[b]:
                variance = mean[a] * mean[b] / n + 0.02**2 + n**-2
                error = (batch[:, a] * batch[:, b]).mean() - second[a, b]
                pairs.append(weights[column[a], column[b]] * error**2 / variance)
    assert float(loss) == pytest.approx(float(sum(means) / len(means) + sum(pairs) / len(pairs)), rel=1e-9)


def test_pure_noise_leaves_about_one_whatever_the_width(seeded):
    draw = seeded(0)
    for width in (3, 12):
        blocks = [(i * width, (i + 1) * width) for i in range(8)]
        d = 8 * width
        mean = torch.full((d,), 1 / width, dtype=DOUBLE)
        noise = torch.randn(d, d, generator=draw, dtype=DOUBLE).triu(1) * 0.01
        released = ReleasedMoments(
            blocks=blocks,
            mean=mean,
            second=torch.outer(mean, mean) + noise + noise.T,
            mean_noise=0.01,
            second_noise=0.01,
            num_rows=10**7,
        )
        _, pair_loss = MomentMatching(released, settings=RAW, dtype=DOUBLE).parts(mean.repeat(4, 1))
        assert float(pair_loss) == pytest.approx(1.0, abs=0.15)


@pytest.mark.parametrize("half_batches", [True, False])
@pytest.mark.parametrize("centred", [True, False])
def test_gradient_agrees_with_finite_differences(rows, half_batches, centred):
    settings = MomentSettings(half_batches=half_batches, centred=centred)
    divergence = MomentMatching(moments_of(rows, noise=0.05), settings=settings, dtype=DOUBLE)
    assert torch.autograd.gradcheck(divergence, rows[:7].clone().requires_grad_())


def test_half_batches_are_unbiased_and_whole_batches_are_not(rows, seeded):
    draw = seeded(1)
    batch, repeats = 16, 4000
    losses = {}
    for half_batches in (True, False):
        divergence = MomentMatching(
            moments_of(rows, noise=0.1),
            settings=MomentSettings(half_batches=half_batches, denoising=Denoising.NONE),
            dtype=DOUBLE,
        )
        picks = torch.randint(len(rows), (repeats, batch), generator=draw)
        values = torch.stack([divergence(rows[pick]) for pick in picks])
        losses[half_batches] = float(values.mean()), float(values.std()) / math.sqrt(repeats)
    assert abs(losses[True][0]) < 4 * losses[True][1]
    assert losses[False][0] > 10 * losses[False][1]


def test_noise_in_pairs_cannot_pull_centred_margins(rows):
    # Noise with row sums, as a wide column meets it: uncentred matching sees it as a wrong margin.
    tilt = torch.zeros(9, 9, dtype=DOUBLE)
    tilt[0, 3:] = tilt[3:, 0] = 0.02
    released = moments_of(rows, noise=0.01, second=rows.T @ rows / len(rows) + tilt)
    gradients = {}
    for centred in (True, False):
        settings = MomentSettings(centred=centred, simplex=centred, denoising=Denoising.NONE)
        shift = torch.zeros(9, dtype=DOUBLE, requires_grad=True)
        MomentMatching(released, settings=settings, dtype=DOUBLE)(rows + shift).backward()
        gradients[centred] = float(shift.grad.norm())
    assert gradients[True] < 1e-6 * gradients[False]


def test_encoding_scale_undoes_the_unit_ball_encoding(rows):
    scale = 1 / math.sqrt(3)
    plain = MomentMatching(moments_of(rows, noise=0.1), dtype=DOUBLE)(rows[:30])
    scaled = MomentMatching(moments_of(rows, noise=0.1), encoding_scale=scale, dtype=DOUBLE)(scale * rows[:30])
    assert float(scaled) == pytest.approx(float(plain), rel=1e-9)


def test_numpy_and_blockwise_noise_are_taken(rows):
    per_pair = np.full((3, 3), 0.1)
    released = moments_of(
        rows,
        mean=rows.mean(0).numpy(),
        second=(rows.T @ rows / len(rows)).numpy(),
        mean_noise=np.full(9, 0.1),
        second_noise=per_pair,
    )
    by_number = MomentMatching(moments_of(rows, noise=0.1), dtype=DOUBLE)(rows[:30])
    assert float(MomentMatching(released, dtype=DOUBLE)(rows[:30])) == pytest.approx(float(by_number), rel=1e-9)


KEPT = 0.15  # relative error of the recovered signal
RULES = [Denoising.HARD, Denoising.SOFT, Denoising.OPTIMAL]


def rank_one(strength: float) -> torch.Tensor:
    """A 30×20 signal whose one singular value is `strength` times the noise's operator norm at σ = 1."""
    u, v = (torch.ones(size, dtype=DOUBLE) / math.sqrt(size) for size in (30, 20))
    u[::2], v[::2] = -u[::2], -v[::2]
    return strength * (math.sqrt(30) + math.sqrt(20)) * torch.outer(u, v)


@pytest.mark.parametrize("rule", RULES)
def test_denoising_keeps_a_strong_signal_and_kills_noise(seeded, rule):
    noise = torch.randn(30, 20, generator=seeded(6), dtype=DOUBLE)
    strong = rank_one(8.0)
    kept = denoise(strong + noise, 1.0, rule)
    assert float((kept - strong).norm() / strong.norm()) < KEPT
    assert float((kept - strong).norm()) < 0.5 * float(noise.norm())
    killed = float(denoise(noise, 1.0, rule).norm())
    assert killed < 0.1 * float(noise.norm())


@pytest.mark.parametrize("rule", RULES)
def test_denoising_at_a_wrong_noise_level_fails(seeded, rule):
    noise = torch.randn(30, 20, generator=seeded(6), dtype=DOUBLE)
    right, low = (float(denoise(noise, level, rule).norm()) for level in (1.0, 0.7))
    assert low > right + 1.0
    weak = rank_one(1.05)
    found, lost = (float(denoise(weak + noise, level, rule).norm()) for level in (1.0, 1.4))
    assert found > 0.0
    assert lost == 0.0


def test_optimal_shrinkage_has_the_least_error(seeded):
    draw = seeded(2)
    signal = rank_one(1.6)
    errors = dict.fromkeys([*RULES, Denoising.NONE], 0.0)
    for _ in range(40):
        noisy = signal + torch.randn(30, 20, generator=draw, dtype=DOUBLE)
        for rule in errors:
            errors[rule] += float((denoise(noisy, 1.0, rule) - signal).square().sum())
    assert min(errors, key=errors.__getitem__) is Denoising.OPTIMAL
    assert max(errors, key=errors.__getitem__) is Denoising.NONE


@pytest.mark.parametrize(("rule", "expected"), [("hard", 3.0), ("soft", 1.0), ("optimal", math.sqrt(45) / 3)])
def test_rules_give_the_published_values_for_square_matrices(rule, expected):
    # In units of σ√p with β = 1: λ* = 4/√3, edge 2, and √((y² − 2)² − 4)/y = √(y² − 4) at y = 3.
    noise_level, size = 0.5, 4
    unit = noise_level * math.sqrt(size)
    spectrum = torch.tensor([3.0, 1.99, 1.0, 0.0], dtype=DOUBLE) * unit
    shrunk = denoise(torch.diag(spectrum), noise_level, Denoising(rule)).diagonal() / unit
    torch.testing.assert_close(shrunk, torch.tensor([expected, 0.0, 0.0, 0.0], dtype=DOUBLE))


def test_the_projected_noise_of_two_binary_columns_has_one_degree_of_freedom():
    # Once rows and columns sum to zero the block is one number s·[[1, −1], [−1, 1]]/2, its noise of level σ:
    # 2.5 σ stands above the edge of a 1×1 matrix (2 σ), though below that of a 2×2 one (2.83 σ).
    sigma = 0.01
    pattern = torch.tensor([[1.0, -1.0], [-1.0, 1.0]], dtype=DOUBLE) / 2
    for strength, survives in ((2.5, True), (1.9, False)):
        second = torch.full((4, 4), 0.25, dtype=DOUBLE)
        second[:2, 2:] += strength * sigma * pattern
        released = ReleasedMoments(
            blocks=[(0, 2), (2, 4)],
            mean=torch.full((4,), 0.5, dtype=DOUBLE),
            second=second,
            mean_noise=0.0,
            second_noise=sigma,
            num_rows=10**6,
        )
        assert bool(residual_blocks(released, MomentSettings()).any()) is survives


def test_residual_blocks_keep_dependence_above_the_noise_and_drop_what_is_below(rows, seeded):
    truth = residual_blocks(moments_of(rows), RAW)
    for noise, survives in ((1e-3, True), (1.0, False)):
        draws = noise * torch.randn(9, 9, generator=seeded(3), dtype=DOUBLE)
        noisy = moments_of(rows, noise=noise, second=rows.T @ rows / len(rows) + draws)
        found = residual_blocks(noisy, MomentSettings())
        if survives:
            assert float((found - truth).norm() / truth.norm()) < KEPT
        else:
            assert float(found[:3, 5:].norm()) < noise


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_rows": 0}, "num_rows=0"),
        ({"blocks": [(0, 3), (4, 9)]}, "tile"),
        ({"blocks": []}, "empty"),
        ({"mean": torch.zeros(8)}, "mean has shape"),
        ({"second": torch.zeros(9, 8)}, "second has shape"),
        ({"second": torch.full((9, 9), math.inf)}, "second has a value that is not finite"),
        ({"mean_noise": -0.1}, "mean_noise has the value -0.1"),
        ({"second_noise": torch.ones(4, 4)}, "second_noise has shape"),
    ],
)
def test_bad_moments_are_named(rows, change, message):
    with pytest.raises(ParameterError, match=message):
        moments_of(rows, **change)


def test_bad_settings_and_calls_are_named(rows):
    with pytest.raises(ParameterError, match="pair_weight=-1"):
        MomentSettings(pair_weight=-1.0)
    with pytest.raises(ParameterError, match="nothing to match"):
        MomentSettings(pair_weight=0.0, mean_weight=0.0)
    lopsided = torch.tensor([[0.0, 1.0, 1.0], [2.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    with pytest.raises(ParameterError, match="symmetric"):
        MomentMatching(moments_of(rows), pair_weights=lopsided)
    with pytest.raises(ParameterError, match="encoding_scale"):
        MomentMatching(moments_of(rows), encoding_scale=0.0)
    with pytest.raises(ParameterError, match="noise_level"):
        denoise(rows, -1.0, Denoising.SOFT)
    divergence = MomentMatching(moments_of(rows), settings=MomentSettings(half_batches=True))
    with pytest.raises(ParameterError, match=r"\(rows, 9\)"):
        divergence(rows[:, :8].float())
    with pytest.raises(ParameterError, match="too few"):
        divergence(rows[:1].float())
