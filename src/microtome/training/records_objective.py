"""Fitting a release of records: slices or moments of the rows, and a judge made of rows that training does not see."""

from __future__ import annotations

from copy import deepcopy

import torch

from microtome.generators import Generator, RowLayout, TabularGenerator
from microtome.published import RecordsRelease
from microtome.published.second_moments import has_moments, level_margins
from microtome.training.losses import TrainingLoss, moment_judge, slice_judge
from microtome.training.settings import FitSettings
from microtome.training.table_objective import SCORE_ROWS, TableObjective


def records_objective(
    release: RecordsRelease, settings: FitSettings, seed: int, generator: Generator | None
) -> TableObjective:
    """The built-in network, or a generator of one's own, against noisy rows; in units of independent columns."""
    pace, random = settings.pace(mixture=False), torch.Generator().manual_seed(seed)
    independent = build_generator(release, settings, seed)
    trained = deepcopy(independent) if generator is None else generator
    margins = torch.tensor(level_margins(release)[None], dtype=torch.float32)
    objective = TableObjective(release, trained, pace, settings.batch_size, margins, random)
    latent = torch.randn(SCORE_ROWS, independent.latent_dim, generator=torch.Generator().manual_seed(seed))
    held_out = max(1, int(settings.held_out * release.num_rows))
    loss = TrainingLoss(release, settings.loss, held_out, settings.batch_size, random)
    if has_moments(release):
        judge = moment_judge(release, held_out, loss, independent, latent, margins_given=objective.has_margins)
    else:
        judge = slice_judge(release, held_out, independent, latent, random)
    loss.calibrate(independent, latent[: settings.batch_size], random)
    objective.minimise(loss, judge)
    return objective


def build_generator(release: RecordsRelease, settings: FitSettings, seed: int) -> TabularGenerator:
    """The built-in network for a release, at the profile's margins: independent columns."""
    margins = torch.tensor(level_margins(release), dtype=torch.float32)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return TabularGenerator(RowLayout.of(release.codebook), margins, settings.network)
