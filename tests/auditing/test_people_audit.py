"""Audits whose neighbours are whole people: all rows of a target come and go together."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from microtome.accounting import Neighbours
from microtome.auditing import AuditKind, AuditSetting
from microtome.auditing.audit_linked import LinkedAuditData
from microtome.auditing.audit_table import TableAuditData
from microtome.auditing.evidence import NOWHERE
from microtome.auditing.observation import LinkedObservation, observe_release
from microtome.auditing.table_evidence import linked_evidence
from microtome.errors import ParameterError
from microtome.private.weighting import WHOLE

ROWS = 3


def test_a_target_is_a_person_with_all_of_their_rows() -> None:
    data = AuditSetting(kind=AuditKind.AGGREGATES, rows=ROWS).data()
    assert isinstance(data, TableAuditData)
    coins = np.zeros(len(data.targets), dtype=bool)
    coins[:5] = True
    blocks = list(data.opened(coins).blocks(1000))
    people = sum(len(block) for block in blocks)
    assert people == 5 + len(data.crowd)
    assert sum(block.rows.num_rows for block in blocks) == ROWS * people
    assert {block.weight for block in blocks} == {WHOLE // ROWS}


def test_people_of_several_rows_are_audited_in_aggregates_only() -> None:
    with pytest.raises(ParameterError, match="aggregates"):
        AuditSetting(kind=AuditKind.RECORDS, rows=2)


def linked(neighbours: Neighbours) -> AuditSetting:
    return AuditSetting(kind=AuditKind.AGGREGATES, linked=True, rows=2, epsilon=5.0, neighbours=neighbours)


@pytest.mark.parametrize("neighbours", Neighbours)
def test_a_target_of_linked_tables_adds_a_whole_unit_to_one_cell_of_every_table(
    neighbours: Neighbours, tmp_path: Path
) -> None:
    """What is left of published counts, less those of everybody, is the noise that they state: nobody is forgotten."""
    setting = linked(neighbours)
    data = setting.data()
    assert isinstance(data, LinkedAuditData)
    coins = np.arange(len(data.targets)) % 2 == 0
    observation = observe_release(data, setting.privacy(data.most_records), coins, tmp_path / "a.release")
    assert isinstance(observation, LinkedObservation)
    people, rows = len(observation.present), 0
    source = data.opened(coins)
    for block in source.blocks(1000):
        rows += block.rows.num_rows if block.view == "drugs" else 0
    assert rows == 4 * people
    evidence = list(linked_evidence(observation))
    assert {piece.name.split(":")[0] for piece in evidence} == {"people", "visits", "drugs"}
    noise = np.concatenate([piece.noise[np.unique(piece.places[piece.places != NOWHERE])] for piece in evidence])
    assert abs(noise.std() - 1.0) < 0.1
    assert np.abs(noise).max() < 6.0
    touched = sum((piece.places != NOWHERE).sum(axis=1) for piece in evidence)
    assert touched.min() >= 8, "three values, two numbers of rows, and the pairs of the values"


def test_linked_tables_are_audited_with_the_door_open() -> None:
    with pytest.raises(ParameterError, match="linked"):
        AuditSetting(kind=AuditKind.RECORDS, linked=True)
    with pytest.raises(ParameterError, match="tables of their own"):
        AuditSetting(kind=AuditKind.AGGREGATES, linked=True, pivot="group")


def test_steps_that_were_not_counted_tell_nothing(tmp_path: Path) -> None:
    """Which columns have several levels differs from release to release, and what there is to attack must not."""
    setting = linked(Neighbours.BLANK_ONE)
    data = setting.data()
    assert isinstance(data, LinkedAuditData)
    coins = np.arange(len(data.targets)) % 2 == 0
    observation = observe_release(data, setting.privacy(data.most_records), coins, tmp_path / "a.release")
    assert isinstance(observation, LinkedObservation)
    names = [piece.name for piece in linked_evidence(observation)]
    views = []
    for one in observation.release.mechanism.views:
        noise, own = np.array(one.tables.pair_noise), len(observation.release.views[one.view].view.schema.columns)
        noise[own:] = noise[:, own:] = 0.0
        views.append(replace(one, tables=replace(one.tables, pair_noise=tuple(map(tuple, noise.tolist())))))
    observation.release.mechanism = replace(observation.release.mechanism, views=tuple(views))
    found = list(linked_evidence(observation))
    assert [piece.name for piece in found] == names
    steps = [piece for piece in found if "steps" in piece.name]
    assert steps
    assert [piece.name for piece in steps if piece.log_ratio().any()] == []
