"""The verdict on synthetic images, in words: by what a classifier learns from them, or by their means alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from microtome.evaluation.values import whole_percent
from microtome.evaluation.verdict import Level

Floats = NDArray[np.float64]
_WORDS = {
    Level.GOOD: "Good stand-ins for the real images.",
    Level.FAIR: "Fair stand-ins for the real images: use them with care.",
    Level.POOR: "Poor stand-ins for the real images: good for trying out programs, not for learning about the data.",
    Level.LITTLE: "Hardly anything of the real images is left: conclude nothing from these.",
}


def judged_by_means(gaps: Floats, published: Floats, noise: float) -> dict[str, Any]:
    """How much of what tells classes apart (of one class, of the picture) is right, noise counted as error."""
    error = root_mean_square(gaps)
    common = published.mean(axis=0) if len(published) > 1 else published.mean()
    kept = max(1.0 - (error**2 + noise**2) / max(root_mean_square(published - common) ** 2, 1e-12), 0.0)
    level = Level.of(kept)
    what = "what tells the mean images of classes apart" if len(published) > 1 else "the mean image"
    says = (
        f"Of {what} {whole_percent(kept)} is right, judged from the release alone, whose noise counts as error. How "
        "single images look is for the eye: a release holds none to compare them with."
    )
    return {"mean_error": error, "mean_noise": noise, "level": level, "verdict": (_WORDS[level], says)}


def judged_by_classifier(accuracy: dict[str, float] | None, num_classes: int) -> dict[str, Any]:
    """What a classifier learns from synthetic images, of what it learns from real ones."""
    if accuracy is None or set(accuracy) != {"synthetic", "real"}:
        return {"level": None, "verdict": ("Without classes there is no classifier to judge the images by.",)}
    chance = 1.0 / num_classes
    learnt = (accuracy["synthetic"] - chance) / max(accuracy["real"] - chance, 1e-12)
    level = Level.of(learnt)
    says = (
        f"A classifier trained on them recognises {whole_percent(accuracy['synthetic'])} of real images, one "
        f"trained on other real images {whole_percent(accuracy['real'])}; {whole_percent(chance)} would be chance."
    )
    return {"level": level, "verdict": (_WORDS[level], says)}


def root_mean_square(values: Floats) -> float:
    """√ of the mean square."""
    return float(np.sqrt((values**2).mean()))
