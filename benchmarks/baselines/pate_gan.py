"""PATE-GAN, from its paper (Jordon, Yoon and van der Schaar, ICLR 2019), by an accountant that looks at no vote.

The table is dealt to k teachers, each a discriminator that sees its own rows only. A student discriminator sees no real
row: it is trained on generated ones, labelled real or made by the noisy majority of the teachers, and the generator is
trained against the student. A record touches one teacher, so it changes the number of votes for a generated row by at
most 1: T noisy vote counts are T Gaussian mechanisms of sensitivity 1, together μ = √T/σ, and σ = √T/μ(ε, δ) spends
exactly the budget.

The paper's tables took PATE-GAN from SmartNoise, whose ε depends on the votes (so that ε itself is not private) and
whose vote noise, of scale 1000 for a hundred teachers, drowns every label. We wrote it anew, with Gaussian noise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, one_hot

from baselines.encoding import MixedEncoding
from baselines.network import MixedGenerator, draw_rows
from baselines.protocol import RunContext
from microtome.accounting import gaussian_mu
from microtome.schema import Schema

ROWS_A_TEACHER = 100
TEACHER_HIDDEN = 16
TEACHER_BATCH = 32
TEACHER_STEPS = 2
STUDENT_BATCH = 32
ITERATIONS = 400
LATENT_DIM = 64
HIDDEN = (256, 256)
LEARNING_RATE = 5e-4
REPLACED = 0.3


class Ensemble(nn.Module):
    """k small perceptrons evaluated at once: teacher t sees only its own rows."""

    def __init__(self, num_teachers: int, width: int) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.randn(num_teachers, width, TEACHER_HIDDEN) / math.sqrt(width))
        self.bias = nn.Parameter(torch.zeros(num_teachers, 1, TEACHER_HIDDEN))
        self.second = nn.Parameter(torch.randn(num_teachers, TEACHER_HIDDEN, 1) / math.sqrt(TEACHER_HIDDEN))

    def forward(self, rows: Tensor) -> Tensor:
        """Scores k × b of rows k × b × d."""
        return (torch.relu(rows @ self.first + self.bias) @ self.second).squeeze(2)


class PATEGAN:
    """Generator against a student that learns from noisy votes of teachers."""

    def __init__(self, context: RunContext) -> None:
        self._seed = context.seed

    def fit(self, frame: pd.DataFrame, schema: Schema, epsilon: float, delta: float) -> None:
        """Deal the rows to teachers and train all three together."""
        torch.manual_seed(self._seed)
        self._encoding, self._names = MixedEncoding(schema.columns), schema.names
        self.num_teachers = max(2, len(frame) // ROWS_A_TEACHER)
        self.noise_scale = vote_noise(epsilon, delta, ITERATIONS * STUDENT_BATCH)
        rows = torch.from_numpy(self._encoding.encode(frame))
        dealt = torch.randperm(len(rows))[: len(rows) // self.num_teachers * self.num_teachers]
        shares = rows[dealt].reshape(self.num_teachers, -1, self._encoding.width)
        self._train(shares)

    def _train(self, shares: Tensor) -> None:
        width = self._encoding.width
        self._generator = MixedGenerator(LATENT_DIM, HIDDEN, self._encoding)
        teachers = Ensemble(self.num_teachers, width)
        student = nn.Sequential(nn.Linear(width, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1))
        optimisers = [
            torch.optim.Adam(module.parameters(), lr=LEARNING_RATE, betas=(0.5, 0.9))
            for module in (teachers, student, self._generator)
        ]
        noise = torch.Generator().manual_seed(int(np.random.SeedSequence().generate_state(1)[0]))
        self._generator.train()
        for _ in range(ITERATIONS):
            for _ in range(TEACHER_STEPS):
                self._teach(teachers, shares, optimisers[0])
            self._study(student, teachers, optimisers[1], noise)
            self._generate(student, optimisers[2])

    def _teach(self, teachers: Ensemble, shares: Tensor, optimiser: torch.optim.Optimizer) -> None:
        """A step of every teacher on rows of its own and generated ones."""
        real = shares[:, torch.randint(shares.shape[1], (TEACHER_BATCH,))]
        with torch.no_grad():
            made = self._generator.draw(torch.randn(TEACHER_BATCH, LATENT_DIM)).expand(len(shares), -1, -1)
        scores = teachers(torch.cat([real, made], dim=1))
        labels = torch.cat([torch.ones(TEACHER_BATCH), torch.zeros(TEACHER_BATCH)]).expand(len(shares), -1)
        # A sum over teachers keeps each one's gradient its own.
        loss = binary_cross_entropy_with_logits(scores, labels, reduction="none").mean(dim=1).sum()
        _descend(loss, optimiser)

    def _study(
        self, student: nn.Module, teachers: Ensemble, optimiser: torch.optim.Optimizer, noise: torch.Generator
    ) -> None:
        """A step of the student on noisy labels of generated rows: the only place where votes get out."""
        with torch.no_grad():
            made = self._queries()
            votes = (teachers(made.expand(self.num_teachers, -1, -1)) > 0).float().sum(dim=0)
            noisy = votes + self.noise_scale * torch.randn(votes.shape, generator=noise)
            labels = (noisy > self.num_teachers / 2).float()
        _descend(binary_cross_entropy_with_logits(student(made).squeeze(1), labels), optimiser)

    def _queries(self) -> Tensor:
        """Generated rows, half of them with columns replaced at random.

        A student that is asked only about what a collapsed generator makes sees one label and can lead nowhere; what is
        asked costs the same whatever it is.
        """
        made = self._generator.draw(torch.randn(STUDENT_BATCH, LATENT_DIM))
        other = torch.zeros_like(made)
        for span in self._encoding.spans:
            picked = torch.rand(STUDENT_BATCH, 1) < REPLACED
            picked[: STUDENT_BATCH // 2] = False
            fresh = (
                one_hot(torch.randint(span.stop - span.start, (STUDENT_BATCH,)), span.stop - span.start).float()
                if span.is_categorical
                else torch.rand(STUDENT_BATCH, 1)
            )
            other[:, span.start : span.stop] = torch.where(picked, fresh, made[:, span.start : span.stop])
        return other

    def _generate(self, student: nn.Module, optimiser: torch.optim.Optimizer) -> None:
        made = self._generator.draw(torch.randn(STUDENT_BATCH, LATENT_DIM))
        _descend(binary_cross_entropy_with_logits(student(made).squeeze(1), torch.ones(STUDENT_BATCH)), optimiser)

    def sample(self, num_rows: int) -> pd.DataFrame:
        """Draw rows."""
        rows = draw_rows(self._generator, num_rows, lambda size: torch.randn(size, LATENT_DIM))
        return self._encoding.decode(rows.numpy())[self._names]

    def notes(self) -> dict[str, Any]:
        """Settings and noise."""
        return {
            "teachers": self.num_teachers,
            "iterations": ITERATIONS,
            "votes_released": ITERATIONS * STUDENT_BATCH,
            "noise_scale_of_votes": self.noise_scale,
        }


def vote_noise(epsilon: float, delta: float, num_votes: int) -> float:
    """σ of every vote count so that all of them together are (ε, δ)."""
    return math.sqrt(num_votes) / gaussian_mu(epsilon, delta)


def _descend(loss: Tensor, optimiser: torch.optim.Optimizer) -> None:
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
