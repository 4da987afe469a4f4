"""DP-MERF for mixed tables, from its paper (Harder, Adamczewski and Park, AISTATS 2021).

The table is summarised once by the noisy mean embedding of its rows, class by class of the label,

    μ_y = Σ_{i: y_i = y} h(x_i),   h(x) = [φ(x_num); x_cat / √C] / √2,   ‖h‖ ≤ 1,

where φ are random Fourier features of a Gaussian kernel on the numbers and the linear kernel serves the C one-hot
categories (their sum is the paper's kernel for mixed data). A conditional generator is then trained so that its mean
embedding meets the noisy one; that is post-processing. Class counts are the second release.

Where we differ. The bandwidth is not the median distance of private rows: frequencies come from a fixed mixture of
length scales, the numbers being scaled to [0, 1] by their declared bounds. Noise is calibrated exactly for
`blank-one` neighbours: a record adds h(x_i) to one column of the embedding and 1 to one count, so both sensitivities
are 1, and μ² is shared between them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from baselines.encoding import MixedEncoding, codes, decode_codes
from baselines.network import MixedGenerator, draw_rows
from baselines.protocol import RunContext
from microtome.accounting import gaussian_mu
from microtome.schema import Schema

FEATURES = 2000
LENGTH_SCALES = (0.01, 0.03, 0.1, 0.3)
COUNTS_SHARE = 0.05
LATENT_DIM = 11
HIDDEN = (256, 256)
STEPS = 2000
BATCH = 1000
LEARNING_RATE = 1e-2
_PIECE = 4096


class MixedFeatures:
    """The feature map h of encoded rows, of norm at most 1."""

    def __init__(self, encoding: MixedEncoding, generator: torch.Generator) -> None:
        self._numeric = encoding.numeric
        self._others = [i for span in encoding.categorical for i in range(span.start, span.stop)]
        num_categorical, num_parts = len(encoding.categorical), bool(encoding.numeric) + bool(encoding.categorical)
        scales = torch.tensor(LENGTH_SCALES)[torch.arange(FEATURES // 2) % len(LENGTH_SCALES)]
        self._frequencies = torch.randn(len(self._numeric), FEATURES // 2, generator=generator) / scales
        self._fourier_scale = math.sqrt(2.0 / FEATURES / num_parts)
        self._category_scale = math.sqrt(1.0 / max(num_categorical, 1) / num_parts)

    def __call__(self, rows: Tensor) -> Tensor:
        """The features of every row."""
        angles = rows[:, self._numeric] @ self._frequencies
        fourier = torch.cat([angles.cos(), angles.sin()], dim=1) * self._fourier_scale
        categories = rows[:, self._others] * self._category_scale
        parts = ([fourier] if self._numeric else []) + ([categories] if self._others else [])
        return torch.cat(parts, dim=1)


class DPMERF:
    """Release of class counts and class-wise mean embeddings, and the generator that matches them."""

    def __init__(self, context: RunContext) -> None:
        self._seed = context.seed

    def fit(self, frame: pd.DataFrame, schema: Schema, epsilon: float, delta: float) -> None:
        """Release twice, then train on what was released."""
        if schema.target is None or schema[schema.target].categories is None:
            raise ValueError("DP-MERF needs a categorical target to be conditional on")
        torch.manual_seed(self._seed)
        self._schema, self._target = schema, schema[schema.target]
        self._encoding = MixedEncoding([column for column in schema.columns if column.name != schema.target])
        features = MixedFeatures(self._encoding, torch.Generator().manual_seed(self._seed))
        self._calibrate(gaussian_mu(epsilon, delta))
        sums, counts = class_sums(frame, self._encoding, self._target, features)
        noise = torch.Generator().manual_seed(int(np.random.SeedSequence().generate_state(1)[0]))
        noisy_sums = sums + self.embedding_noise * torch.randn(sums.shape, generator=noise)
        noisy_counts = (counts + self.counts_noise * torch.randn(counts.shape, generator=noise)).clamp(min=1.0)
        self._class_shares = noisy_counts / noisy_counts.sum()
        self._train(features, noisy_sums / noisy_counts[:, None])

    def _calibrate(self, mu: float) -> None:
        """σ of the two releases, each of sensitivity 1, sharing μ²."""
        self.counts_noise = 1.0 / (mu * math.sqrt(COUNTS_SHARE))
        self.embedding_noise = 1.0 / (mu * math.sqrt(1.0 - COUNTS_SHARE))

    def _train(self, features: MixedFeatures, wanted: Tensor) -> None:
        classes = len(self._class_shares)
        self._generator = MixedGenerator(LATENT_DIM + classes, HIDDEN, self._encoding)
        optimiser = torch.optim.Adam(self._generator.parameters(), lr=LEARNING_RATE)
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimiser, gamma=0.01 ** (1.0 / STEPS))
        labels = torch.arange(BATCH) % classes
        one_hot = torch.nn.functional.one_hot(labels, classes).float()
        for _ in range(STEPS):
            rows = self._generator(torch.cat([torch.randn(BATCH, LATENT_DIM), one_hot], dim=1))
            embedded = one_hot.T @ features(rows) / one_hot.sum(dim=0)[:, None]
            loss = (embedded - wanted).square().sum()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()

    def sample(self, num_rows: int) -> pd.DataFrame:
        """Labels by the noisy shares, everything else by the generator."""
        labels = torch.multinomial(self._class_shares, num_rows, replacement=True)
        one_hot = torch.nn.functional.one_hot(labels, len(self._class_shares)).float()
        taken = iter(one_hot.split(_PIECE))
        rows = draw_rows(
            self._generator,
            num_rows,
            lambda size: torch.cat([torch.randn(size, LATENT_DIM), next(taken)], dim=1),
            piece=_PIECE,
        )
        frame = self._encoding.decode(rows.numpy())
        frame[self._target.name] = decode_codes(labels.numpy(), self._target)
        return frame[self._schema.names]

    def notes(self) -> dict[str, Any]:
        """Settings and noise."""
        return {
            "features": FEATURES,
            "length_scales": LENGTH_SCALES,
            "steps": STEPS,
            "batch": BATCH,
            "hidden": HIDDEN,
            "noise_scale_of_embedding": self.embedding_noise,
            "noise_scale_of_counts": self.counts_noise,
        }


def class_sums(
    frame: pd.DataFrame, encoding: MixedEncoding, target: Any, features: MixedFeatures
) -> tuple[Tensor, Tensor]:
    """Sum of h over the rows of each class (classes × features), and their number: all that is read off the table."""
    labels = torch.from_numpy(codes(frame[target.name], target))
    classes = len(target.categories)
    one_hot = torch.nn.functional.one_hot(labels, classes).float()
    pieces = range(0, len(frame), _PIECE)
    sums = sum(
        one_hot[start : start + _PIECE].T
        @ features(torch.from_numpy(encoding.encode(frame.iloc[start : start + _PIECE])))
        for start in pieces
    )
    assert isinstance(sums, Tensor)
    return sums, one_hot.sum(dim=0)
