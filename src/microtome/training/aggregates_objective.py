"""Fitting a release of aggregates: two-way tables of every class, their noise split between training and judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from microtome.generators import Generator, MixtureGenerator, RowLayout
from microtome.generators.likeness import with_likeness
from microtome.generators.smoothness import kernels
from microtome.generators.splitting import Support, split, weigh_groups
from microtome.progress import Progress, silent
from microtome.published import AggregatesRelease
from microtome.training.aggregate_losses import AggregateLoss, Floats, class_margins, class_shares
from microtome.training.committee import Committee
from microtome.training.loop import Loop
from microtome.training.settings import FitSettings
from microtome.training.table_objective import TableObjective

Kernels = Sequence[Float[Tensor, "w w"] | None]
_SKETCH_COMPONENTS, _SKETCH_MEMBERS, _SKETCH_STEPS = 512, 2, 120
"""Of the quick fit that shows which categories are alike: a quarter of the time of the fit itself."""


class AggregatesObjective(TableObjective):
    """A generator of rows against tables.

    Attributes:
        mixture: The generator, if it is the built-in one.
        supports: What is certain in the tables, and so is to be in the rows of a mixture.
    """

    mixture: MixtureGenerator | None = None
    supports: Sequence[Support] = ()

    def meet(self, losses: Sequence[AggregateLoss]) -> None:
        """Minimise the mean of these losses, one for each member of the mixture."""
        tables = Committee(losses)
        self.minimise(tables, tables.judge)
        self.supports = tables.supports

    def finish(self) -> None:
        """Set the margins; cut what components blur."""
        super().finish()
        if self.supports and self.learns and self.mixture is not None:
            self.generator = self.mixture = split(self.mixture, self.supports)
            weigh_groups(self.mixture, self.supports, self._margins[0])
            self.mixture.match_margins(self._margins, self.random)


def aggregates_objective(
    release: AggregatesRelease,
    settings: FitSettings,
    seed: int,
    generator: Generator | None,
    progress: Progress = silent,
) -> TableObjective:
    """The built-in mixture, or a generator of one's own, against noisy tables."""
    margins = class_margins(release)
    if generator is not None:
        return _of_own(release, settings, seed, margins, generator)
    shape = settings.mixture
    smooth = kernels(release.codebook.codes, shape.smoothness)
    if shape.likeness > 0.0 and not shape.sees_clearly(_clarity(release)) and _has_alike(release, smooth):
        sketch = _sketch(release, settings, seed, margins, smooth, progress)
        smooth = with_likeness(smooth, sketch, shape.likeness)
    return _of_mixture(release, settings, seed, margins, smooth)[0]


def _of_own(
    release: AggregatesRelease, settings: FitSettings, seed: int, margins: Floats, generator: Generator
) -> AggregatesObjective:
    objective = _objective(release, settings, seed, margins, generator)
    objective.meet([_loss(release, settings, margins, objective.random, exact=False)])
    return objective


def _of_mixture(
    release: AggregatesRelease, settings: FitSettings, seed: int, margins: Floats, smooth: Kernels
) -> tuple[AggregatesObjective, MixtureGenerator]:
    shape, clarity = settings.mixture, _clarity(release)
    members = shape.count_members(clarity)
    mixture = MixtureGenerator(
        RowLayout.of(release.codebook),
        torch.tensor(margins, dtype=torch.float32),
        replace(shape, components=shape.count(clarity), members=members),
        pivot=release.pivot,
        shares=torch.tensor(class_shares(release)),
        kernels=smooth,
    )
    objective = _objective(release, settings, seed, margins, mixture)
    objective.mixture = mixture
    objective.meet([_loss(release, settings, margins, objective.random, exact=True) for _ in range(members)])
    return objective, mixture


def _objective(
    release: AggregatesRelease, settings: FitSettings, seed: int, margins: Floats, generator: Generator
) -> AggregatesObjective:
    pace = settings.pace(mixture=isinstance(generator, MixtureGenerator), clarity=_clarity(release))
    by_class, random = torch.tensor(margins, dtype=torch.float32), torch.Generator().manual_seed(seed)
    return AggregatesObjective(release, generator, pace, settings.batch_size, by_class, random)


def _loss(
    release: AggregatesRelease, settings: FitSettings, margins: Floats, random: torch.Generator, *, exact: bool
) -> AggregateLoss:
    return AggregateLoss(
        release,
        margins,
        settings.loss,
        held_out=settings.held_out,
        batch_size=settings.batch_size,
        prior=settings.mixture.prior,
        exact=exact,
        generator=random,
    )


def _sketch(
    release: AggregatesRelease,
    settings: FitSettings,
    seed: int,
    margins: Floats,
    smooth: Kernels,
    progress: Progress,
) -> MixtureGenerator:
    """A mixture that was fitted quickly, which shows which categories are alike.

    It has a random stream of its own and takes the same course whenever a run is resumed.
    """
    shape, clarity = settings.mixture, _clarity(release)
    few = replace(shape, components=min(shape.count(clarity), _SKETCH_COMPONENTS), members=_SKETCH_MEMBERS)
    steps = min(settings.pace(mixture=True, clarity=clarity).steps, _SKETCH_STEPS)
    quick = replace(settings, mixture=few, steps=steps)
    objective, mixture = _of_mixture(release, quick, seed, margins, smooth)
    objective.stage = "likeness"
    if not Loop(objective, run={}, progress=progress).run():
        raise KeyboardInterrupt
    return mixture


def _has_alike(release: AggregatesRelease, smooth: Kernels) -> bool:
    """Whether any column has categories that may be alike, in all classes."""
    blocks = release.codebook.blocks
    return release.pivot is None and any(
        kernel is None and block.width > 2 for kernel, block in zip(smooth, blocks, strict=True)
    )


def _clarity(release: AggregatesRelease) -> float:
    """How many times the records of a class exceed the noise of a cell, in the middle of all tables.

    Noise of less than a record counts as one: nobody is less than that.
    """
    noise = np.array(release.mechanism.pair_noise)
    typical = float(np.median(noise[noise > 0])) if (noise > 0).any() else np.inf
    return release.num_records / len(class_shares(release)) / max(typical, 1.0)
