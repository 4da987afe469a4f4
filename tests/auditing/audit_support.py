"""Small audits for tests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from microtome.auditing import AuditKind, AuditSetting
from microtome.auditing.observation import observe_release, publish_release

RECORDS = AuditSetting(epsilon=5.0)
AGGREGATES = AuditSetting(kind=AuditKind.AGGREGATES, pivot="group", epsilon=5.0)
IMAGE_RECORDS = AuditSetting(images=True, epsilon=5.0)
IMAGE_AGGREGATES = AuditSetting(images=True, kind=AuditKind.AGGREGATES, epsilon=5.0)


def data_and_observation(setting: AuditSetting, folder: Path, seed: int = 0) -> tuple[Any, Any]:
    """One release of audit data, with coins that are the same each time."""
    data = setting.data()
    coins = np.random.default_rng(seed).random(len(data.targets)) < 0.5
    look = publish_release if setting.as_published else observe_release
    return data, look(data, setting.privacy(capacity=data.most_records), coins, folder / "audit.release")


def with_flipped(observation: Any, target: int) -> Any:
    """The same file, as it would look to somebody who believes the opposite of one target."""
    coins = observation.coins.copy()
    coins[target] = ~coins[target]
    return replace(observation, coins=coins, present=observation.data.present(coins))
