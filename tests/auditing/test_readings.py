"""The likelihood ratio in closed form is that of the whole file, by brute force."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from audit_support import AGGREGATES, IMAGE_AGGREGATES, IMAGE_RECORDS, RECORDS, scene_and_sighting, with_flipped

from microtome.accounting import DirectionKind, Neighbours
from microtome.auditing import AuditKind, AuditSetting
from microtome.auditing.image_readings import image_profile_readings, image_rows_reading, moment_readings
from microtome.auditing.reading import Reading
from microtome.auditing.table_readings import profile_readings, table_readings, table_rows_reading
from microtome.auditing.witness import ImageSighting, Sighting, TableSighting
from microtome.published import AggregatesRelease, ImageMomentsRelease, ImageRowsRelease, RecordsRelease

RELATIONS = list(Neighbours)


def sums_of(sighting: Sighting) -> list[Reading]:
    """All readings of a file but those of rows."""
    if isinstance(sighting, ImageSighting):
        moments = isinstance(sighting.release, ImageMomentsRelease)
        return [*image_profile_readings(sighting), *(moment_readings(sighting) if moments else [])]
    assert isinstance(sighting, TableSighting)
    tables = isinstance(sighting.release, AggregatesRelease)
    return [*profile_readings(sighting), *(table_readings(sighting) if tables else [])]


def total_noise(sighting: Sighting) -> float:
    """Sum of squares of all noise in the file (rows aside), if the coins are what they say."""
    return sum(
        float((reading.noise**2).sum()) / (2 if reading.name in ("pairs", "triples") else 1)
        for reading in sums_of(sighting)
    )


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize(
    "setting",
    [
        AuditSetting(kind=AuditKind.PROFILE, epsilon=5.0),
        AuditSetting(kind=AuditKind.PROFILE, epsilon=5.0, rounded=True),
        AuditSetting(kind=AuditKind.AGGREGATES, epsilon=5.0),
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
    scene, sighting = scene_and_sighting(replace(setting, neighbours=neighbours), tmp_path)
    readings = sums_of(sighting)
    assert sum("rounding" in reading.name for reading in readings) == 2 * setting.rounded
    ratios = sum(reading.log_ratio() for reading in readings)
    for target in {0, len(scene.targets) // 2, len(scene.targets) - 1}:
        as_is, flipped = total_noise(sighting), total_noise(with_flipped(sighting, target))
        there, gone = (as_is, flipped) if sighting.coins[target] else (flipped, as_is)
        assert ratios[target] == pytest.approx((gone - there) / 2, abs=1e-6)


@pytest.mark.parametrize("neighbours", RELATIONS)
def test_summing_all_anew_says_what_the_target_alone_says(neighbours: Neighbours, tmp_path: Path) -> None:
    """A record's numbers are its own; what it means if they are not, the broken mechanisms are about."""
    setting = replace(IMAGE_AGGREGATES, alike=True, neighbours=neighbours)
    _, whole = scene_and_sighting(setting, tmp_path)
    alone = replace(whole, scene=replace(whole.scene, alike=False))
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
def test_the_witness_knows_which_row_is_whose(setting: AuditSetting, tmp_path: Path) -> None:
    """With next to no noise a row that was taken for another's would be many standard deviations off."""
    _, sighting = scene_and_sighting(setting, tmp_path)
    assert isinstance(sighting.release, RecordsRelease | ImageRowsRelease)
    assert sighting.release.noise_scale < 0.1
    reading = (image_rows_reading if setting.images else table_rows_reading)(sighting)
    assert np.abs(reading.noise).max() < 7
    assert reading.noise.std() == pytest.approx(1.0, abs=0.1)


def test_rows_have_the_loss_of_a_gaussian_shift(tmp_path: Path) -> None:
    """ln ratio ~ N(±μ²/2, μ²) with μ = 1/σ, for a row at distance 1 from the null record."""
    _, sighting = scene_and_sighting(RECORDS, tmp_path)
    assert isinstance(sighting.release, RecordsRelease)
    mu = 1.0 / sighting.release.noise_scale
    ratios = table_rows_reading(sighting).log_ratio() * np.where(sighting.coins, 1, -1)
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
    _, sighting = scene_and_sighting(setting, tmp_path)
    for reading in sums_of(sighting):
        assert np.abs(reading.noise).max() < 7
        measured = reading.noise[reading.noise != 0]
        assert measured.std() == pytest.approx(1.0, abs=6 / np.sqrt(2 * len(measured)))
