"""A GAN whose discriminator is trained by DP-SGD, with Opacus (Xie et al. 2018; Abadi et al. 2016).

The paper took DP-SGD from SmartNoise (DPGAN, DPCTGAN). We do not: their discriminators see shuffled batches where the
accountant assumes Poisson ones, DPGAN replaces the clipping norms by norms of private gradients, and DPCTGAN draws its
conditions by the exact frequencies of categories, uncounted. Here batches are Poisson samples, every record's gradient
is clipped to 1, and Opacus's PRV accountant calibrates the noise to the whole (ε, δ) before training starts.

Generated rows go through the discriminator together with the real ones. They depend on the table only through earlier
noisy steps, so clipping them too and adding them to the sum costs nothing and needs no second step.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import pandas as pd
import torch
from opacus import GradSampleModule
from opacus.accountants.utils import get_noise_multiplier
from opacus.optimizers import DPOptimizer
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
CRITIC_HIDDEN = 128
CRITIC_RATE = 1e-3
GENERATOR_RATE = 5e-4
SHARE_OF_TIME = 0.6
_TIMED_STEPS = 10


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
        width = self._encoding.width
        critic = nn.Sequential(
            nn.Linear(width, CRITIC_HIDDEN),
            nn.LeakyReLU(0.2),
            nn.Linear(CRITIC_HIDDEN, CRITIC_HIDDEN),
            nn.LeakyReLU(0.2),
            nn.Linear(CRITIC_HIDDEN, 1),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._critic = GradSampleModule(critic, loss_reduction="sum")
        self._critic_optimiser = DPOptimizer(
            torch.optim.Adam(self._critic.parameters(), lr=CRITIC_RATE, betas=(0.5, 0.9)),
            noise_multiplier=noise_multiplier,
            max_grad_norm=1.0,
            expected_batch_size=EXPECTED_BATCH,
            loss_reduction="sum",
            generator=torch.Generator().manual_seed(int(torch.seed() % 2**63)),
        )
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
        self._critic_optimiser.zero_grad()
        loss = binary_cross_entropy_with_logits(self._critic(both).squeeze(1), labels, reduction="sum")
        loss.backward()
        self._critic_optimiser.step()
        self._critic.disable_hooks()
        judged = self._critic(made).squeeze(1)
        self._generator_optimiser.zero_grad()
        binary_cross_entropy_with_logits(judged, torch.ones(len(made))).backward()
        self._generator_optimiser.step()
        self._critic.enable_hooks()

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
            "clipping_norm": 1.0,
            "accountant": "PRV",
        }
