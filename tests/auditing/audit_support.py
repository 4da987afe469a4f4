"""Small audits for tests."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from microtome.auditing import AuditKind, AuditSetting
from microtome.auditing.witness import publish_release, witness_release

RECORDS = AuditSetting(epsilon=5.0)
AGGREGATES = AuditSetting(kind=AuditKind.AGGREGATES, pivot="group", epsilon=5.0)
IMAGE_RECORDS = AuditSetting(images=True, epsilon=5.0)
IMAGE_AGGREGATES = AuditSetting(images=True, kind=AuditKind.AGGREGATES, epsilon=5.0)


def scene_and_sighting(setting: AuditSetting, folder: Path, seed: int = 0) -> tuple[Any, Any]:
    """One release of a scene, with coins that are the same each time."""
    scene = setting.scene()
    coins = np.random.default_rng(seed).random(len(scene.targets)) < 0.5
    look = publish_release if setting.as_published else witness_release
    return scene, look(scene, setting.privacy(capacity=scene.most_records), coins, folder / "audit.release")


def with_flipped(sighting: Any, target: int) -> Any:
    """The same file, as it would look to somebody who believes the opposite of one target."""
    coins = sighting.coins.copy()
    coins[target] = ~coins[target]
    return replace(sighting, coins=coins, present=sighting.scene.present(coins))
