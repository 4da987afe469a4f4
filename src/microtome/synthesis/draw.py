"""What is asked of a model when it is sampled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from microtome.errors import require
from microtome.progress import Progress, silent


@dataclass(frozen=True, kw_only=True)
class Draw:
    """What is to be drawn.

    Attributes:
        number: How many rows or images.
        conditions: What they have to meet, by column.
        seed: Seed of the draw.
        balanced: Images: as many of each class, whatever their shares.
        as_: Tables: the library whose frame is wanted; ``None`` for pandas.
        progress: Told how many are drawn.
    """

    number: int
    conditions: Mapping[str, Any]
    seed: int
    balanced: bool = False
    as_: str | None = None
    progress: Progress = silent

    def __post_init__(self) -> None:
        require(self.number >= 1, "num_rows", self.number, "at least 1")
