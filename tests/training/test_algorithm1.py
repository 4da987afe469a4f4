"""The loop does what Algorithm 1 says: the same weights as the page that prints it, step by step."""

import copy

import torch
from torch import Tensor, nn

from microtome.divergences import (
    KernelSettings,
    MiniBatchKernelFDivergence,
    ReferenceKernelFDivergence,
    random_frames,
    run_algorithm1,
)
from microtome.training import Loop, Objective

STEPS, BATCH, LATENT, RATE = 6, 24, 3, 1e-2


class Paper(Objective):
    """The fast estimator on mini-batches, at a constant rate."""

    def __init__(self, module: nn.Module, divergence: MiniBatchKernelFDivergence) -> None:
        self.module, self.divergence, self.random = module, divergence, torch.Generator().manual_seed(1)
        self.optimiser = torch.optim.Adam(module.parameters(), lr=RATE)
        self.steps = self.check_every = STEPS

    def losses(self, step: int) -> dict[str, Tensor]:
        latent = torch.randn(BATCH, LATENT, generator=self.random)
        return {"loss": self.divergence(self.module(latent), generator=self.random)}

    def learning_rates(self, step: int) -> list[float]:
        return [RATE]


def test_the_loop_is_algorithm_1() -> None:
    random = torch.Generator().manual_seed(0)
    directions = random_frames(5, 4, 1, generator=random)
    slices = torch.einsum("nd,mdk->nmk", 0.3 * torch.randn(200, 4, generator=random), directions)
    released = {"noise_scale": 0.0, "settings": KernelSettings(), "batch_rows": 20}
    torch.manual_seed(0)
    printed = nn.Sequential(nn.Linear(LATENT, 8), nn.Tanh(), nn.Linear(8, 4))
    start, looped = copy.deepcopy(printed), copy.deepcopy(printed)
    run_algorithm1(
        printed,
        ReferenceKernelFDivergence(slices, directions, **released),
        steps=STEPS,
        batch_size=BATCH,
        latent_dim=LATENT,
        learning_rate=RATE,
        random=torch.Generator().manual_seed(1),
    )
    objective = Paper(looped, MiniBatchKernelFDivergence(slices, directions, **released))
    assert Loop(objective, run={"seed": 1}).run()
    for before, wanted, found in zip(start.parameters(), printed.parameters(), looped.parameters(), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-4)
        assert not torch.allclose(before, wanted, atol=1e-2)
