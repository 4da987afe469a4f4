"""What synthetic images are judged by: classifiers trained on them and tested on real ones."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

BATCH = 128


def accuracies(
    train: tuple[np.ndarray, np.ndarray], test: tuple[np.ndarray, np.ndarray], *, seed: int, epochs: int = 8
) -> dict[str, float]:
    """Accuracy on real test images of a logistic regression and of a small network with two convolutions.

    Images are n × height × width between 0 and 1. Neither classifier sees a real image before the test.
    """
    return {"logistic": _logistic(train, test), "cnn": network_accuracy(train, test, seed=seed, epochs=epochs)}


def _logistic(train: tuple[np.ndarray, np.ndarray], test: tuple[np.ndarray, np.ndarray]) -> float:
    # With so many images of so few pixels the solver is as good as done after 50 iterations.
    model = LogisticRegression(C=0.1, max_iter=50, tol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(_flat(train[0]), train[1])
    return float(model.score(_flat(test[0]), test[1]))


def network_accuracy(
    train: tuple[np.ndarray, np.ndarray], test: tuple[np.ndarray, np.ndarray], *, seed: int, epochs: int = 8
) -> float:
    """Accuracy on real test images of a small network with two convolutions."""
    torch.manual_seed(seed)
    height, width = train[0].shape[1:]
    size = 32 * -(-height // 4) * -(-width // 4)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 5, stride=2, padding=2), nn.ReLU(), nn.Conv2d(16, 32, 5, stride=2, padding=2), nn.ReLU(),
        nn.Flatten(), nn.Dropout(0.3), nn.Linear(size, 100), nn.ReLU(), nn.Linear(100, 10),
    )  # fmt: skip
    return _trained(model, train, test, epochs)


def residual_accuracy(
    train: tuple[np.ndarray, np.ndarray], test: tuple[np.ndarray, np.ndarray], *, seed: int, epochs: int = 3
) -> float:
    """Accuracy on real test images of a small residual network: the nearest to a ResNet that a core trains in minutes.

    Its last state is taken; nothing is chosen by real images.
    """
    torch.manual_seed(seed)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 5, stride=2, padding=2), _Residual(16),
        nn.Conv2d(16, 32, 3, stride=2, padding=1), _Residual(32),
        nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Dropout(0.3), nn.Linear(128, 10),
    )  # fmt: skip
    return _trained(model, train, test, epochs)


class _Residual(nn.Module):
    """Two convolutions beside the way past them."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.way = nn.Sequential(
            nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1),
            nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1),
        )  # fmt: skip

    def forward(self, images: Tensor) -> Tensor:
        """Images with what the convolutions add."""
        return torch.as_tensor(images + self.way(images))


def _trained(
    model: nn.Module, train: tuple[np.ndarray, np.ndarray], test: tuple[np.ndarray, np.ndarray], epochs: int
) -> float:
    """Train on synthetic images, and give the accuracy of the last state on real ones."""
    images, labels = torch.tensor(train[0], dtype=torch.float32)[:, None], torch.tensor(train[1])
    optimiser = torch.optim.Adam(model.parameters())
    steps = epochs * (len(images) // BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 2e-3, total_steps=steps)
    for _ in range(epochs):
        for chosen in torch.randperm(len(images))[: len(images) // BATCH * BATCH].view(-1, BATCH):
            loss = nn.functional.cross_entropy(model(images[chosen]), labels[chosen])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    model.eval()
    with torch.no_grad():
        real = torch.tensor(test[0], dtype=torch.float32)[:, None]
        found = torch.cat([model(part).argmax(1) for part in real.split(2000)])
    return float((found.numpy() == test[1]).mean())


def _flat(images: np.ndarray) -> np.ndarray:
    return images.reshape(len(images), -1)
