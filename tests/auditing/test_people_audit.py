"""Audits whose neighbours are whole people: all rows of a target come and go together."""

import numpy as np
import pytest

from microtome.auditing import AuditKind, AuditSetting
from microtome.auditing.audit_table import TableAuditData
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
