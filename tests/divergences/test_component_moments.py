"""Moments of components: what automatic differentiation of the plain formula gives, from fewer products."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from microtome.divergences import Denoising, MomentMatching, Moments, MomentSettings, ReleasedMoments, component_moments

BLOCKS = [(0, 3), (3, 80), (80, 140)]


def components(count: int = 40) -> Tensor:
    random = torch.Generator().manual_seed(0)
    logits = torch.randn(count, BLOCKS[-1][1], generator=random, dtype=torch.float64)
    return torch.cat([logits[:, start:stop].softmax(dim=1) for start, stop in BLOCKS], dim=1)


def weights(rows: Tensor) -> Tensor:
    return torch.stack([rows[:, 0], rows[:, 1] + rows[:, 2]], dim=1)


def plain(rows: Tensor, shares: Tensor) -> Tensor:
    return torch.stack([(rows * share[:, None]).T @ rows / len(rows) for share in shares.T])


def test_moments_and_gradients_are_those_of_the_formula() -> None:
    wanted = torch.randn(2, 140, 140, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    slow, fast = components().requires_grad_(), components().requires_grad_()
    expected, found = plain(slow, weights(slow)), component_moments(fast, weights(fast))
    (wanted * expected).sum().backward()
    (wanted * torch.stack([one.second for one in found])).sum().backward()
    assert torch.allclose(torch.stack([one.second for one in found]), expected)
    assert slow.grad is not None
    assert fast.grad is not None
    assert torch.allclose(fast.grad, slow.grad)


def test_groups_together_are_the_whole() -> None:
    rows = components()
    whole = Moments.together(component_moments(rows, weights(rows)))
    assert float(whole.total) == pytest.approx(1.0)
    assert torch.allclose(whole.mean, rows.mean(dim=0))
    assert torch.allclose(whole.second, rows.T @ rows / len(rows))


@pytest.mark.parametrize("centred", [True, False])
def test_losses_of_moments_are_those_of_rows(centred: bool) -> None:
    rows, random = components(), torch.Generator().manual_seed(2)
    released = ReleasedMoments(
        blocks=BLOCKS,
        mean=components(7).mean(dim=0),
        second=torch.rand(140, 140, generator=random),
        mean_noise=0.1,
        second_noise=0.01,
        num_rows=1000,
    )
    settings = MomentSettings(denoising=Denoising.NONE, centred=centred)
    matching = MomentMatching(released, settings=settings, dtype=torch.float64)
    (found,) = component_moments(rows, torch.ones(len(rows), 1, dtype=torch.float64))
    for known, expected in zip(matching.moment_losses(found), matching.parts(rows), strict=True):
        assert float(known) == pytest.approx(float(expected))
    half = rows[:, 0] / rows[:, 0].mean()
    (group,) = component_moments(rows, half[:, None])
    assert float(matching.moment_losses(group)[1]) == pytest.approx(float(matching.pair_loss(rows, half)))
