"""The handwritten digits of 8 × 8 pixels that come with scikit-learn, as an image set."""

from __future__ import annotations

import numpy as np

from microtome.images import ImageSchema, ImageSet


def digit_images() -> tuple[ImageSet, ImageSchema]:
    """1,797 digits with 17 shades of grey, and what is public about them."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = ImageSet.from_arrays(digits.images.astype(np.uint8), digits.target, origin="the digits of scikit-learn")
    return images, ImageSchema(height=8, width=8, low=0.0, high=16.0, classes=tuple(range(10)))
