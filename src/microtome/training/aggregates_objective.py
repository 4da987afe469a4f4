"""Fitting a release of aggregates: two-way tables of every class, their noise split between training and judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from microtome.generators import Generator, MixtureGenerator, RowLayout
from microtome.generators.smoothness import kernels
from microtome.generators.splitting import Support, split, weigh_groups
from microtome.published import AggregatesRelease
from microtome.training.aggregate_losses import AggregateLoss, class_margins, class_shares
from microtome.training.committee import Committee
from microtome.training.settings import FitSettings
from microtome.training.table_objective import TableObjective


class AggregatesObjective(TableObjective):
    """A generator of rows against tables.

    Attributes:
        mixture: The generator, if it is the built-in one.
        supports: What is certain in the tables, and so is to be in the rows of a mixture.
    """

    mixture: MixtureGenerator | None = None
    supports: Sequence[Support] = ()

    def finish(self) -> None:
        """Set the margins; cut what components blur."""
        super().finish()
        if self.supports and self.learns and self.mixture is not None:
            self.generator = self.mixture = split(self.mixture, self.supports)
            weigh_groups(self.mixture, self.supports, self._margins[0])
            self.mixture.match_margins(self._margins, self.random)


def aggregates_objective(
    release: AggregatesRelease, settings: FitSettings, seed: int, generator: Generator | None
) -> TableObjective:
    """The built-in mixture, or a generator of one's own, against noisy tables."""
    random, mixture, members = torch.Generator().manual_seed(seed), None, 1
    exact = generator is None
    margins = class_margins(release)
    clarity, by_class = _clarity(release), torch.tensor(margins, dtype=torch.float32)
    if generator is None:
        shape = settings.mixture
        members = shape.count_members(clarity)
        generator = mixture = MixtureGenerator(
            RowLayout.of(release.codebook),
            by_class,
            replace(shape, components=shape.count(clarity), members=members),
            pivot=release.pivot,
            shares=torch.tensor(class_shares(release)),
            kernels=kernels(release.codebook.codes, shape.smoothness),
        )
    pace = settings.pace(mixture=exact, clarity=clarity)
    objective = AggregatesObjective(release, generator, pace, settings.batch_size, by_class, random)
    losses = [
        AggregateLoss(
            release,
            margins,
            settings.loss,
            held_out=settings.held_out,
            batch_size=settings.batch_size,
            prior=settings.mixture.prior,
            exact=exact,
            generator=random,
        )
        for _ in range(members)
    ]
    tables = Committee(losses)
    objective.minimise(tables, tables.judge)
    objective.mixture, objective.supports = mixture, tables.supports
    return objective


def _clarity(release: AggregatesRelease) -> float:
    """How many times the records of a class exceed the noise of a cell, in the middle of all tables.

    Noise of less than a record counts as one: nobody is less than that.
    """
    noise = np.array(release.mechanism.pair_noise)
    typical = float(np.median(noise[noise > 0])) if (noise > 0).any() else np.inf
    return release.num_records / len(class_shares(release)) / max(typical, 1.0)
