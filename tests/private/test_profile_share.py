"""How much of the budget search and profile get: the more, the more is to be learnt, and from fewer records."""

from __future__ import annotations

import pytest

from microtome.private import PrivacySettings
from microtome.private.plan import plan_profile
from microtome.published import ReleaseKind
from microtome.schema import Column, Schema
from microtome.settings import TABLE_PROFILE

DECLARED = Column(name="a", kind="integer", bounds=(0, 9))
UNKNOWN = Column(name="b", kind="categorical")


def share(*columns: Column, rows: int | None, **options: object) -> float:
    wanted = {"epsilon": 1.0, "delta": 1e-9, **options}
    return plan_profile(PrivacySettings(**wanted), Schema(columns=columns), rows).share  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ReleaseKind)
def test_of_many_records_or_an_unknown_number_it_goes_by_what_is_to_be_learnt(kind: ReleaseKind) -> None:
    for rows in (None, 10**7):
        assert share(DECLARED, UNKNOWN, rows=rows, kind=kind) == pytest.approx(TABLE_PROFILE[kind] + 0.05, abs=1e-4)


def test_of_few_records_columns_come_first_unless_they_are_declared() -> None:
    assert share(DECLARED, rows=100) == TABLE_PROFILE[ReleaseKind.AGGREGATES]
    shares = [share(UNKNOWN, rows=rows) for rows in (100, 1_000, 10_000, 100_000)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == pytest.approx(0.7, abs=0.01)
    assert shares[-1] == pytest.approx(0.3, abs=0.01)
    assert share(UNKNOWN, rows=1_000, epsilon=0.1) > shares[1] > share(UNKNOWN, rows=1_000, epsilon=10.0)


def test_a_share_that_is_given_stays_as_it_is() -> None:
    assert share(UNKNOWN, rows=100, profile_share=0.33) == 0.33


def test_a_protected_number_of_records_has_no_part_in_it() -> None:
    """One record more or less must not change the noise: the capacity stands for their number, or nothing does."""
    options = {"neighbours": "add-remove", "kind": "records", "capacity": 500}
    few, more = (share(UNKNOWN, rows=rows, **options) for rows in (10, 500))
    assert few == more > share(UNKNOWN, rows=10, **{**options, "capacity": 10**6})
    few, more = (share(UNKNOWN, rows=rows, neighbours="add-remove") for rows in (10, 10**6))
    assert few == more == pytest.approx(0.3)
