"""DP-MERF for images, written anew: a noisy mean of random features for each class, and a generator fitted to it.

Harder, Adamczewski and Park, AISTATS 2021. With features φ(x) of norm 1, the mean embedding of class c is
Σ_{i in c} φ(x_i), one Gaussian mechanism of sensitivity 1 for blanking an image. The generator's classes are matched
by the squared distance of embeddings. Its bandwidth is public here (the original takes it from the data).
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from microtome.accounting import Accountant, GaussianEvent, calibrate_noise

FREQUENCIES = 1000
"""Random frequencies, each with a sine and a cosine: 2,000 features, the original's number for tables."""
PUBLISHED_FREQUENCIES = 5000
"""10,000 features, the original's number for MNIST, which take five times as long."""
BANDWIDTH = 105**0.5
"""Of images between 0 and 1: the published setting for MNIST, 105, is the bandwidth's square."""
STEPS, BATCH, CODE = 1000, 200, 10


class MerfGenerator(nn.Module):
    """Code and class in, image out."""

    def __init__(self, num_pixels: int, num_classes: int) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.layers = nn.Sequential(
            nn.Linear(CODE + num_classes, 200), nn.BatchNorm1d(200), nn.ReLU(),
            nn.Linear(200, 500), nn.BatchNorm1d(500), nn.ReLU(), nn.Linear(500, num_pixels), nn.Sigmoid(),
        )  # fmt: skip

    def forward(self, classes: torch.Tensor) -> torch.Tensor:
        """Images of the given classes."""
        marks = nn.functional.one_hot(classes, self.num_classes).float()
        return torch.as_tensor(self.layers(torch.cat([torch.randn(len(classes), CODE), marks], dim=1)))


def merf_samples(
    images: np.ndarray,
    labels: np.ndarray,
    *,
    epsilon: float,
    delta: float,
    num_samples: int,
    seed: int,
    num_frequencies: int = FREQUENCIES,
) -> tuple[np.ndarray, np.ndarray]:
    """Synthetic images, as many of each class."""
    torch.manual_seed(seed)
    num_classes, num_pixels = int(labels.max()) + 1, int(np.prod(images.shape[1:]))
    frequencies = torch.randn(num_pixels, num_frequencies) / BANDWIDTH
    noise_scale = calibrate_noise(
        lambda scale: [GaussianEvent(mu=1.0 / scale)], epsilon=epsilon, delta=delta, accountant=Accountant.EXACT
    )
    flat = torch.tensor(images.reshape(len(images), -1), dtype=torch.float32)
    sums = torch.zeros(num_classes, 2 * num_frequencies)
    for rows, marks in zip(flat.split(5000), torch.tensor(labels).split(5000), strict=True):
        sums.index_add_(0, marks, features(rows, frequencies))
    sums += noise_scale * torch.randn(sums.shape)
    released = sums / len(images)
    model = MerfGenerator(num_pixels, num_classes)
    optimiser = torch.optim.Adam(model.parameters(), lr=5e-3)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimiser, 0.05 ** (1 / STEPS))
    for _ in range(STEPS):
        classes = torch.arange(BATCH) % num_classes
        found = torch.zeros_like(released).index_add_(0, classes, features(model(classes), frequencies)) / BATCH
        loss = (released - found).square().sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    model.eval()
    with torch.no_grad():
        classes = torch.arange(num_samples) % num_classes
        drawn = torch.cat([model(part) for part in classes.split(2000)])
    return drawn.numpy().reshape(num_samples, *images.shape[1:]), classes.numpy()


def features(rows: torch.Tensor, frequencies: torch.Tensor) -> torch.Tensor:
    """Random Fourier features of norm 1."""
    phases = rows @ frequencies
    return torch.cat([phases.cos(), phases.sin()], dim=1) / frequencies.shape[1] ** 0.5
