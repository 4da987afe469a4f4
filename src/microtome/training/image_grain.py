"""How much grain drawn images are to have: as much as components that are not released would have.

Images of low frequencies alone are smoother than real ones, and a classifier that has only seen smooth images takes
texture for something else. How much there is beyond the K components that are released, of the P of a channel, is not
measured. It is taken to go on falling as pictures' spectra do, the variance of a component with the square of its
number. If v is the variance of the last ones that are released, those that are not have v·K/P on average:

    mean of (K/k)² for k from K to P ≈ K/P

The grain is white, as nothing is known of where it is: noise of standard deviation √(v·K/P·(1 − K/P)) on every pixel,
times a number between 0 and 2 that each image draws for itself. A classifier is not to learn how much grain there is.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from microtome.published import ImageRelease
from microtome.training.image_moments import ClassMoments

_LAST = 0.2
"""Share of the released components of which the variance is taken."""


def grain_of(release: ImageRelease, moments: ClassMoments) -> float:
    """Standard deviation of the noise of a pixel, in units of the range."""
    schema = release.schema
    if schema.aligned:
        return 0.0
    variances = moments.shares @ np.diagonal(moments.covariances, axis1=1, axis2=2)
    planes = release.radius**2 * variances.reshape(schema.channels, schema.num_components)
    last = float(planes[:, -max(1, round(_LAST * schema.num_components)) :].mean())
    share = schema.num_components / (schema.height * schema.width)
    return sqrt(max(last, 0.0) * share * (1.0 - share))
