"""How far drawn images are to be moved: as far as the release says that real ones move.

If the images of a class were its mean image moved by an amount of variance a² and nothing else, their covariance would
be a²·t·tᵀ, t being how the mean image changes with that movement. So of a class of mean image m and covariance Σ

    a² ≤ tᵀΣt/‖t‖⁴

and drawn images are moved as far as this, up to a movement of size 1. Digits are written at all angles: Σ has ten times
what turning by a twentieth of a circle would leave in it. Trousers hang straight: Σ has next to nothing of a turn, and
drawn ones are not turned. Movement comes on top of what is drawn: a classifier that has seen more of it than there is
is no worse for it, and one that has seen less is. It costs no privacy.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
import torch
from numpy.typing import NDArray

from microtome.generators.movement import MOVES, moved
from microtome.images import ImageCode
from microtome.published import ImageRelease
from microtome.training.image_moments import ClassMoments

Floats = NDArray[np.float64]
_STEP = 0.2
"""Movement by which the change of a mean image is found."""
_LEAST_CHANGE = 1e-12


def reach_of(release: ImageRelease, moments: ClassMoments) -> Floats:
    """How far each class is moved in each way, at most 1 (classes × movements)."""
    if release.schema.aligned:
        return np.zeros((len(moments.means), MOVES))
    return np.stack(
        [
            _reach(_changes(release.code, mean), covariance)
            for mean, covariance in zip(
                release.radius * moments.means, release.radius**2 * moments.covariances, strict=True
            )
        ]
    )


def _reach(changes: Floats, covariance: Floats) -> Floats:
    held = np.einsum("kd,de,ke->k", changes, covariance, changes)
    reach: Floats = np.sqrt(np.clip(held / np.maximum(np.square(changes).sum(axis=1), _LEAST_CHANGE) ** 2, 0.0, 1.0))
    return reach


def _changes(code: ImageCode, mean: Floats) -> Floats:
    """What a movement by one standard deviation, of a size up to 1, adds to the components of a mean image."""
    image = torch.tensor(code.decode(mean[None]).transpose(0, 3, 1, 2), dtype=torch.float64)
    steps = _STEP * torch.cat([torch.eye(MOVES), -torch.eye(MOVES)]).double()
    there, back = moved(image.expand(2 * MOVES, -1, -1, -1), steps).chunk(2)
    slopes = ((there - back) / (2.0 * _STEP)).numpy() / sqrt(3.0)
    changes = np.zeros((MOVES, len(mean)))
    found = (slopes.reshape(MOVES * code.schema.channels, -1) @ code.plane.T).reshape(MOVES, -1)
    changes[:, : found.shape[1]] = found
    return changes
