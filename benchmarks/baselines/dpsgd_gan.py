"""A GAN whose discriminator is trained by DP-SGD, with Opacus (Xie et al. 2018; Abadi et al. 2016).

The paper took DP-SGD from SmartNoise (DPGAN, DPCTGAN). We do not: their discriminators see shuffled batches where the
accountant assumes Poisson ones, DPGAN replaces the clipping norms by norms of private gradients, and DPCTGAN draws its
conditions by the exact frequencies of categories, uncounted. Here batches are Poisson samples, every record's gradient
is clipped to 1 (by its norm alone, without forming it: Opacus's ghost clipping, ten times as many steps in the time),
and Opacus's PRV accountant calibrates the noise to the whole (ε, δ) before training starts.

Generated rows go through the discriminator together with the real ones. They depend on the table only through earlier
noisy steps, so clipping them too and adding them to the sum costs nothing and needs no second step.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import pandas as pd
import torch
from opacus.accountants.utils import get_noise_multiplier
from opacus.grad_sample import GradSampleModuleFastGradientClipping
from opacus.optimizers import DPOptimizerFastGradientClipping
from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from baselines.encoding import MixedEncoding
from baselines.network import MixedGenerator, draw_rows
from baselines.protocol import RunContext
from microtome.schema import Schema

EXPECTED_BATCH = 256
MOST_EPOCHS = 30
LATENT_DIM = 64
HIDDEN = (256, 256)
CLIPPING_NORM = 1.0
CRITIC_HIDDEN = 128
CRITIC_RATE = 1e-3
GENERATOR_RATE = 5e-4
SHARE_OF_TIME = 0.6
_TIMED_STEPS = 10


class PrivateCritic:
    """A discriminator that learns by DP-SGD: it sees rows only through sums of clipped gradients with noise."""

    def __init__(self, width: int, noise_multiplier: float) -> None:
        network = nn.Sequential(
            nn.Linear(width, CRITIC_HIDDEN),
            nn.LeakyReLU(0.2),
            nn.Linear(CRITIC_HIDDEN, CRITIC_HIDDEN),
            nn.LeakyReLU(0.2),
            nn.Linear(CRITIC_HIDDEN, 1),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.network = GradSampleModuleFastGradientClipping(
                network, max_grad_norm=CLIPPING_NORM, loss_reduction="sum"
            )
        self._optimiser = DPOptimizerFastGradientClipping(
            torch.optim.Adam(self.network.parameters(), lr=CRITIC_RATE, betas=(0.5, 0.9)),
            noise_multiplier=noise_multiplier,
            max_grad_norm=CLIPPING_NORM,
            expected_batch_size=EXPECTED_BATCH,
            loss_reduction="sum",
            generator=torch.Generator().manual_seed(int(torch.seed() % 2**63)),
        )
        self._loss = DPLossFastGradientClipping(
            self.network, self._optimiser, nn.BCEWithLogitsLoss(reduction="sum"), loss_reduction="sum"
        )
        self.network.disable_hooks()

    def learn(self, rows: Tensor, labels: Tensor) -> None:
        """One noisy step. The gradient that was taken stays with the parameters until the next."""
        self.network.enable_hooks()
        self._optimiser.zero_grad()
        self._loss(self.network(rows).squeeze(1), labels).backward()
        self._optimiser.step()
        self.network.disable_hooks()

    def judge(self, rows: Tensor) -> Tensor:
        """How real rows look, with a gradient to the rows."""
        return self.network(rows).squeeze(1)


class DPSGDGAN:
    """Generator against a discriminator trained by DP-SGD."""

    def __init__(self, context: RunContext) -> None:
        self._context = context

    def fit(self, frame: pd.DataFrame, schema: Schema, epsilon: float, delta: float) -> None:
        """Choose the number of steps by speed, the noise by that number, then train."""
        torch.manual_seed(self._context.seed)
        self._encoding = MixedEncoding(schema.columns)
        self._names = schema.names
        rows = torch.from_numpy(self._encoding.encode(frame))
        rate = EXPECTED_BATCH / len(rows)
        self._start(noise_multiplier=1.0)
        self.steps = self._affordable_steps(len(rows))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.noise_multiplier = get_noise_multiplier(
                target_epsilon=epsilon, target_delta=delta, sample_rate=rate, steps=self.steps, accountant="prv"
            )
        self._start(self.noise_multiplier)
        sampler = torch.Generator().manual_seed(int(torch.seed() % 2**63))
        for _ in range(self.steps):
            self._step(rows[torch.rand(len(rows), generator=sampler) < rate])

    def _start(self, noise_multiplier: float) -> None:
        """Fresh networks and optimisers."""
        torch.manual_seed(self._context.seed)
        self._critic = PrivateCritic(self._encoding.width, noise_multiplier)
        torch.manual_seed(self._context.seed)
        self._generator = MixedGenerator(LATENT_DIM, HIDDEN, self._encoding)
        self._generator_optimiser = torch.optim.Adam(self._generator.parameters(), lr=GENERATOR_RATE, betas=(0.5, 0.9))

    def _affordable_steps(self, num_rows: int) -> int:
        """Steps of the most epochs, or as many as fit the share of the time limit. Timed on made-up rows."""
        rows = torch.rand(EXPECTED_BATCH, self._encoding.width)
        clock = time.process_time()
        for _ in range(_TIMED_STEPS):
            self._step(rows)
        seconds = (time.process_time() - clock) / _TIMED_STEPS
        affordable = int(SHARE_OF_TIME * self._context.time_limit / seconds)
        return max(1, min(MOST_EPOCHS * num_rows // EXPECTED_BATCH, affordable))

    def _step(self, real: Tensor) -> None:
        """One step of each network."""
        self._generator.train()
        latent = torch.randn(EXPECTED_BATCH, LATENT_DIM)
        made = self._generator.draw(latent)
        both = torch.cat([real, made.detach()])
        labels = torch.cat([torch.ones(len(real)), torch.zeros(len(made))])
        self._critic.learn(both, labels)
        self._generator_optimiser.zero_grad()
        binary_cross_entropy_with_logits(self._critic.judge(made), torch.ones(len(made))).backward()
        self._generator_optimiser.step()

    def sample(self, num_rows: int) -> pd.DataFrame:
        """Draw rows."""
        rows = draw_rows(self._generator, num_rows, lambda size: torch.randn(size, LATENT_DIM))
        return self._encoding.decode(rows.numpy())[self._names]

    def notes(self) -> dict[str, Any]:
        """Settings and noise."""
        return {
            "steps": self.steps,
            "expected_batch": EXPECTED_BATCH,
            "most_epochs": MOST_EPOCHS,
            "noise_multiplier": self.noise_multiplier,
            "clipping_norm": CLIPPING_NORM,
            "accountant": "PRV",
        }
