"""Adaptation by redrawing: source images take on the target's look, and the classifier learns from them.

All that is asked of the target is its moments (``target_moments``), from a release, for which the private images were
looked at once, or from public images. Source images are redrawn (``transform``) until they have the same moments, and
keep their labels. Classes may be more or less frequent in the target: source images count by the weight of their
class, which is found together with the look, or a target with more ones would be taken for a thinner one. Gaussian
priors of no change hold back what noise leaves open, and a look that explains no more than noise would is not taken
at all: a likelihood-ratio test, for which the moments' known variances are there. Nothing here touches private images:
training may be repeated, tuned and restarted at no cost.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from scipy.stats import chi2
from torch import Tensor, nn

from microtome.adaptation.network import build_network
from microtome.adaptation.objective import AdaptationObjective, Source
from microtome.adaptation.run import Run
from microtome.adaptation.settings import AdaptationSettings
from microtome.adaptation.target_moments import TargetMoments
from microtome.adaptation.transform import ImageTransform
from microtome.progress import Progress
from microtome.training import Loop, Objective
from microtome.training.threads import torch_threads

_STEPS = 250
_BATCH = 128
_LEARNING_RATE = 0.02
_PRIOR_SCALE = 0.3
"""How much a parameter of the look is expected to differ from none: a third in size, a sixth of the width in place."""
_SHARE_SCALE = 0.5
"""How much the logarithm of a class's share is expected to differ from the source's."""
_FALSE_ALARMS = 0.05
"""How often noise alone may pass for another look."""
_JUDGED_BY = 4096
"""Source images by which a look is judged."""
_AT_ONCE = 1024


def train_redrawn(
    moments: TargetMoments, origin: str, settings: AdaptationSettings, run: Run, source: Source, classes: list[Any]
) -> tuple[AdaptationObjective, ImageTransform, bool]:
    """Learn the look, redraw the source, train; gives what was trained, look, and whether it came to its end.

    A resumed run learns the look anew, which takes seconds and gives the same.

    Args:
        moments: Of the target.
        origin: What the moments are from: a release's fingerprint, or the digest of public images.
        settings: How the classifier is trained; what it says about alignment and slices has no use here.
        run: Its seed, and where it is kept.
        source: The labelled images.
        classes: Their classes.
    """
    facts = {"settings": settings.to_dict(), "source": len(source.images), "classes": classes, "target": origin}
    run.require_same(facts)
    _, channels, height, width = source.images.shape
    network = build_network((channels, height, width), len(classes), settings.radius, run.seed)
    with torch_threads(settings.threads):
        look, _ = learn_transform(moments, source, run.seed, run.progress)
        objective = AdaptationObjective(network, redrawn(source, look), settings, seed=run.seed)
        return objective, look, run.loop(objective, facts).run()


def learn_transform(
    moments: TargetMoments, source: Source, seed: int, progress: Progress
) -> tuple[ImageTransform, Float[Tensor, " v"]]:
    """The change of look that gives source images the target's moments, and the classes' shares that go with it.

    No change where the noise of the moments explains the difference as well.
    """
    learnt = _LookObjective(moments, source, seed)
    if not Loop(learnt, run={"seed": seed}, progress=progress).run():
        raise KeyboardInterrupt  # half a look is none
    look = learnt.look if _stands_out(moments, source, learnt.look, learnt.random) else ImageTransform()
    frequencies = torch.bincount(source.labels).float() * learnt.shares.detach().exp()
    return look, frequencies / frequencies.sum()


class _LookObjective(Objective):
    """A look, and shares of classes, by which source images have the target's moments."""

    stage, steps, check_every = "look", _STEPS, _STEPS

    def __init__(self, moments: TargetMoments, source: Source, seed: int) -> None:
        self._moments, self._source = moments, source
        self.look, self.shares = ImageTransform(), nn.Parameter(torch.zeros(int(source.labels.max()) + 1))
        self.module = nn.ModuleDict({"look": self.look, "shares": nn.ParameterList([self.shares])})
        self.random = torch.Generator().manual_seed(seed)
        self.optimiser = torch.optim.Adam(self.module.parameters(), lr=_LEARNING_RATE)

    def learning_rates(self, step: int) -> list[float]:
        """Falling to nothing."""
        return [_LEARNING_RATE * (1.0 - step / _STEPS)]

    def losses(self, step: int) -> dict[str, Tensor]:
        """The discrepancy of a batch, and the priors of no change."""
        del step
        chosen = torch.randint(len(self._source.images), (_BATCH,), generator=self.random)
        weights = torch.softmax(self.shares[self._source.labels[chosen]], dim=0)
        prior = 0.5 * self.look.change() / _PRIOR_SCALE**2 + 0.5 * self.shares.square().sum() / _SHARE_SCALE**2
        return {
            "discrepancy": self._moments.discrepancy(self.look(self._source.images[chosen]), weights),
            "change": prior,
        }


def _stands_out(moments: TargetMoments, source: Source, look: ImageTransform, random: torch.Generator) -> bool:
    """Whether a look is worth more than as many numbers that are fitted to noise: Wilks' theorem."""
    chosen = torch.randperm(len(source.images), generator=random)[:_JUDGED_BY]
    with torch.no_grad():
        plain, drawn = (moments.discrepancy(one(source.images[chosen])) for one in (ImageTransform(), look))
    gain = 2.0 * float(plain - drawn)
    return gain > float(chi2.isf(_FALSE_ALARMS, look.parameters_.numel()))


def redrawn(source: Source, transform: ImageTransform) -> Source:
    """The source in the target's look."""
    with torch.no_grad():
        parts = [transform(source.images[start : start + _AT_ONCE]) for start in range(0, len(source.images), _AT_ONCE)]
    return Source(images=torch.cat(parts), labels=source.labels)
