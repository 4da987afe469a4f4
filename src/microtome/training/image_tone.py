"""The tone of drawn images: as much light, and as much contrast, as the release knows of the real ones.

Images that were drawn by their edges are greyer than real ones, with ghosts of strokes between the strokes. Three
released numbers say by how much: the mean of all pixels, and the mean squared norms of components and of edges. A curve

    p → gain·(p − floor), cut to [0, 1]

is chosen so that drawn images have these as nearly as they can, by least squares of relative errors. That costs no
privacy.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import least_squares

from microtome.generators.image import ImageGenerator
from microtome.generators.strokes import toned
from microtome.images.edges import EDGE_DIM
from microtome.published import ImageRelease
from microtome.training.image_moments import ClassMoments

_DRAWN = 1000
_GAINS, _FLOORS = (0.5, 4.0), (-0.25, 0.5)
_START = (1.5, 0.1)
_STEP = 1e-2
Light = tuple[float, float, float]
"""Mean of the pixels, and mean squared norms of components and of edges."""


def light_of(release: ImageRelease, moments: ClassMoments) -> Light:
    """What a release knows of the light of its images, all classes alike."""
    present = moments.shares > 0
    pixels = release.code.decode(release.radius * moments.means[present]).mean()
    variances = np.diagonal(moments.covariances, axis1=1, axis2=2)
    squares = release.radius**2 * (np.square(moments.means) + variances)[present].mean(axis=0)
    return float(pixels), float(squares[:-EDGE_DIM].sum()), float(squares[-EDGE_DIM:].sum())


@torch.no_grad()
def fit_tone(generator: ImageGenerator, present: NDArray[np.int64], light: Light, random: torch.Generator) -> None:
    """Set the tone of a generator so that its images have this light."""
    latent = torch.randn(_DRAWN, generator.latent_dim, generator=random)
    classes = torch.from_numpy(np.resize(present, _DRAWN))
    images = generator.sketched(generator.drawn_code(latent, classes), classes).clamp(0.0, 1.0)

    def off(tone: NDArray[np.float64]) -> NDArray[np.float64]:
        shown = toned(images, torch.tensor(tone, dtype=torch.float32))
        squares = generator.code_of(shown).square().mean(dim=0)
        found = float(shown.mean()), float(squares[:-EDGE_DIM].sum()), float(squares[-EDGE_DIM:].sum())
        return np.array([(have - want) / max(want, 1e-6) for have, want in zip(found, light, strict=True)])

    bounds = ([_GAINS[0], _FLOORS[0]], [_GAINS[1], _FLOORS[1]])
    found = least_squares(off, np.array(_START), bounds=bounds, diff_step=_STEP)
    generator.tone.copy_(torch.tensor(found.x, dtype=torch.float32))
