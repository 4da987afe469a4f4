"""Scenes are worst cases: full distance, one cell a table, neighbours in the sense of the relation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audit_support import AGGREGATES, IMAGE_AGGREGATES, IMAGE_RECORDS, RECORDS, scene_and_sighting

from microtome.accounting import Neighbours
from microtome.auditing import AuditKind, AuditSetting, suite
from microtome.auditing.attacks import Attacker
from microtome.auditing.image_readings import image_row_means, moment_readings
from microtome.auditing.table_readings import row_means
from microtome.errors import ParameterError
from microtome.images import ImageSchema
from microtome.published import RecordsRelease
from support import people_schema

FEW = 0.05
"""Share of images that may be nearer: where centres are noisy, some of them happen to be in a target's way."""


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_one_coin_is_one_record(neighbours: Neighbours) -> None:
    scene = AuditSetting(neighbours=neighbours, epsilon=5.0).scene()
    coins = np.zeros(len(scene.targets), bool)
    without = scene.present(coins)
    coins[3] = True
    there = scene.present(coins)
    gained = len(there) - len(without)
    assert gained == (0 if neighbours is Neighbours.REPLACE_ONE else 1)
    first = {tuple(row) for row in there.places}
    assert tuple(scene.targets.places[3]) in first


def test_a_substitute_differs_in_every_column() -> None:
    for setting in (RECORDS, AGGREGATES):
        scene = setting.scene()
        assert (scene.targets.places != scene.substitutes.places).all()


def test_targets_stand_alone() -> None:
    scene = RECORDS.scene()
    for column in scene.targets.places.T:
        assert len(np.unique(column)) == len(column)
    pairs = AGGREGATES.scene().targets.places[:, :2]
    assert len(np.unique(pairs, axis=0)) == len(pairs)


def test_targets_are_at_full_distance(tmp_path: Path) -> None:
    scene, sighting = scene_and_sighting(RECORDS, tmp_path)
    assert isinstance(sighting.release, RecordsRelease)
    norms = np.linalg.norm(row_means(sighting.release, scene, scene.targets), axis=1)
    np.testing.assert_allclose(norms, 1.0, rtol=1e-6)


@pytest.mark.parametrize("epsilon", [0.5, 5.0])
@pytest.mark.parametrize("kind", [kind for kind in AuditKind if kind.is_of_moments])
def test_images_add_a_unit_to_every_sum(kind: AuditKind, epsilon: float, tmp_path: Path) -> None:
    setting = replace(IMAGE_AGGREGATES, kind=kind, epsilon=epsilon)
    _, sighting = scene_and_sighting(setting, tmp_path)
    (claimed, *_) = setting.claimed_events(sighting.release)
    (reading,) = (reading for reading in moment_readings(sighting) if reading.name == kind)
    shifts = np.linalg.norm(reading.gone - reading.there, axis=(1, 2))
    assert shifts.max() <= claimed.mu * (1 + 1e-9)
    assert np.quantile(shifts, FEW) >= 0.999 * claimed.mu


@pytest.mark.parametrize("kind", [kind for kind in AuditKind if kind.is_part])
def test_replaced_images_move_a_part_as_far_as_it_claims(kind: AuditKind, tmp_path: Path) -> None:
    setting = replace(IMAGE_AGGREGATES, kind=kind, neighbours=Neighbours.REPLACE_ONE)
    _, sighting = scene_and_sighting(setting, tmp_path)
    (claimed, *_) = setting.claimed_events(sighting.release)
    readings = Attacker(kind)._readings(sighting)
    shifts = sum(np.square(reading.gone - reading.there).sum(axis=(1, 2)) for reading in readings)
    np.testing.assert_allclose(np.sqrt(shifts), claimed.mu, rtol=1e-3)


def test_images_of_records_are_at_full_distance(tmp_path: Path) -> None:
    setting = replace(IMAGE_RECORDS, neighbours=Neighbours.REPLACE_ONE)
    scene, sighting = scene_and_sighting(setting, tmp_path)
    there, gone = (
        image_row_means(sighting.release, scene.encoded(group)) for group in (scene.targets, scene.substitutes)
    )
    np.testing.assert_allclose(np.linalg.norm(there - gone, axis=1), 2.0, rtol=1e-6)


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("kind", list(AuditKind))
def test_any_image_schema_will_do(kind: AuditKind, neighbours: Neighbours, tmp_path: Path) -> None:
    schema = ImageSchema(height=5, width=4, channels=3, mean=(200.0,), classes=("cat", "dog"), components=6)
    setting = AuditSetting(images=True, kind=kind, neighbours=neighbours, epsilon=5.0, schema=schema)
    scene, sighting = scene_and_sighting(setting, tmp_path)
    assert np.isfinite(Attacker(kind).scores(sighting)["likelihood ratio"]).all()
    assert sighting.release.schema == scene.schema == schema


@pytest.mark.parametrize("neighbours", [Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE])
def test_images_as_published_have_no_known_order(neighbours: Neighbours, tmp_path: Path) -> None:
    setting = replace(IMAGE_RECORDS, neighbours=neighbours, as_published=True)
    _, sighting = scene_and_sighting(setting, tmp_path)
    assert sighting.owners is None
    assert sighting.release.manifest.promise.private
    assert {"likelihood ratio, any row", "order of the file"} <= set(Attacker(setting.kind).scores(sighting))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"schema": ImageSchema(height=2, width=2)}, "the schema is of images"),
        ({"images": True, "schema": people_schema()}, "the schema is of a table"),
        ({"images": True, "kind": AuditKind.AGGREGATES, "pivot": "owner"}, "pivot is for tables"),
        ({"images": True, "rounded": True}, "rounded is for tables"),
        ({"kind": AuditKind.SPREADS}, "spreads is for images"),
        ({"alike": True}, "alike is for images"),
    ],
)
def test_what_is_for_the_other_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        AuditSetting(**options)


@pytest.mark.parametrize("kind", [kind for kind in AuditKind if not kind.is_of_moments])
def test_any_schema_will_do(kind: AuditKind, tmp_path: Path) -> None:
    setting = AuditSetting(kind=kind, epsilon=5.0, schema=people_schema())
    scene, sighting = scene_and_sighting(setting, tmp_path)
    assert scene.present(sighting.coins).table.column_names == people_schema().names


def test_the_suite_covers_all_that_is_promised() -> None:
    settings = suite()
    names = [setting.name for setting in settings]
    assert len(set(names)) == len(names)
    for words in (
        "gaussian",
        "orthogonal",
        "subsample",
        "no pivot",
        "pivot",
        "profile",
        "learnt",
        "rounding",
        "all alike",
        "as published",
    ):
        assert any(words in name for name in names), words
    for images in (False, True):
        held = [setting for setting in settings if setting.images is images]
        for relation in Neighbours:
            for kind in (AuditKind.RECORDS, AuditKind.AGGREGATES, AuditKind.PROFILE):
                assert any(setting.kind is kind and setting.neighbours is relation for setting in held)
            assert any(setting.subsample and setting.neighbours is relation for setting in held)
    assert {setting.kind for setting in settings} == set(AuditKind)


def test_the_null_record_is_in_no_table() -> None:
    with pytest.raises(ParameterError, match="null record"):
        AuditSetting(as_published=True)
