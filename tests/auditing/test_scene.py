"""Scenes are worst cases: full distance, one cell a table, neighbours in the sense of the relation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from audit_support import AGGREGATES, RECORDS, scene_and_sighting

from microtome.accounting import Neighbours
from microtome.auditing import AuditKind, AuditSetting, suite
from microtome.auditing.readings import row_means
from microtome.errors import ParameterError
from microtome.release import RecordsRelease
from support import people_schema


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


@pytest.mark.parametrize("kind", list(AuditKind))
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
        "as published",
    ):
        assert any(words in name for name in names), words
    for relation in Neighbours:
        for kind in AuditKind:
            assert any(setting.kind is kind and setting.neighbours is relation for setting in settings)


def test_the_null_record_is_in_no_table() -> None:
    with pytest.raises(ParameterError, match="null record"):
        AuditSetting(as_published=True)
