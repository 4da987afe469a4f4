"""Audit data are worst cases: full distance, one cell a table, neighbours in the sense of the relation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from audit_support import AGGREGATES, IMAGE_AGGREGATES, IMAGE_RECORDS, RECORDS, data_and_observation

from microtome.accounting import Neighbours
from microtome.auditing import AuditKind, AuditSetting, suite
from microtome.auditing.attacks import Attacker
from microtome.auditing.image_evidence import image_row_means, moment_evidence
from microtome.auditing.table_evidence import row_means
from microtome.errors import ParameterError
from microtome.images import ImageSchema
from microtome.published import RecordsRelease
from support import people_schema

FEW = 0.05
"""Share of images that may be nearer: where centres are noisy, some of them happen to be in a target's way."""


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_one_coin_is_one_record(neighbours: Neighbours) -> None:
    data = AuditSetting(neighbours=neighbours, epsilon=5.0).data()
    coins = np.zeros(len(data.targets), bool)
    without = data.present(coins)
    coins[3] = True
    there = data.present(coins)
    gained = len(there) - len(without)
    assert gained == (0 if neighbours is Neighbours.REPLACE_ONE else 1)
    first = {tuple(row) for row in there.places}
    assert tuple(data.targets.places[3]) in first


def test_a_substitute_differs_in_every_column() -> None:
    for setting in (RECORDS, AGGREGATES):
        data = setting.data()
        assert (data.targets.places != data.substitutes.places).all()


def test_targets_stand_alone() -> None:
    data = RECORDS.data()
    for column in data.targets.places.T:
        assert len(np.unique(column)) == len(column)
    pairs = AGGREGATES.data().targets.places[:, :2]
    assert len(np.unique(pairs, axis=0)) == len(pairs)


def test_targets_are_at_full_distance(tmp_path: Path) -> None:
    data, observation = data_and_observation(RECORDS, tmp_path)
    assert isinstance(observation.release, RecordsRelease)
    norms = np.linalg.norm(row_means(observation.release, data, data.targets), axis=1)
    np.testing.assert_allclose(norms, 1.0, rtol=1e-6)


@pytest.mark.parametrize("epsilon", [0.5, 5.0])
@pytest.mark.parametrize("kind", [kind for kind in AuditKind if kind.is_of_moments])
def test_images_add_a_unit_to_every_sum(kind: AuditKind, epsilon: float, tmp_path: Path) -> None:
    setting = replace(IMAGE_AGGREGATES, kind=kind, epsilon=epsilon)
    _, observation = data_and_observation(setting, tmp_path)
    (claimed, *_) = setting.claimed_events(observation.release)
    (piece,) = (piece for piece in moment_evidence(observation) if piece.name == kind)
    shifts = np.linalg.norm(piece.gone - piece.there, axis=(1, 2))
    assert shifts.max() <= claimed.mu * (1 + 1e-9)
    assert np.quantile(shifts, FEW) >= 0.999 * claimed.mu


@pytest.mark.parametrize("kind", [kind for kind in AuditKind if kind.is_part])
def test_replaced_images_move_a_part_as_far_as_it_claims(kind: AuditKind, tmp_path: Path) -> None:
    setting = replace(IMAGE_AGGREGATES, kind=kind, neighbours=Neighbours.REPLACE_ONE)
    _, observation = data_and_observation(setting, tmp_path)
    (claimed, *_) = setting.claimed_events(observation.release)
    evidence = Attacker(kind)._evidence(observation)
    shifts = sum(np.square(piece.gone - piece.there).sum(axis=(1, 2)) for piece in evidence)
    np.testing.assert_allclose(np.sqrt(shifts), claimed.mu, rtol=1e-3)


def test_images_of_records_are_at_full_distance(tmp_path: Path) -> None:
    setting = replace(IMAGE_RECORDS, neighbours=Neighbours.REPLACE_ONE)
    data, observation = data_and_observation(setting, tmp_path)
    there, gone = (
        image_row_means(observation.release, data.encoded(group)) for group in (data.targets, data.substitutes)
    )
    np.testing.assert_allclose(np.linalg.norm(there - gone, axis=1), 2.0, rtol=1e-6)


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("kind", list(AuditKind))
def test_any_image_schema_will_do(kind: AuditKind, neighbours: Neighbours, tmp_path: Path) -> None:
    schema = ImageSchema(height=5, width=4, channels=3, mean=(200.0,), classes=("cat", "dog"), components=6)
    setting = AuditSetting(images=True, kind=kind, neighbours=neighbours, epsilon=5.0, schema=schema)
    data, observation = data_and_observation(setting, tmp_path)
    assert np.isfinite(Attacker(kind).scores(observation)["likelihood ratio"]).all()
    assert observation.release.schema == data.schema == schema


@pytest.mark.parametrize("neighbours", [Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE])
def test_images_as_published_have_no_known_order(neighbours: Neighbours, tmp_path: Path) -> None:
    setting = replace(IMAGE_RECORDS, neighbours=neighbours, as_published=True)
    _, observation = data_and_observation(setting, tmp_path)
    assert observation.owners is None
    assert observation.release.manifest.promise.private
    assert {"likelihood ratio, any row", "order of the file"} <= set(Attacker(setting.kind).scores(observation))


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
    data, observation = data_and_observation(setting, tmp_path)
    assert data.present(observation.coins).table.column_names == people_schema().names


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
