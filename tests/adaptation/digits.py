"""Two small domains from scikit-learn's 8×8 digits: as they are, and dimmed."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from microtome.adaptation import AdaptationSettings

EPSILON, DELTA = 3.0, 1e-4
QUICK = AdaptationSettings(
    epochs=3, align_from=2, batch_size=64, num_slices=80, learning_rate=2e-3, images_per_epoch=512, checkpoint_every=3
)


@cache
def domains() -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]]:
    """Source images and labels, target images and labels."""
    images, labels = load_digits(return_X_y=True)
    pixels = (images / 16.0).astype(np.float32).reshape(-1, 8, 8)
    dimmed = 0.7 * pixels[900:]
    return pixels[:900], labels[:900], dimmed, labels[900:]
