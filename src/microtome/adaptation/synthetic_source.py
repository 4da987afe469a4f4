"""A private labelled source: synthetic images of each class, from a release of the private ones.

The private images and their labels were looked at once, when the release was made. A model of it draws labelled
images, which may then be learnt from like any public ones.
"""

from __future__ import annotations

from microtome.errors import ModelError
from microtome.images import ImageSet
from microtome.progress import Progress
from microtome.published import ImageRelease
from microtome.synthesis import Synthesizer

_NUM_IMAGES = 10_000


def synthetic_source(release: ImageRelease, seed: int, progress: Progress) -> ImageSet:
    """Labelled images that look like those of the release, classes in its shares."""
    if release.schema.classes is None:
        raise ModelError(
            "the source's release has no classes, so nothing can be learnt from it; release labelled images with a "
            "schema that declares their classes"
        )
    model = Synthesizer(random_state=seed).fit(release, progress=progress)
    drawn: ImageSet = model.sample(_NUM_IMAGES, random_state=seed, progress=progress)
    return drawn
