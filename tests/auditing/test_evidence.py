"""The likelihood ratio in closed form is that of the whole file, by brute force."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from audit_support import AGGREGATES, IMAGE_AGGREGATES, IMAGE_RECORDS, RECORDS, data_and_observation, with_flipped

from microtome.accounting import DirectionKind, Neighbours
from microtome.auditing import AuditKind, AuditSetting
from microtome.auditing.evidence import Evidence
from microtome.auditing.image_evidence import image_profile_evidence, image_rows_evidence, moment_evidence
from microtome.auditing.observation import ImageObservation, Observation, TableObservation
from microtome.auditing.table_evidence import profile_evidence, table_evidence, table_rows_evidence
from microtome.published import AggregatesRelease, ImageMomentsRelease, ImageRowsRelease, RecordsRelease

RELATIONS = list(Neighbours)


def sums_of(observation: Observation) -> list[Evidence]:
    """All evidence in a file but those of rows."""
    if isinstance(observation, ImageObservation):
        moments = isinstance(observation.release, ImageMomentsRelease)
        return [*image_profile_evidence(observation), *(moment_evidence(observation) if moments else [])]
    assert isinstance(observation, TableObservation)
    tables = isinstance(observation.release, AggregatesRelease)
    return [*profile_evidence(observation), *(table_evidence(observation) if tables else [])]


def total_noise(observation: Observation) -> float:
    """Sum of squares of all noise in the file (rows aside), if the coins are what they say."""
    return sum(
        float((piece.noise**2).sum()) / (2 if piece.name in ("pairs", "triples") else 1)
        for piece in sums_of(observation)
    )


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize(
    "setting",
    [
        AuditSetting(kind=AuditKind.PROFILE, epsilon=5.0),
        AuditSetting(kind=AuditKind.PROFILE, epsilon=5.0, rounded=True),
        AuditSetting(kind=AuditKind.AGGREGATES, epsilon=5.0),
        AuditSetting(kind=AuditKind.AGGREGATES, epsilon=5.0, second_round=True),
        replace(IMAGE_RECORDS, kind=AuditKind.PROFILE),
        IMAGE_AGGREGATES,
        replace(IMAGE_AGGREGATES, kind=AuditKind.MEANS),
        replace(IMAGE_AGGREGATES, alike=True),
    ],
    ids=lambda setting: setting.name,
)
def test_likelihood_ratio_is_that_of_the_file(setting: AuditSetting, neighbours: Neighbours, tmp_path: Path) -> None:
    """Believe one target to be there, believe it is not: noise that explains the file changes by the ratio.

    A pair of levels stands twice in the symmetric tables and is one noisy number, hence the half.
    """
    data, observation = data_and_observation(replace(setting, neighbours=neighbours), tmp_path)
    evidence = sums_of(observation)
    assert sum("rounding" in piece.name for piece in evidence) == 2 * setting.rounded
    assert any(piece.name == "chosen tables" for piece in evidence) == setting.second_round
    ratios = sum(piece.log_ratio() for piece in evidence)
    for target in {0, len(data.targets) // 2, len(data.targets) - 1}:
        as_is, flipped = total_noise(observation), total_noise(with_flipped(observation, target))
        there, gone = (as_is, flipped) if observation.coins[target] else (flipped, as_is)
        assert ratios[target] == pytest.approx((gone - there) / 2, abs=1e-6)


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_summing_all_anew_says_what_the_target_alone_says(neighbours: Neighbours, tmp_path: Path) -> None:
    """A record's numbers are its own; what it means if they are not, the broken mechanisms are about."""
    setting = replace(IMAGE_AGGREGATES, alike=True, neighbours=neighbours)
    _, whole = data_and_observation(setting, tmp_path)
    alone = replace(whole, data=replace(whole.data, alike=False))
    for one, other in zip(sums_of(whole), sums_of(alone), strict=True):
        np.testing.assert_allclose(one.log_ratio(), other.log_ratio(), atol=1e-6)


@pytest.mark.parametrize(
    "setting",
    [
        *(replace(RECORDS, epsilon=2000.0, neighbours=relation) for relation in RELATIONS),
        replace(RECORDS, epsilon=2000.0, subsample=0.5, neighbours=Neighbours.ADD_REMOVE),
        replace(RECORDS, epsilon=2000.0, subsample=0.5),
        replace(RECORDS, epsilon=2000.0, directions=DirectionKind.GAUSSIAN),
        *(replace(IMAGE_RECORDS, epsilon=2000.0, neighbours=relation) for relation in RELATIONS),
        *(replace(IMAGE_RECORDS, epsilon=2000.0, neighbours=relation, subsample=0.5) for relation in RELATIONS),
    ],
    ids=lambda setting: setting.name,
)
def test_the_observer_knows_which_row_is_whose(setting: AuditSetting, tmp_path: Path) -> None:
    """With next to no noise a row that was taken for another's would be many standard deviations off."""
    _, observation = data_and_observation(setting, tmp_path)
    assert isinstance(observation.release, RecordsRelease | ImageRowsRelease)
    assert observation.release.noise_scale < 0.1
    piece = (image_rows_evidence if setting.images else table_rows_evidence)(observation)
    assert np.abs(piece.noise).max() < 7
    assert piece.noise.std() == pytest.approx(1.0, abs=0.1)


def test_rows_have_the_loss_of_a_gaussian_shift(tmp_path: Path) -> None:
    """ln ratio ~ N(±μ²/2, μ²) with μ = 1/σ, for a row at distance 1 from the null record."""
    _, observation = data_and_observation(RECORDS, tmp_path)
    assert isinstance(observation.release, RecordsRelease)
    mu = 1.0 / observation.release.noise_scale
    ratios = table_rows_evidence(observation).log_ratio() * np.where(observation.coins, 1, -1)
    assert ratios.mean() == pytest.approx(mu**2 / 2, abs=6 * mu / np.sqrt(len(ratios)))
    assert ratios.std() == pytest.approx(mu, rel=6 / np.sqrt(2 * len(ratios)))


@pytest.mark.parametrize(
    "setting",
    [
        *(RECORDS, AGGREGATES, replace(RECORDS, rounded=True)),
        replace(RECORDS, rounded=True, neighbours=Neighbours.ADD_REMOVE),
        *(IMAGE_RECORDS, IMAGE_AGGREGATES),
    ],
    ids=lambda setting: setting.name,
)
def test_noise_of_a_release_is_standard(setting: AuditSetting, tmp_path: Path) -> None:
    _, observation = data_and_observation(setting, tmp_path)
    for piece in sums_of(observation):
        assert np.abs(piece.noise).max() < 7
        measured = piece.noise[piece.noise != 0]
        assert measured.std() == pytest.approx(1.0, abs=6 / np.sqrt(2 * len(measured)))
