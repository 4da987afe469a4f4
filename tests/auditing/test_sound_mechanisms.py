"""What is sound passes, and the audit comes close to the claim."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from audit_support import AGGREGATES, IMAGE_AGGREGATES, IMAGE_RECORDS, RECORDS

from microtome.accounting import DirectionKind, Neighbours
from microtome.auditing import AuditKind, AuditRun, AuditSetting, audit, suite
from microtome.auditing.claim import Claim
from microtome.errors import ParameterError

ERROR = 1e-4


@pytest.mark.parametrize(
    "setting",
    [
        RECORDS,
        replace(RECORDS, directions=DirectionKind.GAUSSIAN, neighbours=Neighbours.REPLACE_ONE),
        AGGREGATES,
        replace(RECORDS, neighbours=Neighbours.ADD_REMOVE, as_published=True),
        IMAGE_AGGREGATES,
        replace(IMAGE_RECORDS, neighbours=Neighbours.REPLACE_ONE),
        replace(IMAGE_RECORDS, neighbours=Neighbours.ADD_REMOVE, subsample=0.5),
        replace(IMAGE_AGGREGATES, neighbours=Neighbours.ADD_REMOVE, alike=True, as_published=True),
    ],
    ids=lambda setting: setting.name,
)
def test_a_sound_mechanism_passes(setting: AuditSetting) -> None:
    found = AuditRun(setting, error=ERROR, seed=0).run(releases=100)
    assert not found.is_violation
    assert found.events_keep_promise
    assert found.promise.claimed == setting.epsilon
    assert found.curve.claimed < setting.epsilon


@pytest.mark.slow
@pytest.mark.parametrize("setting", suite(), ids=lambda setting: setting.name)
def test_every_setting_of_the_suite_passes(setting: AuditSetting) -> None:
    assert not AuditRun(setting, error=1e-5, seed=0).run(releases=150).is_violation


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "releases"),
    [
        (replace(RECORDS, epsilon=0.5), 6000),
        (replace(RECORDS, epsilon=1.0), 3000),
        (RECORDS, 1500),
        (replace(RECORDS, directions=DirectionKind.GAUSSIAN), 2500),
        (replace(AGGREGATES, epsilon=1.0), 6000),
        (replace(AGGREGATES, pivot="none"), 2000),
        (IMAGE_RECORDS, 1500),
        (IMAGE_AGGREGATES, 1500),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_the_bound_is_within_a_tenth_of_the_claim(setting: AuditSetting, releases: int) -> None:
    found = AuditRun(setting, error=0.05, seed=0).run(releases=releases)
    assert not found.is_violation
    assert found.equivalent is not None
    assert found.equivalent > 0.9 * setting.epsilon


def claim_of(setting: AuditSetting) -> Claim:
    run = AuditRun(setting, error=0.05, seed=0)
    run.run(releases=60)
    return next(iter(run._claims.values()))


@pytest.mark.parametrize(
    "setting", [RECORDS, replace(RECORDS, directions=DirectionKind.GAUSSIAN)], ids=lambda setting: setting.name
)
def test_a_claim_translates_to_itself(setting: AuditSetting) -> None:
    claim = claim_of(setting)
    assert claim.is_kept_by_events
    points = claim.curve()
    claimed = [point.claimed for point in points]
    assert claimed == sorted(claimed, reverse=True)
    for point in points[:: len(points) // 2]:
        assert claim.equivalent(point.delta, point.claimed) == pytest.approx(setting.epsilon, rel=1e-3)
        assert claim.equivalent(point.delta, 0.9 * point.claimed) < setting.epsilon  # type: ignore[operator]
    assert claim.equivalent(points[0].delta, 0.0) == 0.0


@pytest.mark.parametrize(("last", "found"), [(10, 0), (45, 1)], ids=["while choosing", "while counting"])
def test_ending_early_gives_what_was_found(last: int, found: int, monkeypatch: pytest.MonkeyPatch) -> None:
    calls, sound = 0, AuditRun._releases

    def release(self: Any, output: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == last:
            raise KeyboardInterrupt
        return sound(self, output)

    monkeypatch.setattr(AuditRun, "_releases", release)
    ended = audit([RECORDS, AGGREGATES], seconds=0.1, seed=0)
    assert not ended.finished
    assert len(ended.findings) == found
    assert ended.to_dict()["settings"] == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"settings": [], "seconds": 1}, "nothing to audit"),
        ({"settings": [RECORDS], "seconds": 0}, "seconds is 0"),
        ({"settings": [RECORDS], "seconds": 1, "confidence": 1.0}, "confidence is 1.0"),
    ],
)
def test_refusals(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        audit(**options)


def test_the_profile_alone_is_a_part_of_the_promise() -> None:
    claim = claim_of(AuditSetting(kind=AuditKind.PROFILE, epsilon=5.0))
    assert claim.epsilon < 2.0
    assert len(claim.events) == 2
