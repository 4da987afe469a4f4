"""Members see other noise, are judged apart, and are nearer to the truth together than each by itself."""

from pathlib import Path

import numpy as np
import pytest
import torch

from fit_support import across, quick_mixture, true_tables
from microtome.demo import population, population_schema
from microtome.errors import ParameterError
from microtome.generators import MixtureGenerator, MixtureSettings
from microtome.published import AggregatesRelease, ReleaseKind
from microtome.training import LossMix, Trainer
from microtome.training.aggregate_losses import AggregateLoss, class_margins
from microtome.training.committee import Committee
from support import FixedRandomness, publish

ROWS = 10_000


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> AggregatesRelease:
    made = publish(
        population(ROWS),
        population_schema(),
        tmp_path_factory.mktemp("town") / "t.release",
        epsilon=1.0,
        delta=1e-5,
        kind=ReleaseKind.AGGREGATES,
        randomness=FixedRandomness(5),
    )
    assert isinstance(made, AggregatesRelease)
    return made


def fitted(release: AggregatesRelease, members: int | None) -> MixtureGenerator:
    settings = quick_mixture(mixture=MixtureSettings(components=128, members=members), steps=120)
    generator = Trainer(release, settings, seed=0).fit().generator
    assert isinstance(generator, MixtureGenerator)
    return generator.requires_grad_(False)


def test_together_they_are_nearer_to_the_truth(release: AggregatesRelease) -> None:
    truth, part = true_tables(release, population(ROWS)), across(release)

    def error(rows: torch.Tensor) -> float:
        return float(np.abs((rows.double().T @ rows.double() / len(rows)).numpy() - truth)[part].sum())

    members = [error(rows) for rows in fitted(release, 4).components().tensor_split(4)]
    together = error(fitted(release, 4).components())
    assert together < 0.98 * np.mean(members)
    assert together < min(members)


def test_each_member_is_trained_and_judged_by_a_split_of_its_own(release: AggregatesRelease) -> None:
    random = torch.Generator().manual_seed(0)
    options = {"held_out": 0.1, "batch_size": 256, "prior": 7.0, "exact": True, "generator": random}
    members = [AggregateLoss(release, class_margins(release), LossMix(), **options) for _ in range(2)]
    model = fitted(release, 2)
    both = [[rows] for rows in model.components().tensor_split(2)]
    latent = torch.zeros(2, 1)
    together = Committee(members)
    losses = [float(one.of_components(rows)) for one, rows in zip(members, both, strict=True)]
    assert float(together(model, latent, random)) == pytest.approx(np.mean(losses))
    missed = [one.missed_by_components(rows) for one, rows in zip(members, both, strict=True)]
    assert together.judge.value(model, latent) == pytest.approx(np.mean(missed))
    assert members[0].missed_by_components(both[1]) != pytest.approx(missed[0], rel=1e-6)
    assert float(members[0].of_components(both[0])) != pytest.approx(float(members[1].of_components(both[0])), rel=1e-6)


def test_there_are_fewer_members_where_tables_feed_more_components() -> None:
    settings = MixtureSettings()
    found = [(settings.count(clarity), settings.count_members(clarity)) for clarity in (0.0, 1_600.0, 1e9)]
    assert found == [(1024, 4), (2048, 4), (4096, 1)]
    assert MixtureSettings(components=2).count_members() == 2
    assert MixtureSettings(members=3).count_members(1e9) == 3
    with pytest.raises(ParameterError, match="members=0"):
        MixtureSettings(members=0)


def test_uneven_members_are_fitted_too(release: AggregatesRelease, tmp_path: Path) -> None:
    settings = quick_mixture(mixture=MixtureSettings(components=7, members=3), steps=5)
    fit = Trainer(release, settings, seed=0, checkpoint=tmp_path / "checkpoint").fit()
    assert fit.finished
