"""The likelihood ratio in closed form is that of the whole file, by brute force."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from audit_support import AGGREGATES, RECORDS, scene_and_sighting, with_flipped

from microtome.accounting import DirectionKind, Neighbours
from microtome.auditing import AuditKind, AuditSetting
from microtome.auditing.readings import profile_readings, rows_reading, table_readings
from microtome.auditing.witness import Sighting
from microtome.release import AggregatesRelease, RecordsRelease

RELATIONS = list(Neighbours)


def total_noise(sighting: Sighting) -> float:
    """Sum of squares of all noise in the file (rows aside), if the coins are what they say."""
    readings = list(profile_readings(sighting))
    if isinstance(sighting.release, AggregatesRelease):
        readings += list(table_readings(sighting))
    return sum(float((reading.noise**2).sum()) / (1 if "pairs" not in reading.name else 2) for reading in readings)


@pytest.mark.parametrize("neighbours", RELATIONS)
@pytest.mark.parametrize(
    ("kind", "rounded"),
    [(AuditKind.PROFILE, False), (AuditKind.PROFILE, True), (AuditKind.AGGREGATES, False)],
    ids=["profile", "rounding", "aggregates"],
)
def test_likelihood_ratio_is_that_of_the_file(
    kind: AuditKind, rounded: bool, neighbours: Neighbours, tmp_path: Path
) -> None:
    """Believe one target to be there, believe it is not: noise that explains the file changes by the ratio.

    A pair of levels stands twice in the symmetric tables and is one noisy number, hence the half.
    """
    setting = AuditSetting(kind=kind, epsilon=5.0, neighbours=neighbours, rounded=rounded)
    scene, sighting = scene_and_sighting(setting, tmp_path)
    readings = list(profile_readings(sighting))
    assert sum("rounding" in reading.name for reading in readings) == 2 * rounded
    if kind is AuditKind.AGGREGATES:
        readings += list(table_readings(sighting))
    ratios = sum(reading.log_ratio() for reading in readings)
    for target in (0, 1, len(scene.targets) - 1):
        as_is, flipped = total_noise(sighting), total_noise(with_flipped(sighting, target))
        there, gone = (as_is, flipped) if sighting.coins[target] else (flipped, as_is)
        assert ratios[target] == pytest.approx((gone - there) / 2, abs=1e-6)


@pytest.mark.parametrize(
    "setting",
    [
        *(replace(RECORDS, epsilon=2000.0, neighbours=relation) for relation in RELATIONS),
        replace(RECORDS, epsilon=2000.0, subsample=0.5, neighbours=Neighbours.ADD_REMOVE),
        replace(RECORDS, epsilon=2000.0, subsample=0.5),
        replace(RECORDS, epsilon=2000.0, directions=DirectionKind.GAUSSIAN),
    ],
    ids=lambda setting: setting.name,
)
def test_the_witness_knows_which_row_is_whose(setting: AuditSetting, tmp_path: Path) -> None:
    """With next to no noise a row that was taken for another's would be many standard deviations off."""
    _, sighting = scene_and_sighting(setting, tmp_path)
    assert isinstance(sighting.release, RecordsRelease)
    assert sighting.release.noise_scale < 0.1
    reading = rows_reading(sighting)
    assert np.abs(reading.noise).max() < 7
    assert reading.noise.std() == pytest.approx(1.0, abs=0.1)


def test_rows_have_the_loss_of_a_gaussian_shift(tmp_path: Path) -> None:
    """ln ratio ~ N(±μ²/2, μ²) with μ = 1/σ, for a row at distance 1 from the null record."""
    _, sighting = scene_and_sighting(RECORDS, tmp_path)
    assert isinstance(sighting.release, RecordsRelease)
    mu = 1.0 / sighting.release.noise_scale
    ratios = rows_reading(sighting).log_ratio() * np.where(sighting.coins, 1, -1)
    assert ratios.mean() == pytest.approx(mu**2 / 2, abs=6 * mu / np.sqrt(len(ratios)))
    assert ratios.std() == pytest.approx(mu, rel=6 / np.sqrt(2 * len(ratios)))


@pytest.mark.parametrize(
    "setting",
    [
        *(RECORDS, AGGREGATES, replace(RECORDS, rounded=True)),
        replace(RECORDS, rounded=True, neighbours=Neighbours.ADD_REMOVE),
    ],
    ids=lambda setting: setting.name,
)
def test_noise_of_a_release_is_standard(setting: AuditSetting, tmp_path: Path) -> None:
    _, sighting = scene_and_sighting(setting, tmp_path)
    for reading in profile_readings(sighting):
        assert np.abs(reading.noise).max() < 7
    if setting is AGGREGATES:
        for reading in table_readings(sighting):
            measured = reading.noise[reading.noise != 0]
            assert measured.std() == pytest.approx(1.0, rel=0.2)
